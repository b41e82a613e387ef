"""Random keys, clicks and sizes in the terminal UI, faster than its screens come: nothing ends it.

`GRADSCOPE_SEED` draws others. tests/sweeps/keys.py does it in a real terminal, at a hand's pace.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from textual.events import Key
from tui_driver import DETACHED, record

from gradscope.tui import inspector
from gradscope.tui.app import Inspector

KEYS = [
    *"abcdefghjklmnoprstuvwxyzMNSR/[]", "question_mark", "q", "enter", "escape", "escape", "tab", "backspace", "space",
    "up", "down", "left", "right", "home", "end", "pageup", "pagedown", "ctrl+p", "ctrl+u", "x", *["w", "enter"] * 8,
    *"1234567" * 4,
]  # fmt: skip
SIZES = [(80, 24), (120, 40), (200, 50), (40, 12)]
SEED = int(os.environ.get("GRADSCOPE_SEED", "0"))
PROGRAMS = {
    "detached": DETACHED,
    "alike": """\
import torch
blocks = [torch.nn.Linear(2, 2) for _ in range(3)]
optimizer = torch.optim.SGD([p for b in blocks for p in b.parameters()], lr=0.1)
for step in range(6):
    x = torch.ones(1, 2)
    for b in blocks:
        x = b(x) if step % 2 else b(x).detach()
    x.requires_grad_().sum().backward()
    optimizer.step()
""",
    "bare": "import torch\nw = torch.ones(2, requires_grad=True)\ny = w.exp()\ny.add_(1)\ny.sum().backward()\n",
}
LIVE = """\
import sys, time, torch
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
print("name?", flush=True)
sys.stdin.readline()
while True:
    net(torch.randn(8, 4)).square().mean().backward()
    optimizer.step()
    print("a line of the program's output " * 9, flush=True)
    time.sleep(0.01)
"""


async def press_keys(app: Inspector, rng: random.Random, keys: int, pressed: list[str]) -> None:
    """Raises what has ended the UI; `pressed` takes the keys up to there."""
    app.exit = lambda *args, **more: None  # type: ignore[method-assign]  # it is left by nobody
    async with app.run_test(size=SIZES[0]) as pilot:
        for _ in range(keys):
            if app.failed:
                break
            drawn = rng.random()
            if drawn < 0.02:
                await pilot.resize_terminal(*rng.choice(SIZES))
            elif drawn < 0.06:
                await pilot.click(offset=(rng.randrange(app.size.width), rng.randrange(app.size.height)))
            else:
                key = rng.choice(KEYS)
                pressed.append(key)
                app.post_message(Key(key, key if len(key) == 1 else None))
            if pause := rng.choice([0, 0, 0.005, 0.02, 0.05, 0.2]):
                await asyncio.sleep(pause)
        await asyncio.sleep(0.5)
        if app.child is not None and app.child.running:
            app.child.kill()


def soak(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, trace: Path, *command: Any) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EDITOR", "true")
    app = inspector(trace, list(command) or None)
    pressed: list[str] = []
    try:
        asyncio.run(press_keys(app, random.Random(f"{SEED} {name}"), 500, pressed))
    finally:
        print("the last keys:", *pressed[-15:])
        app.helper.close()


@pytest.mark.nightly
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_keys_end_the_ui_over_a_trace(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    soak(tmp_path, monkeypatch, name, record(tmp_path, PROGRAMS[name]))


@pytest.mark.nightly
def test_no_keys_end_the_ui_over_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text(LIVE)
    trace = tmp_path / "live.gradscope"
    run = [sys.executable, "-u", "-m", "gradscope", "run", "--trace", str(trace), "train.py"]
    soak(tmp_path, monkeypatch, "live", trace, *run)
