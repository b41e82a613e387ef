"""Findings that a project has accepted are known again; what is new is told."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from forked import Ended, Forks

FIRST = """\
import torch
model = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    model(torch.ones(2, 3)).pow(2).mean().backward()
    opt.step()
"""
SECOND = """\
other = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(other.parameters(), lr=0.1)
for _ in range(3):
    other(torch.ones(2, 3)).pow(2).sum().backward()
    opt.step()
"""


Gradscope = Callable[..., Ended]


@pytest.fixture
def gradscope(forks: Forks) -> Gradscope:
    return forks.command


@pytest.fixture
def project(tmp_path: Path, gradscope: Gradscope) -> Path:
    (tmp_path / "train.py").write_text(FIRST)
    assert gradscope(tmp_path, "run", "--fail-on", "error", "train.py").status == 1
    accepted = gradscope(tmp_path, "check", "--write-baseline")
    assert (accepted.status, accepted.out[:18]) == (0, "1 finding accepted")
    return tmp_path


def test_accepted_findings_are_quiet_also_when_lines_move(project: Path, gradscope: Gradscope) -> None:
    assert gradscope(project, "check").status == 0
    (project / "train.py").write_text(f"# a comment\n\n{FIRST}")
    again = gradscope(project, "run", "--fail-on", "error", "train.py")
    assert again.status == 0
    assert "1 finding in the baseline" in again.err


def test_new_findings_are_told(project: Path, gradscope: Gradscope) -> None:
    (project / "train.py").write_text(FIRST + SECOND)
    assert gradscope(project, "run", "--fail-on", "error", "train.py").status == 1
    told = gradscope(project, "check", "--output-format", "concise").out.splitlines()
    assert len(told) == 1 and told[0].startswith("train.py:11:")


@pytest.mark.nightly
@pytest.mark.parametrize(
    "content",
    [
        "not json",
        '{"gradscope_baseline": 99, "findings": []}',
        *(pytest.param(t, marks=pytest.mark.nightly) for t in ("{}", "[]")),
    ],
)
def test_another_file_there_is_neither_read_nor_overwritten(
    project: Path, content: str, gradscope: Gradscope
) -> None:
    place = project / "gradscope-baseline.json"
    place.write_text(content)
    for args in (("check",), ("check", "--write-baseline")):
        done = gradscope(project, *args)
        assert done.status == 2 and len(done.err.splitlines()) == 1
    assert place.read_text() == content


def test_diff_is_a_patch_on_stdout(project: Path, gradscope: Gradscope) -> None:
    (project / "gradscope-baseline.json").unlink()
    patch = gradscope(project, "check", "--diff").out
    subprocess.run(["patch", "-p0"], cwd=project, input=patch, text=True, check=True, capture_output=True)
    assert "opt.zero_grad()" in (project / "train.py").read_text()
    assert gradscope(project, "run", "--fail-on", "note", "train.py").status == 0


@pytest.mark.nightly
def test_each_place_of_a_note_is_accepted_by_itself(tmp_path: Path, gradscope: Gradscope) -> None:
    place = tmp_path / "weighed.py"
    text = "import torch\nw = torch.ones(3, requires_grad=True)\n"
    text += "loss = (w.data.exp() * w).sum()\nloss = loss + (w.data.sin() * w).sum()\n"
    place.write_text(text + "loss.backward()\n")
    assert gradscope(tmp_path, "run", "weighed.py").err.count("note[GS102]") == 1
    gradscope(tmp_path, "check", "--write-baseline")
    place.write_text(text + "loss = loss + (w.data.cos() * w).sum()\nloss.backward()\n")
    told = gradscope(tmp_path, "run", "weighed.py").err
    assert "weighed.py:5" in told and "more place" not in told and "2 findings in the baseline" in told
