"""Fine-tuning a small conditional denoiser with its weights in half precision."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Denoiser(nn.Module):
    def __init__(self, dim=24, width=96, n_prompts=10, n_steps=20):
        super().__init__()
        self.prompt = nn.Embedding(n_prompts, width)
        self.time = nn.Embedding(n_steps, width)
        self.inp = nn.Linear(dim, width)
        self.mid = nn.Sequential(
            nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU()
        )
        self.out = nn.Linear(width, dim)

    def forward(self, x, t, prompt):
        h = self.inp(x) + self.time(t) + self.prompt(prompt)
        return self.out(h + self.mid(h))


def build(use_fp16=True, learning_rate=5e-4, weight_decay=0.0):
    model = Denoiser()
    if use_fp16:
        model = model.half()
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=weight_decay, eps=1e-4)
    return model, optimizer


def train_step(model, optimizer, images, prompts, alphas):
    t = torch.randint(0, len(alphas), (len(images),))
    noise = torch.randn_like(images)
    a = alphas[t].unsqueeze(1)
    noisy = a.sqrt() * images + (1 - a).sqrt() * noise
    dtype = next(model.parameters()).dtype
    pred = model(noisy.to(dtype), t, prompts)
    loss = F.mse_loss(pred, noise.to(dtype))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


images_of_prompt = torch.randn(10, 24)
alphas = torch.linspace(0.98, 0.1, 20)
model, optimizer = build()
log = []
for step in range(200):
    prompts = torch.randint(0, 10, (64,))
    images = images_of_prompt[prompts] + 0.05 * torch.randn(64, 24)
    log.append(train_step(model, optimizer, images, prompts, alphas))
    if step in (0, 1, 2) or step % 50 == 49:
        print(f"step {step}: loss {sum(log[-20:]) / len(log[-20:]):.4f}")
