import resource

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(9)


class Generator(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.block1 = nn.Sequential(nn.Conv2d(3, width, 5, padding=2), nn.PReLU())
        self.block2 = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.PReLU())
        self.block3 = nn.Sequential(nn.Conv2d(width, 12, 3, padding=1), nn.PixelShuffle(2))

    def forward(self, x):
        x = self.block1(x)
        x = x + self.block2(x)
        return (torch.tanh(self.block3(x)) + 1) / 2


def smooth_images(n, size):
    return torch.sigmoid(F.interpolate(2 * torch.randn(n, 3, 6, 6), size=size, mode="bicubic"))


train_hr = smooth_images(48, 32)
val_hr = [smooth_images(1, 160) for _ in range(30)]
netG = Generator()
optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-3)


def memory_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


for epoch in range(2):
    netG.train()
    running = 0.0
    for i in range(0, 48, 8):
        target = train_hr[i:i + 8]
        fake = netG(F.avg_pool2d(target, 2))
        loss = F.mse_loss(fake, target)
        netG.zero_grad()
        loss.backward()
        optimizerG.step()
        running += loss.item()
    before = memory_mb()
    netG.eval()
    results = {"mse": 0, "psnr": 0, "batch_sizes": 0}
    for hr in val_hr:
        sr = netG(F.avg_pool2d(hr, 2))
        results["batch_sizes"] += hr.shape[0]
        batch_mse = ((sr - hr) ** 2).mean()
        results["mse"] += batch_mse * hr.shape[0]
        results["psnr"] = 10 * torch.log10(results["batch_sizes"] / results["mse"])
    print(f"epoch {epoch} train mse {running / 6:.5f} val psnr {float(results['psnr']):.2f} dB "
          f"peak memory before validation {before} MB after {memory_mb()} MB")
