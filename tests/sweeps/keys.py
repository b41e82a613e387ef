"""Presses random keys in the terminal UI, in tmux: finished traces and programs that run meanwhile.

    python tests/sweeps/keys.py [--keys 500] [--seed 0] [--only live-input]

A finished trace gets all keys but those that leave; a program that runs meanwhile those too, and what they ask is
answered with "stay" or "no". A fault is an exception on the screen, a UI that ends although nobody left it, or a
program that ended otherwise, or printed other lines, than without the UI. Ends with 1 if there is any.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
LETTERS = "abcdefghjklmnopstuvwxyzMNS1234567/?[]"
KEYS = [
    *LETTERS, "Up", "Down", "Left", "Right", "Home", "End", "PageUp", "PageDown", "Enter", "Escape", "Tab", "BSpace",
    "Space", "C-p", "C-c", "C-q",
]  # fmt: skip
_PACE = 0.1  # seconds between keys: a quick hand
LEAVING = ("q", "C-c", "C-q")
_LEFT = r"(?m)^left with (\d+)"  # the shell's line below a UI that has ended; the UI's own words are others
SIZES = [(80, 24), (120, 40), (200, 50)]
EDITOR = "true"

DETACHED = (ROOT / "examples/detach_between_layers.py").read_text()
LSTM = """\
import torch
torch.manual_seed(0)
cell, out = torch.nn.LSTMCell(4, 4), torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam([*cell.parameters(), *out.parameters()])
for _ in range(2):
    h = c = torch.zeros(2, 4)
    for x in torch.randn(500, 2, 4):
        h, c = cell(x, (h, c))
    optimizer.zero_grad()
    out(h).sum().backward()
    optimizer.step()
"""
GAN = """\
import torch
torch.manual_seed(0)
G, D = torch.nn.Linear(4, 2), torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
ours, theirs = torch.optim.SGD(G.parameters(), lr=0.1), torch.optim.SGD(D.parameters(), lr=0.1)
for _ in range(10):
    fake = G(torch.randn(8, 4))
    theirs.zero_grad()
    (D(fake.detach()).mean() - D(torch.randn(8, 2)).mean()).backward()
    theirs.step()
    ours.zero_grad()
    (-D(fake).mean()).backward()
    ours.step()
"""
CRASH = "import torch\nw = torch.ones(2, requires_grad=True)\ny = w.exp()\ny.add_(1)\ny.sum().backward()\n"
EMPTY = "print('no torch at all')\n"
LOOP = """\
import sys, time, torch
torch.manual_seed(0)
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
end = time.monotonic() + SECONDS
step = 0
while time.monotonic() < end or step < 50:
    optimizer.zero_grad()
    loss = net(torch.randn(8, 4)).square().mean()
    loss.backward()
    optimizer.step()
    step += 1
    if step <= 50:
        print("step", step, loss.item(), flush=True)
    MORE
print("ended")
sys.exit(7)
"""
FINISHED = {"detached": DETACHED, "lstm": LSTM, "gan": GAN, "crash": CRASH, "empty": EMPTY}
LIVE = {
    "live-long": LOOP.replace("MORE", "time.sleep(0.02)"),
    "live-prints": LOOP.replace(
        "MORE", "step % 100 or print('.', end='' if step % 200 else '\\n', file=sys.stderr)"
    ),
    "live-input": LOOP.replace("MORE", "time.sleep(0.02)").replace(
        "step = 0", "step = 0\nprint(len(sys.stdin.readline()) > 0)"
    ),
}


class Window:
    """A tmux server of its own with one window."""

    def __init__(self, folder: Path, command: list[str], size: tuple[int, int]):
        self._tmux = ["tmux", "-L", f"gradscope-keys-{os.getpid()}"]
        paths = f"EDITOR={EDITOR} PYTHONPATH={ROOT}"
        line = f"{paths} {shlex.join([sys.executable, '-m', 'gradscope', *command])}; echo left with $?; sleep 1000"
        self._do(
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            str(size[0]),
            "-y",
            str(size[1]),
            "-c",
            str(folder),
            line,
        )

    def _do(self, *args: str) -> str:
        return subprocess.run([*self._tmux, *args], capture_output=True, text=True, timeout=60).stdout

    @property
    def screen(self) -> str:
        return self._do("capture-pane", "-p")

    def press(self, *keys: str) -> None:
        for key in keys:
            self._do("send-keys", key)

    def wait(self, wanted: str, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if re.search(wanted, self.screen):
                return True
            time.sleep(0.2)
        return False

    def close(self) -> None:
        self._do("kill-server")


def soak(name: str, source: str, keys: int, rng: random.Random, seconds: float) -> list[str]:
    """The faults of one run."""
    live = name in LIVE
    with tempfile.TemporaryDirectory() as there:
        folder = Path(there)
        program = folder / "train.py"
        paths = os.environ | {"PYTHONPATH": str(ROOT)}
        program.write_text(source.replace("SECONDS", "0"), encoding="utf-8")
        command = ["train.py"] if live else ["-m", "gradscope", "run", "train.py"]
        ran = subprocess.run(
            [sys.executable, *command],
            cwd=folder,
            input="a line\n",
            capture_output=True,
            text=True,
            env=paths,
        )
        plain = ran.stdout
        program.write_text(source.replace("SECONDS", f"{seconds:.0f}"), encoding="utf-8")
        window = Window(folder, ["run", "--view", "train.py"] if live else ["view"], rng.choice(SIZES))
        try:
            return press_keys(window, name, folder, keys, rng, plain)
        finally:
            window.close()


def press_keys(
    window: Window, name: str, folder: Path, keys: int, rng: random.Random, plain: str
) -> list[str]:
    if not window.wait("1 Findings", 120):
        return [f"{name}: no UI: {window.screen}"]
    pressed: list[str] = []
    for _ in range(keys):
        key = rng.choice([key for key in KEYS if key not in (("C-p",) if name in LIVE else LEAVING)])
        pressed.append(key)
        window.press(key)
        time.sleep(_PACE)
        if key in LEAVING:
            window.press("s")  # stay, where it was asked
        elif key == "x":
            window.press("n")
        elif key == "Escape":
            time.sleep(0.3)  # else it is taken as Meta and the next key
        if len(pressed) % 10 == 0 and re.search(_LEFT, window.screen):
            break
    shown = window.screen
    if "Traceback" in shown or "fault of the terminal UI" in shown:
        return [f"{name}: after {' '.join(pressed[-15:])}:\n{shown}"]
    if name in LIVE:
        return ended(window, name, folder, plain)
    return leave(window, name)


def leave(window: Window, name: str, code: int = 0) -> list[str]:
    for _ in range(20):  # it may still be busy with the keys that came before
        if window.wait(_LEFT, 6):
            break
        for key in ("Escape", "Escape", "Escape", "q"):
            window.press(key)
            time.sleep(0.5)
    shown = window.screen
    left = re.search(_LEFT, shown)
    return [] if left and int(left[1]) == code else [f"{name}: not left as it should be:\n{shown}"]


def ended(window: Window, name: str, folder: Path, plain: str) -> list[str]:
    """Lets a program come to its end, and compares what it printed."""
    outputs = list((folder / ".gradscope").glob("*.out"))
    end = time.monotonic() + 300
    while time.monotonic() < end and not any("next:" in o.read_text(errors="replace") for o in outputs):
        if name == "live-input":
            for key in ("Escape", "Escape", "7", "Enter", "a", "Enter"):
                window.press(key)
                time.sleep(0.4)
        time.sleep(1)
    text = "".join(o.read_text(errors="replace") for o in outputs)
    kept = [line for line in plain.splitlines() if line]
    lost = [line for line in kept if line not in text]
    faults = [f"{name}: not printed: {lost[:3]}"] if lost else []
    faults += leave(window, name, 7)
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--keys", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only")
    args = parser.parse_args()
    if shutil.which("tmux") is None:
        print("no tmux here")
        return 2
    faults = []
    for name, source in {**FINISHED, **LIVE}.items():
        if args.only in (None, name):
            rng = random.Random(f"{args.seed} {name}")
            found = soak(name, source, args.keys, rng, args.keys * 0.15 if name in LIVE else 0)
            print(f"{name}: {args.keys} keys, {len(found)} faults", flush=True)
            faults += found
    print(*faults, sep="\n\n")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
