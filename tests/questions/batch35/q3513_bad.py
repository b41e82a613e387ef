import resource

import torch
from torch import nn


class BatchNormFlow(nn.Module):
    def __init__(self, features, momentum=0.1, eps=1e-5):
        super().__init__()
        self.momentum = momentum
        self.eps = eps
        self.log_gamma = nn.Parameter(torch.zeros(features))
        self.beta = nn.Parameter(torch.zeros(features))
        self.register_buffer("running_mean", torch.zeros(features))
        self.register_buffer("running_var", torch.ones(features))

    def forward(self, inputs):
        if self.training:
            mean, var = inputs.mean(0), inputs.var(0)
            self.running_mean.mul_(1 - self.momentum).add_(mean * self.momentum)
            self.running_var.mul_(1 - self.momentum).add_(var * self.momentum)
        else:
            mean, var = self.running_mean, self.running_var
        outputs = self.log_gamma.exp() * (inputs - mean) / torch.sqrt(var + self.eps) + self.beta
        logabsdet = (self.log_gamma - 0.5 * torch.log(var + self.eps)).sum().expand(len(inputs))
        return outputs, logabsdet


class Coupling(nn.Module):
    def __init__(self, features, hidden, flip):
        super().__init__()
        self.half = features // 2
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(self.half, hidden), nn.ReLU(), nn.Linear(hidden, 2 * self.half))

    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        if self.flip:
            a, b = b, a
        shift, scale = self.net(a).chunk(2, dim=1)
        scale = torch.tanh(scale)
        b = b * scale.exp() + shift
        out = torch.cat([b, a] if self.flip else [a, b], dim=1)
        return out, scale.sum(1)


class Flow(nn.Module):
    def __init__(self, features=2, hidden=32, layers=3):
        super().__init__()
        transforms = []
        for i in range(layers):
            transforms += [Coupling(features, hidden, i % 2 == 1), BatchNormFlow(features)]
        self.transforms = nn.ModuleList(transforms)

    def log_prob(self, x):
        total = torch.zeros(len(x))
        for transform in self.transforms:
            x, logabsdet = transform(x)
            total = total + logabsdet
        return total - 0.5 * (x**2).sum(1) - 1.8379


def make_moons(n):
    t = 3.1416 * torch.rand(n)
    side = torch.randint(0, 2, (n,)).float()
    x = torch.stack([t.cos() + side, t.sin() * (1 - 2 * side) + 0.5 * side], dim=1)
    return x + 0.1 * torch.randn(n, 2)


def main():
    torch.manual_seed(0)
    flow = Flow()
    optimizer = torch.optim.Adam(flow.parameters(), lr=1e-3)
    for iteration in range(300):
        optimizer.zero_grad()
        loss = -flow.log_prob(make_moons(1024)).mean()
        loss.backward()
        optimizer.step()
        if iteration % 60 == 0:
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(f"iter {iteration}: loss {loss.item():.4f} memory {memory} MB")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"end: loss {loss.item():.4f} memory {memory} MB")


main()
