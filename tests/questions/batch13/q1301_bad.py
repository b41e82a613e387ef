import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class ReverseGrad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return -ctx.strength * grad, None


class DomainBranch(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, x, strength=1.0):
        return self.net(ReverseGrad.apply(x, strength))


class Counter(nn.Module):
    """Counts plants in a picture; the features should not tell the field where it was taken."""

    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Linear(20, 48), nn.ReLU(), nn.Linear(48, 24), nn.ReLU())
        self.count = nn.Linear(24, 1)
        self.adapt = DomainBranch(24)

    def forward(self, x, grl_lambda=1.0):
        features = self.down(x)
        domain = self.adapt(features)
        return self.count(features).squeeze(1), domain, features


def make_data(n, shift, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 20, generator=g)
    y = x[:, :5].sum(1) + 0.5 * x[:, 5] * x[:, 6]
    return x + shift, y


def main():
    torch.manual_seed(0)
    source, counts = make_data(512, 0.0, 0)
    target, _ = make_data(512, 0.7, 1)
    model = Counter()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    labels = torch.cat([torch.zeros(64), torch.ones(64)]).long()
    epochs = 10
    for epoch in range(epochs):
        p = epoch / epochs
        grl_lambda = 2 / (1 + math.exp(-10 * p)) - 1
        total = 0.0
        for rows in torch.randperm(512).split(64):
            both = torch.cat([source[rows], target[rows]])
            count, domain, features = model(both, grl_lambda)
            count_loss = F.mse_loss(count[:64], counts[rows])
            domain_loss = F.cross_entropy(domain, labels)
            if total == 0.0:
                pull = torch.autograd.grad(domain_loss, features, retain_graph=True)[0].norm().item()
            optimizer.zero_grad()
            (count_loss + domain_loss).backward()
            optimizer.step()
            total += count_loss.item()
        print(
            f"epoch {epoch}: lambda {grl_lambda:.2f}  count loss {total / 8:.3f}  domain pull on features {pull:.4f}"
        )


if __name__ == "__main__":
    main()
