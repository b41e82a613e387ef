"""Peak resident memory with and without gradscope, and whether it grows with the steps.

Every run is a process of its own. Under gradscope it may hold 5 % + 50 MB more than plain,
and 5,000 steps no more than 1,000 do, give or take what the allocator does.

    python benchmarks/memory.py [--only mlp]
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import subprocess
import sys
import tempfile

from programs import PROGRAMS

STEPS = {"resnet": 20, "gpt": 30, "lstm": 20, "mlp": 5000}
SHARE, FIXED = 1.05, 50.0  # of the plain run's peak, and in MB
GROWTH = 4.0  # MB that two equal runs may differ by


def peak(name: str, steps: int, way: str) -> float:
    """MB resident at most in a fresh process that runs this program."""
    command = [sys.executable, __file__, "--child", way, "--steps", str(steps), "--only", name]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def run(name: str, steps: int, way: str) -> None:
    """The child: runs the program and prints its peak."""
    import torch

    import gradscope

    torch.manual_seed(0)
    step = PROGRAMS[name]()
    scope = gradscope.watch(sample=way == "sampled") if way != "plain" else contextlib.nullcontext()
    with scope:
        for _ in range(steps):
            step()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", choices=PROGRAMS, action="append")
    parser.add_argument("--child", choices=("plain", "sampled", "full"), help=argparse.SUPPRESS)
    parser.add_argument("--steps", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = options.only or list(PROGRAMS)
    if options.child:
        run(names[0], options.steps, options.child)
        return 0
    os.environ.setdefault("PYTHONPATH", os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    over = False
    print(f"{'':8}{'steps':>7}{'plain':>9}{'installed':>11}{'full':>9}{'allowed':>9}  MB")
    for name in names:
        plain, sampled, full = (peak(name, STEPS[name], way) for way in ("plain", "sampled", "full"))
        allowed = plain * SHARE + FIXED
        over |= max(sampled, full) > allowed
        print(f"{name:8}{STEPS[name]:7}{plain:9.0f}{sampled:11.0f}{full:9.0f}{allowed:9.0f}", flush=True)
    for way in ("sampled", "full"):
        short, long = peak("mlp", 1000, way), peak("mlp", 5000, way)
        over |= long - short > GROWTH
        print(f"mlp, {way}: {short:.0f} MB after 1,000 steps, {long:.0f} MB after 5,000", flush=True)
    return int(over)


if __name__ == "__main__":
    sys.exit(main())
