from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR

torch.manual_seed(0)


@dataclass
class Config:
    lr: float = 0.08
    warmup_steps: int = 15
    cosine_decay_max_steps: int = 600
    steps: int = 600


class Unet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(12, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 4))

    def forward(self, x):
        return self.net(x)


class ImagenTrainer:
    def __init__(self, unet, config):
        self.unet, self.config = unet, config
        self.optimizer = torch.optim.SGD(unet.parameters(), lr=config.lr, momentum=0.9)
        self.warmup = LinearLR(self.optimizer, start_factor=0.1, total_iters=config.warmup_steps)
        self.scheduler = CosineAnnealingLR(self.optimizer, T_max=config.warmup_steps)
        self.step_count = 0

    def update(self, x, y):
        loss = F.mse_loss(self.unet(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.step_count += 1
        if self.step_count <= self.config.warmup_steps:
            self.warmup.step()
        else:
            self.scheduler.step()
        return loss.item()


def main():
    config = Config()
    teacher = torch.randn(12, 4) / 2
    trainer = ImagenTrainer(Unet(), config)
    rates, total = [], 0.0
    for step in range(1, config.steps + 1):
        x = torch.randn(16, 12)
        y = torch.sin(x @ teacher) + 0.3 * torch.randn(16, 4)
        total += trainer.update(x, y)
        rates.append(trainer.optimizer.param_groups[0]["lr"])
        if step % 100 == 0:
            shown = " ".join(f"{rate:.3f}" for rate in rates[-30::5])
            print(f"step {step}: loss {total / 100:.4f} learning rates of the last steps {shown}")
            total = 0.0
    x = torch.randn(4000, 12)
    with torch.no_grad():
        print(f"error without noise: {F.mse_loss(trainer.unet(x), torch.sin(x @ teacher)).item():.4f}")


if __name__ == "__main__":
    main()
