"""What watching costs in a long run: the ratio to the plain one, on four kinds of program.

Each round runs the same number of steps plainly and watched, in turn; the watched ones in one
watch each, so that its first steps, in which everything is looked at, count in.

    python benchmarks/long_run.py [--rounds 3] [--seconds 30] [--only mlp]
"""

from __future__ import annotations

import argparse
import statistics
import time

import torch
from overhead import watching
from programs import PROGRAMS, Step

MOST = 1.05  # what a long run may cost


def seconds(step: Step, steps: int) -> float:
    started = time.perf_counter()
    for _ in range(steps):
        step()
    return time.perf_counter() - started


def watched(step: Step, steps: int) -> float:
    started = time.perf_counter()
    with watching(sample=True):
        seconds(step, steps)
    return time.perf_counter() - started


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=30.0, help="of the plain run")
    parser.add_argument("--only", choices=PROGRAMS, action="append")
    options = parser.parse_args()
    over = False
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads\n")
    print(f"{'':8}{'steps':>8}{'plain':>10}{'watched':>9}  of each round")
    for name in options.only or PROGRAMS:
        torch.manual_seed(0)
        step = PROGRAMS[name]()
        seconds(step, 10)
        steps = max(20, int(options.seconds / (seconds(step, 20) / 20)))
        plain, ratios = [], []
        for turn in range(options.rounds):
            first = watched(step, steps) if turn % 2 else 0.0
            plain.append(seconds(step, steps))
            ratios.append((first or watched(step, steps)) / plain[-1])
        ratio = statistics.median(ratios)
        over |= ratio > MOST
        each = " ".join(f"{r:.3f}" for r in ratios)
        print(
            f"{name:8}{steps:8}{1000 * statistics.median(plain) / steps:8.2f}ms{ratio:9.3f}  {each}"
            f"{'   over' if ratio > MOST else ''}",
            flush=True,
        )
    return 1 if over else 0


if __name__ == "__main__":
    raise SystemExit(main())
