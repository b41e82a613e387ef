import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(0)

TASKS = 3


def make(n):
    x = torch.randn(n, 12)
    w = torch.linspace(-1, 1, 12 * TASKS).reshape(12, TASKS)
    y = torch.sin(x @ w) + 0.1 * torch.randn(n, TASKS)
    return TensorDataset(x, y)


class MultiTaskNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU())
        self.heads = nn.ModuleList([nn.Linear(48, 1) for _ in range(TASKS)])

    def forward(self, x):
        h = self.shared(x)
        return [head(h).squeeze(1) for head in self.heads]


def evaluate(model, loader):
    model.eval()
    tot, n = torch.zeros(TASKS), 0
    with torch.no_grad():
        for x, y in loader:
            outs = model(x)
            for t in range(TASKS):
                tot[t] += nn.functional.mse_loss(outs[t], y[:, t])
            n += 1
    return tot / n


train_loader = DataLoader(make(640), batch_size=32, shuffle=True)
val_loader = DataLoader(make(320), batch_size=32)
model = MultiTaskNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.MSELoss()

n_iter = 0
for epoch in range(10):
    model.train()
    running = torch.zeros(TASKS)
    for x, y in train_loader:
        n_iter += 1
        outs = model(x)
        losses = [criterion(outs[t], y[:, t]) for t in range(TASKS)]
        loss = sum(losses)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for t in range(TASKS):
            running[t] += losses[t].item()
    train_losses = running / n_iter
    val_losses = evaluate(model, val_loader)
    print(f"epoch {epoch} train " + " ".join(f"{v:.4f}" for v in train_losses)
          + f" mean {train_losses.mean():.4f} | val " + " ".join(f"{v:.4f}" for v in val_losses)
          + f" mean {val_losses.mean():.4f}")
