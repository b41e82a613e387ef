import torch
from torch import nn

torch.manual_seed(0)
batch_size, num_layers, hidden_dim, steps = 16, 1, 32, 12


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(1, hidden_dim, num_layers, batch_first=True)
        self.fc = nn.Linear(hidden_dim, 1)

    def forward(self, x, h, c):
        out, state = self.rnn(x, (h, c))
        return self.fc(out), state


def make_loader(length):
    time = torch.arange(length * steps + 1, dtype=torch.float32)
    phase = torch.rand(batch_size, 1) * 6.28
    series = torch.sin(0.2 * time + phase).unsqueeze(-1)
    for i in range(length):
        chunk = series[:, i * steps : (i + 1) * steps + 1]
        yield chunk[:, :-1], chunk[:, 1:]


lstm = Forecaster()
loss_fn = nn.MSELoss()
optimizer = torch.optim.Adam(lstm.parameters(), lr=5e-3)
for epoch in range(6):
    h0 = torch.zeros(num_layers, batch_size, hidden_dim)
    c0 = torch.zeros(num_layers, batch_size, hidden_dim)
    total = 0.0
    for inputs, targets in make_loader(30):
        optimizer.zero_grad()
        output, (h0, c0) = lstm(inputs, h0, c0)
        loss = loss_fn(output, targets)
        loss.backward(retain_graph=True)
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: loss {total / 30:.5f}")
