"""A small super-resolution GAN, with a learning-rate schedule for each network."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import lr_scheduler

torch.manual_seed(0)


class Generator(nn.Module):
    def __init__(self, ch=24):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, ch, 3, padding=1),
            nn.LeakyReLU(0.2),
            nn.Conv2d(ch, 4, 3, padding=1),
            nn.PixelShuffle(2),
        )

    def forward(self, x):
        return F.interpolate(x, scale_factor=2, mode="nearest") + self.body(x)


class Discriminator(nn.Module):
    def __init__(self, ch=16):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, ch, 3, stride=2, padding=1),
            nn.LeakyReLU(0.2),
            nn.Conv2d(ch, ch, 3, stride=2, padding=1),
            nn.LeakyReLU(0.2),
            nn.Flatten(),
            nn.Linear(ch * 9, 1),
        )

    def forward(self, x):
        return self.body(x)


def define_optimizer(d_model, g_model):
    d_optimizer = torch.optim.Adam(d_model.parameters(), 1e-3, (0.9, 0.99))
    g_optimizer = torch.optim.Adam(g_model.parameters(), 1e-3, (0.9, 0.99))
    return d_optimizer, g_optimizer


def define_scheduler(d_optimizer, g_optimizer, milestones=(3, 6), gamma=0.5):
    d_scheduler = lr_scheduler.MultiStepLR(g_optimizer, milestones, gamma)
    g_scheduler = lr_scheduler.MultiStepLR(g_optimizer, milestones, gamma)
    return d_scheduler, g_scheduler


g_model, d_model = Generator(), Discriminator()
d_optimizer, g_optimizer = define_optimizer(d_model, g_model)
d_scheduler, g_scheduler = define_scheduler(d_optimizer, g_optimizer)
adversarial = nn.BCEWithLogitsLoss()

for epoch in range(9):
    for _ in range(20):
        coarse = torch.rand(16, 1, 3, 3)
        gt = F.interpolate(coarse, size=(12, 12), mode="bicubic", align_corners=False)
        lr = F.avg_pool2d(gt, 2)
        real, fake = torch.ones(16, 1), torch.zeros(16, 1)

        sr = g_model(lr)
        g_loss = F.l1_loss(sr, gt) + 0.005 * adversarial(d_model(sr), real)
        g_optimizer.zero_grad()
        g_loss.backward()
        g_optimizer.step()

        d_loss = adversarial(d_model(gt), real) + adversarial(d_model(sr.detach()), fake)
        d_optimizer.zero_grad()
        d_loss.backward()
        d_optimizer.step()
    d_scheduler.step()
    g_scheduler.step()
    lrs = d_optimizer.param_groups[0]["lr"], g_optimizer.param_groups[0]["lr"]
    print(f"epoch {epoch}: G {g_loss.item():.4f} D {d_loss.item():.4f} lr D {lrs[0]:.6f} lr G {lrs[1]:.6f}")
