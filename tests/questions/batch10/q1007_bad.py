import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Codec(nn.Module):
    def __init__(self, latent=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 64), nn.ELU(), nn.Linear(64, latent))
        self.decoder = nn.Sequential(nn.Linear(latent, 64), nn.ELU(), nn.Linear(64, 64), nn.Tanh())

    def forward(self, audio):
        return self.decoder(self.encoder(audio))


class WaveDiscriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(1, 16, 9, stride=2, padding=4), nn.LeakyReLU(0.2),
            nn.Conv1d(16, 32, 9, stride=2, padding=4), nn.LeakyReLU(0.2),
            nn.Conv1d(32, 1, 3, padding=1),
        )

    def forward(self, audio):
        return self.layers(audio.unsqueeze(1)).squeeze(1)


def speech(n=32):
    t = torch.arange(64) / 64
    f = torch.rand(n, 1) * 4 + 2
    ph = torch.rand(n, 1) * 2 * math.pi
    return 0.7 * torch.sin(2 * math.pi * f * t + ph) + 0.2 * torch.randn(n, 64)


class CodecTrainer:
    def __init__(self):
        self.gen, self.disc = Codec(), WaveDiscriminator()
        self.optim_gen = torch.optim.Adam(self.gen.parameters(), lr=1e-3, betas=(0.5, 0.9))
        self.optim_disc = torch.optim.Adam(self.disc.parameters(), lr=1e-3, betas=(0.5, 0.9))

    def training_step(self, audio):
        audio_gen = self.gen(audio)

        real, fake = self.disc(audio), self.disc(audio_gen.detach())
        loss_disc = F.relu(1 - real).mean() + F.relu(1 + fake).mean()
        loss_disc.backward()
        self.optim_disc.step()
        self.optim_disc.zero_grad()

        self.optim_gen.zero_grad()
        loss_adv = -self.disc(audio_gen).mean()
        loss_mel = F.l1_loss(audio_gen, audio)
        loss_gen = 4.0 * loss_adv + loss_mel
        loss_gen.backward()
        self.optim_gen.step()
        return loss_disc.item(), loss_adv.item(), loss_mel.item(), (real.mean() - fake.mean()).item()


trainer = CodecTrainer()
for step in range(300):
    d, adv, mel, gap = trainer.training_step(speech())
    if step % 50 == 0 or step == 299:
        print(f"step {step:3d}  disc {d:8.3f}  adv {adv:8.3f}  l1 {mel:.3f}  real-fake score gap {gap:7.3f}")
