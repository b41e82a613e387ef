import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(21)

OBS, ACT = 24, 4
expert = nn.Sequential(nn.Linear(OBS, 64), nn.Tanh(), nn.Linear(64, ACT))
for p in expert.parameters():
    p.requires_grad_(False)
expert[0].weight.mul_(2.5)


def demo_batch(n):
    obs = torch.randn(n, OBS)
    return obs, expert(obs) + 0.05 * torch.randn(n, ACT)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(OBS, 128), nn.GELU(), nn.Linear(128, 128), nn.GELU(), nn.Linear(128, ACT)
        )

    def forward(self, obs):
        return self.net(obs)


class Trainer:
    def __init__(self, model, max_train_steps=1200, accumulation=4, warmup=50, lr=8e-4):
        self.model = model
        self.max_train_steps = max_train_steps
        self.accumulation = accumulation
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=1e-4)

        def factor(step):
            if step < warmup:
                return step / warmup
            progress = min(1.0, (step - warmup) / (max_train_steps - warmup))
            return 0.5 * (1 + math.cos(math.pi * progress))

        self.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, factor)

    def train(self):
        completed, micro, lrs = 0, 0, []
        self.optimizer.zero_grad()
        while completed < self.max_train_steps:
            obs, act = demo_batch(32)
            loss = F.mse_loss(self.model(obs), act) / self.accumulation
            loss.backward()
            micro += 1
            if micro % self.accumulation == 0:
                nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                self.optimizer.step()
                self.optimizer.zero_grad()
                completed += 1
                lrs.append(self.optimizer.param_groups[0]["lr"])
                if completed % 200 == 0:
                    print(f"step {completed:4d}  loss {loss.item() * self.accumulation:.4f}  lr {lrs[-1]:.2e}")
                self.lr_scheduler.step()
        return lrs


policy = Policy()
lrs = Trainer(policy).train()
with torch.no_grad():
    obs = torch.randn(4000, OBS)
    err = F.mse_loss(policy(obs), expert(obs)).item()
print(f"eval mse {err:.4f}")
