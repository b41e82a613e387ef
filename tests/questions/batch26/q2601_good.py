import os
import tempfile
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
np.random.seed(0)
NUM_CLASSES = 6


def make_images(n, rng):
    labels = rng.integers(0, NUM_CLASSES, n)
    yy, xx = np.mgrid[0:16, 0:16] / 16.0
    images = np.zeros((n, 3, 16, 16), dtype=np.float32)
    for i, c in enumerate(labels):
        base = 0.3 + 0.3 * np.sin(2 * np.pi * (c + 1) * 0.5 * (xx if c % 2 else yy) + rng.uniform(0, 0.4))
        tint = np.array([0.1 * c, 0.5 - 0.08 * c, 0.3 + 0.05 * c])
        images[i] = base[None] + tint[:, None, None] + rng.normal(0, 0.15, (3, 16, 16))
    return torch.from_numpy(images), torch.from_numpy(labels)


class SmallNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        )
        self.drop = nn.Dropout(0.5)
        self.fc = nn.Linear(32, NUM_CLASSES)

    def forward(self, x):
        return self.fc(self.drop(self.features(x).flatten(1)))


class ModelServer:
    def __init__(self, folder):
        self.folder = folder
        self.model = None

    def train(self, name, loader, epochs=6):
        model = SmallNet()
        opt = torch.optim.Adam(model.parameters(), lr=2e-3)
        model.train()
        for epoch in range(epochs):
            total, hits, count = 0.0, 0, 0
            for x, y in loader:
                logits = model(x)
                loss = F.cross_entropy(logits, y)
                opt.zero_grad()
                loss.backward()
                opt.step()
                total += loss.item() * len(y)
                hits += (logits.argmax(1) == y).sum().item()
                count += len(y)
            print(f"epoch {epoch} loss {total / count:.3f} train acc {hits / count:.3f}")
        torch.save(model.state_dict(), os.path.join(self.folder, name + ".pt"))

    def load(self, name):
        self.model = SmallNet()
        self.model.load_state_dict(torch.load(os.path.join(self.folder, name + ".pt")))
        print("model", name, "loaded")

    def test(self, loader):
        self.model.eval()
        hits, count = 0, 0
        with torch.no_grad():
            for x, y in loader:
                hits += (self.model(x).argmax(1) == y).sum().item()
                count += len(y)
        return hits / count


rng = np.random.default_rng(1)
train_set = TensorDataset(*make_images(1500, rng))
test_set = TensorDataset(*make_images(400, rng))

with tempfile.TemporaryDirectory() as folder:
    server = ModelServer(folder)
    server.train("smallnet", DataLoader(train_set, batch_size=50, shuffle=True))
    server.load("smallnet")
    print(f"test accuracy {server.test(DataLoader(test_set, batch_size=1)):.3f}")
