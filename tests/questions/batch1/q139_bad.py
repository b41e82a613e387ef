import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class SmallUNet(nn.Module):
    def __init__(self, classes=3, width=8):
        super().__init__()
        self.inc = nn.Conv2d(1, width, 3, padding=1)
        self.down = nn.Conv2d(width, width, 3, padding=1)
        self.outc = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        return self.outc(F.relu(self.down(F.relu(self.inc(x)))))


def scans(n, shift=0.0):
    x = torch.randn(n, 1, 12, 12)
    smooth = F.avg_pool2d(x, 3, stride=1, padding=1).squeeze(1)
    y = (smooth > 0.15).long() + (smooth > -0.15).long()
    return 1.5 * x + shift, y


class Adapter:
    def __init__(self, source):
        self.model = copy.deepcopy(source)
        self.model.outc.requires_grad = False
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)

    def step(self, x):
        probs = F.softmax(self.model(x), dim=1)
        entropy = -(probs * (probs + 1e-6).log()).sum(1).mean()
        mean = probs.mean(dim=(0, 2, 3))
        loss = entropy + (mean * (mean + 1e-6).log()).sum()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


torch.manual_seed(0)
source = SmallUNet()
optimizer = torch.optim.Adam(source.parameters(), lr=5e-3)
for step in range(60):
    x, y = scans(16)
    loss = F.cross_entropy(source(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"source loss {loss.item():.4f}")

adapter = Adapter(source)
for step in range(60):
    loss = adapter.step(scans(16, shift=0.5)[0])
    if step % 12 == 0:
        print(f"step {step} adaptation loss {loss:.4f}")
moved = (adapter.model.outc.weight - source.outc.weight).abs().max().item()
print("change of the last layer", moved)
