import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(0)

CLASSES = 4


def forest(n, points=128):
    pos = torch.rand(n, points, 3) * torch.tensor([2.0, 2.0, 1.0])
    r = ((pos[..., :2] - 1.0) ** 2).sum(-1).sqrt()
    label = torch.where(pos[..., 2] < 0.15, 0, torch.where(r < 0.3, 1, torch.where(pos[..., 2] > 0.6, 2, 3)))
    return pos + 0.04 * torch.randn_like(pos), label


class PointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.local = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.head = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, CLASSES))

    def forward(self, pos):
        h = self.local(pos)
        g = h.max(1, keepdim=True).values.expand_as(h)
        return self.head(torch.cat([h, g], -1))


train_loader = DataLoader(TensorDataset(*forest(160)), batch_size=8, shuffle=True)
val_loader = DataLoader(TensorDataset(*forest(40)), batch_size=8, shuffle=False)
model = PointNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
history = []

for epoch in range(8):
    model.train()
    running_loss, running_acc = 0.0, 0.0
    for pos, label in train_loader:
        optimizer.zero_grad()
        out = model(pos)
        loss = criterion(out.transpose(1, 2), label)
        loss.backward()
        optimizer.step()
        running_loss += loss.detach().item()
        running_acc += (out.argmax(-1) == label).float().mean().item()
    epoch_loss = running_loss / len(train_loader)
    epoch_acc = running_acc / len(train_loader)

    model.eval()
    running_loss, running_acc = 0.0, 0.0
    with torch.no_grad():
        for pos, label in val_loader:
            out = model(pos)
            loss = criterion(out.transpose(1, 2), label)
            running_loss += loss.item()
            running_acc += (out.argmax(-1) == label).float().mean().item()
    val_epoch_loss = running_loss / len(train_loader)
    val_epoch_acc = running_acc / len(train_loader)
    history.append([epoch, epoch_loss, epoch_acc, val_epoch_loss, val_epoch_acc])
    print(f"epoch {epoch}: train loss {epoch_loss:.4f} acc {epoch_acc:.4f}  val loss {val_epoch_loss:.4f} acc {val_epoch_acc:.4f}")
