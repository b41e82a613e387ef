import torch
import torch.nn as nn

torch.manual_seed(2)


class PointNetSmall(nn.Module):
    def __init__(self, n_class=4):
        super().__init__()
        self.mlp1 = nn.Sequential(nn.Conv1d(3, 64, 1), nn.ReLU(), nn.Conv1d(64, 96, 1), nn.ReLU())
        self.mlp2 = nn.Sequential(nn.Linear(96, 128), nn.ReLU(), nn.Linear(128, n_class))

    def forward(self, pts):
        return self.mlp2(self.mlp1(pts).max(dim=2).values)


def clouds(n):
    label = torch.randint(0, 4, (n,))
    scale = 1.0 + 0.12 * label.float()
    pts = torch.randn(n, 3, 24) * scale[:, None, None]
    flip = torch.rand(n) < 0.15
    label = torch.where(flip, torch.randint(0, 4, (n,)), label)
    return pts, label


x_train, y_train = clouds(300)
x_val, y_val = clouds(100)
x_test, y_test = clouds(1000)

model = PointNetSmall()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)


def batches(x, y, size):
    for idx in torch.randperm(len(x)).split(size):
        yield x[idx], y[idx]


for epoch in range(36):
    model.train()
    train_loss = train_hit = 0
    for pts, label in batches(x_train, y_train, 20):
        optimizer.zero_grad()
        out = model(pts)
        loss = criterion(out, label)
        loss.backward()
        optimizer.step()
        train_loss += loss.item()
        train_hit += (out.argmax(1) == label).sum().item()

    model.eval()
    val_loss = val_hit = 0
    for pts, label in batches(x_val, y_val, 20):
        optimizer.zero_grad()
        out = model(pts)
        loss = criterion(out, label)
        loss.backward()
        optimizer.step()
        val_loss += loss.item()
        val_hit += (out.argmax(1) == label).sum().item()
    if (epoch + 1) % 6 == 0:
        print(f"epoch {epoch + 1} train loss {train_loss / 15:.3f} acc {train_hit / 300:.3f}"
              f" val loss {val_loss / 5:.3f} acc {val_hit / 100:.3f}")

with torch.no_grad():
    print("test acc", round((model(x_test).argmax(1) == y_test).float().mean().item(), 3))
