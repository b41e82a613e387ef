import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(6)
torch.set_num_threads(1)


class VQ(nn.Module):
    def __init__(self, n=32, dim=8, beta=0.25):
        super().__init__()
        self.embedding = nn.Embedding(n, dim)
        self.beta = beta

    def forward(self, z):
        flat = z.permute(0, 2, 3, 1).reshape(-1, z.size(1))
        idx = torch.cdist(flat, self.embedding.weight).argmin(1)
        q = self.embedding(idx).view(z.size(0), z.size(2), z.size(3), -1).permute(0, 3, 1, 2)
        loss = F.mse_loss(q, z.detach()) + self.beta * F.mse_loss(z, q.detach())
        return z + (q - z).detach(), loss


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 16, 4, 2, 1), nn.ReLU(), nn.Conv2d(16, 8, 3, 1, 1))
        self.quantizer = VQ()
        self.decoder = nn.Sequential(nn.Conv2d(8, 16, 3, 1, 1), nn.ReLU(), nn.ConvTranspose2d(16, 1, 4, 2, 1))

    def forward(self, x):
        z, q_loss = self.quantizer(self.encoder(x))
        return self.decoder(z), q_loss


def make_images(n):
    t = torch.linspace(0, 6.28, 16)
    f = torch.randint(1, 4, (n, 1, 1)).float()
    ph = 6.28 * torch.rand(n, 1, 1)
    img = torch.sin(f * t[None, None, :] + ph) * torch.cos(f * t[None, :, None])
    return (img + 0.1 * torch.randn(n, 16, 16)).unsqueeze(1)


train_loader = DataLoader(TensorDataset(make_images(320)), batch_size=32, shuffle=True)

model = VQVAE()
discriminator = nn.Sequential(nn.Conv2d(1, 16, 4, 2, 1), nn.LeakyReLU(0.2),
                              nn.Conv2d(16, 32, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(32, 1, 3, 1, 1))
optimizer_g = torch.optim.Adam(model.parameters(), lr=1e-3)
optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=5e-4)
l1 = nn.L1Loss()
adv_weight = 0.05


def adv_loss(logits, target_is_real):
    target = torch.ones_like(logits) if target_is_real else torch.zeros_like(logits)
    return F.mse_loss(logits, target)


for epoch in range(12):
    epoch_rec, epoch_gen, epoch_disc = 0.0, 0.0, 0.0
    for (images,) in train_loader:
        optimizer_g.zero_grad(set_to_none=True)
        reconstruction, q_loss = model(images)
        logits_fake = discriminator(reconstruction)
        rec = l1(reconstruction, images)
        gen = adv_loss(logits_fake, True)
        loss_g = rec + q_loss + adv_weight * gen
        loss_g.backward()
        optimizer_g.step()

        logits_fake = discriminator(reconstruction.detach())
        loss_d_fake = adv_loss(logits_fake, False)
        logits_real = discriminator(images)
        loss_d_real = adv_loss(logits_real, True)
        loss_d = (loss_d_fake + loss_d_real) * 0.5
        loss_d.backward()
        optimizer_d.step()

        epoch_rec += rec.item()
        epoch_gen += gen.item()
        epoch_disc += loss_d.item()
    n = len(train_loader)
    print(f"epoch {epoch}  rec {epoch_rec / n:.4f}  gen {epoch_gen / n:.4f}  disc {epoch_disc / n:.4f}")
