import torch
import torch.nn as nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten()
        )
        self.fc = nn.Linear(32, dim)

    def forward(self, image):
        return self.fc(self.net(image))


class Generator(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.fc = nn.Linear(2 * dim, 8 * 4 * 4)
        self.up = nn.Sequential(
            nn.ConvTranspose2d(8, 8, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(8, 1, 4, 2, 1)
        )

    def forward(self, f, z):
        return torch.tanh(self.up(F.relu(self.fc(torch.cat([f, z], 1))).view(-1, 8, 4, 4)))


class Discriminator(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 8, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(8, 8, 4, 2, 1), nn.Flatten()
        )
        self.fc = nn.Linear(8 * 4 * 4 + dim, 1)

    def forward(self, spec, f):
        return self.fc(torch.cat([self.conv(spec), f], 1))


class Image2Reverb:
    def __init__(self, lambda_l1=1.0):
        self.enc, self.g, self.d = Encoder(), Generator(), Discriminator()
        self.g_opt = torch.optim.Adam(
            [*self.enc.parameters(), *self.g.parameters()], lr=4e-4, betas=(0.0, 0.99)
        )
        self.d_opt = torch.optim.Adam(self.d.parameters(), lr=2e-4, betas=(0.0, 0.99))
        self.lambda_l1 = lambda_l1

    def training_step(self, image, spec, optimizer_idx):
        f = self.enc(image)
        z = torch.randn_like(f)
        fake_spec = self.g(f, z)
        if optimizer_idx == 0:
            d_fake = self.d(fake_spec, f)
            G_loss1 = F.mse_loss(d_fake, torch.ones_like(d_fake))
            G_loss2 = F.l1_loss(fake_spec, spec)
            return G_loss1 + self.lambda_l1 * G_loss2, {"G1": G_loss1, "G2": G_loss2}
        d_fake = self.d(fake_spec.detach(), f.detach())
        d_real = self.d(spec, f.detach())
        D_loss = 0.5 * (
            F.mse_loss(d_fake, torch.zeros_like(d_fake)) + F.mse_loss(d_real, torch.ones_like(d_real))
        )
        return D_loss, {"D": D_loss, "D_real": d_real.mean()}

    def fit(self, epochs, steps=20):
        for epoch in range(epochs):
            for _ in range(steps):
                image, spec = make_batch(16)
                logs = {}
                for idx, opt in enumerate((self.g_opt, self.d_opt)):
                    loss, log = self.training_step(image, spec, idx)
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
                    logs.update(log)
            print(epoch, {k: round(float(v), 4) for k, v in logs.items()})


def make_batch(n):
    image = torch.rand(n, 3, 16, 16)
    decay = 1 + 5 * image.mean((1, 2, 3)).view(n, 1, 1, 1)
    t = torch.linspace(0, 1, 16).view(1, 1, 1, 16)
    spec = torch.exp(-decay * t).expand(n, 1, 16, 16) * 2 - 1 + 0.1 * torch.randn(n, 1, 16, 16)
    return image, spec.clamp(-1, 1)


torch.manual_seed(0)
Image2Reverb().fit(8)
