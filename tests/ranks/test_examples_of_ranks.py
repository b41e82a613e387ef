"""The examples of two ranks run as under plain Python, and gradscope says of them what their marks say; their fixed
twins are clean."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from two_ranks import Ran, execute, gradscope
from warm import python

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("ddp*.py"))
MARK = re.compile(r"# (cause|effect): (GS\d{3})")


def whole(folder: Path, command: list[str]) -> Ran:
    """Once more where torch has ended a rank: a thread of gloo's that lets go of a tensor while Python ends (its stack
    says so) aborts, now and then, with and without gradscope."""
    for _ in range(3):
        ran = execute(folder, command)
        if "terminate called without an active exception" not in ran.err:
            break
    return ran


@pytest.mark.nightly  # their ranks import torch anew, each
@pytest.mark.parametrize(
    ("name", "fixed"),
    [
        pytest.param(path.stem, fixed, id=f"{path.stem}-{'fixed' if fixed else 'wrong'}")
        for path in EXAMPLES
        for fixed in (False, True)
    ],
)
def test_example(name: str, fixed: bool, tmp_path: Path) -> None:
    source = ROOT / "examples" / ("fixed" if fixed else "") / f"{name}.py"
    plain = whole(tmp_path, [*python(), str(source)])
    ran = whole(tmp_path, [*gradscope(), "run", "--report", "report.json", str(source)])
    assert (ran.status, ran.out) == (plain.status, plain.out), ran.err
    assert ran.status == 0 and ran.out
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    found = {
        (finding["code"], place["role"], place["line"], tuple(finding["ranks"]))
        for finding in report["findings"]
        if finding["severity"] != "note"
        for place in finding["locations"]
        if place["role"] != "related"
    }
    lines = source.read_text(encoding="utf-8").splitlines()
    marked = {
        (code, role, number, (0, 1))
        for number, line in enumerate(lines, 1)
        for role, code in MARK.findall(line)
    }
    assert found == marked and bool(marked) != fixed, report["findings"]
