import torch
from torch import nn

torch.manual_seed(0)


class GroupScorer(nn.Module):
    def __init__(self, features, groups):
        super().__init__()
        self.groups = groups
        self.score = nn.Sequential(nn.Linear(features, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, x, member):
        scores = self.score(x).squeeze(-1)
        means = torch.full((self.groups,), float("nan"))
        for group in range(self.groups):
            chosen = (member == group).float()
            if chosen.any():
                means[group] = (scores * chosen).sum() / chosen.sum()
        return means


def make_batch(model):
    x = torch.randn(12, 3)
    member = torch.randint(0, model.groups, (12,))
    effect = x[:, 0] - 0.5 * x[:, 1].abs()
    target = torch.full((model.groups,), float("nan"))
    for group in member.unique():
        target[group] = effect[member == group].mean()
    return x, member, target


model = GroupScorer(3, groups=5)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(1, 601):
    x, member, target = make_batch(model)
    predicted = model(x, member)
    known = ~target.isnan()
    loss = (predicted[known] - target[known]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
