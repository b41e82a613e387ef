import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)

HI, LO, NOISE = 16, 4, 4
ripple = torch.tensor([1.0, -1.0, -1.0, 1.0]).repeat(LO)


def pairs(n):
    low = torch.randn(n, LO)
    base = low.repeat_interleave(HI // LO, dim=1)
    sign = torch.where(torch.rand(n, LO) < 0.5, 1.0, -1.0).repeat_interleave(HI // LO, dim=1)
    return low, base + 0.5 * sign * ripple + 0.02 * torch.randn(n, HI)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(LO + NOISE, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, HI)
        )

    def forward(self, low):
        z = torch.randn(low.shape[0], NOISE)
        return low.repeat_interleave(HI // LO, dim=1) + self.net(torch.cat([low, z], 1))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(HI, 128), nn.LeakyReLU(0.2), nn.Linear(128, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1)
        )

    def forward(self, x):
        return self.net(x)


class SRLoss(nn.Module):
    def adv_loss(self, pred, is_real):
        target = torch.zeros_like(pred) if is_real else torch.ones_like(pred)
        return F.binary_cross_entropy_with_logits(pred, target)

    def img_loss(self, hr_real, hr_fake):
        return F.mse_loss(hr_fake, hr_real)

    def forward(self, generator, discriminator, hr_real, lr_real):
        hr_fake = generator(lr_real)
        fake_preds_for_g = discriminator(hr_fake)
        fake_preds_for_d = discriminator(hr_fake.detach())
        real_preds_for_d = discriminator(hr_real)

        g_loss = 0.3 * self.adv_loss(fake_preds_for_g, False) + 0.2 * self.img_loss(hr_real, hr_fake)
        d_loss = 0.5 * (
            self.adv_loss(real_preds_for_d, False)
            + self.adv_loss(fake_preds_for_d, True)
        )
        return g_loss, d_loss, hr_fake


generator, discriminator = Generator(), Discriminator()
g_optimizer = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
d_optimizer = torch.optim.Adam(discriminator.parameters(), lr=1e-3, betas=(0.5, 0.999))
criterion = SRLoss()

for step in range(2500):
    lr_real, hr_real = pairs(128)
    g_loss, d_loss, hr_fake = criterion(generator, discriminator, hr_real, lr_real)

    g_optimizer.zero_grad()
    g_loss.backward()
    g_optimizer.step()

    d_optimizer.zero_grad()
    d_loss.backward()
    d_optimizer.step()
    if step % 500 == 0:
        print(f"step {step} g {g_loss.item():.4f} d {d_loss.item():.4f}")


def detail(x):
    return (x.view(-1, LO, HI // LO) * ripple.view(LO, -1)).mean(-1).abs().mean().item()


with torch.no_grad():
    low, high = pairs(2000)
    fake = generator(low)
    print(f"d loss {d_loss.item():.4f} detail real {detail(high):.3f} fake {detail(fake):.3f}")
