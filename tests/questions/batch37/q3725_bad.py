import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class PointNetLite(nn.Module):
    def __init__(self, n_classes=5):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 64), nn.ReLU())
        self.head = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, n_classes))

    def forward(self, points):
        return self.head(self.mlp(points).max(dim=1).values)


def make_clouds(per_class):
    clouds, labels = [], []
    for c in range(5):
        pts = torch.randn(per_class, 24, 3) * torch.tensor([1.0, 0.4 + 0.25 * c, 1.4 - 0.2 * c])
        clouds.append(pts)
        labels.append(torch.full((per_class,), c))
    return TensorDataset(torch.cat(clouds), torch.cat(labels))


train_loader = DataLoader(make_clouds(160), batch_size=32, shuffle=True)
val_loader = DataLoader(make_clouds(64), batch_size=32, shuffle=False)

model = PointNetLite()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()


def train_step():
    model.train()
    total = 0.0
    for points, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(points), labels)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(train_loader)


@torch.no_grad()
def val_step():
    model.eval()
    loss, correct, seen = 0.0, 0, 0
    for batch_idx in range(len(val_loader)):
        points, labels = next(iter(val_loader))
        out = model(points)
        loss += criterion(out, labels).item()
        correct += (out.argmax(1) == labels).sum().item()
        seen += len(labels)
    return loss / len(val_loader), correct / seen


for epoch in range(15):
    train_loss = train_step()
    val_loss, val_acc = val_step()
    print(f"epoch {epoch}: train {train_loss:.3f} val {val_loss:.3f} val acc {val_acc:.3f}")
