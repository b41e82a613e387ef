import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(4)


class MoleculeModel(nn.Module):
    def __init__(self, in_dim=30, hidden=64):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(in_dim, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.ffn = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.ffn(self.encoder(x))


def train_epoch(model, loader, loss_func, optimizer, log_frequency=5):
    model.train()
    loss_sum, iter_count = 0.0, 0
    for n_iter, (features, targets) in enumerate(loader):
        preds = model(features)
        loss = loss_func(preds, targets)
        loss_sum += loss.item()
        iter_count += len(features)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if (n_iter + 1) % log_frequency == 0:
            loss_avg = loss_sum / iter_count
            loss_sum, iter_count = 0.0, 0
            print(f"  train loss = {loss_avg:.6f}")
    return model


def evaluate(model, loader, loss_func):
    model.eval()
    total, batches = 0.0, 0
    with torch.no_grad():
        for features, targets in loader:
            total += loss_func(model(features), targets).item()
            batches += 1
    return total / batches


w = torch.randn(30, 1) / 5
x = torch.randn(1000, 30)
t = torch.tanh(x @ w) + 0.3 * torch.randn(1000, 1)
train_loader = DataLoader(TensorDataset(x[:750], t[:750]), batch_size=50, shuffle=True)
val_loader = DataLoader(TensorDataset(x[750:], t[750:]), batch_size=50)

model = MoleculeModel()
loss_func = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(8):
    print(f"Epoch {epoch}")
    train_epoch(model, train_loader, loss_func, optimizer)
    print(f"  validation loss = {evaluate(model, val_loader, loss_func):.6f}")
