import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
timesteps = 60
b_t = torch.linspace(1e-3, 0.15, timesteps + 1)
a_t = 1 - b_t
ab_t = torch.cumsum(a_t.log(), dim=0).exp()
ab_t[0] = 1


class ContextNet(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(1, hidden), nn.GELU(), nn.Linear(hidden, hidden))
        self.inp = nn.Linear(2, hidden)
        self.body = nn.Sequential(nn.Linear(hidden, hidden), nn.GELU(), nn.Linear(hidden, hidden), nn.GELU())
        self.out = nn.Linear(hidden, 2)

    def forward(self, x, t):
        return self.out(self.body(self.inp(x) + self.time(t.unsqueeze(1))))


def perturb_input(x, t, noise):
    return ab_t.sqrt()[t, None] * x + (1 - ab_t[t, None]).sqrt() * noise


@torch.no_grad()
def sample_ddpm(net, n):
    x = torch.randn(n, 2)
    for i in range(timesteps, 0, -1):
        t = torch.full((n,), i / timesteps)
        z = torch.randn_like(x) if i > 1 else 0
        eps = net(x, t)
        x = (x - eps * ((1 - a_t[i]) / (1 - ab_t[i]).sqrt())) / a_t[i].sqrt() + b_t.sqrt()[i] * z
    return x


def ring(n):
    angle = 2 * torch.pi * torch.rand(n)
    return torch.stack([angle.cos(), angle.sin()], 1) + 0.03 * torch.randn(n, 2)


net = ContextNet()
optim = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(1, 1001):
    x = ring(128)
    noise = torch.randn_like(x)
    t = torch.randint(1, timesteps + 1, (128,))
    x_pert = perturb_input(x, t, noise)
    pred_noise = net(x_pert, t / timesteps)
    loss = F.mse_loss(pred_noise, noise)
    optim.zero_grad()
    loss.backward()
    optim.step()
    if step % 250 == 0:
        off = (sample_ddpm(net, 500).norm(dim=1) - 1).abs().mean().item()
        print(f"step {step}: loss {loss.item():.4f}, samples off the ring by {off:.3f}")
