"""A weight itself is set to zero after each update by hand, where its gradient was to be cleared.

Why: `w.data.zero_()` writes zeros into the weight. The update before it is lost, every forward computes with zeros, and
the gradient, which nothing clears, goes on adding up.

Fix: clear the gradient: `w.grad.zero_()`, or `w.grad = None`.

Measured: in each turn that was looked at, the program changed the weight by what it had read of its gradient, and then
set all of it to zero before anything read it. Silent on: weights of which a part is set to zero, weights that an
optimizer holds.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.reach import paths
from gradscope.analysis.words import code, listed, located, parameter_name, parameter_subjects, plural
from gradscope.events import Update
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Parameter, Site
from gradscope.rules import rule
from gradscope.store import Trace

TURNS = 2
ZEROING = {"zero_", "fill_", "mul_"}


def bad() -> None:
    import torch

    torch.manual_seed(0)
    x = torch.randn(16, 3)
    w = torch.randn(3, requires_grad=True)
    for _ in range(3):
        loss = (x @ w - 1).pow(2).mean()
        loss.backward()
        w.data -= 0.1 * w.grad.data  # type: ignore[union-attr]  # effect: GS252
        w.data.zero_()  # cause: GS252


def good() -> None:
    import torch

    torch.manual_seed(0)
    x = torch.randn(16, 3)
    w = torch.randn(3, requires_grad=True)
    for _ in range(3):
        loss = (x @ w - 1).pow(2).mean()
        loss.backward()
        assert w.grad is not None
        with torch.no_grad():
            w -= 0.1 * w.grad
        w.grad.zero_()


class Zeroed(NamedTuple):
    parameter: Parameter
    zero: Site
    update: Site
    turns: int


@rule("GS252", name="value-zeroed-for-its-gradient", severity="error", over=("GS102", "GS201"))
def value_zeroed_for_its_gradient(trace: Trace) -> Iterator[Finding]:
    found = list(_zeroed(trace))
    if found:
        yield _finding(trace, found)


def _zeroed(trace: Trace) -> Iterator[Zeroed]:
    turns: dict[int, dict[int, list[Update]]] = {}  # parameter → segment → its updates
    for event in trace.of(Update):
        turns.setdefault(event.parameter, {}).setdefault(event.segment, []).append(event)
    kept = paths(trace).parameters
    for id, by_segment in turns.items():
        parameter = kept.get(id)  # of what was made anew in each turn nothing else is kept
        if parameter is None or parameter.optimizers or parameter.passes < TURNS:
            continue
        ends = [_end(trace, parameter, updates) for updates in by_segment.values()]
        known = [end for end in ends if end is not None]
        if len(known) >= TURNS and len(known) == len(ends) and len(set(known)) == 1:
            zero, update = known[0]
            yield Zeroed(parameter, zero, update, len(known))


def _end(trace: Trace, parameter: Parameter, updates: list[Update]) -> tuple[Site, Site] | None:
    """The call that sets all of it to zero as the last of these, and the one that used its gradient before it."""
    last = updates[-1].site.user
    before = [event for event in updates if event.site.user.location() != last.location()]
    if last.span() not in _zeroes(trace, parameter, updates[-1].graph) or not any(e.used for e in before):
        return None
    return last, before[-1].site.user


def _zeroes(trace: Trace, parameter: Parameter, graph: int) -> set[object]:
    """Where calls of a graph set all of a tensor of its shape to zero."""
    if graph < 0:
        return set()
    known = trace.graph(graph)
    return {
        op.site.user.span()
        for op in known.called(ZEROING)
        if op.inputs and known.values[op.inputs[0]].shape == parameter.shape
        if op.name == "zero_" or _is_given_zero(trace, op.site.user)
    }


def _is_given_zero(trace: Trace, site: Site) -> bool:
    """`w.fill_(0.0)`, `w.mul_(0)`: a number alone, which is 0."""
    call = trace.source_file(site.path).at(site)
    given = [*call.args, *(word.value for word in call.keywords)] if isinstance(call, ast.Call) else []
    return len(given) == 1 and isinstance(given[0], ast.Constant) and given[0].value in (0, 0.0)


def _finding(trace: Trace, found: list[Zeroed]) -> Finding:
    first, others = found[0], found[1:]
    each = list(dict.fromkeys(f"`{parameter_name(trace, one.parameter.id)}`" for one in found))
    names = listed(each)
    sites = list({one.zero.span(): one.zero for one in found}.values())  # one line may serve many, in a loop
    repairs = [_cleared(trace, site) for site in sites]
    new = listed([f"`{text}`" for text, _ in repairs])
    places = listed([located(trace, site) for site in sites])
    return Finding(
        message=f"{code(trace, first.zero)} sets {each[0]} itself to zero, not its gradient: every update is lost",
        cause=first.zero,
        cause_label="writes zeros into the weight",
        effect=first.update,
        effect_label="is lost there: nothing has read what it wrote",
        related=tuple((site, "and here") for site in sites[1:]),
        seen=(
            f"in {plural(first.turns, 'turn')} that were looked at {names} got {'their' if others else 'its'} update,"
            " and then zeros",
        ),
        fix=f"clear the gradient there: {new} in place of {places}",
        edits=tuple(edit for _, edits in repairs for edit in edits) if all(e for _, e in repairs) else (),
        count=first.parameter.passes,
        subjects=parameter_subjects(one.parameter.id for one in found),
    )


def _cleared(trace: Trace, site: Site) -> tuple[str, Edits]:
    """`w.grad.zero_()` for `w.data.zero_()`."""
    here = Source(trace, site.path)
    node = here.file.at(site)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return "w.grad.zero_()", ()
    owner = node.func.value
    if isinstance(owner, ast.Attribute) and owner.attr == "data":
        owner = owner.value
    new = f"{here.file.text(owner)}.grad.zero_()"
    return new, here.replace(node, new)
