import torch
from torch import nn

torch.manual_seed(0)
N_CLASSES = 20


class TagNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.head = nn.Linear(64, N_CLASSES)

    def forward(self, x):
        x = self.body(x)
        return self.head(x)


def make_data(n):
    w = torch.randn(32, N_CLASSES)
    x = torch.randn(n, 32)
    y = ((x @ w) / 32**0.5 > 1.5).float()
    return x, y


x, y = make_data(1024)
model = TagNet()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(20):
    perm = torch.randperm(len(x))
    total = 0.0
    for i in range(0, len(x), 64):
        idx = perm[i : i + 64]
        optimizer.zero_grad()
        loss = criterion(model(x[idx]), y[idx])
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / 16:.4f}")
