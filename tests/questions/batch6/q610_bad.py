import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class GraphConv(nn.Module):
    def __init__(self, n_in, n_out, adj):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_in, n_out) * (2.0 / (n_in + n_out)) ** 0.5)
        self.adj = adj

    def forward(self, x, activation=None):
        out = self.adj @ (x @ self.weight)
        return activation(out) if activation else out


class VGAE(nn.Module):
    def __init__(self, adj, n_in, hidden=32, latent=8):
        super().__init__()
        self.base = GraphConv(n_in, hidden, adj)
        self.gcn_mean = GraphConv(hidden, latent, adj)
        self.gcn_logstd = GraphConv(hidden, latent, adj)

    def encode(self, x):
        hidden = self.base(x, F.relu)
        self.mean = self.gcn_mean(hidden)
        self.logstd = self.gcn_logstd(hidden)
        noise = torch.randn_like(self.mean)
        return self.mean + noise * torch.exp(self.logstd)

    def forward(self, x):
        z = self.encode(x)
        return z @ z.t()


def block_graph(nodes=120, blocks=4):
    block = torch.arange(nodes) % blocks
    prob = torch.where(block[:, None] == block[None, :], 0.4, 0.03)
    upper = torch.triu((torch.rand(nodes, nodes) < prob).float(), 1)
    return upper + upper.t()


graph = block_graph()
with_self = graph + torch.eye(120)
degree = with_self.sum(1)
norm = with_self / (degree[:, None] * degree[None, :]).sqrt()
pos_weight = (120 * 120 - with_self.sum()) / with_self.sum()
weight = 120 * 120 / (2 * (120 * 120 - with_self.sum()))
model = VGAE(norm, 120)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(1, 201):
    A_pred = model(torch.eye(120))
    reconstruction = weight * F.binary_cross_entropy_with_logits(A_pred, with_self, pos_weight=pos_weight)
    kl_per_node = 1 + 2 * model.logstd - model.mean**2 - torch.exp(model.logstd)
    kl_divergence = 0.5 / 120 * kl_per_node.sum(1).mean()
    loss = reconstruction - kl_divergence
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 40 == 0:
        print(f"epoch {epoch}: loss {loss.item():.4f}, kl {-120 * kl_divergence.item():.4f}")
