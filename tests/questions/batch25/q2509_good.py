import random
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


class RandomHorizontalFlip(nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        self.p = p

    def forward(self, img):
        if torch.rand(1) < self.p:
            return img.flip(-1)
        return img


class Cells(Dataset):
    def __init__(self, n, size=32, train=True):
        rng = np.random.RandomState(n)
        yy, xx = np.mgrid[0:size, 0:size]
        self.images, self.masks = [], []
        for _ in range(n):
            cy, cx, r = rng.uniform(6, size - 6), rng.uniform(6, size - 6), rng.uniform(3, 6)
            mask = ((yy - cy) ** 2 + (xx - cx) ** 2 < r * r).astype(np.float32)
            img = 0.8 * mask + 0.25 * rng.randn(size, size)
            self.images.append(torch.tensor(img, dtype=torch.float32)[None])
            self.masks.append(torch.tensor(mask)[None])
        self.train = train
        self.flip = RandomHorizontalFlip(0.5)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image, mask = self.images[i], self.masks[i]
        if self.train:
            seed = np.random.randint(2147483647)
            random.seed(seed)
            np.random.seed(seed)
            torch.manual_seed(seed)
            image = self.flip(image)
            random.seed(seed)
            np.random.seed(seed)
            torch.manual_seed(seed)
            mask = self.flip(mask)
        return image, mask


class SegNet(nn.Module):
    def __init__(self, c=12):
        super().__init__()
        self.c1 = nn.Conv2d(1, c, 3, padding=1)
        self.c2 = nn.Conv2d(c, c, 3, padding=1)
        self.c3 = nn.Conv2d(c, c, 3, padding=1)
        self.out = nn.Conv2d(c, 1, 1)

    def forward(self, x):
        x = F.relu(self.c1(x))
        x = F.relu(self.c2(x))
        x = F.relu(self.c3(x))
        return self.out(x)


def dice(logits, mask):
    p = torch.sigmoid(logits)
    inter = (p * mask).sum()
    return (2 * inter / (p.sum() + mask.sum())).item()


set_seed(7)
train_loader = DataLoader(Cells(320), batch_size=16, shuffle=True)
val_loader = DataLoader(Cells(80, train=False), batch_size=80)
net = SegNet()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)

for epoch in range(10):
    net.train()
    total = 0.0
    for image, mask in train_loader:
        optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(net(image), mask)
        loss.backward()
        optimizer.step()
        total += loss.item()
    net.eval()
    with torch.no_grad():
        image, mask = next(iter(val_loader))
        score = dice(net(image), mask)
    print(f"epoch {epoch:2d}  train loss {total / len(train_loader):.4f}  val dice {score:.3f}")
