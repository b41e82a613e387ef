import torch
import torch.nn as nn

torch.manual_seed(0)

DIM, DEPTH = 24, 2
STEPS, BATCH = 2000, 128


class Normed(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x / x.pow(2).mean(dim=-1, keepdim=True).add(1e-6).sqrt() * self.gain


class LayerMixer(nn.Module):
    def __init__(self, dim, count):
        super().__init__()
        to_weights = nn.Linear(dim, count, bias=False)
        nn.init.normal_(to_weights.weight, std=1e-2)
        self.weigh = nn.Sequential(Normed(dim), to_weights, nn.ReLU())

    def forward(self, outputs):
        stacked = torch.stack(outputs, dim=-2)
        dynamic = self.weigh(outputs[-1])
        return outputs[-1] + (dynamic.unsqueeze(-1) * stacked).sum(dim=-2)


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(Normed(dim), nn.Linear(dim, 4), nn.GELU(), nn.Linear(4, dim))

    def forward(self, x):
        return x + self.net(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(DIM, DIM)
        self.blocks = nn.ModuleList(Block(DIM) for _ in range(DEPTH))
        self.mixers = nn.ModuleList(LayerMixer(DIM, i + 2) for i in range(DEPTH))
        self.out = nn.Linear(DIM, 8)

    def forward(self, x):
        outputs = [self.inp(x)]
        h = outputs[0]
        for block, mixer in zip(self.blocks, self.mixers):
            outputs.append(block(h))
            h = mixer(outputs)
        return self.out(h)


proj = torch.randn(DIM, 8) / DIM ** 0.5
gate = torch.randn(DIM, 1) / DIM ** 0.5


def sample(n):
    x = torch.randn(n, DIM)
    return x, (x @ proj) * torch.relu(x @ gate) * 2


model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(STEPS):
    x, y = sample(BATCH)
    loss = (model(x) - y).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 400 == 0:
        print(f"step {step:5d}  loss {loss.item():.4f}")

with torch.no_grad():
    x, y = sample(4000)
    print(f"test mse {(model(x) - y).pow(2).mean().item():.4f}")
