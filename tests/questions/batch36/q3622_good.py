import copy

import torch
import torch.nn as nn

torch.manual_seed(1)
x = torch.randn(600, 12)
w = torch.randn(12, 1)
y = torch.tanh(x @ w) + 0.05 * torch.randn(600, 1)
train_x, train_y = x[:500], y[:500]
val_x, val_y = x[500:], y[500:]

model = nn.Sequential(nn.Linear(12, 32), nn.Tanh(), nn.Linear(32, 1))
criterion = nn.MSELoss()
initial = copy.deepcopy(model.state_dict())


def run(lr, epochs=15):
    model.load_state_dict(initial)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    first = None
    for _ in range(epochs):
        model.train()
        perm = torch.randperm(len(train_x))
        for i in range(0, len(train_x), 50):
            idx = perm[i:i + 50]
            optimizer.zero_grad()
            loss = criterion(model(train_x[idx]), train_y[idx])
            loss.backward()
            optimizer.step()
            if first is None:
                first = loss.item()
    model.eval()
    with torch.no_grad():
        val = criterion(model(val_x), val_y).item()
    return first, val


best = None
for lr in (0.05, 0.01, 0.001):
    first, val = run(lr)
    print(f"lr {lr}: first batch loss {first:.4f}, validation loss {val:.4f}")
    if best is None or val < best[1]:
        best = (lr, val, copy.deepcopy(model.state_dict()))
print(f"chosen lr {best[0]} with validation loss {best[1]:.4f}")
