from contextlib import contextmanager

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class LinearWarmup:
    def __init__(self, optimizer, period):
        self.optimizer = optimizer
        self.period = period
        self.step_no = 0
        self.base = [g["lr"] for g in optimizer.param_groups]
        self.apply()

    def apply(self):
        factor = min(1.0, (self.step_no + 1) / self.period)
        for group, lr in zip(self.optimizer.param_groups, self.base):
            group["lr"] = lr * factor

    @contextmanager
    def dampening(self):
        for group, lr in zip(self.optimizer.param_groups, self.base):
            group["lr"] = lr
        yield
        self.base = [g["lr"] for g in self.optimizer.param_groups]
        self.step_no += 1
        self.apply()


centers = torch.randn(6, 20) * 1.2
labels = torch.randint(0, 6, (4000,))
feats = centers[labels] + torch.randn(4000, 20)
train = DataLoader(TensorDataset(feats[:3200], labels[:3200]), batch_size=64, shuffle=True)
x_test, y_test = feats[3200:], labels[3200:]

model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 6))
criterion = nn.CrossEntropyLoss()
epochs = 20
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2)
lr_scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs * len(train))
warmup_scheduler = LinearWarmup(optimizer, period=100)

for epoch in range(epochs):
    total = 0.0
    for xb, yb in train:
        output = model(xb)
        loss = criterion(output, yb)
        loss.backward()
        optimizer.zero_grad()
        optimizer.step()
        with warmup_scheduler.dampening():
            lr_scheduler.step()
        total += loss.item() * len(xb)
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1:2d}  lr {optimizer.param_groups[0]['lr']:.6f}  loss {total / 3200:.4f}")

model.eval()
with torch.no_grad():
    acc = (model(x_test).argmax(1) == y_test).float().mean().item()
print(f"test accuracy {acc:.3f}")
