"""A small trace written by hand, and rules made up to say things about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from gradscope.model import Finding, Site
from gradscope.rules import Rule
from gradscope.store import Trace, TraceWriter

SOURCE = """\
import torch
a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
b = a + 2
loss = torch.mean(b * b)
b.data.zero_()

loss.backward()
"""


def write_trace(
    folder: Path, source: str = SOURCE, name: str = "train.py", program: dict[str, Any] | None = None
) -> Trace:
    """A trace of a program that lies in `folder`, run from there."""
    path = folder / "run.gradscope"
    writer = TraceWriter(path)
    facts = {"argv": [name], "cwd": str(folder), "exit_code": 0, "exception": None}
    writer.set_meta("program", facts | (program or {}))
    writer.set_meta("summary", {"passes": 1, "distinct_graphs": 1, "overhead": 1.07})
    writer.add("file", 1, str(folder / name), "user", source)
    writer.add("file", 2, str(folder / "helpers.py"), "user", "def zero(t):\n    t.data.zero_()\n")
    writer.close()
    return Trace(path)


def site(
    trace: Trace, line: int, column: int, end: int, *, name: str = "train.py", end_line: int | None = None
) -> Site:
    """A call in one of the trace's files."""
    path = f"{trace.program['cwd']}/{name}"
    return Site(line, path, line, column, end_line or line, end, "main", "user")


def use_rules(monkeypatch: pytest.MonkeyPatch, *rules: Rule) -> None:
    """Makes these the only rules there are."""
    found = {rule.code: rule for rule in rules}
    for module in ("gradscope.check", "gradscope.render.sarif", "gradscope.render.rulebook"):
        monkeypatch.setattr(f"{module}.all_rules", lambda: found)


def made_up(
    code: str, check: Callable[[Trace], Iterable[Finding]], *, severity: str = "error", **options: Any
) -> Rule:
    """A rule whose documentation is this file's docstring."""
    return Rule(code, f"rule-{code.lower()}", severity, check, __name__, __doc__ or "", **options)


def corrupting(trace: Trace) -> list[Finding]:
    """What GS101 would say of SOURCE."""
    return [
        Finding(
            message="`b` was overwritten behind autograd's back: the gradient of `a` is wrong",
            cause=site(trace, 5, 1, 15),
            cause_label="written through `.data`",
            effect=site(trace, 7, 1, 16),
            effect_label="read [0., 0., 0.]",
            related=((site(trace, 4, 19, 24), "saved here for backward, as [9., 2., 2.]"),),
            seen=("a.grad is [0., 0., 0.]; with the saved values it is [6., 1.33, 1.33]",),
            why="`.data` shares storage with `b` but not its version counter",
            fix="write to a copy",
        )
    ]
