"""Names and comments prove nothing: a program whose own names are changed is told the same, or more strictly."""

from __future__ import annotations

import importlib.util
import inspect
import random
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from renamed import renamed
from rule_programs import Program, parameters, programs

import gradscope
from gradscope.check import examine
from gradscope.config import Config
from gradscope.model import SEVERITIES, Finding
from gradscope.rules import all_rules


def by_what_is_meant(program: Program) -> float:
    """How many are drawn of the programs whose rule asks what the program says it means."""
    module = program.rule.module.replace(".", "/")
    text = (Path(gradscope.__file__).parents[1] / f"{module}.py").read_text(encoding="utf-8")
    return 0.3 if "gradscope.analysis.intent" in text else 0.0


@pytest.mark.drawn(0.01)
@pytest.mark.parametrize("bad", parameters("bad", share=by_what_is_meant))
def test_other_names_hide_nothing(bad: Program, tmp_path: Path) -> None:
    own, other = told(bad), told(_renamed(bad, tmp_path))
    for place, severity in own.items():
        assert place in other, (place, severity, other)
        assert SEVERITIES.index(other[place]) <= SEVERITIES.index(severity), place


@pytest.mark.drawn(0.01)
@pytest.mark.parametrize("good", parameters("good", share=by_what_is_meant))
def test_other_names_make_nothing_wrong(good: Program, tmp_path: Path) -> None:
    own = told(good)
    loud = {place for place, severity in told(_renamed(good, tmp_path)).items() if severity != "note"}
    assert loud <= set(own), "what a name makes milder is told still"


def told(program: Callable[[], object]) -> dict[object, str]:
    """(code, its lines) of each finding → severity; without the notes on what the training came to, which follow the
    clock by which a run is looked at."""
    return {_place(f): f.severity for f in _findings(program) if not (f.symptom and f.severity == "note")}


def _place(finding: Finding) -> object:
    places = ((place.role, place.line) for place in finding.locations if place.role != "related")
    return finding.code, tuple(sorted(places))


def _findings(program: Callable[[], object]) -> list[Finding]:
    torch.manual_seed(0)
    random.seed(0)
    grad = torch.is_grad_enabled()
    try:
        with gradscope.watch() as scope:
            program()
    except (RuntimeError, TypeError, ValueError, AssertionError):
        pass  # what a wrong program raises
    finally:
        torch.set_grad_enabled(grad)
    off = tuple(code for code, rule in all_rules().items() if not rule.default)
    return examine(scope.trace, Config(extend_select=off)).findings


def _renamed(program: Program, folder: Path) -> Callable[[], object]:
    """The same program, on the same lines of another file, with other names."""
    lines, first = inspect.getsourcelines(program.function)
    head = [
        line
        for line in Path(program.path).read_text(encoding="utf-8").splitlines()
        if line.startswith(("import ", "from ")) and "gradscope" not in line
    ]
    text = "; ".join(head) + "\n" * (first - 1) + renamed("".join(lines))
    path = folder / f"{program.id.replace('-', '_')}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (function,) = (f for f in vars(module).values() if getattr(f, "__module__", "") == path.stem)
    assert callable(function)
    return function


# -- what a name or a comment does instead -----------------------------------------------


def bootstrapped_residual() -> None:
    from torch import nn

    def residual_loss(value: nn.Module) -> torch.Tensor:
        state, after, reward = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8, 1)
        later = reward + 0.9 * value(after)
        return (later - value(state)).pow(2).mean()

    value = nn.Linear(4, 1)
    opt = torch.optim.SGD(value.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        residual_loss(value).backward()
        opt.step()


def test_a_name_makes_a_finding_a_note_and_is_told() -> None:
    (finding,) = _findings(bootstrapped_residual)
    assert (finding.code, finding.severity) == ("GS314", "note")
    assert any("residual_loss" in line for line in finding.seen)


def test_the_name_of_a_function_that_stops_is_told() -> None:
    (stop,) = (p for p in programs("good", "GS309") if p.name == "good_stop")
    (finding,) = (f for f in _findings(stop) if f.code == "GS309")
    assert finding.severity == "note"
    assert any("StopGradient" in line for line in finding.seen)
