"""A loss is put together of several terms, and the pass goes back from one of these terms alone.

Why: `loss = reconstruction + 0.1 * penalty` computes the sum, and whoever calls `backward()` on `reconstruction` trains
that one only. The sum can be printed and falls with its first term: it looks as if all of it were learned.

Fix: call `backward()` on the sum, or return the sum to whoever does.

Measured: a number with a graph that is the sum of what a pass goes back from and of another term, also weighted; in
no step of the run does a pass go through the sum or through that other term.
Silent on: sums whose terms have passes of their own, terms of parameters alone (a penalty that is logged, where the
optimizer's weight decay does the work), sums that one pass of the run does take.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.loop import settled
from gradscope.analysis.names import names_of
from gradscope.analysis.ops import ADDITIONS, EXITS, SCALES, SUMS
from gradscope.analysis.reach import Key, Paths, Upstream, paths
from gradscope.analysis.text import site_of
from gradscope.analysis.words import code, located, parameter_names, parameter_subjects, plural, where
from gradscope.events import Backward
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace

MOST = 20  # numbers that a sum is taken apart into
TIMES = 3  # passes that go back from the term


class Unused(NamedTuple):
    """A sum that no pass takes, its term that one does go back from, and that which none goes through."""

    op: Op
    taken: int
    left: int


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 4), nn.Linear(4, 6)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(6):
        x = torch.randn(16, 6)
        code = torch.relu(encoder(x))
        error = (decoder(code) - x).pow(2).mean()
        sparsity = code.abs().mean()
        loss = error + 0.1 * sparsity  # cause: GS439
        opt.zero_grad()
        error.backward()  # effect: GS439
        opt.step()
    print(loss.item() > 0)


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 4), nn.Linear(4, 6)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(6):
        x = torch.randn(16, 6)
        code = torch.relu(encoder(x))
        error = (decoder(code) - x).pow(2).mean()
        sparsity = code.abs().mean()
        loss = error + 0.1 * sparsity
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(error.item() > 0)


@rule("GS439", name="sum-of-terms-unused", severity="warning", over=("GS402", "GS321"))
def sum_of_terms_unused(trace: Trace) -> Iterator[Finding]:
    if not settled(trace):
        return
    known = paths(trace)
    if known.unseen:
        return  # a pass that was never looked at may go through the sum
    found: dict[tuple[str, int], Unused] = {}
    in_use: set[tuple[str, int]] = set()
    for number in known.graph_ids:
        graph = known.graph(number)
        for op in graph.called(ADDITIONS):
            if not op.nodes or not op.outputs or graph.values[op.outputs[0]].shape:
                continue
            line = op.site.user.location()
            if _is_used(known.used, graph, op):
                in_use.add(line)
            elif (unused := _unused(known, graph, op)) is not None:
                found[line] = unused
    for line, unused in found.items():
        event = _pass(known, unused)
        if line not in in_use and known.alike(event) >= TIMES:
            yield _finding(known, unused, event)


def _is_used(used: Upstream, graph: Graph, op: Op) -> bool:
    """Whether a pass takes a sum, or an operation goes on with it: then it is the other's to tell."""
    key = graph.id, op.outputs[0]
    readers = graph.consumers.get(op.outputs[0], ())
    return key in used.order or any(reader.name not in EXITS and reader.outputs for reader in readers)


def _unused(known: Paths, graph: Graph, op: Op) -> Unused | None:
    terms = _terms(graph, op.outputs[0])
    taken = [term for term in terms if _goes_back(known, (graph.id, term))]
    left = [term for term in terms if _goes_nowhere(known, graph, term)]
    return Unused(op, taken[0], left[0]) if len(taken) == 1 and left else None


def _terms(graph: Graph, value: int) -> list[int]:
    """The numbers that a number is a sum of, without their weights."""
    found, todo = [], [value]
    for at in todo:  # grows while it is walked
        maker = graph.maker(at)
        if (
            len(todo) < MOST
            and maker is not None
            and (maker.name in SUMS or (maker.name in SCALES and len(maker.inputs) == 1))
        ):
            todo += [one for one in maker.inputs if one not in todo and not graph.values[one].shape]
        elif at != value:
            found.append(at)
    return found


def _goes_back(known: Paths, key: Key) -> bool:
    return any(event.call == "backward" for event in known.roots.get(key, ()))


def _goes_nowhere(known: Paths, graph: Graph, term: int) -> bool:
    """Whether no pass goes through a term, of parameters and of data, that has a graph."""
    key = graph.id, term
    made = known.made(key)  # perhaps in an earlier graph, which has had its pass by then
    if not graph.values[term].requires_grad or known.maker(made) is None or made in known.used.order:
        return False
    behind = known.reach([key])
    if not behind.complete or not any(known.stepped(known.parameters[id]) for id in behind.parameters):
        return False
    sources = known.nearest_first(key)
    return any(known.value(one).kind == "input" and known.value(one).shape for one in sources)


def _pass(known: Paths, unused: Unused) -> Backward:
    roots = known.roots[unused.op.graph, unused.taken]
    return next(event for event in roots if event.call == "backward")


def _finding(known: Paths, unused: Unused, event: Backward) -> Finding:
    trace, (op, taken, left) = known.trace, unused
    graph, place, times = known.graph(op.graph), op.site.user, known.alike(event)
    names = names_of(trace)
    of = [f"`{name}`" if (name := names.name(graph, value)) else "" for value in (op.outputs[0], taken, left)]
    whole, one, other = (
        of[0] or code(trace, place, "the sum"),
        of[1] or "one of its terms",
        of[2] or "another",
    )
    ids = sorted(known.reach([(graph.id, left)]).parameters)
    maker = graph.maker(left)
    instead, edits = _in_its_place(trace, place, event.site.user, of[0].strip("`"), of[1].strip("`"))
    computed = ((maker.site.user, f"{other} is computed here"),) if maker is not None and of[2] else ()
    terms = [place, *([maker.site.user] if maker is not None else [])]
    at = " and ".join(map(where, instead)) or f"the pass of {located(trace, event.site.user)}"
    return Finding(
        message=f"{whole} is no loss of any pass: {code(trace, event.site.user, 'the pass')} goes back from {one}"
        f" alone, and {other} trains nothing",
        cause=place,
        cause_label="put together, and only read",
        effect=event.site.user,
        effect_label=f"goes back from {one}",
        related=(*computed, *((site, f"gives {one} on") for site in instead if site != event.site.user)),
        seen=(
            f"{whole} was the sum of {one} and of {other}, behind which lie {parameter_names(trace, ids)}; in"
            f" {plural(times, 'pass')} none went through {other}",
        ),
        fix=f"take {whole} in place of {one}, in {at}; where {whole} is meant for a log only, compute {other} under"
        " `torch.no_grad()`",
        edits=edits,
        count=times,
        subjects=parameter_subjects(ids) | {("term", *site.location()) for site in terms},
    )


def _in_its_place(
    trace: Trace, place: Site, backward: Site, whole: str, one: str
) -> tuple[list[Site], Edits]:
    """Where the function that puts the sum together returns the term, or calls `backward()` on it; the sum there."""
    here = Source(trace, place.path)
    if not whole.isidentifier() or not one.isidentifier():
        return [], ()
    found: list[ast.Name] = []
    for node in ast.walk(here.file.scope(place)):
        if isinstance(node, ast.Return) and node.value is not None:
            parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            found += [part for part in parts if isinstance(part, ast.Name) and part.id == one]
    if not found and (backward.path, backward.function) == (place.path, place.function):
        call = here.file.at(backward)
        of = call.func.value if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else None
        found = [of] if isinstance(of, ast.Name) and of.id == one else []
    found.sort(key=lambda name: name.lineno)
    sites = [site_of(place.path, place.function, name) for name in found]
    return sites, tuple(edit for name in found for edit in here.replace(name, whole))
