import torch
import torch.nn as nn

torch.manual_seed(0)


class ScaledSigmoidLayer(nn.Module):
    def __init__(self, n_in, n_out, scale):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)
        self.scale = scale

    def forward(self, x):
        out = torch.sigmoid(self.linear(x))
        return out * self.scale


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = ScaledSigmoidLayer(4, 32, scale=6.0)
        self.head = nn.Linear(32, 1)

    def forward(self, x):
        return self.head(self.hidden(x))


def target(x):
    return torch.sin(2 * x[:, :1]) + x[:, 1:2] * x[:, 2:3] - 0.5 * x[:, 3:]


x_train = torch.rand(1024, 4) * 4 - 2
y_train = target(x_train) + 0.02 * torch.randn(1024, 1)
x_test = torch.rand(512, 4) * 4 - 2
y_test = target(x_test)

net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
loss_fn = nn.MSELoss()

for epoch in range(60):
    order = torch.randperm(len(x_train))
    total = 0.0
    for batch in order.split(64):
        optimizer.zero_grad()
        loss = loss_fn(net(x_train[batch]), y_train[batch])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(batch)
    if epoch % 10 == 9:
        print(f"epoch {epoch + 1} train mse {total / len(x_train):.4f}")

with torch.no_grad():
    error = loss_fn(net(x_test), y_test).item()
print(f"test mse {error:.4f}  target variance {y_test.var().item():.4f}")
