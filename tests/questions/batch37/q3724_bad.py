import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
N_CLASSES, DIM, MARGIN = 30, 24, 0.5
prototypes = torch.randn(N_CLASSES, DIM) * 0.7


class Encoder(nn.Module):
    def __init__(self, emb=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(DIM, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, emb))

    def forward(self, x):
        return self.net(x)


def sample_batch(n_ids=8, per_id=6):
    ids = torch.randperm(N_CLASSES)[:n_ids].repeat_interleave(per_id)
    return prototypes[ids] + 0.9 * torch.randn(len(ids), DIM), ids


def batch_hard_loss(emb, labels):
    dist = torch.sqrt(((emb.unsqueeze(0) - emb.unsqueeze(1)) ** 2).sum(-1) + 1e-12)
    same = labels.unsqueeze(0) == labels.unsqueeze(1)
    hardest_pos = (dist * same).max(dim=1).values
    hardest_neg = dist.masked_fill(same, float("inf")).min(dim=1).values
    return F.relu(hardest_pos - hardest_neg + MARGIN).mean()


@torch.no_grad()
def recall_at_1(model, n=600):
    model.eval()
    ids = torch.randint(0, N_CLASSES, (n,))
    emb = model(prototypes[ids] + 0.9 * torch.randn(n, DIM))
    dist = torch.cdist(emb, emb)
    dist.fill_diagonal_(float("inf"))
    return (ids[dist.argmin(1)] == ids).float().mean().item(), emb.std(0).mean().item()


model = Encoder()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for step in range(1, 601):
    model.train()
    x, labels = sample_batch()
    loss = batch_hard_loss(model(x), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        recall, spread = recall_at_1(model)
        print(f"step {step}: loss {loss.item():.4f} recall@1 {recall:.3f} spread {spread:.4f}")
