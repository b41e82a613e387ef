import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


def color_normalize(x, mean):
    mean /= 255.0
    for c in range(x.size(0)):
        x[c].sub_(float(mean[c]))
    return x


class KeypointData(Dataset):
    def __init__(self, images, points):
        self.images = images
        self.points = points
        self.pixel_means = np.array([190.0, 185.0, 180.0])

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        img = torch.from_numpy(self.images[index]).float() / 255.0
        img = color_normalize(img, self.pixel_means)
        return img, self.points[index]


class PoseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.fc1 = nn.Linear(8 * 12 * 12, 32)
        self.fc2 = nn.Linear(32, 2)

    def forward(self, x):
        h = torch.relu(self.conv(x)).flatten(1)
        return self.fc2(torch.relu(self.fc1(h)))


def make(n, rng):
    images = np.full((n, 3, 12, 12), 0.0) + np.array([190.0, 185.0, 180.0])[None, :, None, None]
    images += rng.normal(0, 4, images.shape)
    points = np.zeros((n, 2), dtype=np.float32)
    for i in range(n):
        r, c = rng.integers(1, 11, 2)
        images[i, :, r - 1:r + 2, c - 1:c + 2] += 30
        points[i] = (r / 11.0, c / 11.0)
    return np.clip(images, 0, 255).astype(np.uint8), points


torch.manual_seed(0)
rng = np.random.default_rng(0)
train_set = KeypointData(*make(600, rng))
test_set = KeypointData(*make(200, rng))
train_loader = DataLoader(train_set, batch_size=20, shuffle=True)
test_loader = DataLoader(test_set, batch_size=50)

model = PoseNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for epoch in range(8):
    total, seen = 0.0, 0.0
    for img, pts in train_loader:
        loss = nn.functional.mse_loss(model(img), pts)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        seen += img.mean().item()
    n = len(train_loader)
    print(f"epoch {epoch} loss {total / n:.5f} mean of the inputs {seen / n:.3f} pixel_means {train_set.pixel_means}")
with torch.no_grad():
    err = torch.cat([(model(img) - pts).norm(dim=1) for img, pts in test_loader])
print(f"mean distance on the test images {err.mean():.4f}")
