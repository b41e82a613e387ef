import contextlib

import torch
import torch.nn as nn
import torch.nn.functional as F


class Reporter:
    def __init__(self):
        self.observation = {}

    @contextlib.contextmanager
    def scope(self, observation):
        old, self.observation = self.observation, observation
        yield
        self.observation = old

    def report(self, values):
        for key, value in values.items():
            if isinstance(value, torch.Tensor):
                value = value.clone()
            self.observation[key] = value


class LogReport:
    def __init__(self, keys, trigger):
        self.keys, self.trigger = keys, trigger
        self.window, self.log = [], []

    def __call__(self, iteration, observation):
        self.window.append(observation)
        if iteration % self.trigger == 0:
            row = {k: torch.stack([o[k] for o in self.window]).mean().item() for k in self.keys}
            self.log.append(row)
            self.window = []
            print(f"iteration {iteration}  " + "  ".join(f"{k} {v:.4f}" for k, v in row.items()))


reporter = Reporter()


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 4)
        )

    def forward(self, x, t):
        y = self.net(x)
        loss = F.cross_entropy(y, t)
        reporter.report({"main/loss": loss, "main/accuracy": (y.argmax(1) == t).float().mean()})
        return loss


def spirals(n):
    t = torch.randint(0, 4, (n,))
    r = torch.rand(n)
    angle = 3 * r + t * 1.5708
    xy = torch.stack([r * angle.cos(), r * angle.sin()], dim=1)
    return torch.cat([xy * k for k in range(1, 9)], dim=1).sin() + 0.02 * torch.randn(n, 16), t


def run(iterations=300):
    torch.manual_seed(31)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    extension = LogReport(["main/loss", "main/accuracy"], trigger=100)
    for iteration in range(1, iterations + 1):
        observation = {}
        with reporter.scope(observation):
            x, t = spirals(128)
            optimizer.zero_grad()
            loss = model(x, t)
            loss.backward()
            optimizer.step()
        extension(iteration, observation)


run()
