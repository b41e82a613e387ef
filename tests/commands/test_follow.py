"""Findings that are told while the program runs."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from warm import python

import gradscope
from gradscope.commands import main
from gradscope.follow import Certain

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
    assert "train.py:16:18: warning GS301" in told and "since step 21" in told
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
