from copy import deepcopy

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
direction = torch.randn(20)


def make_split(n, flip):
    x = torch.randn(n, 20)
    y = ((x @ direction) > 0).long()
    noise = torch.rand(n) < flip
    return TensorDataset(x, torch.where(noise, 1 - y, y))


train_set = make_split(150, 0.25)
val_loader = DataLoader(make_split(400, 0.0), batch_size=200)
test_loader = DataLoader(make_split(600, 0.0), batch_size=200)
train_loader = DataLoader(train_set, batch_size=25, shuffle=True)

model = nn.Sequential(nn.Linear(20, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)


@torch.no_grad()
def evaluate(net, loader):
    net.eval()
    right = sum((net(x).argmax(1) == y).sum().item() for x, y in loader)
    return right / len(loader.dataset)


best_acc, best_epoch = 0.0, 0
initial = deepcopy(model.state_dict())
best_model = model

for epoch in range(40):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    val_acc = evaluate(model, val_loader)
    if val_acc > best_acc:
        best_acc, best_epoch = val_acc, epoch
        best_model = deepcopy(model)

moved = sum((model.state_dict()[k] - v).norm().item() for k, v in initial.items())
print(f"weights moved {moved:.2f}, last train loss {loss.item():.4f}")
print(f"best epoch {best_epoch} val acc {best_acc:.4f}")
print(f"val acc of the kept model {evaluate(best_model, val_loader):.4f}")
print(f"test acc of the kept model {evaluate(best_model, test_loader):.4f}")
