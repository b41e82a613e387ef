"""What watching costs, as the ratio to the plain step, on four kinds of program.

Every way of running is timed in turn, round after round, so that what else the machine
does falls on all alike; a ratio is the median over the rounds of paired ratios.

    python benchmarks/overhead.py [--rounds 7] [--only mlp]
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import torch
from programs import PROGRAMS, Step

import gradscope

# name → (steps in one timing, the most that full capture may cost)
LIMITS: dict[str, tuple[int, float]] = {
    "resnet": (10, 1.15),
    "gpt": (15, 1.3),
    "lstm": (10, 1.8),
    "mlp": (300, 3.0),
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
        settle()
        started = time.perf_counter()
        for _ in range(steps):
            step()
        settle()
        return (time.perf_counter() - started) / steps


def settle() -> None:
    """Waits for what was queued on a GPU."""
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()


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
        steps, limit = LIMITS[name]
        found = measure(PROGRAMS[name], steps, options.rounds)
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
