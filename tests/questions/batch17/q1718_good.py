import math

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

torch.manual_seed(0)


class VelocityNet(nn.Module):
    def __init__(self, dim=2, hidden=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(dim + 3, hidden),
            nn.SiLU(),
            nn.Linear(hidden, hidden),
            nn.SiLU(),
            nn.Linear(hidden, dim),
        )

    def forward(self, x, t):
        return self.net(torch.cat([x, t, torch.sin(3 * t), torch.cos(3 * t)], dim=1))


def build_lr_scheduler(optimizer, name, warmup_steps, total_steps):
    if name == "cosine":

        def warmup_cosine(step):
            if step < warmup_steps:
                return step / warmup_steps
            progress = min((step - warmup_steps) / (total_steps - warmup_steps), 1.0)
            return 0.5 * (1 + math.cos(math.pi * progress))

        return LambdaLR(optimizer, warmup_cosine)
    return LambdaLR(optimizer, lambda step: 1.0)


def data_batch(n=256):
    angle = torch.rand(n) * 2 * math.pi
    return torch.stack([angle.cos(), angle.sin()], dim=1) * 2 + 0.05 * torch.randn(n, 2)


def flow_loss(model, x1):
    x0, t = torch.randn_like(x1), torch.rand(len(x1), 1)
    return ((model((1 - t) * x0 + t * x1, t) - (x1 - x0)) ** 2).mean()


total_steps, warmup_steps = 900, 300
model = VelocityNet()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-2, weight_decay=0.0)
scheduler = build_lr_scheduler(optimizer, "cosine", warmup_steps, total_steps)
for step in range(total_steps):
    lr = optimizer.param_groups[0]["lr"]
    loss = flow_loss(model, data_batch())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 150 == 0 or step == total_steps - 1:
        print(f"step {step}: lr {lr:.2e}  loss {loss.item():.3f}")

torch.manual_seed(1)
with torch.no_grad():
    print(f"flow matching loss {flow_loss(model, data_batch(20000)).item():.4f}")
    x = torch.randn(2000, 2)
    for i in range(40):
        x = x + model(x, torch.full((2000, 1), i / 40)) / 40
print(f"distance of the samples to the ring {(x.norm(dim=1) - 2).abs().mean().item():.4f}")
