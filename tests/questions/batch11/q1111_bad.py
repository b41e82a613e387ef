import torch
import torch.nn as nn
from torch import optim


class LinearLRScheduler:
    """Warm up from almost nothing, then go down to zero on a line."""

    def __init__(self, optimizer, warmup_updates, warmup_rate, max_lr_steps):
        self.optimizer = optimizer
        self.warmup_updates = warmup_updates
        self.warmup_rate = warmup_rate
        self.max_lr_steps = max_lr_steps
        self._number_training_updates = 0
        self.warmup_scheduler = optim.lr_scheduler.LambdaLR(optimizer, self._warmup_lr)
        self.scheduler = optim.lr_scheduler.LambdaLR(optimizer, self._linear_lr)
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"] * warmup_rate

    def _warmup_lr(self, step):
        start = self.warmup_rate
        progress = min(1.0, step / self.warmup_updates)
        return start + (1.0 - start) * progress

    def _linear_lr(self, step):
        return max(0.0, 1.0 - step / self.max_lr_steps)

    def _is_lr_warming_up(self):
        if self.warmup_updates <= 0:
            return False
        last_lr = self.warmup_scheduler.get_last_lr()[0]
        return last_lr < 1.0

    def step(self, num_steps):
        self._number_training_updates = num_steps
        if self._is_lr_warming_up():
            self.warmup_scheduler.step()
        else:
            self.scheduler.step()


class Ranker(nn.Module):
    def __init__(self, dim=32, hidden=64):
        super().__init__()
        self.context = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, dim))
        self.candidate = nn.Linear(dim, dim)

    def forward(self, ctx, cand):
        return self.context(ctx) @ self.candidate(cand).t()


def get_batch(w, n=24):
    ctx = torch.randn(n, w.shape[0])
    return ctx, ctx @ w + 1.5 * torch.randn_like(ctx)


def main():
    torch.manual_seed(21)
    w = torch.randn(32, 32) / 32**0.5
    model = Ranker()
    optimizer = optim.Adam(model.parameters(), lr=5e-3)
    scheduler = LinearLRScheduler(optimizer, warmup_updates=20, warmup_rate=0.01, max_lr_steps=280)
    criterion = nn.CrossEntropyLoss()
    seen = []
    for update in range(1, 301):
        ctx, cand = get_batch(w)
        optimizer.zero_grad()
        loss = criterion(model(ctx, cand), torch.arange(len(ctx)))
        loss.backward()
        optimizer.step()
        scheduler.step(update)
        seen.append(loss.item())
        if update % 50 == 0:
            lr = optimizer.param_groups[0]["lr"]
            print(f"update {update}: lr {lr:.6f}  loss {sum(seen[-50:]) / 50:.4f}")


main()
