"""Drives the terminal UI in a test: opens it on a trace, presses keys, reads the screen."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from warm import python

from gradscope.tui import inspector
from gradscope.tui.app import Inspector

DETACHED = """\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 4)
        self.second = torch.nn.Linear(4, 1)

    def forward(self, x):
        return self.second(self.first(x).detach())


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    optimizer.zero_grad()
    loss = model(torch.ones(2, 4)).square().mean()
    loss.backward()
    optimizer.step()
with torch.no_grad():
    model(torch.ones(2, 4))
"""


def record(folder: Path, source: str, name: str = "train.py") -> Path:
    """The trace of a real run of `source` in `folder`."""
    (folder / name).write_text(source, encoding="utf-8")
    trace = folder / "run.gradscope"
    command = [*python(), "-m", "gradscope", "run", "--full", "--trace", str(trace), name]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert trace.exists(), ran.stderr
    return trace


def drive(
    trace: Path, steps: Callable[[Inspector, Pilot[Any]], Awaitable[None]], size: tuple[int, int] = (100, 30)
) -> None:
    """Opens the UI on a trace, waits for what the rules say, and takes the steps."""

    async def session() -> None:
        app = inspector(trace)
        async with app.run_test(size=size, notifications=True) as pilot:
            await settled(pilot, lambda: app.checked is not None or bool(app.fault))
            await steps(app, pilot)

    asyncio.run(session())


async def settled(pilot: Pilot[Any], ready: Callable[[], bool] = lambda: True) -> None:
    """Waits until work beside the UI is done."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        await pilot.pause(0.02)
        if ready() and not any(worker.is_running for worker in pilot.app.workers):
            break
    assert ready()
    await pilot.pause()


def screen(app: Inspector) -> str:
    """What is on screen, as lines of text."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)


def told(app: Inspector) -> str:
    """The messages that popped up."""
    return "\n".join(str(notification.message) for notification in app._notifications)
