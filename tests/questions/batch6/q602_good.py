import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class NoisePredictor(nn.Module):
    def __init__(self, dim=8, hidden=64):
        super().__init__()
        self.time = nn.Embedding(50, hidden)
        self.inp = nn.Linear(dim, hidden)
        self.mid = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, dim)

    def forward(self, x, t):
        h = F.silu(self.inp(x) + self.time(t))
        h = F.silu(self.mid(h))
        return self.out(h)


class Runner:
    def __init__(self, steps=400):
        self.steps = steps
        self.unet = NoisePredictor()
        betas = torch.linspace(1e-3, 0.2, 50)
        self.alphas = torch.cumprod(1 - betas, 0)
        self.optimizer = torch.optim.AdamW(self.unet.parameters(), lr=2e-3)
        warmup = 20
        self.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda step: min(1.0, (step + 1) / warmup)
        )

    def compute_loss(self, latents):
        t = torch.randint(0, 50, (latents.size(0),))
        noise = torch.randn_like(latents)
        a = self.alphas[t].unsqueeze(1)
        noisy = a.sqrt() * latents + (1 - a).sqrt() * noise
        return F.mse_loss(self.unet(noisy, t), noise)

    def train(self, data):
        running = 0.0
        for step in range(1, self.steps + 1):
            batch = data[torch.randint(0, data.size(0), (64,))]
            loss = self.compute_loss(batch)
            loss.backward()
            nn.utils.clip_grad_norm_(self.unet.parameters(), 1.0)
            self.optimizer.step()
            self.lr_scheduler.step()
            self.optimizer.zero_grad()
            running += loss.item()
            if step % 80 == 0:
                print(f"step {step}: loss {running / 80:.4f}")
                running = 0.0


latents = torch.randn(1000, 2) @ torch.randn(2, 8)
Runner().train(latents)
