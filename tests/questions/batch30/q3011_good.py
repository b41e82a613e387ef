import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(0)

CLASSES, MELS, FRAMES = 4, 16, 24


def clips(n):
    y = torch.randint(0, CLASSES, (n,))
    x = 0.8 * torch.randn(n, 1, MELS, FRAMES)
    for i in range(n):
        band = 2 + 3 * int(y[i])
        start = torch.randint(0, FRAMES - 8, (1,)).item()
        x[i, 0, band:band + 2, start:start + 8] += 1.2
    return TensorDataset(x, y)


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.fc = nn.Linear(16 * MELS, CLASSES)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        return self.fc(x.mean(3).flatten(1))


class Trainer:
    def __init__(self):
        self.model = CNN()
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.train_loader = DataLoader(clips(512), batch_size=32, shuffle=True)
        self.dev_loader = DataLoader(clips(96), batch_size=32)
        self.test_loader = DataLoader(clips(64), batch_size=32)
        self.metrics = []

    def train(self, epochs):
        best, best_state = float("inf"), None
        for epoch in range(epochs):
            self.model.train()
            train_loss = 0.0
            for x, y in self.train_loader:
                self.optimizer.zero_grad()
                loss = self.criterion(self.model(x), y)
                loss.backward()
                self.optimizer.step()
                train_loss += loss.item()
            train_loss /= len(self.train_loader)
            dev_loss, dev_acc = self.evaluate(self.dev_loader)
            self.metrics.append((train_loss, dev_loss, dev_acc))
            print(f"epoch {epoch}: train loss {train_loss:.4f} dev loss {dev_loss:.4f} dev accuracy {dev_acc:.3f}")
            if dev_loss < best:
                best, best_state = dev_loss, copy.deepcopy(self.model.state_dict())
        self.model.load_state_dict(best_state)
        test_loss, test_acc = self.evaluate(self.test_loader)
        print(f"test loss {test_loss:.4f} test accuracy {test_acc:.3f}")

    def evaluate(self, loader):
        self.model.eval()
        losses, hits, seen = 0.0, 0, 0
        with torch.no_grad():
            for x, y in loader:
                out = self.model(x)
                losses += self.criterion(out, y).cpu().item()
                hits += (out.argmax(1) == y).sum().item()
                seen += len(y)
        losses /= len(loader)
        return losses, hits / seen


Trainer().train(8)
