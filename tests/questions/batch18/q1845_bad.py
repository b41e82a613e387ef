import torch
from torch import nn

torch.manual_seed(5)
H, W = 24, 32


class berHuLoss(nn.Module):
    def forward(self, pred, target):
        huber_c = 0.2 * torch.max(pred - target).detach()
        valid_mask = (target > 0).detach()
        diff = (target - pred)[valid_mask].abs()
        l2 = (diff**2 + huber_c**2) / (2 * huber_c)
        self.huber_c = huber_c
        self.loss = torch.where(diff <= huber_c, diff, l2).mean()
        return self.loss


class FCRN(nn.Module):
    def __init__(self, channels=16):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, channels, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1),
            nn.ReLU(),
        )
        self.decoder = nn.Conv2d(channels, 1, 3, padding=1)

    def forward(self, x):
        return self.decoder(self.encoder(x))


def scenes(n):
    rows = torch.linspace(0, 1, H).view(1, 1, H, 1)
    near, far = 1 + torch.rand(n, 1, 1, 1), 5 + 4 * torch.rand(n, 1, 1, 1)
    depth = (far + (near - far) * rows).expand(n, 1, H, W).clone()
    for i in range(n):
        top, left = torch.randint(0, H - 8, (1,)).item(), torch.randint(0, W - 8, (1,)).item()
        depth[i, :, top : top + 8, left : left + 8] = 1 + 3 * torch.rand(1)
    shade = torch.exp(-depth / 4)
    rgb = torch.cat([shade, shade**2, rows.expand_as(depth)], dim=1) + 0.02 * torch.randn(n, 3, H, W)
    return rgb, depth


train_rgb, train_depth = scenes(96)
val_rgb, val_depth = scenes(32)
model = FCRN()
criterion = berHuLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)


def rmse(rgb, depth):
    with torch.no_grad():
        pred = model(rgb)
    return (pred - depth)[depth > 0].pow(2).mean().sqrt().item()


print(f"before: RMSE {rmse(val_rgb, val_depth):.3f}")
for epoch in range(8):
    total = 0.0
    for batch in torch.randperm(96).split(8):
        loss = criterion(model(train_rgb[batch]), train_depth[batch])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        total += loss.item() / 12
    if (epoch + 1) % 2 == 0:
        print(
            f"epoch {epoch + 1}: loss {total:.4f} c {criterion.huber_c.item():.3f} RMSE {rmse(val_rgb, val_depth):.3f}"
        )
