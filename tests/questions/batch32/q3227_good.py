import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 5))

    def forward(self, x):
        return self.net(x)


def cosine_with_warmup(optimizer, warmup, total):
    def factor(step):
        if step < warmup:
            return (step + 1) / warmup
        progress = min(1.0, (step - warmup) / max(1, total - warmup))
        return 0.5 * (1 + math.cos(math.pi * progress))

    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


class Trainer:
    def __init__(self, model, loader, epochs=8, mini_batch=25):
        self.model, self.loader = model, loader
        self.epochs, self.mini_batch = epochs, mini_batch
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
        self.total_steps = epochs * len(loader)
        self.scheduler = cosine_with_warmup(self.optimizer, 10, self.total_steps)

    def step_training(self, x, y):
        self.optimizer.zero_grad()
        parts = list(zip(x.split(self.mini_batch), y.split(self.mini_batch)))
        total = 0.0
        for part_x, part_y in parts:
            loss = F.cross_entropy(self.model(part_x), part_y) / len(parts)
            loss.backward()
            total += loss.item()
        self.optimizer.step()
        self.scheduler.step()
        return total

    def main_loop(self):
        for epoch in range(self.epochs):
            losses = [self.step_training(x, y) for x, y in self.loader]
            print(
                f"epoch {epoch} loss {sum(losses) / len(losses):.4f} "
                f"lr {self.scheduler.get_last_lr()[0]:.6f}"
            )


def data(n, w):
    x = torch.randn(n, 20)
    return TensorDataset(x, torch.tanh(x @ w).argmax(1))


if __name__ == "__main__":
    w = torch.randn(20, 5)
    model = Classifier()
    Trainer(model, DataLoader(data(2000, w), batch_size=100, shuffle=True)).main_loop()
    test = data(1000, w)
    with torch.no_grad():
        acc = (model(test.tensors[0]).argmax(1) == test.tensors[1]).float().mean().item()
    print("test accuracy", acc)
