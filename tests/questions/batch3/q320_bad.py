import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(13)


class Denoiser(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(dim + 1, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, dim)
        )

    def forward(self, x, t):
        return self.net(torch.cat([x, t[:, None]], dim=1))


def diffusion_loss(model, x_start):
    t = torch.rand(len(x_start))
    noise = torch.randn_like(x_start)
    noisy = (1 - t[:, None]).sqrt() * x_start + t[:, None].sqrt() * noise
    return F.mse_loss(model(noisy, t), noise)


def train_step(model, opt, x, bfloat_enable):
    if bfloat_enable:
        with torch.amp.autocast("cpu", dtype=torch.bfloat16):
            loss = diffusion_loss(model, x)
        loss.backward()
        opt.step()
    else:
        loss = diffusion_loss(model, x)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


basis = torch.randn(3, 16)
model = Denoiser()
opt = torch.optim.SGD(model.parameters(), lr=0.05)
running = 0.0
for step in range(500):
    x = torch.randn(128, 3) @ basis
    running += train_step(model, opt, x, bfloat_enable=True)
    if (step + 1) % 100 == 0:
        print(f"step {step + 1}: train loss {running / 100:.4f}")
        running = 0.0
