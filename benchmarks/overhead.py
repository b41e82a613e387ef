"""What watching costs, as the ratio to the plain step, on four kinds of program.

Every way of running is timed in turn, round after round, so that what else the machine
does falls on all alike; a ratio is the median over the rounds of paired ratios.

    python benchmarks/overhead.py [--rounds 7] [--only mlp]
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import itertools
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import torch
import torch.nn.functional as F  # noqa: N812 (as everyone calls it)
from torch import Tensor, nn

import gradscope

Step = Callable[[], None]

# -- the four programs ------------------------------------------------------------


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
    """Four layers of width 128 over 256 tokens."""

    def __init__(self, width: int = 128, layers: int = 4, tokens: int = 256, length: int = 128):
        super().__init__()
        self.token, self.position = nn.Embedding(tokens, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(AttentionBlock(width, 4) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, tokens, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.token(ids) + self.position(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def gpt() -> Step:
    """GPT on 8×128 tokens."""
    model = GPT()
    ids, targets = torch.randint(256, (8, 128)), torch.randint(256, (8 * 128,))
    return training_step(model, lambda: F.cross_entropy(model(ids).flatten(0, 1), targets))


def lstm() -> Step:
    """An LSTMCell unrolled over 500 steps."""
    cell = nn.LSTMCell(16, 32)
    inputs = torch.randn(500, 8, 16)

    def loss() -> Tensor:
        h, c = torch.zeros(8, 32), torch.zeros(8, 32)
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


# name → (program, steps in one timing, the most that full capture may cost)
PROGRAMS: dict[str, tuple[Callable[[], Step], int, float]] = {
    "resnet": (resnet, 10, 1.15),
    "gpt": (gpt, 15, 1.3),
    "lstm": (lstm, 10, 1.8),
    "mlp": (mlp, 300, 3.0),
}

WARM_UP = 8

# -- the ways of running it ---------------------------------------------------------


@contextlib.contextmanager
def watching(sample: bool) -> Iterator[None]:
    """A watched block. Faults of gradscope's own would make it look cheap: they end the run."""
    with gradscope.watch(sample=sample) as scope:
        yield
    if scope.faults:
        sys.exit("\n".join(scope.faults))


WAYS: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "plain": contextlib.nullcontext,
    "full capture": lambda: watching(sample=False),
    "as installed": lambda: watching(sample=True),
    "anomaly mode": lambda: torch.autograd.set_detect_anomaly(True),
}


def seconds(step: Step, steps: int, way: Callable[[], AbstractContextManager[object]]) -> float:
    """Time of one step, after a few in which gradscope gets to know the graph, within one block."""
    gc.collect()
    with way():
        for _ in range(WARM_UP):
            step()
        started = time.perf_counter()
        for _ in range(steps):
            step()
        return (time.perf_counter() - started) / steps


def measure(program: Callable[[], Step], steps: int, rounds: int) -> dict[str, float]:
    """Way → median ratio to plain; "plain" itself in milliseconds."""
    torch.manual_seed(0)
    step = program()
    for way in WAYS.values():
        seconds(step, 1, way)
    taken: dict[str, list[float]] = {name: [] for name in WAYS}
    names = list(WAYS)
    for turn in range(rounds):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            taken[name].append(seconds(step, steps, WAYS[name]))
    ratios = {
        name: statistics.median(t / base for t, base in zip(times, taken["plain"], strict=True))
        for name, times in taken.items()
    }
    return {**ratios, "plain": 1000 * statistics.median(taken["plain"])}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", choices=PROGRAMS, action="append")
    options = parser.parse_args()
    over_limit = False
    print(
        f"torch {torch.__version__}, {torch.get_num_threads()} threads, median of {options.rounds} paired rounds\n"
    )
    print(f"{'':8}{'plain':>10}{'full':>8}{'limit':>7}{'installed':>11}{'anomaly':>9}")
    for name in options.only or PROGRAMS:
        program, steps, limit = PROGRAMS[name]
        found = measure(program, steps, options.rounds)
        full, anomaly = found["full capture"], found["anomaly mode"]
        over = full > limit or full > anomaly
        over_limit |= over
        print(
            f"{name:8}{found['plain']:8.2f}ms{full:8.2f}{limit:7.2f}{found['as installed']:11.2f}{anomaly:9.2f}"
            f"{'   over' if over else ''}",
            flush=True,
        )
    return 1 if over_limit else 0


if __name__ == "__main__":
    sys.exit(main())
