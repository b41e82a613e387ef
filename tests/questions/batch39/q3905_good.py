import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def tensor2img(t):
    return (t.clamp(0, 1) * 255.0).round().byte().permute(1, 2, 0).numpy()


def calculate_psnr(img1, img2, crop_border):
    assert img1.shape == img2.shape
    if crop_border:
        img1 = img1[crop_border:-crop_border, crop_border:-crop_border]
        img2 = img2[crop_border:-crop_border, crop_border:-crop_border]
    mse = np.mean((img1.astype(np.float64) - img2.astype(np.float64)) ** 2)
    if mse == 0:
        return float("inf")
    return 20.0 * np.log10(255.0 / np.sqrt(mse))


class SRNet(nn.Module):
    def __init__(self, scale=2, width=16):
        super().__init__()
        self.scale = scale
        self.body = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, 3 * scale ** 2, 3, padding=1))

    def forward(self, x):
        up = F.interpolate(x, scale_factor=self.scale, mode="bilinear", align_corners=False)
        return up + F.pixel_shuffle(self.body(x), self.scale)


def make(n, g):
    coarse = torch.rand(n, 3, 8, 8, generator=g)
    img = F.interpolate(coarse, size=32, mode="bicubic", align_corners=False).clamp(0, 1)
    edge = (F.interpolate(torch.rand(n, 1, 6, 6, generator=g), size=32, mode="bicubic", align_corners=False) > 0.6).float()
    return (0.7 * img + 0.3 * edge).clamp(0, 1)


torch.manual_seed(0)
g = torch.Generator().manual_seed(0)
gt, val_gt = make(200, g), make(20, g)
lq, val_lq = F.avg_pool2d(gt, 2), F.avg_pool2d(val_gt, 2)

net = SRNet()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
for it in range(241):
    idx = torch.randint(0, len(gt), (16,), generator=g)
    loss = F.l1_loss(net(lq[idx]), gt[idx])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 60 == 0:
        with torch.no_grad():
            out = net(val_lq)
        psnr = np.mean([calculate_psnr(tensor2img(a), tensor2img(b), 2) for a, b in zip(out, val_gt)])
        print(f"iter {it} l_pix {loss.item():.4f} validation l1 {F.l1_loss(out, val_gt):.4f} psnr {psnr:.2f}")
