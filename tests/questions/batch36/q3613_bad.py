import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(12)


class FocalLoss(nn.Module):
    def __init__(self, gamma=2.0, reduction="mean"):
        super().__init__()
        self.gamma = gamma
        self.reduction = reduction

    def forward(self, x, target):
        p = F.softmax(x, dim=-1)
        p_t = p.gather(1, target.unsqueeze(1)).squeeze(1)
        fl = -1 * (1 - p_t) ** self.gamma * torch.log(p_t)
        if self.reduction == "mean":
            return fl.mean()
        return fl.sum()


class Net(nn.Module):
    def __init__(self, in_dim=12, classes=5):
        super().__init__()
        self.fc1 = nn.Linear(in_dim, 64)
        self.fc2 = nn.Linear(64, 64)
        self.fc3 = nn.Linear(64, classes)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


centers = torch.randn(5, 12)
y = torch.randint(0, 5, (2500,))
amounts = torch.exp(1.3 * centers[y] + 0.9 * torch.randn(2500, 12))
amounts[torch.randint(0, 2500, (30,))] *= 100

model = Net()
criterion = FocalLoss(gamma=2.0)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(10):
    perm = torch.randperm(2000)
    total = 0.0
    for i in range(0, 2000, 40):
        idx = perm[i:i + 40]
        loss = criterion(model(amounts[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    with torch.no_grad():
        acc = (model(amounts[2000:]).argmax(1) == y[2000:]).float().mean().item()
    print(f"epoch {epoch} loss {total / 50:.4f} val acc {acc:.3f}")
