import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(52)


class GatedGenerator(nn.Module):
    def __init__(self, size=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2 * size, 64), nn.ELU(), nn.Linear(64, 64), nn.ELU(), nn.Linear(64, size)
        )

    def forward(self, img, mask):
        return self.net(torch.cat([img * (1 - mask), mask], dim=1))


class PatchDiscriminator(nn.Module):
    def __init__(self, size=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 * size, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))

    def forward(self, img, mask):
        return self.net(torch.cat([img, mask], dim=1))


def make_batch(size=32, length=16):
    grid = torch.linspace(0, 6.28, length)
    img = torch.sin(grid + 6.28 * torch.rand(size, 1)) + 0.3 * torch.sin(
        5 * grid + 6.28 * torch.rand(size, 1)
    )
    mask = torch.zeros(size, length)
    for row in mask:
        start = int(torch.randint(0, length - 5, ()))
        row[start : start + 5] = 1
    return img, mask


generator, discriminator = GatedGenerator(), PatchDiscriminator()
optimizer_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=1e-3, betas=(0.5, 0.999))
L1Loss = nn.L1Loss()

for batch_idx in range(250):
    img, mask = make_batch()

    # Train discriminator
    optimizer_d.zero_grad()
    second_out = generator(img, mask)
    second_out_wholeimg = img * (1 - mask) + second_out * mask
    fake_scalar = discriminator(second_out_wholeimg.detach(), mask)
    true_scalar = discriminator(img, mask)
    loss_d = 0.5 * (F.relu(1 - true_scalar).mean() + F.relu(1 + fake_scalar).mean())
    loss_d.backward()

    # Train generator
    optimizer_g.zero_grad()
    mask_l1 = L1Loss(second_out, img)
    gan_loss = -discriminator(second_out_wholeimg, mask).mean()
    loss = mask_l1 + 0.1 * gan_loss
    loss.backward()
    optimizer_g.step()

    if batch_idx % 50 == 0:
        print(f"{batch_idx}: L1 {mask_l1.item():.4f} D {loss_d.item():.4f} G {gan_loss.item():.4f}")
