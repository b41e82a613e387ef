"""What `.data` gives goes into a loss, or a write through it changes what a loss is made of: no gradient knows of it.

Why: `.data` takes a tensor out of the graph without telling autograd: a write through it
is never checked, and a value that goes on through it carries no gradient back to the
layers that made it.

Fix: leave `.data` away to let the gradient through; `.detach()` says that a constant is meant. Change values that a
loss is made of by operations that autograd records; write to parameters inside `with torch.no_grad():`.

An error where it cuts parameters that an optimizer steps from every loss of the run, a warning where it cuts other
ones that should train, or a term of a loss from all that it was computed from. A note where it weighs a term of a loss
as a constant that depends on the very tensor, and where a loss is made of values that were written through it.

Silent on: `.data` inside torch and other libraries; tensors without gradient; reads whose values reach no loss (sizes,
`.new()`, arg-max, metrics), initialisation, updates, clipping and averages of parameters; constants that only shift
what they are added to, or stand for a target; values that no gradient of the same term comes back to, as in GANs
and target networks.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from gradscope.analysis.cuts import Cut, cuts
from gradscope.analysis.numbers import real
from gradscope.analysis.ops import FILLED, FILLS, LIKE, LOSS_FUNCTIONS, SCALES, SUMS
from gradscope.analysis.own_writes import kept_up
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.terms import DeadTerm, dead_terms, terms
from gradscope.analysis.words import owner, parameter_names, parameter_subjects, root_of, source
from gradscope.analysis.writes import memory_root
from gradscope.events import Backward, DataRead, HiddenWrite
from gradscope.fixes.source import Source
from gradscope.model import Edit, Finding, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace

MAX_TEXT = 60  # characters: more is no name to speak of


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    trunk, head = nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*trunk.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        features = torch.relu(trunk(torch.randn(8, 4)))
        loss = head(features.data).pow(2).mean()  # cause: GS102
        loss.backward()  # effect: GS102
        opt.step()


def good_update() -> None:
    import torch

    w = torch.ones(3, requires_grad=True)
    for _ in range(3):
        (w * w).sum().backward()
        w.data -= 0.1 * w.grad  # type: ignore[operator]
        w.grad = None


OF_NO_VALUES = FILLS | FILLED | LIKE | {"new", "new_tensor"}  # that take a tensor's form, not its numbers


@dataclass
class _Place:
    """What was seen of one place that reads `.data`."""

    site: Site
    count: int = 0
    reads: list[DataRead] = field(default_factory=list)
    subjects: set[object] = field(default_factory=set)


@rule("GS102", name="data-attribute", severity="error", over=("GS301",))
def data_attribute(trace: Trace) -> Iterator[Finding]:
    places: dict[tuple[str, int, int], _Place] = {}
    for event in trace.of(DataRead):
        site = event.site
        if site.kind == "user" and event.graph >= 0 and _trained(trace, event):
            place = places.setdefault((site.path, site.line, site.column), _Place(site))
            place.count += event.count
            place.reads.append(event)
            _add_subjects(trace, event, place)
    harmful = {cut.site.location(): cut for cut in cuts(trace) if cut.kind == "data" and _harmful(trace, cut)}
    dead = {term.block.site.user.location(): term for term in dead_terms(paths(trace), "data")}
    cutting: dict[int, list[_Place]] = {}
    for place in places.values():
        cut, term = harmful.get(place.site.location()), dead.get(place.site.location())
        if cut is not None:
            cutting.setdefault(id(cut), []).append(place)
        elif term is not None:
            yield _ending(trace, place, term)
        else:
            yield from _partly(trace, place)
    for cut in harmful.values():
        if id(cut) in cutting:
            yield _cutting(trace, cutting[id(cut)], cut)


def _first(line: list[_Place]) -> _Place:
    """One finding for all that one cut is told at."""
    shown = min(line, key=lambda place: place.site.column)
    shown.subjects = set().union(*(place.subjects for place in line))
    return shown


def _trained(trace: Trace, event: DataRead) -> bool:
    parameter = event.parameter
    return bool(event.requires_grad) or (parameter is not None and trace.parameter(parameter).requires_grad)


def _add_subjects(trace: Trace, event: DataRead, place: _Place) -> None:
    if event.parameter is not None:
        place.subjects |= parameter_subjects([event.parameter])
    if event.alias is not None:
        place.subjects.add(("memory", event.graph, memory_root(trace.graph(event.graph), event.alias)))


def _harmful(trace: Trace, cut: Cut) -> bool:
    """Parameters behind it should train, and none of them is a copy that follows others."""
    if cut.loss is None or any(p.id in kept_up(trace) for p in cut.parameters):
        return False
    if paths(trace).stepping:
        return True
    trained = {root_of(trace, p) for p in trace.parameters if p.registered and p.passes}
    return any(root_of(trace, p) in trained for p in cut.parameters)


def _proven(trace: Trace, cut: Cut) -> str:
    """An error where an optimizer steps each of the parameters, as of a cut by `detach()` (GS301): it finds none of
    their gradients in the whole run."""
    known = paths(trace)
    return "" if known.stepping and all(known.stepped(p) for p in cut.parameters) else "warning"


def _cutting(trace: Trace, line: list[_Place], cut: Cut) -> Finding:
    place = _first(line)
    name = owner(source(trace, place.site), "data")
    ids = [p.id for p in cut.parameters]
    names = parameter_names(trace, ids)
    never = "it never gets" if len(ids) == 1 else "they never get"
    if cut.known.stop is not None:
        never = "it no longer gets" if len(ids) == 1 else "they no longer get"
    shown = name or _text(trace, place.site) or "x"
    reaches = (
        "does not reach the parameter" if len(ids) == 1 else f"reaches none of the {len(ids)} parameters"
    )
    return Finding(
        message=f"`.data` cuts {names} from the loss: {never} a gradient",
        cause=place.site,
        cause_label="the gradient stops here",
        effect=cut.loss.site.user if cut.loss is not None else None,
        effect_label=f"{reaches} behind `.data`",
        seen=(cut.known.seen(ids, f"{names}: no gradient in any backward of this run"),),
        fix=f"use `{shown}` itself to let the gradient through; write `{shown}.detach()` if the cut is meant",
        count=place.count,
        edits=tuple(edit for place in line for edit in _let_through(trace, place.site)),
        subjects=frozenset(place.subjects) | parameter_subjects(ids),
        severity=cut.severity(trace) or _proven(trace, cut),
        since=cut.since,
    )


def _ending(trace: Trace, place: _Place, term: DeadTerm) -> Finding:
    """A term of a loss that `.data` leaves without a gradient."""
    shown = owner(source(trace, place.site), "data") or _text(trace, place.site) or "x"
    names = parameter_names(trace, sorted(term.parameters))
    value = paths(trace).graph(term.value[0]).values[term.value[1]]
    made = value.site.entry if value.site is not None else place.site
    return Finding(
        message=f"a term of the loss trains nothing: it comes through `{shown}.data`, which lets no gradient through",
        cause=place.site,
        cause_label="the term's gradient stops here",
        effect=term.loss.site.user,
        effect_label="only the other terms of the loss arrive",
        related=((made, "the term that is added"),) if made.location() != place.site.location() else (),
        seen=("no gradient of the term reaches any parameter in this pass",),
        why=f"it was computed from {names}, which only the other terms of the loss train",
        fix=f"use `{shown}` itself to let the gradient through, or leave the term out of the loss",
        count=place.count,
        edits=_let_through(trace, place.site),
        subjects=frozenset(place.subjects) | {("term", *place.site.location())},
        severity="warning",
    )


def _partly(trace: Trace, place: _Place) -> Iterator[Finding]:
    """Where a gradient arrives, and lacks what `.data` has kept from it."""
    for read in place.reads:
        changed = _written(paths(trace), read)
        if changed is not None:
            yield _changed(trace, place, *changed)
            return
        weighed = _weighed(paths(trace), read)
        if weighed is not None:
            yield _weighing(trace, place, *weighed)
            return


def _written(known: Paths, read: DataRead) -> tuple[HiddenWrite, Op] | None:
    """A write through what `.data` gave of something with a graph, and the call on the way to a loss that reads the new
    values, whose gradient goes back through the graph of the old ones."""
    graph = known.graph(read.graph)
    if read.alias is None:
        return None
    memory = known.memory(graph.id, read.alias)
    if graph.values[memory].is_leaf:
        return None
    for write in known.trace.of(HiddenWrite):
        if write.graph != graph.id or write.through != "data" or write.value is None or write.op is None:
            continue
        if write.value < read.alias or known.memory(graph.id, write.value) != memory:
            continue
        for op in graph.ops[write.op + 1 :]:
            given = [v for v in op.inputs if known.memory(graph.id, v) == memory]
            back = any((graph.id, graph.values[v].node) in known.reached.nodes for v in given)
            if back and _differentiated(known, op):
                return write, op
    return None


def _differentiated(known: Paths, op: Op) -> bool:
    """Whether a backward pass goes through what the call gave."""
    values = known.graph(op.graph).values
    return any((op.graph, values[made].node) in known.reached.nodes for made in (*op.outputs, *op.written))


def _weighed(known: Paths, read: DataRead) -> tuple[Op, Backward] | None:
    """The call in which what `.data` gave, or what was computed of it, meets values with a graph for other than a sum,
    in a term of a loss whose gradient reaches the very tensor that it was taken of."""
    if read.alias is None:
        return None
    start = read.graph, read.alias
    todo, seen = [start], {start}
    for key in todo:  # grows on the way
        for target, op in known.used.feeds.get(key, ()):
            value = known.value(target)
            into = op is not None and op.writes and key[1] not in op.writes
            if (
                target in seen
                or into
                or not real(value.dtype)
                or (op is not None and (op.name in OF_NO_VALUES or _is_zero(known.trace, op)))
            ):
                continue
            seen.add(target)
            if not value.requires_grad:
                todo.append(target)
            elif op is not None and op.name not in SUMS | LOSS_FUNCTIONS and _differentiated(known, op):
                loss = known.loss_of(target)
                if loss is not None and _in_one_term(known, loss, target, read):
                    return op, loss
    return None


def _is_zero(trace: Trace, op: Op) -> bool:
    """Whether it is `0 * x`, an old way to write `zeros_like(x)`."""
    place = op.site.user
    node = trace.source_file(place.path).at(place) if op.name in SCALES else None
    sides = (node.left, node.right) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) else ()
    return any(isinstance(side, ast.Constant) and side.value == 0 for side in sides)


def _in_one_term(known: Paths, loss: Backward, joined: Key, read: DataRead) -> bool:
    if read.value is None:
        return False
    source = read.graph, read.value
    for root in loss.roots:
        for part in terms(known, (loss.graph, root)):
            reach = known.reach([part])
            if (joined[0], known.value(joined).node) in reach.nodes:
                return (
                    (source[0], known.value(source).node) in reach.nodes
                    or source in reach.leaves
                    or read.parameter in reach.parameters
                )
    return False


def _changed(trace: Trace, place: _Place, write: HiddenWrite, reader: Op) -> Finding:
    shown = owner(source(trace, place.site), "data") or _text(trace, place.site) or "x"
    handed = ((place.site, "`.data` read"),) if place.site.location() != write.site.location() else ()
    return Finding(
        message=f"`{shown}` is written through `.data`: a loss reads the new values, its gradient goes past them",
        cause=write.site.user,
        cause_label="written through `.data`",
        effect=reader.site.user,
        effect_label="reads the new values; the gradient goes back as if they were the old ones",
        related=handed,
        seen=(
            f"a loss is made of what was written to `{shown}`, and its gradient passes the graph of `{shown}`",
        ),
        fix=f"make a new tensor (`{shown} * factor`, `torch.where`), or write to `{shown}` itself without `.data`:"
        " autograd records that",
        count=place.count,
        severity="note",
        subjects=frozenset(place.subjects),
    )


def _weighing(trace: Trace, place: _Place, joined: Op, loss: Backward) -> Finding:
    shown = owner(source(trace, place.site), "data") or _text(trace, place.site) or "x"
    return Finding(
        message=f"`{shown}.data` goes into the loss as a constant: the gradient of `{shown}` lacks what comes by it",
        cause=place.site,
        cause_label="no gradient comes back here",
        effect=loss.site.user,
        effect_label=f"its gradient comes to `{shown}` by another way only",
        related=((joined.site.user, f"meets values that depend on `{shown}`, too"),)
        if joined.site.user.location() != place.site.location()
        else (),
        seen=(
            f"one term of the loss has `{shown}` in it twice: with its graph, and without as `{shown}.data`",
        ),
        fix=f"use `{shown}` itself to let the gradient through; write `{shown}.detach()`, which has the same values,"
        " where a constant is meant",
        count=place.count,
        severity="note",
        subjects=frozenset(place.subjects),
    )


def _text(trace: Trace, site: Site) -> str:
    """What `.data` is taken of where that is no name: `G(z)` of `G(z).data`."""
    text = source(trace, site)
    return text.removesuffix(".data") if text.endswith(".data") and len(text) <= MAX_TEXT else ""


def _let_through(trace: Trace, site: Site) -> tuple[Edit, ...]:
    """The tensor itself in place of its `.data`."""
    here = Source(trace, site.path)
    node = here.file.at(site)
    if not isinstance(node, ast.Attribute) or node.attr != "data":
        return ()
    return here.replace(node, here.file.text(node.value))
