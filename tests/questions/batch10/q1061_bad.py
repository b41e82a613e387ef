import torch
import torch.nn as nn

torch.manual_seed(0)
SIDE = 8


class CouplingBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.register_buffer("perm", torch.randperm(dim))
        self.scale = nn.Parameter(torch.zeros(dim))
        self.subnet = nn.Sequential(nn.Linear(dim // 2, 64), nn.ReLU(), nn.Linear(64, dim))

    def forward(self, x):
        x = x[:, self.perm] * torch.exp(self.scale)
        a, b = x.chunk(2, dim=1)
        s, t = self.subnet(a).chunk(2, dim=1)
        s = 0.5 * torch.tanh(s)
        return torch.cat([a, b * torch.exp(s) + t], dim=1), s.sum(dim=1) + self.scale.sum()


class INN(nn.Module):
    def __init__(self, dim, blocks=3):
        super().__init__()
        self.blocks = nn.ModuleList([CouplingBlock(dim) for _ in range(blocks)])

    def forward(self, x):
        log_det = 0
        for block in self.blocks:
            x, j = block(x)
            log_det = log_det + j
        return x, log_det


def get_images(batch=128):
    level = torch.rand(batch, 1)
    return (level + 0.2 * torch.randn(batch, SIDE * SIDE)) - 0.5


inn = INN(SIDE * SIDE)
optimizer = torch.optim.Adam(inn.parameters(), lr=5e-3)
for it in range(601):
    z, log_det = inn(get_images())
    loss = torch.mean(z ** 2) / 2 - torch.mean(log_det) / SIDE * SIDE
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 100 == 0:
        print(f"it {it} loss {loss.item():.3f} std of z {z.std().item():.3f}")
