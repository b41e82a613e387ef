import os
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2)
torch.set_num_threads(1)


def rss_mb():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(4))
        self.fc1 = nn.Linear(16 * 8 * 8, 32)
        self.light = nn.Linear(32, 3)
        self.coords = nn.Linear(32, 4)

    def forward(self, x):
        x = self.features(x).flatten(1)
        x = torch.relu(self.fc1(x))
        return self.light(x), self.coords(x)


def make_set(n):
    color = torch.randint(0, 3, (n,))
    img = 0.3 * torch.rand(n, 3, 64, 64)
    img[torch.arange(n), color] += 0.4
    pts = torch.rand(n, 4)
    img[:, :, :8, :8] += pts[:, :1, None, None]
    return TensorDataset(img, color, pts)


train_loader = DataLoader(make_set(256), batch_size=32, shuffle=True)
val_loader = DataLoader(make_set(512), batch_size=32)

net = Net()
optimizer = optim.Adam(net.parameters(), lr=1e-3)
ce = nn.CrossEntropyLoss()
mse = nn.MSELoss()

for epoch in range(3):
    net.train()
    running_loss = 0.0
    for images, mode, points in train_loader:
        optimizer.zero_grad()
        pred_mode, pred_points = net(images)
        cross_entropy = ce(pred_mode, mode)
        MSE = mse(pred_points, points)
        loss = cross_entropy + MSE
        loss.backward()
        optimizer.step()
        running_loss += loss.item()

    net.eval()
    val_running_loss = 0.0
    val_mse_loss = 0.0
    val_ce_loss = 0.0
    before = rss_mb()
    for images, mode, points in val_loader:
        pred_mode, pred_points = net(images)
        cross_entropy = ce(pred_mode, mode)
        MSE = mse(pred_points, points)
        loss = cross_entropy + MSE
        val_running_loss += loss
        val_mse_loss += MSE
        val_ce_loss += cross_entropy
    print(f"epoch {epoch}  train {running_loss / len(train_loader):.4f}  "
          f"val {(val_running_loss / len(val_loader)).item():.4f}  "
          f"ce {(val_ce_loss / len(val_loader)).item():.4f}  mse {(val_mse_loss / len(val_loader)).item():.4f}  "
          f"memory {before:.0f} -> {rss_mb():.0f} MB")
