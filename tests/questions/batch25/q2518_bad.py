import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
IMAGE, PATCH, CLASSES = 24, 4, 6


def make_images(n, seed):
    g = torch.Generator().manual_seed(seed)
    glyphs = torch.randn(CLASSES, PATCH, PATCH, generator=torch.Generator().manual_seed(5))
    grid = IMAGE // PATCH
    which = torch.randint(0, CLASSES, (n, grid, grid), generator=g)
    x = glyphs[which].permute(0, 1, 3, 2, 4).reshape(n, 1, IMAGE, IMAGE)
    level = torch.rand(n, grid * grid, generator=g) * 2 - 1
    exposure = 1.5 * torch.randn(n, 1, 1, 1, generator=g)
    depth = exposure + level.reshape(n, 1, grid, grid).repeat_interleave(PATCH, 2).repeat_interleave(PATCH, 3)
    x = torch.cat([x, depth], 1) + 0.05 * torch.randn(n, 2, IMAGE, IMAGE, generator=g)
    nearest = level.argmax(1)
    return TensorDataset(x, which.flatten(1)[torch.arange(n), nearest])


class SelfAttention(nn.Module):
    def __init__(self, embedding_dim, key_dim):
        super().__init__()
        self.key_dim = key_dim
        self.qkv = nn.Linear(embedding_dim, 3 * key_dim, bias=False)

    def forward(self, x):
        q, k, v = self.qkv(x).split(self.key_dim, dim=-1)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.key_dim)
        weights = F.softmax(scores, dim=1)
        return weights @ v


class Encoder(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = nn.ModuleList([SelfAttention(dim, dim // heads) for _ in range(heads)])
        self.project = nn.Linear(dim, dim)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.project(torch.cat([h(y) for h in self.heads], dim=-1))
        return x + self.mlp(self.norm2(x))


class VisionTransformer(nn.Module):
    def __init__(self, dim=48, depth=1, heads=4):
        super().__init__()
        self.embed = nn.Conv2d(2, dim, PATCH, stride=PATCH)
        self.cls = nn.Parameter(torch.randn(1, 1, dim) * 0.02)
        self.pos = nn.Parameter(torch.randn(1, (IMAGE // PATCH) ** 2 + 1, dim) * 0.02)
        self.layers = nn.Sequential(*[Encoder(dim, heads) for _ in range(depth)])
        self.head = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, CLASSES))

    def forward(self, x):
        p = self.embed(x).flatten(2).transpose(1, 2)
        t = torch.cat([self.cls.expand(len(x), -1, -1), p], dim=1) + self.pos
        return self.head(self.layers(t)[:, 0])


train, test = make_images(4000, 1), make_images(600, 2)
loader = DataLoader(train, batch_size=64, shuffle=True)
model = VisionTransformer()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(10):
    model.train()
    total = 0.0
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        tx, ty = test.tensors
        acc = (model(tx).argmax(1) == ty).float().mean().item()
    print(f"epoch {epoch} train loss {total / len(loader):.4f} test accuracy {acc:.3f}")
