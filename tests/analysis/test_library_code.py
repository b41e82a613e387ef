"""What stands in a library is not the user's to mend: told as a note, at the user's own lines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from forked import Forks
from warm import python

LIBRARY = """\
import torch

class Backbone(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.mask = torch.nn.Parameter(torch.zeros(4))
        self.first, self.second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))
"""
PROGRAM = """\
import torch
from zoo import Backbone
torch.manual_seed(0)
model = Backbone()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    opt.zero_grad()
    model(torch.randn(8, 4)).pow(2).mean().backward()
    opt.step()
"""


# Code without a file counts as a library's, as what is installed does.
INSTALLED = """\
import types
zoo = types.ModuleType("zoo")
exec(compile({!r}, "<zoo>", "exec"), zoo.__dict__)
Backbone = zoo.Backbone
"""


def found(folder: Path, forks: Forks) -> list[tuple[str, str]]:
    report = folder / "report.json"
    (folder / "train.py").write_text(PROGRAM)
    assert forks.command(folder, "run", "--report", str(report), "train.py").status == 0
    return [(f["code"], f["severity"]) for f in json.loads(report.read_text())["findings"]]


def test_an_unused_part_of_a_librarys_model_is_a_note(tmp_path: Path, forks: Forks) -> None:
    (tmp_path / "zoo.py").write_text(INSTALLED.format(LIBRARY))
    assert found(tmp_path, forks) == [("GS302", "note")]


def test_in_the_users_own_model_it_is_a_warning(tmp_path: Path, forks: Forks) -> None:
    (tmp_path / "zoo.py").write_text(LIBRARY)
    assert found(tmp_path, forks) == [("GS302", "warning")]


TRAINER = """\
import torch

def fit(net, criterion, opt, epochs):
    for _ in range(epochs):
        net.train()
        for _ in range(4):
            opt.zero_grad()
            criterion(net(torch.randn(4, 8)), torch.randint(0, 2, (4,))).backward()
            opt.step()
        {off}
            net.eval()
            criterion(net(torch.randn(4, 8)), torch.randint(0, 2, (4,)))
"""
FITTED = """\
import torch
import trainer
net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
trainer.fit(net, torch.nn.CrossEntropyLoss(), torch.optim.SGD(net.parameters(), 0.1), 3)
"""


@pytest.mark.drawn(0.4)
@pytest.mark.parametrize("off", ["with torch.no_grad():", "with torch.set_grad_enabled(False):"])
def test_a_line_that_calls_a_trainer_is_not_what_the_trainer_writes(off: str, tmp_path: Path) -> None:
    """The user's line is a statement; the library's is a block, which ends."""
    installed = tmp_path / "site-packages"
    installed.mkdir()
    (installed / "trainer.py").write_text(TRAINER.format(off=off))
    (tmp_path / "train.py").write_text(FITTED)
    assert [f for f in told_with(installed) if f["severity"] != "note"] == []


SCORES = """\
import torch

def off():
    torch.set_grad_enabled(False)

def score(net):
    {body}
    return net(torch.randn(4, 8)).mean().item()

class Off:
    def __enter__(self):
        off()

    def __exit__(self, *error):
        torch.set_grad_enabled(True)
"""
SCORED = """\
import torch
import scores
net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 2))
opt = torch.optim.SGD(net.parameters(), 0.1)
for _ in range(3):
    net.train()
    for _ in range(3):
        loss = net(torch.randn(4, 8)).pow(2).mean()
        {back}
    net.eval()
    scores.score(net)
    with scores.Off():
        net(torch.randn(4, 8))
"""
ALWAYS = "opt.zero_grad(); loss.backward(); opt.step()"
IF_IT_CAN = f"if loss.requires_grad: {ALWAYS}"


@pytest.mark.parametrize("back", [ALWAYS, IF_IT_CAN])
def test_gradients_that_a_librarys_call_leaves_off(back: str, tmp_path: Path) -> None:
    """The training that follows is no evaluation."""
    installed = tmp_path / "site-packages"
    installed.mkdir()
    (installed / "scores.py").write_text(SCORES.format(body="off()"))
    program = SCORED.format(back=back).partition("    with")[0]
    (tmp_path / "train.py").write_text(program)
    (found,) = told_with(installed)
    assert (found["code"], found["severity"], found.get("edits", [])) == ("GS313", "error", [])
    assert "`off` does in `scores.score(net)`" in found["message"]


def test_gradients_that_a_librarys_with_statement_brings_back(tmp_path: Path) -> None:
    installed = tmp_path / "site-packages"
    installed.mkdir()
    (installed / "scores.py").write_text(SCORES.format(body="with Off(): return net(torch.randn(4, 8))"))
    (tmp_path / "train.py").write_text(SCORED.format(back=IF_IT_CAN))
    assert told_with(installed) == []


def told_with(installed: Path) -> list[dict[str, Any]]:
    """The findings of train.py, which imports what is installed there."""
    folder = installed.parent
    report = folder / "report.json"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(installed), *filter(None, sys.path)])}
    subprocess.run(
        [*python(), "-m", "gradscope", "run", "--report", str(report), "train.py"],
        cwd=folder, capture_output=True, env=env,
    )  # fmt: skip
    return list(json.loads(report.read_text())["findings"])
