import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
EPOCHS, BATCH, SCALE, HI = 24, 16, 2, 24


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.PReLU(), nn.Conv2d(width, width, 3, padding=1))

    def forward(self, x):
        return x + self.body(x)


class Generator(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(1, width, 5, padding=2), nn.PReLU())
        self.body = nn.Sequential(Residual(width), Residual(width))
        self.up = nn.Sequential(nn.Conv2d(width, SCALE ** 2, 3, padding=1), nn.PixelShuffle(SCALE))

    def forward(self, x):
        return self.up(self.body(self.first(x)))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 8, 3, 2, 1), nn.LeakyReLU(0.2),
            nn.Conv2d(8, 16, 3, 2, 1), nn.LeakyReLU(0.2),
            nn.Flatten(), nn.Linear(16 * (HI // 4) ** 2, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


def images(n, gen):
    grid = torch.stack(torch.meshgrid(torch.linspace(0, 1, HI), torch.linspace(0, 1, HI), indexing="ij"))
    freq = torch.rand(n, 2, 1, 1, generator=gen) * 16 - 8
    phase = torch.rand(n, 1, 1, generator=gen) * 6.28
    hi = 0.5 + 0.4 * torch.sin((freq * grid).sum(1) * 2 + phase)
    return hi.unsqueeze(1)


def psnr(a, b):
    return 10 * torch.log10(1 / F.mse_loss(a, b))


gen = torch.Generator().manual_seed(4)
train, test = images(400, gen), images(80, gen)
G, D = Generator(), Discriminator()
opt_g = torch.optim.Adam(G.parameters(), lr=4e-3)
opt_d = torch.optim.Adam(D.parameters(), lr=5e-4)
sched_g = torch.optim.lr_scheduler.StepLR(opt_g, step_size=EPOCHS // 2, gamma=0.1)
sched_d = torch.optim.lr_scheduler.StepLR(opt_d, step_size=EPOCHS // 2, gamma=0.1)

for epoch in range(EPOCHS):
    order = torch.randperm(len(train))
    for i in range(0, len(order), BATCH):
        hi = train[order[i:i + BATCH]]
        lo = F.avg_pool2d(hi, SCALE)
        fake = G(lo)
        real_out, fake_out = D(hi), D(fake.detach())
        d_loss = F.softplus(-real_out).mean() + F.softplus(fake_out).mean()
        opt_d.zero_grad()
        d_loss.backward()
        opt_d.step()

        g_loss = F.mse_loss(fake, hi) + 1e-3 * F.softplus(-D(fake)).mean()
        opt_g.zero_grad()
        g_loss.backward()
        opt_g.step()
        sched_g.step()
        sched_d.step()

with torch.no_grad():
    lo = F.avg_pool2d(test, SCALE)
    print(f"test PSNR {psnr(G(lo), test):.2f} dB")
    print(f"bilinear PSNR {psnr(F.interpolate(lo, scale_factor=SCALE, mode='bilinear'), test):.2f} dB")
    print(f"g_loss {g_loss.item():.5f}  d_loss {d_loss.item():.4f}")
