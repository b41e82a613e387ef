import torch
from torch import nn

torch.manual_seed(5)

input_size = 20
num_datapoints = 400


def ar_windows(count, length):
    x = torch.zeros(count + length + 1)
    x[:2] = torch.randn(2)
    for t in range(2, len(x)):
        x[t] = 1.6 * x[t - 1] - 0.9 * x[t - 2] + 0.1 * torch.randn(())
    windows = x.unfold(0, length + 1, 1)[:count]
    return windows[:, :-1].contiguous(), windows[:, -1].contiguous()


class LSTM(nn.Module):
    def __init__(self, input_dim, hidden_dim, num_layers=1):
        super().__init__()
        self.lstm = nn.LSTM(input_dim, hidden_dim, num_layers)
        self.linear = nn.Linear(hidden_dim, 1)

    def forward(self, inputs):
        lstm_out, _ = self.lstm(inputs)
        return self.linear(lstm_out[-1]).view(-1)


X, y = ar_windows(num_datapoints, input_size)
X_train, X_test, y_train, y_test = X[:320], X[320:], y[:320], y[320:]
X_train = X_train.view([input_size, -1, 1])
X_test = X_test.view([input_size, -1, 1])

model = LSTM(1, 16)
loss_fn = nn.MSELoss()
optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
for t in range(120):
    y_pred = model(X_train)
    loss = loss_fn(y_pred, y_train)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    if t % 20 == 0:
        print("Epoch", t, "MSE:", loss.item())
with torch.no_grad():
    print("test MSE:", loss_fn(model(X_test), y_test).item())
