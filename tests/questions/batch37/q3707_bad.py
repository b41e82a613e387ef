import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(6)


class Policy(nn.Module):
    def __init__(self, dim=2, width=64):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(dim, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.score = nn.Linear(width, 1)
        self.projection = nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, 16))

    def forward(self, nodes):
        h = self.encoder(nodes)
        return self.score(h).squeeze(-1), self.projection(h.mean(1))


def rotate(nodes):
    angle = torch.rand(len(nodes)) * 6.2832
    c, s = angle.cos(), angle.sin()
    mat = torch.stack([torch.stack([c, -s], -1), torch.stack([s, c], -1)], 1)
    return nodes @ mat


def invariance_loss(proj, proj_aug):
    similarity = F.cosine_similarity(proj, proj_aug, dim=-1)
    return similarity.mean()


policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
alpha = 0.2

for step in range(600):
    nodes = torch.randn(64, 10, 2) * (0.5 + torch.rand(64, 1, 1))
    target = nodes.norm(dim=-1).argmax(1)
    logits, proj = policy(nodes)
    logits_aug, proj_aug = policy(rotate(nodes))
    task_loss = F.cross_entropy(logits, target) + F.cross_entropy(logits_aug, target)
    inv_loss = invariance_loss(proj, proj_aug)
    loss = task_loss + alpha * inv_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 99:
        print(f"step {step + 1} loss {loss.item():.4f} task {task_loss.item():.4f} inv {inv_loss.item():.4f}")

with torch.no_grad():
    nodes = torch.randn(500, 10, 2) * (0.5 + torch.rand(500, 1, 1))
    a, b = policy(nodes)[1], policy(rotate(nodes))[1]
    print("similarity of two views", round(F.cosine_similarity(a, b, dim=-1).mean().item(), 3))
