import math

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class PlanarFlow(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.w = nn.Parameter(torch.randn(features, 1) * 0.1)
        self.u = nn.Parameter(torch.randn(features, 1) * 0.1)
        self.b = nn.Parameter(torch.zeros(1))

    def forward(self, z):
        inner = z @ self.w + self.b
        wu = (self.w * self.u).sum()
        u = self.u + (F.softplus(wu) - 1 - wu) * self.w / (self.w**2).sum()
        f = z + torch.tanh(inner) @ u.t()
        psi = (1 - torch.tanh(inner) ** 2) @ self.w.t()
        log_det = torch.log((1 + psi @ u).abs() + 1e-7).squeeze(1)
        return f, log_det


class NormalizingFlows(nn.Module):
    def __init__(self, features, n_flows):
        super().__init__()
        self.flows = nn.ModuleList([PlanarFlow(features) for _ in range(n_flows)])

    def forward(self, z):
        log_det_jacobian = 0.0
        for flow in self.flows:
            z, j = flow(z)
            log_det_jacobian = log_det_jacobian + j
        return z, log_det_jacobian


def log_gaussian(x, mu, log_var):
    return (-0.5 * math.log(2 * math.pi) - log_var / 2 - (x - mu) ** 2 / (2 * log_var.exp())).sum(1)


def log_standard_gaussian(x):
    return (-0.5 * math.log(2 * math.pi) - x**2 / 2).sum(1)


class FlowVAE(nn.Module):
    def __init__(self, x_dim=16, z_dim=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(x_dim, 64), nn.ReLU())
        self.mu = nn.Linear(64, z_dim)
        self.log_var = nn.Linear(64, z_dim)
        self.decoder = nn.Sequential(nn.Linear(z_dim, 64), nn.ReLU(), nn.Linear(64, x_dim))
        self.flow = NormalizingFlows(z_dim, 4)

    def kl_divergence(self, z, mu, log_var):
        f_z, log_det_z = self.flow(z)
        qz = log_gaussian(z, mu, log_var) - sum(log_det_z)
        pz = log_standard_gaussian(f_z)
        return f_z, qz - pz

    def forward(self, x):
        h = self.encoder(x)
        mu, log_var = self.mu(h), self.log_var(h)
        z = mu + torch.randn_like(mu) * (0.5 * log_var).exp()
        f_z, kl = self.kl_divergence(z, mu, log_var)
        return self.decoder(f_z), kl


basis = torch.randn(3, 16)
data = torch.sigmoid(3 * torch.randn(1024, 3) @ basis).bernoulli()
model = FlowVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(12):
    recon_sum = kl_sum = 0.0
    for x in data[torch.randperm(1024)].split(64):
        reconstruction, kl = model(x)
        likelihood = F.binary_cross_entropy_with_logits(reconstruction, x, reduction="none").sum(1)
        loss = (likelihood + kl).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        recon_sum += likelihood.mean().item()
        kl_sum += kl.mean().item()
    if epoch % 2:
        print(f"epoch {epoch}: reconstruction {recon_sum / 16:.3f}, kl {kl_sum / 16:.3f}")
