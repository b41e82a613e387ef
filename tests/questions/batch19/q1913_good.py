import torch
from torch import nn
from torch.autograd import Function

torch.manual_seed(0)


class Quantize(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x.clamp(-1, 1) * 4) / 4

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


class QuantNet(nn.Module):
    def __init__(self, n_in, hidden, n_out):
        super().__init__()
        self.fc1 = nn.Linear(n_in, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, n_out)

    def forward(self, x):
        h = Quantize.apply(torch.tanh(self.fc1(x)))
        h = Quantize.apply(torch.tanh(self.fc2(h)))
        return self.out(h)


def spirals(n):
    label = torch.randint(0, 3, (n,))
    r = torch.rand(n) * 0.95 + 0.05
    angle = r * 5 + label * 2.0944 + torch.randn(n) * 0.1
    x = torch.stack([r * torch.cos(angle), r * torch.sin(angle)], dim=1) * 2
    return x, label


x_train, y_train = spirals(1500)
x_test, y_test = spirals(600)

model = QuantNet(2, 16, 3)
before = model.fc1.weight.detach().clone()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(1, 81):
    perm = torch.randperm(len(x_train))
    total = 0.0
    for i in range(0, len(perm), 100):
        idx = perm[i : i + 100]
        loss = criterion(model(x_train[idx]), y_train[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    if epoch % 20 == 0:
        print(f"epoch {epoch:3d}  loss {total / len(perm):.4f}")

with torch.no_grad():
    acc = (model(x_test).argmax(1) == y_test).float().mean().item()
moved = (model.fc1.weight.detach() - before).norm().item()
print(f"final loss {total / len(perm):.4f}")
print(f"test accuracy {acc:.3f}")
print(f"first layer moved by {moved:.4f}")
