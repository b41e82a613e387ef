"""The programs that the benchmarks run, each a training step: on the CPU, and at the sizes of a GPU."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812 (as everyone calls it)
from torch import Tensor, nn

Step = Callable[[], None]


class ResidualBlock(nn.Module):
    """Two convolutions around a shortcut."""

    def __init__(self, channels: int, out: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.shortcut = nn.Sequential()
        if stride != 1 or channels != out:
            self.shortcut = nn.Sequential(
                nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out)
            )

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(y)) + self.shortcut(x))


def resnet() -> Step:
    """ResNet-18 on 8×3×64×64."""
    widths = [64, 64, 64, 128, 128, 256, 256, 512, 512]
    blocks = [
        ResidualBlock(before, after, 1 if before == after else 2)
        for before, after in itertools.pairwise(widths)
    ]
    stem = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    model = nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))
    x, y = torch.randn(8, 3, 64, 64), torch.randint(1000, (8,))
    return training_step(model, lambda: F.cross_entropy(model(x), y))


class AttentionBlock(nn.Module):
    """A transformer's block, as GPT-2 has it."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, -1).transpose(1, 2)
            for part in self.qkv(self.norm1(x)).split(width, dim=2)
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """Four layers of width 128 over 256 tokens, or others."""

    def __init__(
        self, width: int = 128, layers: int = 4, heads: int = 4, tokens: int = 256, length: int = 128
    ):
        super().__init__()
        self.token, self.position = nn.Embedding(tokens, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(AttentionBlock(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, tokens, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.token(ids) + self.position(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def gpt() -> Step:
    """GPT on 8×128 tokens."""
    model = GPT()
    ids, targets = torch.randint(256, (8, 128)), torch.randint(256, (8 * 128,))
    return training_step(model, lambda: F.cross_entropy(model(ids).flatten(0, 1), targets))


def large_gpt() -> Step:
    """GPT of twelve layers of width 768 on 8×512 tokens."""
    model = GPT(768, 12, heads=12, tokens=50_304, length=512)
    ids, targets = torch.randint(50_304, (8, 512)), torch.randint(50_304, (8 * 512,))
    return training_step(model, lambda: F.cross_entropy(model(ids).flatten(0, 1), targets))


def resnet50() -> Step:
    """torchvision's ResNet-50 on 8×3×224×224."""
    from torchvision.models import resnet50

    model = resnet50()
    x, y = torch.randn(8, 3, 224, 224), torch.randint(1000, (8,))
    return training_step(model, lambda: F.cross_entropy(model(x), y))


def lstm() -> Step:
    """An LSTMCell unrolled over 500 steps."""
    cell = nn.LSTMCell(16, 32)
    inputs = torch.randn(500, 8, 16)

    def loss() -> Tensor:
        h, c = inputs.new_zeros(8, 32), inputs.new_zeros(8, 32)
        for x in inputs:
            h, c = cell(x, (h, c))
        return h.pow(2).mean()

    return training_step(cell, loss)


def mlp() -> Step:
    """A 20-layer MLP on a batch of 32: a step of about a millisecond."""
    layers = [layer for _ in range(20) for layer in (nn.Linear(64, 64), nn.ReLU())]
    model = nn.Sequential(*layers, nn.Linear(64, 10))
    x, y = torch.randn(32, 64), torch.randint(10, (32,))
    return training_step(model, lambda: F.cross_entropy(model(x), y))


def training_step(model: nn.Module, loss: Callable[[], Tensor]) -> Step:
    """Forward, backward and SGD step, as users write them."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step() -> None:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    return step


PROGRAMS: dict[str, Callable[[], Step]] = {"resnet": resnet, "gpt": gpt, "lstm": lstm, "mlp": mlp}
ON_GPU: dict[str, Callable[[], Step]] = {
    "resnet50": resnet50,
    "gpt 12×768": large_gpt,
    "lstm": lstm,
    "mlp": mlp,
}
