import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Ranker(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.score = nn.Linear(features, 1, dtype=torch.float64)

    def forward(self, x):
        return self.score(x).squeeze(1)


class SlackLoss(nn.Module):
    def __init__(self, tau=1.0, beta=1.0, thresh=1e-10):
        super().__init__()
        self.z = nn.Parameter(torch.tensor([1.0], dtype=torch.float64))
        self.tau, self.beta, self.thresh = tau, beta, thresh

    def forward(self, margin):
        safe = margin + torch.where(margin >= 0, 1.0, -1.0) * self.thresh
        return (F.softplus(self.tau - self.z / safe, beta=self.beta) * torch.abs(safe)).mean()


items = torch.randn(60, 8, dtype=torch.float64)
quality = items @ torch.randn(8, dtype=torch.float64)

model, criterion = Ranker(8), SlackLoss()
optimizer = torch.optim.Adam([*model.parameters(), *criterion.parameters()], lr=0.02)
for step in range(300):
    first, second = torch.randint(0, 60, (64,)), torch.randint(0, 60, (64,))
    better = torch.where(quality[first] >= quality[second], first, second)
    worse = torch.where(quality[first] >= quality[second], second, first)
    margin = model(items[better]) - model(items[worse])
    loss = criterion(margin)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step}: loss {loss.item():.4f} z {criterion.z.item():.4f}")
