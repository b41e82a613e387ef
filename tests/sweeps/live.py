"""At which step a bug that begins late is told: programs that go wrong from step 700 on, and right twins of them.

    python tests/sweeps/live.py [--only frozen] [--size small middle slow] [--wrong | --right]

Each runs under `gradscope run --live`. It notes when each of its steps began, and when a line about it comes that
says how many steps it was late. A right twin must be told nothing of, neither meanwhile nor at the end. Ends with 1
where one is, or a wrong one is not told while it runs, or what was told is no longer found at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from bisect import bisect_right
from pathlib import Path

BEGINS = 700  # the step of the bug

PROGRAM = """
import json, time
import torch
from torch import nn

WIDTH, BATCH, STEPS, PAUSE = {size}
torch.manual_seed(0)
body = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Dropout(0.1))
head = nn.Linear(WIDTH, 1)
model = nn.Sequential(body, head)
inputs = torch.randn(64 * BATCH, WIDTH)
answers = inputs[:, :1] + 0.1 * torch.randn(64 * BATCH, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.001)
began, kept = [], []
step = 0

def forward(x):
    return model(x)

def late():
    pass

def loss_of(output, y):
    return (output - y).square().mean()

def after(loss):
    pass

{change}

for step in range(1, STEPS + 1):
    began.append(time.time())
    if step == {begins}:
        late()
    batch = torch.randint(64 * BATCH, (BATCH,))
    x, y = inputs[batch], answers[batch]
    optimizer.zero_grad()
    loss = loss_of(forward(x), y)
    loss.backward()
    optimizer.step()
    after(loss)
    time.sleep(PAUSE)
with open("began.json", "w") as file:
    json.dump(began, file)
"""

SIZES = {  # width, batch, steps, seconds of rest in each
    "small": (16, 8, 10_000, 0.0),
    "middle": (512, 256, 2_500, 0.0),
    "slow": (16, 8, 1_000, 0.05),
}

CHANGES: dict[str, tuple[str, str]] = {
    "frozen": (
        """
def late():
    for parameter in body.parameters():
        parameter.requires_grad_(False)
""",
        """
def late():
    global optimizer
    for parameter in body.parameters():
        parameter.requires_grad_(False)
    optimizer = torch.optim.SGD(head.parameters(), 0.001)
""",
    ),
    "detached": (
        """
def forward(x):
    hidden = body(x)
    if step >= BEGINS:
        hidden = hidden.detach()
    return head(hidden)
""",
        """
def forward(x):
    hidden = body(x)
    if step >= BEGINS:
        kept[:] = [hidden.detach().mean().item()]
    return head(hidden)
""",
    ),
    "eval left on": (
        """
def late():
    model.eval()
    with torch.no_grad():
        print(loss_of(model(inputs), answers).item())
""",
        """
def late():
    model.eval()
    with torch.no_grad():
        print(loss_of(model(inputs), answers).item())
    model.train()
""",
    ),
    "NaN": (
        """
def loss_of(output, y):
    error = (output - y).square().mean()
    return error + 0.01 * (error - float(step >= BEGINS) * 1000).sqrt()
""",
        """
def loss_of(output, y):
    error = (output - y).square().mean()
    return error + 0.01 * (error + float(step >= BEGINS) * 1000).sqrt()
""",
    ),
    "NaN in the data": (
        """
def late():
    inputs[::2] = float("nan")
""",
        """
def late():
    inputs[::2] = 0.5
""",
    ),
    "graphs kept": (
        """
def after(loss):
    if step >= BEGINS:
        kept.append(loss)
""",
        """
def after(loss):
    if step >= BEGINS:
        kept.append(loss.detach())
""",
    ),
    "graphs in a running sum": (
        """
total = 0.0

def after(loss):
    global total
    if step >= BEGINS:
        total += loss
""",
        """
total = 0.0

def after(loss):
    global total
    if step >= BEGINS:
        total += loss.detach()
""",
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="*", default=list(CHANGES), choices=CHANGES, metavar="NAME")
    parser.add_argument("--size", nargs="*", default=["small", "middle"], choices=SIZES)
    parser.add_argument("--wrong", action="store_true", help="the wrong programs only")
    parser.add_argument("--right", action="store_true", help="the right twins only")
    given = parser.parse_args()
    faults = 0
    for size in given.size:
        for name in given.only:
            for text, wrong in zip(CHANGES[name], (True, False), strict=True):
                if not (given.right if wrong else given.wrong):
                    faults += not told(size, name, text, wrong)
    print(f"{faults} not as they should be" if faults else "all as they should be")
    return int(faults > 0)


def told(size: str, name: str, change: str, wrong: bool) -> bool:
    """Runs one program and prints what was told of it. Returns whether that is right."""
    with tempfile.TemporaryDirectory() as folder:
        text = PROGRAM.format(size=SIZES[size], change=change.replace("BEGINS", str(BEGINS)), begins=BEGINS)
        (Path(folder) / "train.py").write_text(text)
        process = subprocess.Popen(
            [sys.executable, "-m", "gradscope", "run", "--live", "train.py"], cwd=folder, text=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        assert process.stderr is not None
        lines = [(time.time(), line) for line in process.stderr]
        process.wait()
        began = json.loads((Path(folder) / "began.json").read_text())
    live = [(when, line) for when, line in lines if line.startswith("gradscope, step")]
    report = "".join(line for when, line in lines if not line.startswith("gradscope, step"))
    codes = set(re.findall(r"(?:error|warning|note)\[(GS\d+)\]", report))
    rate = len(began) / (began[-1] - began[0])
    print(
        f"{size}, {name}, {'wrong' if wrong else 'right'}: {rate:,.0f} steps a second; at the end {sorted(codes)}"
    )
    taken_back = False
    for when, line in live:
        step = bisect_right(began, when)
        seconds = when - began[BEGINS - 1]
        print(f"    told at step {step:,}, {seconds:.1f} s after step {BEGINS}: {line.strip()}")
        code = re.search(r"GS\d+", line)
        taken_back = taken_back or "no longer found" in line or (code is not None and code[0] not in codes)
    sys.stdout.flush()
    return bool(live) and not taken_back if wrong else not live and not codes


if __name__ == "__main__":
    sys.exit(main())
