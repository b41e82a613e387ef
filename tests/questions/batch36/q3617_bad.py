from collections import namedtuple

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(16)
Corner = namedtuple("Corner", "x1 y1 x2 y2")
SIZE = 24


class Augmentation:
    def __init__(self, flip):
        self.flip = flip

    def _flip_aug(self, image, bbox, mask):
        image = torch.flip(image, dims=[2])
        width = image.shape[2]
        bbox = Corner(width - 1 - bbox.x2, bbox.y1, width - 1 - bbox.x1, bbox.y2)
        bbox = Corner(width - 1 - mask[2], mask[1], width - 1 - mask[0], mask[3])
        return image, bbox, mask

    def __call__(self, image, bbox, mask):
        if torch.rand(1).item() < self.flip:
            image, bbox, mask = self._flip_aug(image, bbox, mask)
        return image, bbox, mask


class TrackDataset(Dataset):
    def __init__(self, n, augmentation):
        self.augmentation = augmentation
        self.items = []
        for _ in range(n):
            x, y = torch.randint(4, 14, (2,)).tolist()
            w, h = torch.randint(4, 8, (2,)).tolist()
            image = 0.2 * torch.randn(1, SIZE, SIZE)
            image[0, y:y + h, x:x + w] += 1.0
            self.items.append((image, Corner(x, y, x + w - 1, y + h - 1), Corner(x - 4, y - 4, x + w + 1, y + h + 1)))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        image, bbox, mask = self.augmentation(*self.items[i])
        return image, torch.tensor(bbox).float() / SIZE, torch.tensor(mask).float() / SIZE


train = DataLoader(TrackDataset(600, Augmentation(0.5)), batch_size=32, shuffle=True)
test = DataLoader(TrackDataset(200, Augmentation(0.0)), batch_size=100)
model = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                      nn.Conv2d(12, 16, 3, padding=1), nn.ReLU(), nn.Flatten(),
                      nn.Linear(16 * 144, 64), nn.ReLU(), nn.Linear(64, 8))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(12):
    for image, bbox, mask in train:
        out = model(image)
        loss = F.mse_loss(out[:, :4], bbox) + F.mse_loss(out[:, 4:], mask)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        err = [(SIZE * F.l1_loss(model(im)[:, :4], b), SIZE * F.l1_loss(model(im)[:, 4:], m)) for im, b, m in test]
    e1, e2 = (sum(v).item() / len(v) for v in zip(*err))
    print(f"epoch {epoch} loss {loss.item():.4f} box error {e1:.2f} px mask error {e2:.2f} px")
