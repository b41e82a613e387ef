import torch
import torch.nn as nn
from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR, MultiStepLR

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        return x + self.mlp(self.norm(x))


class PoseNet(nn.Module):
    def __init__(self, dim=48, depth=4, joints=5):
        super().__init__()
        self.embed = nn.Linear(24, dim)
        self.blocks = nn.ModuleList([Block(dim) for _ in range(depth)])
        self.head = nn.Linear(dim, joints * 2)

    def forward(self, x):
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class LayerDecayOptimizer:
    def __init__(self, optimizer, decay_rates):
        self.optimizer = optimizer
        self.decay_rates = decay_rates
        self.param_groups = optimizer.param_groups
        for rate, group in zip(self.decay_rates, self.param_groups):
            group["lr"] *= rate

    def step(self, *args, **kwargs):
        self.optimizer.step(*args, **kwargs)

    def zero_grad(self, *args, **kwargs):
        self.optimizer.zero_grad(*args, **kwargs)


def make_data(n=512):
    images = torch.randn(n, 24)
    proj = torch.randn(24, 10) / 24**0.5
    return images, torch.sin(images @ proj)


model = PoseNet()
layers = [model.embed, *model.blocks, model.head]
optimizer = AdamW([{"params": layer.parameters()} for layer in layers], lr=2e-3, weight_decay=0.01)
layerwise = LayerDecayOptimizer(optimizer, [0.75] * len(layers))
warmup_iters = 30
warmup = LambdaLR(optimizer, lambda it: 0.01 + 0.99 * min(it, warmup_iters) / warmup_iters)
scheduler = MultiStepLR(optimizer, milestones=[20, 26], gamma=0.1)
criterion = nn.MSELoss()
images, joints = make_data()

it = 0
for epoch in range(30):
    order = torch.randperm(len(images))
    total = 0.0
    for idx in order.split(64):
        loss = criterion(model(images[idx]), joints[idx])
        layerwise.zero_grad()
        loss.backward()
        layerwise.step()
        if it < warmup_iters:
            warmup.step()
        it += 1
        total += loss.item() * len(idx)
    scheduler.step()
    if epoch % 3 == 0:
        print(f"epoch {epoch:2d}  loss {total / len(images):.4f}  lr {optimizer.param_groups[-1]['lr']:.3e}")
