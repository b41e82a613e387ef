import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(21)


class EMAModel:
    def __init__(self, parameters, decay=0.999):
        self.decay = decay
        self.shadow = [p.detach().clone() for p in parameters]
        self.stored = None

    @torch.no_grad()
    def step(self, parameters):
        for s, p in zip(self.shadow, parameters):
            s.mul_(self.decay).add_(p, alpha=1 - self.decay)

    def store(self, parameters):
        self.stored = [p.detach().clone() for p in parameters]

    @torch.no_grad()
    def copy_to(self, parameters):
        for s, p in zip(self.shadow, parameters):
            p.copy_(s)

    @torch.no_grad()
    def restore(self, parameters):
        for s, p in zip(self.stored, parameters):
            p.copy_(s)
        self.stored = None


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 96), nn.SiLU(), nn.Linear(96, 96), nn.SiLU(), nn.Linear(96, 2))

    def forward(self, x, t):
        return self.net(torch.cat([x, t.unsqueeze(1)], dim=1))


def ring(n):
    a = torch.rand(n) * 6.2832
    return torch.stack([a.cos(), a.sin()], dim=1) * 1.5 + 0.05 * torch.randn(n, 2)


def noise_loss(model, clean):
    t = torch.rand(len(clean))
    eps = torch.randn_like(clean)
    noisy = (1 - t).sqrt().unsqueeze(1) * clean + t.sqrt().unsqueeze(1) * eps
    return F.mse_loss(model(noisy, t), eps)


def validate(model, ema, data):
    model.eval()
    ema.store(model.parameters())
    ema.copy_to(model.parameters())
    with torch.no_grad():
        score = sum(noise_loss(model, data).item() for _ in range(5)) / 5
    model.train()
    return score


model = Denoiser()
ema_model = EMAModel(model.parameters(), decay=0.999)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
held_out = ring(2048)

window = []
for step in range(1, 3001):
    loss = noise_loss(model, ring(256))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ema_model.step(model.parameters())
    window.append(loss.item())
    if step % 100 == 0:
        val = validate(model, ema_model, held_out)
        if step % 500 == 0:
            print(f"step {step} train loss {sum(window[-100:]) / 100:.4f} val loss {val:.4f}")

with torch.no_grad():
    final = sum(noise_loss(model, held_out).item() for _ in range(20)) / 20
print(f"final loss of the trained weights {final:.4f}, of the averaged weights {validate(model, ema_model, held_out):.4f}")
