import torch
from torch import nn


class GCN(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs, outputs))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, adj):
        return adj @ (x @ self.weight)


class Encoder(nn.Module):
    def __init__(self, inputs, hidden=16, latent=4):
        super().__init__()
        self.conv1 = GCN(inputs, hidden)
        self.conv_mu = GCN(hidden, latent)
        self.conv_logvar = GCN(hidden, latent)

    def forward(self, x, adj):
        h = torch.relu(self.conv1(x, adj))
        return self.conv_mu(h, adj), self.conv_logvar(h, adj)


class VGAE(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder

    def reparametrize(self, mu, logvar):
        return mu + torch.randn_like(logvar) * torch.exp(logvar)

    def encode(self, x, adj):
        self.mu, self.logvar = self.encoder(x, adj)
        self.logvar = torch.clamp(self.logvar, min=-10, max=2)
        return self.reparametrize(self.mu, self.logvar)

    def recon_loss(self, z, target):
        logits = z @ z.t()
        return nn.functional.binary_cross_entropy_with_logits(logits, target)

    def kl_loss(self):
        mu, logvar = self.mu, self.logvar
        return -0.5 * torch.mean(torch.sum(1 + 2 * logvar - mu**2 - logvar.exp() ** 2, dim=1))


def make_graph(n=60, groups=3):
    group = torch.arange(n) % groups
    chance = torch.where(group[:, None] == group[None, :], 0.3, 0.03)
    edges = (torch.rand(n, n) < chance).float().triu(1)
    target = edges + edges.t() + torch.eye(n)
    degree = target.sum(1).rsqrt()
    adj = degree[:, None] * target * degree[None, :]
    counts = torch.poisson(40.0 * torch.rand(groups, 20))[group] + torch.poisson(20.0 * torch.rand(n, 20))
    return counts, adj, target


def main():
    torch.manual_seed(0)
    x, adj, target = make_graph()
    model = VGAE(Encoder(x.shape[1]))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for epoch in range(200):
        z = model.encode(x, adj)
        loss = model.recon_loss(z, target) + model.kl_loss() / len(x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if epoch % 40 == 0:
            print(f"epoch {epoch}: loss {loss.item():.4f}")
    print(f"final loss {loss.item():.4f}")


main()
