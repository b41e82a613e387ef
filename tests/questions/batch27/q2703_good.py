import math

import torch
import torch.nn as nn

torch.manual_seed(1)
torch.set_num_threads(1)

T, CLASSES = 60, 4
betas = torch.linspace(1e-3, 0.12, T)
alphas = 1 - betas
alphas_bar = torch.cumprod(alphas, 0)
centres = torch.tensor([[2.0, 0.0], [0.0, 2.0], [-2.0, 0.0], [0.0, -2.0]])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.t_emb = nn.Embedding(T, 16)
        self.c_emb = nn.Linear(CLASSES, 16)
        self.net = nn.Sequential(nn.Linear(34, 96), nn.SiLU(), nn.Linear(96, 96), nn.SiLU(), nn.Linear(96, 2))

    def forward(self, x, t, lab):
        return self.net(torch.cat([x, self.t_emb(t), self.c_emb(lab)], 1))


def one_hot(y):
    return torch.nn.functional.one_hot(y, CLASSES).float()


model = Net()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(1500):
    y = torch.randint(0, CLASSES, (128,))
    x0 = centres[y] + 0.7 * torch.randn(128, 2)
    lab = one_hot(y) * (torch.rand(128, 1) > 0.15)
    t = torch.randint(0, T, (128,))
    eps = torch.randn_like(x0)
    ab = alphas_bar[t][:, None]
    loss = ((model(ab.sqrt() * x0 + (1 - ab).sqrt() * eps, t, lab) - eps) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 300 == 299:
        print(f"step {step + 1} loss {loss.item():.4f}")


@torch.no_grad()
def classifier_free(x, t, batch_lab, scale):
    batch_lab_zero = torch.zeros_like(batch_lab)
    pred_cond = model(x, t, batch_lab)
    pred_uncond = model(x, t, batch_lab_zero)
    return (1 + scale) * pred_cond - scale * pred_uncond


@torch.no_grad()
def sample(y, scale):
    g = torch.Generator().manual_seed(7)
    x = torch.randn(len(y), 2, generator=g)
    lab = one_hot(y)
    for i in reversed(range(T)):
        t = torch.full((len(y),), i)
        eps = classifier_free(x, t, lab, scale)
        x = (x - betas[i] / math.sqrt(1 - alphas_bar[i]) * eps) / math.sqrt(alphas[i])
        if i > 0:
            x = x + math.sqrt(betas[i]) * torch.randn(x.shape, generator=g)
    return x


y = torch.arange(CLASSES).repeat(100)
for scale in (0.0, 1.0, 3.0):
    x = sample(y, scale)
    hit = (torch.cdist(x, centres).argmin(1) == y).float().mean().item()
    print(f"guidance {scale}: own class {hit:.3f} mean norm {x.norm(dim=1).mean():.3f} std {x.std(0).mean():.3f}")
