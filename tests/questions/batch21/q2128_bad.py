import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(17)


class AttentionConv(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size=3):
        super().__init__()
        self.out_channels, self.kernel_size = out_channels, kernel_size
        self.query = nn.Conv2d(in_channels, out_channels, 1, bias=False)
        self.key = nn.Conv2d(in_channels, out_channels, 1, bias=False)
        self.value = nn.Conv2d(in_channels, out_channels, 1, bias=False)

    def forward(self, x):
        b, _, h, w = x.shape
        k, pad = self.kernel_size, self.kernel_size // 2
        self.rel_h = nn.Parameter(torch.randn(self.out_channels // 2, k, 1))
        self.rel_w = nn.Parameter(torch.randn(self.out_channels // 2, 1, k))
        rel = torch.cat([self.rel_h.expand(-1, k, k), self.rel_w.expand(-1, k, k)]).reshape(1, -1, k * k, 1)
        q = self.query(x).reshape(b, -1, 1, h * w)
        keys = F.unfold(self.key(x), k, padding=pad).reshape(b, -1, k * k, h * w)
        values = F.unfold(self.value(x), k, padding=pad).reshape(b, -1, k * k, h * w)
        weights = F.softmax((q * (keys + rel)).sum(1, keepdim=True) / self.out_channels**0.5, dim=2)
        return (weights * values).sum(2).reshape(b, -1, h, w)


class Net(nn.Module):
    def __init__(self, classes=4, channels=24):
        super().__init__()
        self.stem = nn.Conv2d(2, channels, 1)
        self.attn1 = AttentionConv(channels, channels)
        self.attn2 = AttentionConv(channels, channels)
        self.head = nn.Linear(channels, classes)

    def forward(self, x):
        x = F.relu(self.stem(x))
        x = x + F.relu(self.attn1(x))
        x = x + F.relu(self.attn2(x))
        return self.head(x.amax(dim=(2, 3)))


def neighbours(n, size=7):
    shifts = torch.tensor([[0, 1], [0, -1], [1, 0], [-1, 0]])
    y = torch.randint(0, 4, (n,))
    pos = torch.randint(1, size - 1, (n, 2))
    other = pos + shifts[y]
    x = 0.05 * torch.randn(n, 2, size, size)
    rows = torch.arange(n)
    x[rows, 0, pos[:, 0], pos[:, 1]] += 1
    x[rows, 1, other[:, 0], other[:, 1]] += 1
    return x, y


x_train, y_train = neighbours(2000)
x_test, y_test = neighbours(500)
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(12):
    model.train()
    running = 0.0
    for idx in torch.randperm(len(x_train)).split(100):
        loss = F.cross_entropy(model(x_train[idx]), y_train[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item() * len(idx)
    if epoch % 4 == 3:
        print(f"epoch {epoch + 1} loss {running / len(x_train):.4f}")

model.eval()
with torch.no_grad():
    acc = [(model(x_test).argmax(1) == y_test).float().mean().item() for _ in range(2)]
print(f"final training loss {running / len(x_train):.4f}")
print(f"test accuracy {acc[0]:.3f}, a second time {acc[1]:.3f}")
