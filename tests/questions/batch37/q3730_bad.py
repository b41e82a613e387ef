import torch
import torch.nn as nn

torch.manual_seed(0)


class FeedForward(nn.Module):
    def __init__(self, input_dim, hidden_dims, activations, dropout=0.0):
        super().__init__()
        dims = [input_dim] + hidden_dims
        self._activations = activations
        self._linear_layers = nn.ModuleList([nn.Linear(a, b) for a, b in zip(dims[:-1], dims[1:])])
        self._dropout = nn.ModuleList([nn.Dropout(dropout) for _ in hidden_dims])

    def forward(self, inputs):
        output = inputs
        for layer, activation, dropout in zip(self._linear_layers, self._activations, self._dropout):
            output = dropout(activation(layer(output)))
        return output


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.feedforward = FeedForward(8, [2, 2], [nn.PReLU(), nn.PReLU()])
        self.head = nn.Linear(2, 1)

    def forward(self, x):
        return self.head(self.feedforward(x)).squeeze(1)


def make_data(n):
    x = torch.randn(n, 8)
    y = (x[:, 0] - x[:, 1]).abs() + (x[:, 2] + x[:, 3]).abs()
    return x, y


x_train, y_train = make_data(1000)
x_test, y_test = make_data(300)
model = Regressor()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for epoch in range(60):
    model.train()
    perm = torch.randperm(1000)
    for i in range(0, 1000, 50):
        idx = perm[i:i + 50]
        optimizer.zero_grad()
        loss = criterion(model(x_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
    if epoch % 10 == 9:
        model.eval()
        with torch.no_grad():
            test = criterion(model(x_test), y_test).item()
        print(f"epoch {epoch + 1}: train mse {loss.item():.4f} test mse {test:.4f}")
