"""What stands in a library is not the user's to mend: told as a note, at the user's own lines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

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


@pytest.mark.parametrize("off", ["with torch.no_grad():", "with torch.set_grad_enabled(False):"])
def test_a_line_that_calls_a_trainer_is_not_what_the_trainer_writes(off: str, tmp_path: Path) -> None:
    """The user's line is a statement; the library's is a block, which ends."""
    installed = tmp_path / "site-packages"
    installed.mkdir()
    (installed / "trainer.py").write_text(TRAINER.format(off=off))
    (tmp_path / "train.py").write_text(FITTED)
    report = tmp_path / "report.json"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(installed), *filter(None, sys.path)])}
    subprocess.run(
        [*python(), "-m", "gradscope", "run", "--report", str(report), "train.py"],
        cwd=tmp_path, check=True, capture_output=True, env=env,
    )  # fmt: skip
    assert [f for f in json.loads(report.read_text())["findings"] if f["severity"] != "note"] == []
