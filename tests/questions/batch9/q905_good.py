"""A-GCN: a graph convolution whose adjacency is computed from the features (theta and phi)."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class AdaptiveGraphConv(nn.Module):
    def __init__(self, in_dim, out_dim, embed=16):
        super().__init__()
        self.W_theta = nn.Linear(in_dim, embed, bias=False)
        self.W_phi = nn.Linear(in_dim, embed, bias=False)
        self.weight = nn.Linear(in_dim, out_dim)

    def affinity(self, x):
        theta = self.W_theta(x)
        phi = self.W_phi(x)
        sim = torch.matmul(theta, phi.transpose(1, 2)) / theta.size(-1) ** 0.5
        return F.softmax(sim, dim=-1)

    def forward(self, x):
        adj = self.affinity(x)
        return F.relu(self.weight(torch.bmm(adj, x)))


class AGCN(nn.Module):
    def __init__(self, in_dim=12, hidden=32, n_classes=5):
        super().__init__()
        self.gc1 = AdaptiveGraphConv(in_dim, hidden)
        self.gc2 = AdaptiveGraphConv(hidden, hidden)
        self.fc = nn.Linear(hidden, n_classes)

    def forward(self, x):
        x = self.gc2(self.gc1(x))
        return self.fc(x.mean(dim=1))


n_nodes = 8
x = torch.randn(512, n_nodes, 12)
mark = torch.randint(0, n_nodes, (512,))
x[:, :, 0] = 0.0
x[torch.arange(512), mark, 0] = 3.0
y = x[torch.arange(512), mark, 1:6].argmax(dim=1)

model = AGCN()
before = {n: p.detach().clone() for n, p in model.named_parameters()}
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(30):
    perm = torch.randperm(512)
    total = 0.0
    for i in range(0, 512, 64):
        idx = perm[i : i + 64]
        loss = F.cross_entropy(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 5 == 4:
        acc = (model(x).argmax(1) == y).float().mean().item()
        print(f"epoch {epoch}: loss {total / 8:.4f} acc {acc:.3f}")
for n, p in model.named_parameters():
    print(f"{n:22s} moved {(p - before[n]).abs().max().item():.5f}")
