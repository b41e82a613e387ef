import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(4)

ACCUM = 8
BATCH = 6


class DigitNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 12, 3, padding=1)
        self.c2 = nn.Conv2d(12, 24, 3, padding=1)
        self.f1 = nn.Linear(24 * 16, 64)
        self.f2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        return self.f2(F.relu(self.f1(x.flatten(1))))


proto = torch.randn(10, 1, 16, 16)
proto = F.avg_pool2d(F.pad(proto, (1, 1, 1, 1)), 3, stride=1) * 3


def digits(n):
    y = torch.randint(0, 10, (n,))
    x = proto[y] + 1.0 * torch.randn(n, 1, 16, 16)
    return x, y


xtr, ytr = digits(4800)
xte, yte = digits(1000)

net = DigitNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)

for epoch in range(4):
    seen, total = 0, 0.0
    optimizer.zero_grad()
    for step, i in enumerate(torch.randperm(len(xtr)).split(BATCH)):
        loss = criterion(net(xtr[i]), ytr[i])
        loss.backward()
        total += loss.item() * len(i)
        seen += len(i)
        if (step + 1) % ACCUM == 0:
            optimizer.step()
            optimizer.zero_grad()
    print("epoch %d train loss %.4f" % (epoch + 1, total / seen))

net.eval()
with torch.no_grad():
    out = net(xte)
print("test loss %.4f accuracy %.3f" % (criterion(out, yte).item(), (out.argmax(1) == yte).float().mean().item()))
