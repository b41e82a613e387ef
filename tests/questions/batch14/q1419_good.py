import io
import math

import torch
import torch.nn as nn


class ActNorm(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.register_buffer("initialized", torch.tensor(False))
        self.log_scale = nn.Parameter(torch.zeros(features))
        self.shift = nn.Parameter(torch.zeros(features))

    def forward(self, x):
        if self.training and not self.initialized:
            self._initialize(x)
        return x * self.log_scale.exp() + self.shift, self.log_scale.sum().expand(len(x))

    def _initialize(self, x):
        with torch.no_grad():
            std = x.std(dim=0)
            self.log_scale.data = -torch.log(std)
            self.shift.data = -(x / std).mean(dim=0)
            self.initialized.fill_(True)


class Coupling(nn.Module):
    def __init__(self, features, flip):
        super().__init__()
        self.half, self.flip = features // 2, flip
        self.net = nn.Sequential(nn.Linear(self.half, 32), nn.Tanh(), nn.Linear(32, 2 * self.half))

    def forward(self, x):
        a, b = x.chunk(2, 1)
        if self.flip:
            a, b = b, a
        log_s, t = self.net(a).chunk(2, 1)
        log_s = torch.tanh(log_s)
        b = b * log_s.exp() + t
        return torch.cat([b, a] if self.flip else [a, b], 1), log_s.sum(1)


class Flow(nn.Module):
    def __init__(self, features=4, layers=2):
        super().__init__()
        steps = [[ActNorm(features), Coupling(features, flip=i % 2 == 1)] for i in range(layers)]
        self.steps = nn.ModuleList(sum(steps, []))

    def log_prob(self, x):
        total = torch.zeros(len(x))
        for step in self.steps:
            x, logabsdet = step(x)
            total = total + logabsdet
        return total - 0.5 * (x**2).sum(1) - 0.5 * x.shape[1] * math.log(2 * math.pi)


def make_data(n):
    a = torch.randn(n, 2)
    b = torch.stack([a[:, 0] ** 2 - 1, torch.sin(2 * a[:, 1])], 1) + 0.2 * torch.randn(n, 2)
    return torch.cat([3 * a + 2, b], 1)


def train(flow, optimizer, x, epochs, name):
    flow.train()
    for epoch in range(epochs):
        for rows in torch.randperm(len(x)).split(16):
            loss = -flow.log_prob(x[rows]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"{name} epoch {epoch}: loss {nll(flow, x):.3f}")


def nll(flow, x):
    with torch.no_grad():
        return -flow.log_prob(x).mean().item()


def main():
    torch.manual_seed(0)
    x = make_data(640)
    flow = Flow()
    optimizer = torch.optim.Adam(flow.parameters(), lr=5e-3)
    train(flow, optimizer, x, 5, "first run")
    file = io.BytesIO()
    torch.save({"flow": flow.state_dict(), "optimizer": optimizer.state_dict()}, file)

    file.seek(0)
    checkpoint = torch.load(file)
    flow = Flow()
    flow.load_state_dict(checkpoint["flow"])
    optimizer = torch.optim.Adam(flow.parameters(), lr=5e-3)
    optimizer.load_state_dict(checkpoint["optimizer"])
    flow.train()
    optimizer.zero_grad()
    (-flow.log_prob(x[:16]).mean()).backward()
    optimizer.step()
    print(f"loss after one more step {nll(flow, x):.3f}")
    train(flow, optimizer, x, 2, "resumed")


if __name__ == "__main__":
    main()
