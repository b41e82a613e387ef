"""What watching costs in a long run: the ratio to the plain one, on four kinds of program.

Two processes, one of them watched from its first step to its last, take turns of half a second
each, so that what else the machine does falls on both alike. The ratio is that of all their time,
the median over several pairs of processes: two plain ones differ by several per cent, too, by
where their memory comes to lie.

    python benchmarks/long_run.py [--seconds 20] [--pairs 3] [--only mlp]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext

import torch
from overhead import watching
from programs import PROGRAMS

MOST = 1.05  # what a long run may cost
TURN = 0.5  # seconds


def child(name: str, watched: bool) -> None:
    """Runs as many steps as each line of the input says, and prints the seconds they took."""
    torch.manual_seed(0)
    step = PROGRAMS[name]()
    step()
    with watching(sample=True) if watched else nullcontext():
        for line in sys.stdin:
            started = time.perf_counter()
            for _ in range(int(line)):
                step()
            print(time.perf_counter() - started, flush=True)


class Runner:
    """A child, asked for some steps at a time."""

    def __init__(self, name: str, way: str, folder: str):
        path = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        self.process = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), "--only", name, "--child", way],
            cwd=folder, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=1,
            env={"PYTHONPATH": path, **os.environ},
        )  # fmt: skip

    def seconds(self, steps: int) -> float:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{steps}\n")
        return float(self.process.stdout.readline())

    def close(self) -> None:
        self.process.communicate()


def measure(name: str, limit: float) -> tuple[int, float, float]:
    """(steps, seconds of a plain step, ratio) of one pair."""
    with tempfile.TemporaryDirectory() as folder:
        plain, watched = Runner(name, "plain", folder), Runner(name, "watched", folder)
        turn = max(1, int(TURN / (plain.seconds(20) / 20)))
        taken = [0.0, 0.0]
        turns = 0
        while sum(taken) < 2 * limit:
            both = (plain, watched) if turns % 2 else (watched, plain)
            for runner in both:
                taken[runner is watched] += runner.seconds(turn)
            turns += 1
        plain.close()
        watched.close()
    return turns * turn, taken[0] / (turns * turn), taken[1] / taken[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20.0, help="of each plain run")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--only", choices=PROGRAMS, action="append")
    parser.add_argument("--child", choices=("plain", "watched"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.only[0], options.child == "watched")
        return 0
    over = False
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads\n")
    print(f"{'':8}{'steps':>8}{'plain':>10}{'watched':>9}")
    for name in options.only or PROGRAMS:
        rows = [measure(name, options.seconds) for _ in range(options.pairs)]
        steps, step, ratio = (statistics.median(column) for column in zip(*rows, strict=True))
        over |= ratio > MOST
        late = "   over" if ratio > MOST else ""
        each = ", ".join(f"{row[2]:.2f}" for row in rows)
        print(f"{name:8}{steps:8.0f}{1000 * step:8.2f}ms{ratio:9.3f}  ({each}){late}", flush=True)
    return 1 if over else 0


if __name__ == "__main__":
    raise SystemExit(main())
