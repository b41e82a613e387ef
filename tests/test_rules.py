"""Every rule against every rule file's own examples."""

from __future__ import annotations

import ast
import inspect
import linecache
import random
import re
import textwrap
from collections.abc import Callable
from functools import cache

import pytest
import torch
from needs import lacking

import gradscope
from gradscope.check import examine
from gradscope.config import Config
from gradscope.model import Finding
from gradscope.rules import Rule, all_rules

Example = Callable[[], object]
CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
_MARK = re.compile(r"#.*?\b(cause|effect): (GS\d{3}(?:, ?GS\d{3})*)")


def needs(function: Example) -> list[pytest.MarkDecorator]:
    """What an example says by its name that it needs, and what of torch it names."""
    missing = lacking(function)
    found = [pytest.mark.skip(reason=missing)] if missing else []
    return [*found, CUDA] if function.__name__.endswith("_on_cuda") else found


def examples(kind: str) -> list[object]:
    return [
        pytest.param(rule, function, id=f"{rule.code}-{function.__name__}", marks=needs(function))
        for rule in all_rules().values()
        for function in rule.examples(kind)
    ]


@cache
def findings(function: Example) -> tuple[Finding, ...]:
    """What all rules say about one run of `function`. An exception of torch's own is part of it."""
    torch.manual_seed(0)
    random.seed(0)
    with gradscope.watch() as scope:
        try:
            function()
        except (RuntimeError, TypeError, ValueError, AttributeError, AssertionError) as error:
            failure: Exception | None = error
        else:
            failure = None
    if failure is not None and not function.__name__.startswith("bad"):
        raise failure
    off = tuple(code for code, rule in all_rules().items() if not rule.default)
    report = examine(scope.trace, Config(extend_select=off))
    assert not report.faults
    return tuple(report.findings)


def serious(found: tuple[Finding, ...]) -> list[str]:
    return [
        f"{f.severity} {f.code}: {f.message} at {[(place.role, place.line) for place in f.locations]}"
        for f in found
        if f.severity != "note"
    ]


def marked(function: Example, code: str) -> set[tuple[str, int]]:
    """(role, line) of every mark for `code` in the function's source."""
    lines, first = inspect.getsourcelines(function)
    return {
        (role, first + offset)
        for offset, line in enumerate(lines)
        for role, codes in _MARK.findall(line)
        if code in codes
    }


@pytest.mark.parametrize(("rule", "bad"), examples("bad"))
def test_bad_is_reported_at_its_marked_lines(rule: Rule, bad: Example) -> None:
    expected = marked(bad, rule.code)
    assert expected, f"{bad.__name__} of {rule.code} marks no line"
    found = findings(bad)
    own = [f for f in found if f.code == rule.code]
    reported = {(place.role, place.line) for f in own for place in f.locations if place.role != "related"}
    assert reported == expected, serious(found)
    assert {place.path for f in own for place in f.locations if place.role != "related"} <= _shown(bad)


def _shown(function: Example) -> set[str]:
    path = inspect.getsourcefile(function) or ""
    return {path, *(path[i + 1 :] for i, sign in enumerate(path) if sign == "/")}


@pytest.mark.parametrize(("rule", "bad"), examples("bad"))
def test_bad_is_reported_by_its_rule_alone(rule: Rule, bad: Example) -> None:
    others = tuple(f for f in findings(bad) if f.code != rule.code)
    assert not serious(others)


@pytest.mark.parametrize(("rule", "good"), examples("good"))
def test_good_is_silent_under_every_rule(rule: Rule, good: Example) -> None:
    assert not serious(findings(good))


@pytest.mark.parametrize("rule", [pytest.param(rule, id=rule.code) for rule in all_rules().values()])
def test_rule_file_says_what_why_and_how(rule: Rule) -> None:
    assert rule.title.endswith((".", "!")), "the first line of the docstring is a sentence"
    assert rule.why, "a paragraph `Why: …`"
    assert rule.fix, "a paragraph `Fix: …`"
    assert rule.examples("bad"), "a function bad…() that runs"
    assert rule.examples("good"), "a function good…() that runs"
    assert rule.module.rpartition(".")[2].startswith(rule.code.lower())


def test_findings_carry_what_the_report_shows() -> None:
    for rule in all_rules().values():
        for bad in rule.examples("bad"):
            if lacking(bad) or (needs(bad) and not torch.cuda.is_available()):
                continue
            for finding in findings(bad):
                assert finding.message[:1] == finding.message[:1].lower() and not finding.message.endswith(
                    "."
                )
                assert finding.locations and finding.why and finding.fix, finding


@pytest.mark.parametrize(("rule", "bad"), examples("bad"))
def test_a_fix_names_what_is_the_users(rule: Rule, bad: Example) -> None:
    own = _own_names(bad)
    for finding in findings(bad):
        if finding.code == rule.code:
            words = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]*)`", finding.fix))))
            assert words & own or re.search(r"\.py:\d+", finding.fix), finding.fix
            assert finding.seen


@pytest.mark.parametrize(("rule", "bad"), examples("bad"))
def test_a_fix_puts_nothing_in_place_of_itself(rule: Rule, bad: Example) -> None:
    for finding in findings(bad):
        for new, old in re.findall(r"`([^`]+)` in place of `([^`]+)`", finding.fix):
            assert new != old, finding.fix
        for edit in finding.edits:
            if edit.line == edit.end_line:
                line = linecache.getline(edit.path, edit.line)
                assert line[edit.column - 1 : edit.end_column - 1] != edit.text or not edit.text


def _own_names(function: Example) -> set[str]:
    """What a program itself gives a name: variables, attributes, arguments, functions, classes."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    names = {getattr(node, "name", "") for node in ast.walk(tree)} - {function.__name__, None}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            names.add(node.id if isinstance(node, ast.Name) else node.attr)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
    return names - {""}


def test_data_of_a_result_is_told_with_the_network_that_returned_it() -> None:
    def program() -> None:
        from torch import nn

        generator, critic = nn.Linear(2, 4), nn.Linear(4, 1)
        opt_g = torch.optim.SGD(generator.parameters(), lr=0.1)
        opt_c = torch.optim.SGD(critic.parameters(), lr=0.1)
        for _ in range(4):
            opt_c.zero_grad()
            fake = generator(torch.randn(8, 2))
            (critic(fake).mean() - critic(fake.data + 1).mean()).backward()
            opt_c.step()
            opt_g.zero_grad()
            fake = generator(torch.randn(8, 2))
            (-critic(fake).mean()).backward()
            opt_g.step()
            print(fake.data.mean())

    (note,) = findings(program)
    assert (note.code, note.severity) == ("GS605", "note")
    assert len([place for place in note.locations if ".data" in place.label]) == 2


def test_what_an_optimizer_holds_for_nothing_is_one_note() -> None:
    def program() -> None:
        from torch import nn

        class Net(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.body, self.head, self.deep = nn.Linear(3, 3), nn.Linear(3, 1), False
                self.more = nn.Linear(3, 3)
                self.table = nn.Parameter(torch.ones(3), requires_grad=False)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                x = self.body(x) * self.table
                if self.deep:
                    x = self.more(x)
                result: torch.Tensor = self.head(x)
                return result

        model = Net()
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()

    (note,) = findings(program)
    assert (note.code, note.severity) == ("GS208", "note")
    assert any("more.weight" in line for line in note.seen)
