"""The report, `why`, the picture and the table of parameters never contradict each other.

Some programs are asked in the ordinary run, all of them with `-m nightly`.
"""

from __future__ import annotations

import contextlib
import random
import re
import runpy
import shlex
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import programs as random_programs
import pytest
import torch
from rule_programs import programs

import gradscope
from gradscope.analysis.gradients import how_received
from gradscope.analysis.names import full_name
from gradscope.analysis.stops import stops
from gradscope.analysis.words import parameter_name
from gradscope.answers import Answer, why
from gradscope.check import Report, examine
from gradscope.commands import main
from gradscope.config import Config
from gradscope.graph import LEVELS, view
from gradscope.model import Finding, GradscopeError, Parameter
from gradscope.render.text import render
from gradscope.rules import all_rules
from gradscope.store import Trace
from gradscope.tui.screens.parameters import got

ROOT = Path(__file__).parents[2]
RANDOM = 212  # programs
CUT = ("GS301", "GS304", "GS305")  # they name the line at which the gradient is lost
LOST = (*CUT, "GS302")
NO_GRADIENT = re.compile("has no gradient|has no `.grad`")


def _programs() -> list[Any]:
    """Every program."""
    found: list[tuple[str, Callable[[], object], bool]] = [
        (p.id, p, p.runs_here) for kind in ("bad", "good") for p in programs(kind)
    ]
    for path in sorted((ROOT / "examples").rglob("*.py")):
        found.append(
            (str(path.relative_to(ROOT)), partial(runpy.run_path, str(path), run_name="__main__"), True)
        )
    return [
        pytest.param(run, id=name, marks=pytest.mark.drawn(0.2) if name.startswith("GS301-bad") else ())
        for name, run, here in found
        if here
    ]


@pytest.mark.drawn(0.04)
@pytest.mark.parametrize("number", range(RANDOM))
def test_one_answer_of_random_programs(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    program = random_programs.generate(random.Random(number).randrange)

    def run() -> None:
        assert not random_programs.run(program, watched=False).faults  # within the watch of the test

    test_one_answer(run, capsys)


@pytest.mark.drawn(0.02)
@pytest.mark.parametrize("run", _programs())
def test_one_answer(run: Callable[[], object], capsys: pytest.CaptureFixture[str]) -> None:
    torch.manual_seed(0)
    random.seed(0)
    with gradscope.watch() as scope, contextlib.suppress(Exception):  # what a wrong program raises
        run()
    off = tuple(code for code, rule in all_rules().items() if not rule.default)
    report = examine(scope.trace, Config(extend_select=off))
    assert not list(contradictions(scope.trace, report))
    for command in re.findall(r"\bgradscope ((?:why|explain) .+?)\s*$", render(report), re.MULTILINE):
        verb, *names = shlex.split(command)
        trace = [str(scope.trace.path)] if verb == "why" else []
        assert main([verb, *trace, *names]) == 0, command
    capsys.readouterr()


def contradictions(trace: Trace, report: Report) -> Iterator[str]:
    """What the ways to ask about one run say against each other."""
    known = {p.id: p for p in trace.parameters}
    stopped = {id for stop in stops(trace) for id in stop.parameters}
    answers: dict[int, Answer] = {}
    for p in known.values():
        name = parameter_name(trace, p.id)
        for asked in {name, full_name(trace, p)} - {""}:
            yield from _leads_to(trace, asked, name, answers, p)
    silent = {id for id in answers if NO_GRADIENT.search(answers[id].headline)}
    for finding in report.findings:
        if finding.code in LOST and finding.severity == "error":
            for id in _subjects(finding):
                if id in answers and not known[id].passes:
                    yield from _against(trace, finding, known[id], answers[id])
    by_name: dict[str, list[Parameter]] = {}
    for p in known.values():
        by_name.setdefault(parameter_name(trace, p.id), []).append(p)
    for level in LEVELS:
        for name, data in _leaves(trace, report, level):
            here = by_name.get(name, [])
            if not here:
                continue
            if data["severed"] and all(p.passes and p.id not in stopped for p in here):
                yield f"{level}: `{name}` is severed, and got gradients in {here[0].passes} passes"
            if data["severed"] and not any("cut off" in answers[p.id].headline for p in here):
                yield f"{level}: `{name}` is severed, why: {answers[here[0].id].headline}"
            if not data["got_gradient"] and all(p.id not in silent for p in here):
                yield f"{level}: `{name}` got no gradient, why: {answers[here[0].id].headline}"
            if data["got_gradient"] and all(p.id in silent - stopped for p in here):
                yield f"{level}: `{name}` got a gradient, why: {answers[here[0].id].headline}"
    for id in answers.keys() - stopped:
        told, headline = got(trace, known[id]).plain, answers[id].headline
        if known[id].requires_grad and (id in silent) != (told == "never"):
            yield f"table: {parameter_name(trace, id)} {told}, why: {headline}"
        if (told == "asked for") != ("from a pass that was asked for it" in headline):
            yield f"table: {parameter_name(trace, id)} {told}, why: {headline}"


def _leads_to(
    trace: Trace, asked: str, name: str, answers: dict[int, Answer], parameter: Parameter
) -> Iterator[str]:
    try:
        answer = why(trace, asked)
    except GradscopeError as error:
        yield f"`{asked}` is not accepted: {error}"
        return
    about = answer.parameter
    if about is None and not parameter.name:
        return  # the variable of a leaf holds another value in the end
    if about is None or name not in (parameter_name(trace, about.id), full_name(trace, about)):
        yield f"`{asked}` of `{name}` is taken for {about}"
    elif asked == name and about.id == parameter.id:
        answers[parameter.id] = answer
    elif asked == name:  # of several with one name, such as the `model` of each round, `why` chooses one
        alike = (about.passes, how_received(trace, about)) == (
            parameter.passes,
            how_received(trace, parameter),
        )
        answers.setdefault(parameter.id, answer) if alike else None


def _subjects(finding: Finding) -> list[int]:
    return sorted(s[1] for s in finding.subjects if isinstance(s, tuple) and s[0] == "parameter")


def _against(trace: Trace, finding: Finding, parameter: Parameter, answer: Answer) -> Iterator[str]:
    """What `why` and the picture say against a finding without a gradient."""
    name = parameter_name(trace, parameter.id)
    if not NO_GRADIENT.search(answer.headline):
        yield f"{finding.code} says `{name}` gets no gradient, why: {answer.headline}"
    sites = (finding.cause, *(site for site, _ in finding.related))
    told = {site.user.location() for site in sites if site is not None}
    main = {step.site.user.location() for step in answer.steps if step.main}
    if finding.code in CUT and not told & main:
        yield f"{finding.code} of `{name}` at {told}, why: {main} {answer.headline}"
    nodes = list(view(trace, "op").graph.nodes.values())
    leaves = [data for data in nodes if data["kind"] == "parameter" and name in data["names"]]
    if any(data["got_gradient"] for data in leaves):
        yield f"{finding.code} says `{name}` gets no gradient, the picture that it does"
    # What was computed from a leaf in an earlier step comes without it: the cut names it.
    if finding.code in CUT and leaves and not any(data["severed"] for data in leaves):
        yield f"{finding.code} names `{name}`, which is not severed in the picture"
    if finding.code in CUT and not any(name in data["severs"] for data in nodes):
        yield f"{finding.code} names `{name}`, which no cut of the picture severs"


def _leaves(trace: Trace, report: Report, level: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for data in view(trace, level, report.findings).graph.nodes.values():
        if data["kind"] == "parameter":
            for name in data["names"]:
                yield name, data
