import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(9)
CHANNELS, STEPS, N = 6, 80, 2400


def vibrations(n):
    x = torch.rand(n, CHANNELS, STEPS) * (0.4 + 1.2 * torch.rand(n, CHANNELS, 1))
    y = torch.randint(0, 2, (n,))
    for i in range(n):
        c = int(torch.randint(0, CHANNELS, (1,)))
        t = int(torch.randint(0, STEPS - 3, (1,)))
        if y[i] == 1:
            x[i, c, t] += 1.9
        else:
            x[i, c, t:t + 3] += 0.55
    return x, y


x, y = vibrations(N)
train_dl = DataLoader(TensorDataset(x[:1800], y[:1800]), batch_size=60, shuffle=True)
x_val, y_val = x[1800:], y[1800:]


class GeneralizedMeanPooling(nn.Module):
    def __init__(self, p=3.0):
        super().__init__()
        self.p = torch.autograd.Variable(torch.FloatTensor([p]), requires_grad=True)

    def forward(self, x):
        x = x.clamp(min=1e-4).pow(self.p).mean(dim=2)
        return x.pow(1.0 / self.p)


class FaultNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = GeneralizedMeanPooling()
        self.head = nn.Sequential(nn.Linear(CHANNELS, 24), nn.ReLU(), nn.Linear(24, 2))

    def forward(self, x):
        return self.head(self.pool(x))


net = FaultNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)

for epoch in range(60):
    net.train()
    running = 0.0
    for xb, yb in train_dl:
        optimizer.zero_grad()
        loss = criterion(net(xb), yb)
        loss.backward()
        optimizer.step()
        running += loss.item()
    if epoch % 15 == 14:
        print(f"epoch {epoch} loss {running / len(train_dl):.4f} p {net.pool.p.item():.3f}")

net.eval()
with torch.no_grad():
    acc = (net(x_val).argmax(1) == y_val).float().mean().item()
print(f"validation accuracy {acc:.3f}  exponent {net.pool.p.item():.3f}")
