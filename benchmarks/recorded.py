"""How long `check`, `why` and `graph` take on large runs that were really recorded.

    python benchmarks/recorded.py [--scale 1.0]

Seconds of the processor (user and system) of whole processes, once each, and the largest memory that they had. The
runs (`gradscope run --full`): a cell unrolled over a long sequence, 200 small networks called side by side on many
samples, and 200 layers of a transformer over 50 steps. `--scale` makes the first two longer or shorter.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

HEAD = "import torch\nfrom torch import nn\ntorch.manual_seed(0)\ntorch.set_num_threads(1)\n"


class Large(NamedTuple):
    name: str
    parameter: str  # that `why` is asked about
    length: int
    text: str  # {length} is put in


LARGE = (
    Large("a cell, unrolled", "cell.inner.weight", 140_000, """
class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(8, 8), nn.Linear(8, 8)
    def forward(self, x, h):
        return torch.tanh(self.inner(x) + self.outer(h))
class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.head = Cell(), nn.Linear(8, 1)
    def forward(self, xs):
        h = xs.new_zeros(1, 8)
        for x in xs:
            h = self.cell(x, h)
        return self.head(h)
model = Reader()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.randn({length}, 1, 8)).pow(2).mean().backward()
optimizer.step()
"""),
    Large("200 branches", "0.a.weight", 300, """
class Branch(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 1)
    def forward(self, x):
        return self.b(torch.relu(self.a(x)))
branches = nn.ModuleList(Branch() for _ in range(200))
optimizer = torch.optim.Adam(branches.parameters())
total = 0
for sample in torch.randn({length}, 8, 4):
    total = total + torch.stack([branch(sample) for branch in branches]).mean()
total.backward()
optimizer.step()
"""),
    Large("200 encoder layers, 50 steps", "layers.0.linear1.weight", 50, """
layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.0)
model = nn.TransformerEncoder(layer, 200)
optimizer = torch.optim.Adam(model.parameters())
for step in range({length}):
    optimizer.zero_grad()
    model(torch.randn(2, 5 + step % 25, 16)).pow(2).mean().backward()
    optimizer.step()
"""),
)  # fmt: skip


def measured(arguments: list[str], folder: str) -> tuple[float, int]:
    """(seconds of the processor, megabytes) of `gradscope ARGUMENTS`."""
    with subprocess.Popen(
        [sys.executable, "-m", "gradscope", *arguments],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_utime + used.ru_stime, used.ru_maxrss // 1024


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=1.0)
    scale = parser.parse_args().scale
    for large in LARGE:
        length = large.length if "steps" in large.name else int(large.length * scale)
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "large.py").write_text(HEAD + large.text.replace("{length}", str(length)))
            measured(["run", "--full", "--trace", "large.gradscope", "large.py"], folder)
            trace = Path(folder, "large.gradscope")
            with sqlite3.connect(trace) as db:
                nodes = db.execute("SELECT sum(nodes) FROM graph").fetchone()[0]
            size = trace.stat().st_size
            print(f"{large.name}: {nodes:,} nodes, {size / 1e6:.1f} MB ({size / nodes:.0f} bytes a node)")
            for arguments in (
                ["check", "large.gradscope"],
                ["why", "large.gradscope", large.parameter],
                ["graph", "large.gradscope", "-o", "large.svg"],
                ["graph", "large.gradscope", "--level", "module", "-o", "large.svg"],
            ):
                seconds, megabytes = measured(arguments, folder)
                shown = " ".join(a for a in arguments if not a.startswith("large.") and a != "-o")
                print(f"  {shown:<32}{seconds:7.1f} s {megabytes:6} MB", flush=True)


if __name__ == "__main__":
    main()
