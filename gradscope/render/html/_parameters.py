"""The parameters of a page: what became of each, its norms over the run, why it has (no) gradient."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from itertools import pairwise
from typing import Any

from gradscope.analysis.gradients import how_received
from gradscope.analysis.names import shape_words
from gradscope.analysis.words import parameter_name
from gradscope.answers import Answer, of_parameters
from gradscope.check import Report
from gradscope.escape import one_line
from gradscope.model import Parameter
from gradscope.store import Trace

POINTS = 60  # of a curve
MOST = 1_500  # parameters with an answer of their own


def parameters_data(report: Report, files: Mapping[str, int]) -> tuple[list[dict[str, Any]], list[str]]:
    """A row for each, in the order of the model; the texts of their answers. Leaves that each round of a loop makes
    anew, as the input of a gradient penalty, have one row together."""
    texts: dict[str, int] = {}
    trace = report.trace
    answers = of_parameters(trace, [p.id for p in trace.parameters[:MOST]])
    about: dict[int, list[str]] = {}
    for finding in report.findings:
        for subject in finding.subjects:
            if subject[0] == "parameter":
                about.setdefault(subject[1], []).append(finding.code)
    rows = []
    for p, *others in _alike(trace, about):
        row = _row(trace, p, list(dict.fromkeys(about.get(p.id, ()))))
        if others:
            row["name"] += f" ×{len(others) + 1:,}"
        if (answer := answers.get(p.id)) is not None:
            row["why"] = _why(answer, files, texts)
        rows.append(row)
    return rows, list(texts)


def _alike(trace: Trace, about: Mapping[int, list[str]]) -> list[list[Parameter]]:
    """The parameters, each by itself; leaves of no module and no optimizer with their like."""
    found: dict[Hashable, list[Parameter]] = {}
    for p in trace.parameters:
        own = p.registered or p.optimizers or p.id in about
        like = p.id if own else (parameter_name(trace, p.id), p.shape, received(trace, p))
        found.setdefault(like, []).append(p)
    return list(found.values())


def _row(trace: Trace, p: Parameter, codes: list[str]) -> dict[str, Any]:
    norms = [(step, norm) for step, norm in trace.numbers("grad_norm", p.id) if math.isfinite(norm)]
    last = p.grad_norm if p.grad_norm is not None else (norms[-1][1] if norms else None)
    optimizers = dict.fromkeys(trace.optimizers[id].cls for id in p.optimizers if id in trace.optimizers)
    return {
        "id": p.id,
        "name": one_line(parameter_name(trace, p.id)),
        "shape": shape_words(p.shape),
        "size": math.prod(p.shape),
        "trains": p.requires_grad,
        "by": one_line(", ".join(optimizers)) or "none",
        "got": received(trace, p),
        "norm": None if last is None else f"{last:.3g}",
        "norms": [[step, float(f"{norm:.4g}")] for step, norm in _thinned(norms)],
        "codes": codes,
    }


def received(trace: Trace, p: Parameter) -> str:
    """How often it got a gradient, in a word: `×20`, `never`, `frozen`."""
    if p.passes:
        return f"×{p.passes:,}"
    how = how_received(trace, p)
    return how or ("never" if p.requires_grad else "frozen")


def _thinned(points: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """At most POINTS of them: of each stretch the largest."""
    if len(points) <= POINTS:
        return points
    cuts = [at * len(points) // POINTS for at in range(POINTS + 1)]
    return [max(points[a:b], key=lambda point: point[1]) for a, b in pairwise(cuts)]


def _why(answer: Answer, files: Mapping[str, int], texts: dict[str, int]) -> dict[str, Any]:
    """An answer; its texts by their numbers, since most parameters share them."""

    def number(text: str) -> int:
        return texts.setdefault(one_line(text), len(texts))

    steps = [
        [files.get(step.site.path, -1), step.site.line, number(step.label), int(step.main)]
        for step in answer.steps
    ]
    told = {"head": one_line(answer.headline), "seen": [number(text) for text in answer.seen]}
    return {**told, "steps": steps, "fix": number(answer.fix)}
