import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(0)
torch.set_num_threads(1)
rng = np.random.default_rng(0)


def draw(n, size=32):
    images = np.zeros((n, size, size), np.uint8)
    masks = np.zeros((n, size, size), np.uint8)
    yy, xx = np.mgrid[:size, :size]
    for k in range(n):
        cy, cx = rng.integers(8, size - 8, 2)
        r = rng.integers(4, 9)
        person = (yy - cy) ** 2 + (xx - cx) ** 2 < r * r
        images[k] = np.clip(70 + 60 * person + rng.normal(0, 25, (size, size)), 0, 255)
        masks[k][person] = 255
    return images, masks


class PersonDataset(Dataset):
    def __init__(self, n):
        self.images, self.masks = draw(n)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image = self.images[i][None].astype("float32") / 255.0
        mask = self.masks[i][None].astype("float32") / 255.0
        return torch.from_numpy(image), torch.from_numpy(mask)


class UNet(nn.Module):
    def __init__(self, c=12):
        super().__init__()
        self.d1 = nn.Sequential(nn.Conv2d(1, c, 3, padding=1), nn.BatchNorm2d(c), nn.ReLU())
        self.d2 = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(c, 2 * c, 3, padding=1), nn.BatchNorm2d(2 * c), nn.ReLU())
        self.up = nn.ConvTranspose2d(2 * c, c, 2, stride=2)
        self.u1 = nn.Sequential(nn.Conv2d(2 * c, c, 3, padding=1), nn.ReLU(), nn.Conv2d(c, 1, 1))

    def forward(self, x):
        a = self.d1(x)
        b = self.up(self.d2(a))
        return torch.sigmoid(self.u1(torch.cat([a, b], 1)))


def dice_loss(pr, gt, eps=1e-7):
    inter = (pr * gt).sum()
    return 1 - (2 * inter + eps) / (pr.sum() + gt.sum() + eps)


def iou_score(pr, gt, eps=1e-7, threshold=0.5):
    pr = (pr > threshold).float()
    inter = (pr * gt).sum()
    return (inter + eps) / (pr.sum() + gt.sum() - inter + eps)


train = DataLoader(PersonDataset(240), batch_size=16, shuffle=True)
valid = DataLoader(PersonDataset(64), batch_size=16)
model = UNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(6):
    model.train()
    losses = []
    for image, mask in train:
        loss = dice_loss(model(image), mask)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        scores = [iou_score(model(image), mask).item() for image, mask in valid]
    print(f"epoch {epoch} dice_loss {np.mean(losses):.4f} valid iou_score {np.mean(scores):.4f}")
