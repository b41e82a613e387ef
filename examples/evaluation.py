"""Evaluation as it should be: `eval()`, `no_grad()`, and top-k accuracy."""

import torch
from torch import nn


def accuracy(scores: torch.Tensor, targets: torch.Tensor, k: int) -> float:
    """Share of `targets` among the `k` best `scores`, in percent."""
    _, best = scores.topk(k, 1, True, True)
    correct = best.eq(targets.view(-1, 1).expand_as(best))
    return correct.view(-1).float().sum().item() * 100.0 / targets.size(0)


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
test, labels = torch.randn(32, 4), torch.randint(5, (32,))

for _ in range(2):
    model.train()
    for _ in range(3):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(5, (8,))).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        scores = model(test)
        again = model(test)
    print("top 1:", accuracy(scores, labels, 1), "top 3:", accuracy(scores, labels, 3))
    print("two evaluations agree:", torch.equal(scores, again))
