import torch
from torch import nn

torch.manual_seed(0)


class Layer(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.w = nn.Parameter(torch.full((in_features, out_features), in_features ** -0.5))
        self.b = nn.Parameter(torch.zeros(out_features))

    def forward(self, x):
        return torch.matmul(x, self.w) + self.b


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden1 = Layer(2, 24)
        self.hidden2 = Layer(24, 24)
        self.out = Layer(24, 1)

    def forward(self, x):
        x = torch.tanh(self.hidden1(x))
        x = torch.tanh(self.hidden2(x))
        return self.out(x)


def make_data(n):
    x = torch.rand(n, 2) * 2 - 1
    y = torch.sin(3 * x[:, :1]) * torch.cos(2 * x[:, 1:]) + x[:, 1:] ** 2
    return x, y


x_train, y_train = make_data(1200)
x_test, y_test = make_data(400)

net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
criterion = nn.MSELoss()

for epoch in range(1, 101):
    perm = torch.randperm(len(x_train))
    total = 0.0
    for i in range(0, len(perm), 100):
        idx = perm[i : i + 100]
        out = net(x_train[idx])
        loss = criterion(out, y_train[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    if epoch % 25 == 0:
        print(f"epoch {epoch:3d}  loss {total / len(perm):.5f}")

with torch.no_grad():
    test = criterion(net(x_test), y_test).item()
print(f"final train loss {total / len(perm):.5f}")
print(f"test loss {test:.5f}")
print(f"variance of the targets {y_test.var().item():.5f}")
