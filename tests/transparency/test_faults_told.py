"""A rule, an explanation or an output that fails costs the user nothing but itself, and is told once."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from forked import Forks
from test_faults import train

import gradscope
from gradscope import crashes
from gradscope.check import Report, examine
from gradscope.model import Finding
from gradscope.render import renderers
from gradscope.rules import Rule, all_rules
from gradscope.store import Trace

PROGRAM = """
import sys, torch
w = torch.ones(3, requires_grad=True)
for _ in range(2):
    (w * w).sum().backward()
    w.data.sub_(w.grad)
print(w.tolist())
sys.exit(3)
"""
WRITTEN = {name: r.suffix for name, r in renderers().items() if r.suffix}


@pytest.fixture(scope="module")
def trace() -> Trace:
    """Of a program with several mistakes that ends in an error of torch's."""
    with pytest.raises(RuntimeError), gradscope.watch() as scope:
        train()
        w = torch.ones(3, requires_grad=True)
        w.detach()
        scores = torch.softmax(w.expand(8, 3), 1)
        torch.nn.functional.cross_entropy(scores, torch.arange(8) % 3).backward()
        w.numpy()
    found = scope.trace
    found.folder = scope  # type: ignore[attr-defined]  # lives as long
    return found


def told(report: Report) -> list[str]:
    return [f"{finding.code} {finding.message}" for finding in report.findings]


def failing(rule: Rule, before: int | None) -> Callable[[Trace], Iterator[Finding]]:
    """The rule's check, which raises after so many findings, or at its end."""

    def check(trace: Trace) -> Iterator[Finding]:
        yield from list(rule.check(trace))[:before]
        raise KeyError("a fault")

    return check


@pytest.mark.parametrize("share", [0.1, pytest.param(1.0, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("before", [0, None], ids=["at once", "at its end"])
def test_a_rule_that_fails_costs_no_other(
    before: int | None, share: float, trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = examine(trace)
    assert len({finding.code for finding in whole.findings}) >= 5 and not whole.faults
    rules = [(code, rule) for code, rule in all_rules().items() if rule.default]
    seed = os.environ.get("GRADSCOPE_SEED", "12")
    for code, rule in random.Random(seed).sample(rules, round(share * len(rules))):
        with monkeypatch.context() as patch:
            patch.setitem(all_rules(), code, rule._replace(check=failing(rule, before)))
            report = examine(trace)
        assert [code in fault and "a fault" in fault for fault in report.faults] == [True]
        lost = [text for text in told(whole) if text not in told(report)]
        assert not lost if before is None else all(text.startswith(code) for text in lost), code


@pytest.mark.parametrize("part", ["when", "cause", "about", "fits"])
def test_an_explanation_that_fails_costs_no_finding(
    part: str, trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = examine(trace)
    assert "" in {finding.code for finding in whole.findings}  # the error is explained
    first = crashes.all_explanations()[0]._replace(pattern=re.compile(""))
    fails: dict[str, Any] = {part: lambda *a: 1 / 0}
    subject = replace(first.of, **{"about": None, **(fails if part in ("about", "fits") else {})})
    broken = first._replace(of=subject, **({} if part in ("about", "fits") else fails))
    monkeypatch.setattr(crashes, "all_explanations", lambda: [broken])
    report = examine(trace)
    assert [finding.code for finding in report.findings] == [f.code for f in whole.findings if f.code]
    assert len(report.faults) == 1 and "explaining the error failed" in report.faults[0]


def fails_alone(forks: Forks, folder: Path, args: list[str], before: str) -> None:
    script = folder / "program.py"
    script.write_text(PROGRAM)
    plain: Any = forks.run("plain", script)
    ended = forks.run("run", script, args=args, before=before)
    assert (ended.out, ended.status, plain.status) == (plain.out, plain.status, 3), ended.err
    assert "Traceback" not in ended.err and "GS201" in ended.err
    assert len([line for line in ended.err.splitlines() if "division by zero" in line]) == 1, ended.err


@pytest.mark.drawn(0.3)
@pytest.mark.parametrize("name", WRITTEN)
def test_a_report_file_that_fails_is_told(name: str, forks: Forks, tmp_path: Path) -> None:
    before = (
        f"import importlib\nfrom gradscope.render import renderers\nmade = renderers()[{name!r}].module\n"
        "importlib.import_module(made).render = lambda report: 1 / 0"
    )
    fails_alone(forks, tmp_path, ["--report", f"report{WRITTEN[name]}"], before)


def test_a_picture_that_fails_is_told(forks: Forks, tmp_path: Path) -> None:
    before = "import gradscope.graph as g\ng.view = lambda *a, **k: 1 / 0"
    fails_alone(forks, tmp_path, ["--graph", "graph.svg"], before)
