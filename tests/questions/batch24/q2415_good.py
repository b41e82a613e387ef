import math
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)


def spiral(n, classes=3):
    xs, ys = [], []
    for c in range(classes):
        t = torch.linspace(0.1, 1.0, n)
        angle = t * 11.0 + c * 2 * math.pi / classes + torch.randn(n) * 0.12
        xs.append(torch.stack([t * torch.cos(angle), t * torch.sin(angle)], dim=1))
        ys.append(torch.full((n,), c))
    return torch.cat(xs), torch.cat(ys)


class Classifier(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(2, width), nn.ReLU(),
            nn.Linear(width, width), nn.ReLU(),
            nn.Linear(width, 3),
        )

    def forward(self, x):
        return self.body(x)


train_x, train_y = spiral(900)
val_x, val_y = spiral(200)
train_loader = DataLoader(TensorDataset(train_x, train_y), batch_size=32, shuffle=True)
val_loader = DataLoader(TensorDataset(val_x, val_y), batch_size=200)

epochs = 12
max_lr = 6e-3
model = Classifier()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=max_lr)
scheduler = torch.optim.lr_scheduler.OneCycleLR(
    optimizer, max_lr=max_lr, steps_per_epoch=len(train_loader), epochs=epochs,
    anneal_strategy="linear",
)

for epoch in range(epochs):
    model.train()
    total = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step()
        total += loss.item() * len(x)
    if epoch % 3 == 2:
        lr = optimizer.param_groups[0]["lr"]
        print(f"epoch {epoch + 1:2d}  lr {lr:.5f}  train loss {total / len(train_x):.4f}")

model.eval()
right = 0
with torch.no_grad():
    for x, y in val_loader:
        right += (model(x).argmax(dim=1) == y).sum().item()
print(f"last lr {optimizer.param_groups[0]['lr']:.6f}")
print(f"val accuracy {right / len(val_x):.4f}")
