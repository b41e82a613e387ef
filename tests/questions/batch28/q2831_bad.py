import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

torch.set_num_threads(1)
torch.manual_seed(0)
np.random.seed(0)

SIZE = 16


class Polyps(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        grid = torch.arange(SIZE).float()
        self.images, self.masks = [], []
        for _ in range(n):
            cy, cx = (torch.rand(2, generator=g) * 10 + 3).tolist()
            r = float(torch.rand(1, generator=g)) * 2 + 2
            mask = (((grid[:, None] - cy) ** 2 + (grid[None, :] - cx) ** 2) < r ** 2).float()
            img = mask[None] * 0.9 + 2.0 * torch.randn(3, SIZE, SIZE, generator=g)
            self.images.append(img)
            self.masks.append(mask[None])

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i], self.masks[i]


class FeedbackNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.mask_conv = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.dec = nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
                                 nn.Conv2d(16, 1, 3, padding=1))

    def forward(self, x, m):
        return self.dec(torch.cat([self.enc(x), self.mask_conv(m)], dim=1))


def init_mask(images):
    grey = images.mean(1, keepdim=True)
    return (grey > grey.mean(dim=(2, 3), keepdim=True)).float()


def dice(p, y):
    inter = (p * y).sum((1, 2, 3))
    return ((2 * inter + 1) / (p.sum((1, 2, 3)) + y.sum((1, 2, 3)) + 1)).mean()


def train(model, loader, masks, optimizer, loss_fn):
    model.train()
    epoch_loss, epoch_dice, returned = 0.0, 0.0, []
    for i, (x, y) in enumerate(loader):
        if masks is None:
            m = init_mask(x)
        else:
            m = masks[i]
        optimizer.zero_grad()
        out = model(x, m)
        loss = loss_fn(out, y) + 1 - dice(torch.sigmoid(out), y)
        loss.backward()
        optimizer.step()
        pred = (torch.sigmoid(out.detach()) > 0.5).float()
        returned.append(pred)
        epoch_loss += loss.item()
        epoch_dice += dice(pred, y).item()
    return epoch_loss / len(loader), epoch_dice / len(loader), returned


def evaluate(model, loader, iters=3):
    model.eval()
    total = 0.0
    with torch.no_grad():
        for x, y in loader:
            m = init_mask(x)
            for _ in range(iters):
                m = (torch.sigmoid(model(x, m)) > 0.5).float()
            total += dice(m, y).item()
    return total / len(loader)


train_loader = DataLoader(Polyps(160, 0), batch_size=16, shuffle=True)
valid_loader = DataLoader(Polyps(64, 1), batch_size=16, shuffle=False)
model = FeedbackNet()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
loss_fn = nn.BCEWithLogitsLoss()

train_mask = None
for epoch in range(12):
    loss, tr_dice, train_mask = train(model, train_loader, train_mask, optimizer, loss_fn)
    print(f"epoch {epoch} train loss {loss:.4f} train dice {tr_dice:.4f} "
          f"valid dice {evaluate(model, valid_loader):.4f}")
