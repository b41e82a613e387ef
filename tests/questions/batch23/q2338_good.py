import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
rng = np.random.default_rng(0)
N, GROUPS = 300, 6
group = rng.integers(0, GROUPS, N)


def sample_links(p_in, p_out):
    prob = np.where(group[:, None] == group[None, :], p_in, p_out)
    hit = np.triu(rng.random((N, N)) < prob, 1)
    return hit


links = sample_links(0.08, 0.008)
later = sample_links(0.02, 0.002) & ~links
either = links | later | links.T | later.T | np.eye(N, dtype=bool)
u, v = (torch.from_numpy(a) for a in np.where(links))
later_u, later_v = (torch.from_numpy(a) for a in np.where(later))
free_u, free_v = (torch.from_numpy(a) for a in np.where(np.triu(~either, 1)))


def draw_pairs(n):
    pick = torch.randint(0, len(free_u), (n,))
    return free_u[pick], free_v[pick]


def norm_adj(a, b):
    adj = torch.eye(N)
    adj[a, b] = 1
    adj[b, a] = 1
    d = adj.sum(1).rsqrt()
    return d[:, None] * adj * d[None, :]


class Encoder(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.feat = nn.Embedding(N, dim)
        self.lin1, self.lin2 = nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, adj):
        h = torch.relu(self.lin1(adj @ self.feat.weight))
        return self.lin2(adj @ h)


def score(z, a, b):
    return (z[a] * z[b]).sum(1)


def auc(pos, neg):
    return (pos[:, None] > neg[None, :]).float().mean().item()


num_edges = len(u)
eids = torch.randperm(num_edges)
test_size = int(num_edges * 0.1)
test_u, test_v = u[eids[:test_size]], v[eids[:test_size]]
train_u, train_v = u[eids[test_size:]], v[eids[test_size:]]
test_nu, test_nv = draw_pairs(test_size)
adj = norm_adj(train_u, train_v)

model = Encoder()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(300):
    model.train()
    z = model(adj)
    neg_u, neg_v = draw_pairs(len(train_u))
    logits = torch.cat([score(z, train_u, train_v), score(z, neg_u, neg_v)])
    target = torch.cat([torch.ones(len(train_u)), torch.zeros(len(neg_u))])
    loss = F.binary_cross_entropy_with_logits(logits, target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 75 == 0:
        print(f"epoch {epoch:3d}  loss {loss.item():.4f}")

model.eval()
with torch.no_grad():
    z = model(adj)
    test_auc = auc(score(z, test_u, test_v), score(z, test_nu, test_nv))
    ln_u, ln_v = draw_pairs(len(later_u))
    later_auc = auc(score(z, later_u, later_v), score(z, ln_u, ln_v))
print(f"loss {loss.item():.4f}  test auc {test_auc:.3f}  auc on links of the next month {later_auc:.3f}")
