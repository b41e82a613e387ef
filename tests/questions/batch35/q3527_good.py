import torch
import torch.nn as nn

torch.manual_seed(6)


class Generator(nn.Module):
    def __init__(self, nz, nf):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(nz, nf), nn.ReLU(), nn.Linear(nf, nf), nn.ReLU(), nn.Linear(nf, 16)
        )

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self, nf):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(16, nf), nn.LeakyReLU(0.2), nn.Linear(nf, nf), nn.LeakyReLU(0.2), nn.Linear(nf, 1)
        )

    def forward(self, x):
        return self.main(x).squeeze(1)


class Trainer:
    def __init__(self, nz=8, nf=64, lr=5e-3):
        self.nz = nz
        self.netG = Generator(nz, nf)
        self.netD = Discriminator(nf)
        self.criterion = nn.BCEWithLogitsLoss()
        self.optimizerD = torch.optim.Adam(self.netD.parameters(), lr=lr, betas=(0.5, 0.999))
        self.optimizerG = torch.optim.Adam(self.netG.parameters(), lr=lr, betas=(0.5, 0.999))

    def real_batch(self, size):
        centre = torch.linspace(90, 180, 16)
        return centre + torch.randn(size, 1) * 12 + torch.randn(size, 16) * 4

    def train_d(self, real, fake):
        self.optimizerD.zero_grad()
        output = self.netD(real)
        errD_real = self.criterion(output, torch.ones_like(output))
        output = self.netD(fake.detach())
        errD_fake = self.criterion(output, torch.zeros_like(output))
        errD = errD_real + errD_fake
        errD.backward()
        self.optimizerD.step()
        return errD.item()

    def train_g(self, fake):
        self.optimizerG.zero_grad()
        output = self.netD(fake)
        errG = self.criterion(output, torch.ones_like(output))
        errG.backward()
        self.optimizerG.step()
        return errG.item()

    def warm_up(self, steps, batch=64):
        for _ in range(steps):
            errD = self.train_d(self.real_batch(batch), self.netG(torch.randn(batch, self.nz)))
        print(f"Loss_D after warm up: {errD:.6f}")

    def fit(self, steps, batch=64):
        for step in range(steps):
            real = self.real_batch(batch)
            fake = self.netG(torch.randn(batch, self.nz))
            errD = self.train_d(real, fake)
            errG = self.train_g(fake)
            if step % 100 == 0 or step == steps - 1:
                gap = (fake.mean(0) - real.mean(0)).abs().mean().item()
                print(f"[{step}/{steps}] Loss_D: {errD:.4f} Loss_G: {errG:.4f} gap of means {gap:.2f}")


trainer = Trainer()
trainer.warm_up(100)
trainer.fit(300)
