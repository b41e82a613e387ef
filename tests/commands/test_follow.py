"""Findings that are told while the program runs."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from warm import python

import gradscope
from gradscope.commands import main
from gradscope.follow import EXTRA, PAUSE, SHARE, START, TICK, Certain, Pace
from gradscope.store import Glance, glance

ENDLESS = """
import os, time
import torch
from torch import nn

body, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], 0.01)
try:
    os.wait()
except ChildProcessError:
    print("no child", flush=True)
step = 0
while True:
    hidden = body(torch.randn(8, 4))
    if step >= 20:
        hidden = hidden.detach()
    optimizer.zero_grad()
    head(hidden).square().mean().backward()
    optimizer.step()
    time.sleep(0.01)
    step += 1
"""


def test_a_run_is_stopped_by_what_is_certain(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(ENDLESS)
    ended = subprocess.run(
        [*python(), "-m", "gradscope", "run", "--stop-on", "warning", "train.py"],
        cwd=tmp_path, text=True, capture_output=True, timeout=120,
        env={**os.environ, "OMP_NUM_THREADS": "1", "NO_COLOR": "1"},
    )  # fmt: skip
    assert ended.returncode in (130, -signal.SIGINT), ended.stderr
    assert ended.stdout == "no child\n", "what follows the run is none that the program has made"
    told, report = ended.stderr.partition("Traceback")[::2]
    assert "train.py:16:18: warning GS301" in told
    (since,) = set(re.findall(r"since step (\d+)", told))
    assert int(since) >= 21, "later where sampling is asleep at step 21, as on a busy machine"
    assert "KeyboardInterrupt" in report and "warning[GS301]" in report
    assert not _followers(tmp_path)


def _followers(folder: Path) -> list[str]:
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout.splitlines()
    return [line for line in listed if "check --follow" in line and str(folder) in line]


def test_a_run_that_has_ended_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import torch

    path = tmp_path / "ended.gradscope"
    with gradscope.watch(path=path):
        a = torch.ones(3, requires_grad=True)
        b = a * 2
        loss = (b * b).sum()
        b.data.zero_()
        loss.backward()
    assert main(["check", "--follow", str(path)]) == main(["check", str(path)]) == 1
    assert capsys.readouterr().out.count("error[GS101]") == 2
    assert main(["check", "--stop-on", "error", str(path)]) == 2


LOGGING = """
import logging, sys, time
import torch
from torch import nn

told = []
class Keep(logging.Handler):
    def emit(self, record):
        told.append(record.getMessage())
if "deaf" not in sys.argv:
    logging.getLogger("gradscope.live").addHandler(Keep())
logging.basicConfig(stream=sys.stdout)
torch.manual_seed(0)
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), 0.01)
end = time.monotonic() + (2 if "deaf" in sys.argv else 60)
while not told and time.monotonic() < end:
    net(torch.randn(8, 4)).square().mean().backward()
    optimizer.step()
    time.sleep(0.01)
print(len(told), *told)
"""


@pytest.mark.slow
def test_a_program_that_listens_is_told(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LOGGING)
    for listens, expected in (("", "1 train.py:"), ("deaf", "0\n")):
        ended = subprocess.run(
            [*python(), "-m", "gradscope", "run", "train.py", listens], cwd=tmp_path, text=True,
            capture_output=True, timeout=120, env={**os.environ, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        lines = [
            line for line in ended.stdout.splitlines(True) if not line.startswith("ERROR:gradscope.live")
        ]
        assert lines[-1].startswith(expected) and "GS201" in ended.stderr, ended.stderr
        assert bool(listens) == ("gradscope.live" not in ended.stdout), (
            "it goes on to the program's other handlers"
        )


def test_a_finding_of_a_run_that_goes_on_is_certain_when_two_looks_with_a_step_between_have_it() -> None:
    of_a_beginning, lasting, late = (("GS301", "error", (("train.py", line),)) for line in (1, 2, 3))
    certain = Certain()
    assert certain.look([of_a_beginning, lasting], 1) == set()
    assert certain.look([of_a_beginning, lasting], 1) == set()  # no step between
    assert certain.look([lasting, late], 7) == {lasting}
    assert certain.look([lasting, late], 7) == {lasting}
    assert certain.look([late], 9) == {late}


def _looks(kind: Callable[[int], int], seconds: int, cost: float) -> list[float]:
    """When a trace is looked at that grows by a step at each tick, whose kind is `kind(number)`."""
    pace, looks = Pace(0.0), [0.0]
    pace.look(Glance(), 0.0, cost, False)
    for number in range(1, int(seconds / TICK)):
        seen, now = Glance(kinds=kind(number), last=number, written=number), number * TICK
        if pace.due(seen, now):
            looks.append(now)
            pace.look(seen, now, cost, False)
    return looks


def test_what_is_new_is_looked_at_at_once_and_again_at_growing_intervals() -> None:
    looks = _looks(lambda number: int(number >= 501), 200, 0.01)
    before, after = ([now for now in looks if (now > 50) is late] for late in (False, True))
    assert after[0] == pytest.approx(501 * TICK)
    assert len([now for now in after if now < after[0] + PAUSE]) > 3
    assert all(b - a > PAUSE - TICK for a, b in pairwise(before[8:]))
    assert all(b - a > PAUSE - TICK for a, b in pairwise(after[8:]))


@pytest.mark.parametrize("cost", [0.01, 0.3])
def test_a_run_whose_every_step_is_new_is_not_looked_at_all_the_time(cost: float) -> None:
    seconds = 2000
    spent = cost * len(_looks(lambda number: number, seconds, cost))
    assert spent < START + seconds / SHARE + seconds / EXTRA + 2 * cost


def test_a_trace_that_does_not_grow_is_left_alone() -> None:
    pace, seen = Pace(0.0), Glance(kinds=1, last=1)
    pace.look(seen, 0.0, 0.01, True)
    assert not pace.due(seen, PAUSE - TICK)
    assert not pace.due(seen._replace(last=2), TICK / 2)
    assert not pace.due(seen._replace(last=2), 2 * TICK), (
        "what is known of parameters is that of the last look"
    )
    assert pace.due(seen._replace(last=2, written=2), 2 * TICK)
    assert pace.due(seen, PAUSE)


def test_a_new_kind_of_step_is_in_the_trace_at_once_and_so_are_those_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from gradscope import session
    from gradscope.store import TraceWriter

    monkeypatch.setattr(TraceWriter, "COMMIT_SECONDS", 1e9)
    monkeypatch.setattr(TraceWriter, "HURRY_SECONDS", 0.0)
    monkeypatch.setattr(session, "_OFTEN", 0.0)
    monkeypatch.setattr(session, "_PART", 0)  # a run of a second has no time for it
    monkeypatch.setattr(session, "_QUIET", 0.0)
    monkeypatch.setattr(session, "_HURRY", 0.0)
    path = tmp_path / "run.gradscope"
    net = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)

    def train(steps: int) -> None:
        for _ in range(steps):
            optimizer.zero_grad()
            net(torch.ones(1, 2)).sum().backward()
            optimizer.step()

    with gradscope.watch(path=path):
        train(340)
        before = glance(path)
        monkeypatch.setattr(session, "_HURRY", 60.0)  # a busy machine takes its time
        net.weight.requires_grad_(False)
        train(1)
        after = glance(path)
        train(50)
        trace = gradscope.open(path)
        assert trace.summary["steps"] == 391
    assert after.kinds != before.kinds and after.written != before.written


RIGHT = """
import time
import torch
from torch import nn

body, head = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1)), nn.Linear(4, 1)
model = nn.Sequential(body, head)
x = torch.randn(64, 4)
y = x[:, :1]
optimizer = torch.optim.SGD(model.parameters(), 0.01)
losses = []
for step in range(600):
    if step == 300:
        body.requires_grad_(False)
        optimizer = torch.optim.SGD(head.parameters(), 0.01)
    if step % 100 == 99:
        model.eval()
        with torch.no_grad():
            losses.append((model(x) - y).square().mean())
        model.train()
    batch = torch.randint(64, (8,))
    optimizer.zero_grad()
    loss = (model(x[batch]) - y[batch]).square().mean()
    loss.backward()
    optimizer.step()
    losses.append(loss.detach())
    time.sleep(0.01)
"""


@pytest.mark.slow
def test_a_right_program_is_told_nothing_while_it_changes_what_it_does(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(RIGHT)
    ended = subprocess.run(
        [*python(), "-m", "gradscope", "run", "--live", "train.py"], cwd=tmp_path, text=True,
        capture_output=True, timeout=120, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert ended.returncode == 0 and "gradscope, step" not in ended.stderr, ended.stderr
