import math
from contextlib import contextmanager

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import LambdaLR


class LinearWarmup:
    """Multiplies the learning rates that a schedule gives by a factor that grows to one."""

    def __init__(self, optimizer, period):
        self.optimizer, self.period, self.last_step = optimizer, period, -1
        self.lrs = [group["lr"] for group in optimizer.param_groups]
        self.dampen()

    def dampen(self):
        self.last_step += 1
        omega = min(1.0, (self.last_step + 1) / self.period)
        for group in self.optimizer.param_groups:
            group["lr"] *= omega

    @contextmanager
    def dampening(self):
        for group, lr in zip(self.optimizer.param_groups, self.lrs):
            group["lr"] = lr
        yield
        self.lrs = [group["lr"] for group in self.optimizer.param_groups]
        self.dampen()


def spirals(n, generator):
    arm = torch.randint(2, (n,), generator=generator)
    r = torch.rand(n, generator=generator).sqrt()
    angle = 5 * r + torch.pi * arm
    x = torch.stack([r * angle.cos(), r * angle.sin()], dim=1)
    return x + 0.02 * torch.randn(n, 2, generator=generator), arm


def main(steps=1200, warmup_steps=100):
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    x, y = spirals(2000, generator)
    model = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    scheduler = LambdaLR(optimizer, lambda step: 0.5 + 0.5 * math.cos(math.pi * step / steps))
    warmup = LinearWarmup(optimizer, warmup_steps)
    for step in range(steps):
        rows = torch.randint(len(x), (64,), generator=generator)
        loss = F.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 200 == 199 or step == 0:
            with torch.no_grad():
                acc = (model(x).argmax(1) == y).float().mean()
            print(f"step {step + 1}: lr {optimizer.param_groups[0]['lr']:.6f}  loss {loss.item():.4f}  accuracy {acc:.3f}")
        with warmup.dampening():
            scheduler.step()


if __name__ == "__main__":
    main()
