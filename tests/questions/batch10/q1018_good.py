import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class EpsModel(nn.Module):
    def __init__(self, dim=2, hidden=96):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(dim + 16, hidden), nn.SiLU(),
            nn.Linear(hidden, hidden), nn.SiLU(),
            nn.Linear(hidden, dim),
        )

    def forward(self, x, t):
        ang = t.unsqueeze(1) * torch.exp(torch.linspace(0, 4, 8))
        return self.net(torch.cat([x, ang.sin(), ang.cos()], dim=1))


class DiffusionSampler:
    def __init__(self, timesteps=1000):
        self.timesteps = timesteps
        self.betas = torch.linspace(1e-4, 0.02, timesteps)
        self.alphas = 1 - self.betas
        self.alpha_bar = torch.cumprod(self.alphas, 0)

    def training_loss(self, model, x0):
        t = torch.randint(self.timesteps, (len(x0),))
        noise = torch.randn_like(x0)
        ab = self.alpha_bar[t].unsqueeze(1)
        xt = ab.sqrt() * x0 + (1 - ab).sqrt() * noise
        return F.mse_loss(model(xt, t / self.timesteps), noise)

    @torch.no_grad()
    def sample(self, model, n):
        x = torch.randn(n, 2)
        for i in reversed(range(self.timesteps)):
            t = torch.full((n,), i / self.timesteps)
            eps = model(x, t)
            x = (x - self.betas[i] / (1 - self.alpha_bar[i]).sqrt() * eps) / self.alphas[i].sqrt()
            if i > 0:
                x = x + self.betas[i].sqrt() * torch.randn_like(x)
        return x


def designs(n=256):
    centers = torch.tensor([[9.0, 9.0], [9.0, 3.0]])
    return centers[(torch.rand(n) < 0.3).long()] + 0.3 * torch.randn(n, 2)


model, diffusion = EpsModel(), DiffusionSampler()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for step in range(1500):
    loss = diffusion.training_loss(model, designs())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 500 == 499:
        print(f"step {step + 1}  loss {loss.item():.4f}")
x = diffusion.sample(model, 1000)
ref = designs(1000)
print("mean of the samples", [round(v, 2) for v in x.mean(0).tolist()], " of the designs", [round(v, 2) for v in ref.mean(0).tolist()])
print(f"samples near a design {(torch.cdist(x, ref).min(1).values < 0.3).float().mean().item():.3f}")
