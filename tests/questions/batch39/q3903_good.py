import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class AverageMeter(object):
    def __init__(self, length=0):
        self.length = length
        self.reset()

    def reset(self):
        if self.length > 0:
            self.history = []
        else:
            self.count = 0
            self.sum = 0.0
        self.val = 0.0
        self.avg = 0.0

    def update(self, val, num=1):
        if self.length > 0:
            self.history.append(val)
            if len(self.history) > self.length:
                del self.history[0]
            self.val = self.history[-1]
            self.avg = np.mean(self.history)
        else:
            self.val = val
            self.sum += val * num
            self.count += num
            self.avg = self.sum / self.count


class ClipNet(nn.Module):
    def __init__(self, segments=4, feats=10, classes=6):
        super().__init__()
        self.frame = nn.Linear(feats, 24)
        self.head = nn.Linear(24, classes)

    def forward(self, clip):
        return self.head(torch.relu(self.frame(clip)).mean(1))


def make(n, centers, g):
    y = torch.arange(n) * len(centers) // n
    noise = 1.0 + 0.25 * y.float()
    x = centers[y][:, None] + noise[:, None, None] * torch.randn(n, 4, 10, generator=g)
    return TensorDataset(x, y)


def accuracy(output, target):
    return 100.0 * (output.argmax(1) == target).float().mean().item()


def train(model, loader, optimizer, print_freq=10):
    losses = AverageMeter(print_freq)
    for step, (x, y) in enumerate(loader):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.update(loss.item())
    print(f"training loss {losses.avg:.3f}")


def test(model, dataset, batch_size, print_freq=10):
    model.eval()
    top1 = AverageMeter()
    with torch.no_grad():
        for x, y in DataLoader(dataset, batch_size=batch_size):
            top1.update(accuracy(model(x), y), x.size(0))
    print(f"batch size {batch_size}: Prec@1 {top1.avg:.2f}")


torch.manual_seed(0)
g = torch.Generator().manual_seed(1)
centers = 0.7 * torch.randn(6, 10, generator=g)
train_set, test_set = make(1200, centers, g), make(1200, centers, g)
model = ClipNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for epoch in range(8):
    train(model, DataLoader(train_set, batch_size=40, shuffle=True), optimizer)
for batch_size in (8, 16, 40, 150):
    test(model, test_set, batch_size)
