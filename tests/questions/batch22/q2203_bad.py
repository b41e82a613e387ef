import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(1234)
np.random.seed(1234)


class Clips(Dataset):
    def __init__(self, n, size=32):
        t = np.linspace(0, 2 * math.pi, size, dtype=np.float32)
        yy, xx = np.meshgrid(t, t, indexing="ij")
        self.clips = []
        for _ in range(n):
            a, b, ph = np.random.uniform(1, 4), np.random.uniform(1, 4), np.random.uniform(0, 6)
            frames = []
            for k in range(3):
                waves = [np.sin(a * xx + b * yy + ph + 0.3 * k + c) for c in range(3)]
                frame = np.stack(waves) * 90 + 128 + np.random.randn(3, size, size) * 4
                frames.append(frame.clip(0, 255).astype(np.uint8))
            self.clips.append(np.concatenate(frames))

    def __len__(self):
        return len(self.clips)

    def __getitem__(self, i):
        clip = torch.from_numpy(self.clips[i])
        lowres = F.avg_pool2d(clip.float().unsqueeze(0), 4).squeeze(0)
        return clip, lowres


class SpaceTimeSR(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.head = nn.Conv2d(6, width, 3, padding=1)
        self.body = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1), nn.PReLU(),
            nn.Conv2d(width, width, 3, padding=1), nn.PReLU(),
            nn.Conv2d(width, width, 3, padding=1))
        self.tail = nn.Sequential(nn.Conv2d(width, 9 * 16, 3, padding=1), nn.PixelShuffle(4))

    def forward(self, lowres):
        feat = self.head(lowres)
        feat = feat + self.body(feat)
        return self.tail(feat)


def psnr(pred, gt):
    return -10 * math.log10(((pred - gt) ** 2).mean().item() + 1e-6)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    scores = []
    for clip, lowres in loader:
        imgs = clip / 255.
        lowres = lowres / 255.
        lowres = torch.cat((lowres[:, :3], lowres[:, 6:9]), 1)
        scores.append(psnr(model(lowres), imgs))
    model.train()
    return sum(scores) / len(scores)


train_data = DataLoader(Clips(240), batch_size=12, shuffle=True, drop_last=True)
val_data = DataLoader(Clips(48), batch_size=16)
model = SpaceTimeSR()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-4)
epochs = 12
sched = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * len(train_data))

for epoch in range(epochs):
    running = 0.0
    for clip, lowres in train_data:
        imgs = clip / 255.
        lowres = torch.cat((lowres[:, :3], lowres[:, 6:9]), 1)
        pred = model(lowres)
        loss = (pred - imgs).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        sched.step()
        running += loss.item()
    print(f"epoch {epoch + 1}  l1 {running / len(train_data):.4f}  val psnr {evaluate(model, val_data):.2f}")
