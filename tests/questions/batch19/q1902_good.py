import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)
EPOCHS, STEPS_PER_EPOCH, WARMUP_STEPS = 12, 40, 5
BASE_LR = 0.06


def make_volumes(n, gen):
    depth = torch.linspace(-1, 1, 12)
    z, y, x = torch.meshgrid(depth, depth, depth, indexing="ij")
    centre = torch.rand(n, 3, generator=gen) - 0.5
    tilt = torch.randn(n, 3, generator=gen)
    tilt = tilt / tilt.norm(dim=1, keepdim=True)
    grid = torch.stack([z, y, x])[None] - centre[:, :, None, None, None]
    dist = (grid * tilt[:, :, None, None, None]).sum(1).abs()
    masks = (dist < 0.18).float()[:, None]
    images = masks + 0.9 * torch.randn(masks.shape, generator=gen)
    return images, masks


class SheetNet(nn.Module):
    def __init__(self, width=10):
        super().__init__()
        self.inp = nn.Conv3d(1, width, 3, padding=1)
        self.mid = nn.Conv3d(width, width, 3, padding=2, dilation=2)
        self.out = nn.Conv3d(width, 1, 1)

    def forward(self, x):
        x = F.relu(self.inp(x))
        x = x + F.relu(self.mid(x))
        return self.out(x)


def build_scheduler(optimizer, warmup_steps, max_steps):
    def factor(step):
        if step < warmup_steps:
            return (step + 1) / warmup_steps
        progress = (step - warmup_steps) / max(1, max_steps - warmup_steps)
        return max(0.0, 0.5 * (1 + math.cos(math.pi * progress)))

    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


gen = torch.Generator().manual_seed(5)
train_x, train_y = make_volumes(160, gen)
val_x, val_y = make_volumes(48, gen)
model = SheetNet()
optimizer = torch.optim.Adam(model.parameters(), lr=BASE_LR)
scheduler = build_scheduler(optimizer, WARMUP_STEPS, EPOCHS * STEPS_PER_EPOCH)

rates = []
for epoch in range(EPOCHS):
    running = 0.0
    for step in range(STEPS_PER_EPOCH):
        idx = torch.randint(0, len(train_x), (2,), generator=gen)
        loss = F.binary_cross_entropy_with_logits(model(train_x[idx]), train_y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        rates.append(optimizer.param_groups[0]["lr"])
        running += loss.item()
    print(f"epoch {epoch} loss {running / STEPS_PER_EPOCH:.4f}")

with torch.no_grad():
    prob = model(val_x).sigmoid()
dice = 2 * (prob * val_y).sum() / (prob.sum() + val_y.sum())
print("lr at end of first epochs", [round(rates[(e + 1) * STEPS_PER_EPOCH - 1], 4) for e in range(4)],
      "last", round(rates[-1], 5))
print("lr mean over last epoch", round(sum(rates[-STEPS_PER_EPOCH:]) / STEPS_PER_EPOCH, 4))
print("val dice", round(dice.item(), 4), "val loss",
      round(F.binary_cross_entropy_with_logits(model(val_x), val_y).item(), 4))
