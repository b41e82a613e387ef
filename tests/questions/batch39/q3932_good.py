import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class LinearGroup(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight_mu = nn.Parameter(torch.randn(out_features, in_features) / math.sqrt(in_features))
        self.weight_logvar = nn.Parameter(torch.full((out_features, in_features), -6.0))
        self.bias = nn.Parameter(torch.zeros(out_features))

    def forward(self, x):
        mu = F.linear(x, self.weight_mu, self.bias)
        var = F.linear(x.pow(2), self.weight_logvar.exp())
        return mu + (var + 1e-8).sqrt() * torch.randn_like(mu)

    def kl_divergence(self):
        KLD_element = -0.5 * self.weight_logvar + 0.5 * (self.weight_logvar.exp() + self.weight_mu.pow(2)) - 0.5
        return KLD_element.sum()


class Conv1dGroup(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size):
        super().__init__()
        shape = (out_channels, in_channels, kernel_size)
        self.weight_mu = nn.Parameter(torch.randn(shape) / math.sqrt(in_channels * kernel_size))
        self.weight_logvar = nn.Parameter(torch.full(shape, -6.0))
        self.bias = nn.Parameter(torch.zeros(out_channels))

    def forward(self, x):
        mu = F.conv1d(x, self.weight_mu, self.bias, padding=2)
        var = F.conv1d(x.pow(2), self.weight_logvar.exp(), padding=2)
        return mu + (var + 1e-8).sqrt() * torch.randn_like(mu)

    def kl_divergence(self):
        KLD_element = -0.5 * self.weight_logvar + 0.5 * (self.weight_logvar.exp() + self.weight_mu.pow(2)) - 0.5
        return KLD_element.sum()


def sampled_kl(layer, n=200):
    with torch.no_grad():
        std = (0.5 * layer.weight_logvar).exp()
        q = torch.distributions.Normal(layer.weight_mu, std)
        w = q.sample((n,))
        return (q.log_prob(w) - torch.distributions.Normal(0.0, 1.0).log_prob(w)).sum().item() / n


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = Conv1dGroup(1, 8, 5)
        self.fc = LinearGroup(8 * 16, 3)

    def forward(self, x):
        return self.fc(F.max_pool1d(F.relu(self.conv(x)), 2).flatten(1))

    def kl_divergence(self):
        return self.conv.kl_divergence() + self.fc.kl_divergence()


torch.manual_seed(0)
N = 3000
y = torch.randint(3, (N,))
grid = torch.linspace(0, 6.28, 32)
x = torch.sin(grid[None] * (y[:, None] + 1) + torch.rand(N, 1) * 6.28) + torch.randn(N, 32) * 0.5
x = x[:, None]
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(20):
    for idx in torch.randperm(N).split(100):
        loss = F.cross_entropy(model(x[idx]), y[idx]) + model.kl_divergence() / N
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 5 == 4:
        acc = (model(x).argmax(1) == y).float().mean().item()
        print(f"epoch {epoch + 1} acc {acc:.3f} | conv kl {model.conv.kl_divergence().item():.1f} sampled {sampled_kl(model.conv):.1f} "
              f"| fc kl {model.fc.kl_divergence().item():.1f} sampled {sampled_kl(model.fc):.1f}")
