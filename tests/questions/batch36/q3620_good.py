import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(19)


class AnchorLoss(nn.Module):
    def __init__(self, gamma=0.5, slack=0.05):
        super().__init__()
        self.gamma = gamma
        self.slack = slack

    def forward(self, input, target):
        logpt = F.logsigmoid(input)
        logpt_neg = F.logsigmoid(-input)
        p = torch.sigmoid(input)
        with torch.no_grad():
            anchor = (p * target).amax(dim=1, keepdim=True) - self.slack
            scale = (1 + p - anchor).clamp(min=1e-3) ** self.gamma
        loss = -(target * logpt + (1 - target) * scale * logpt_neg)
        return loss.sum(dim=1).mean()


class Tagger(nn.Module):
    def __init__(self, in_dim=20, tags=10):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(in_dim, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, tags))

    def forward(self, x):
        return self.net(x)


W = torch.randn(20, 10) / 3


def make(n):
    x = torch.randn(n, 20)
    return x, (torch.rand(n, 10) < torch.sigmoid(x @ W - 1.5)).float()


x, t = make(3000)
xv, tv = make(1000)
model = Tagger()
criterion = AnchorLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(8):
    perm = torch.randperm(3000)
    for i in range(0, 3000, 60):
        idx = perm[i:i + 60]
        loss = criterion(model(x[idx]), t[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        prob = torch.sigmoid(model(xv))
        acc = ((prob > 0.5).float() == tv).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.4f} tag accuracy {acc:.3f} "
          f"mean predicted {prob.mean().item():.3f} mean true {tv.mean().item():.3f}")
