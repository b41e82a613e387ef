import torch
import torch.nn as nn
import torch.nn.functional as F


def loss_hinge_disc(score_generated, score_real):
    return F.relu(1.0 - score_real).mean() + F.relu(1.0 + score_generated).mean()


def loss_hinge_gen(score_generated):
    return -torch.mean(score_generated)


def grid_cell_regularizer(generated, targets):
    weights = torch.clip(targets, 0.0, 24.0) + 1.0
    return torch.mean(torch.abs(generated - targets) * weights)


class Sampler(nn.Module):
    def __init__(self, past=4, future=6, width=64):
        super().__init__()
        self.z_dim = 8
        self.net = nn.Sequential(nn.Linear(past + self.z_dim, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, future))

    def forward(self, images):
        z = torch.randn(len(images), self.z_dim)
        return self.net(torch.cat([images, z], dim=1))


class Discriminator(nn.Module):
    def __init__(self, length=10, width=64):
        super().__init__()
        self.net = nn.Sequential(nn.utils.parametrizations.spectral_norm(nn.Linear(length, width)), nn.ReLU(),
                                 nn.utils.parametrizations.spectral_norm(nn.Linear(width, width)), nn.ReLU(),
                                 nn.utils.parametrizations.spectral_norm(nn.Linear(width, 1)))

    def forward(self, sequences):
        return self.net(sequences)


def radar(n, g):
    t = torch.arange(10).float()
    phase, amp = 6.28 * torch.rand(n, 1, generator=g), 0.5 + torch.rand(n, 1, generator=g)
    return amp * (1 + torch.sin(0.7 * t + phase)) + 0.05 * torch.randn(n, 10, generator=g)


torch.manual_seed(0)
g = torch.Generator().manual_seed(0)
generator, discriminator = Sampler(), Discriminator()
opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.0, 0.999))
opt_d = torch.optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.0, 0.999))
lam, num_samples = 0.25, 3
for step in range(601):
    sequence = radar(64, g)
    images, future = sequence[:, :4], sequence[:, 4:]
    for _ in range(2):
        predictions = generator(images).detach()
        score_generated = discriminator(torch.cat([images, predictions], dim=1))
        score_real = discriminator(torch.cat([images, future], dim=1))
        discriminator_loss = loss_hinge_disc(score_generated, score_real)
        opt_d.zero_grad()
        discriminator_loss.backward()
        opt_d.step()

    predictions = [generator(images) for _ in range(num_samples)]
    grid_cell_reg = grid_cell_regularizer(torch.stack(predictions).mean(0), future)
    generated_sequence = [torch.cat([images, x], dim=1) for x in predictions]
    generator_disc_loss = loss_hinge_gen(discriminator(torch.cat(generated_sequence, dim=0)))
    generator_loss = generator_disc_loss + lam * grid_cell_reg
    opt_g.zero_grad()
    generator_loss.backward()
    opt_g.step()
    if step % 100 == 0:
        print(f"step {step} d_loss {discriminator_loss.item():.3f} g_loss {generator_loss.item():.3f} grid {grid_cell_reg.item():.3f} "
              f"mean of the forecast {predictions[0].mean().item():.3f} mean of the radar {future.mean().item():.3f}")
