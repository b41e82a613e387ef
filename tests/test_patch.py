"""`gradscope check --diff`: each patch mends its program, and the program still runs."""

from __future__ import annotations

import inspect
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import gradscope
from gradscope.check import examine
from gradscope.render.diff import render
from gradscope.rules import Rule, all_rules

# Rules whose fix is a change of the text that needs no understanding of the program.
MECHANICAL = ("GS102", "GS201", "GS202", "GS401", "GS402", "GS403", "GS406", "GS601", "GS602")


def as_script(function: object) -> str:
    """The body of an example as a program of its own."""
    source = textwrap.dedent(inspect.getsource(function))  # type: ignore[arg-type]
    body = source[source.index("\n") + 1 :]
    return f"import torch\n\ntorch.manual_seed(0)\n{textwrap.dedent(body)}"


def run(script: Path) -> gradscope.Trace:
    trace = script.with_suffix(".gradscope")
    trace.unlink(missing_ok=True)
    command = [sys.executable, "-m", "gradscope", "run", "--trace", str(trace), script.name]
    done = subprocess.run(command, cwd=script.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return gradscope.open(trace)


def examples() -> list[object]:
    return [
        pytest.param(all_rules()[code], function, id=f"{code}-{function.__name__}")
        for code in MECHANICAL
        for function in all_rules()[code].examples("bad")
    ]


@pytest.mark.parametrize(("rule", "bad"), examples())
def test_patch_mends_the_program(rule: Rule, bad: object, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(as_script(bad))
    report = examine(run(script))
    assert rule.code in {f.code for f in report.findings}
    for _ in range(2):  # a model put into eval mode may show that its evaluation builds graphs
        if patch := render(report):
            (tmp_path / "fix.patch").write_text(patch)
            command = ["patch", "-p0", "-i", "fix.patch"]
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
            report = examine(run(script))
        assert rule.code not in {f.code for f in report.findings}, script.read_text()
    assert not [f for f in report.findings if f.severity != "note"], script.read_text()
