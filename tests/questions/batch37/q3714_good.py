import resource
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(13)


class MeanOnlyBatchNorm(nn.Module):
    def __init__(self, num_features, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))

    def forward(self, inp):
        if self.training:
            avg = inp.mean(dim=0)
            self.running_mean = (1 - self.momentum) * self.running_mean + self.momentum * avg.detach()
        else:
            avg = self.running_mean
        return inp - avg + self.bias


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(20, 64)
        self.norm1 = MeanOnlyBatchNorm(64)
        self.fc2 = nn.Linear(64, 64)
        self.norm2 = MeanOnlyBatchNorm(64)
        self.fc3 = nn.Linear(64, 3)

    def forward(self, x):
        x = F.relu(self.norm1(self.fc1(x)))
        x = F.relu(self.norm2(self.fc2(x)))
        return self.fc3(x)


def megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
proj = torch.randn(20, 3)
start = time.time()
base = None
for step in range(2400):
    x = torch.randn(64, 20)
    y = (x @ proj).argmax(1)
    loss = F.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step == 100:
        base = megabytes()
    if step % 400 == 399:
        print(f"step {step + 1} loss {loss.item():.4f} memory +{megabytes() - base:.1f} MB")

net.eval()
with torch.no_grad():
    x = torch.randn(1000, 20)
    acc = (net(x).argmax(1) == (x @ proj).argmax(1)).float().mean().item()
print("test acc", round(acc, 3))
