"""`.data` is used where `.detach()` or `torch.no_grad()` is meant.

Why: `.data` takes a tensor out of the graph without telling autograd: a write through it
is never checked, and a value that goes on through it carries no gradient back to the
layers that made it.

Fix: read with `.detach()`; write inside `with torch.no_grad():`; to let gradients flow,
leave `.data` away.

A note for each place that reads `.data` of something that requires a gradient; an error where it
cuts parameters that an optimizer steps from every loss of the run, a warning where it cuts other
ones that should train, or a term of a loss from all that it was computed from.

Silent on: `.data` inside torch and other libraries; tensors without gradient.
At note at most: copies into EMA or target networks, stop-gradients whose parameters
learn from another loss.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from gradscope.analysis.cuts import Cut, cuts
from gradscope.analysis.own_writes import kept_up
from gradscope.analysis.reach import paths
from gradscope.analysis.terms import DeadTerm, dead_terms
from gradscope.analysis.words import owner, parameter_names, parameter_subjects, root_of, source
from gradscope.analysis.writes import memory_root
from gradscope.events import DataRead
from gradscope.fixes.source import Source
from gradscope.model import Edit, Finding, Graph, Site, Span
from gradscope.rules import rule
from gradscope.source import called_name
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


@dataclass
class _Place:
    """What was seen of one place that reads `.data`."""

    site: Site
    count: int = 0
    written: bool = False
    off: bool = False  # gradients are off there already
    subjects: set[object] = field(default_factory=set)


@rule("GS102", name="data-attribute", severity="error", over=("GS301",))
def data_attribute(trace: Trace) -> Iterator[Finding]:
    places: dict[tuple[str, int, int], _Place] = {}
    for event in trace.of(DataRead):
        site = event.site
        if (
            site.kind == "user"
            and event.graph >= 0
            and _trained(trace, event)
            and not _only_asked(trace, site)
        ):
            place = places.setdefault((site.path, site.line, site.column), _Place(site))
            place.count += event.count
            _look(trace, event, place)
    harmful = {cut.site.location(): cut for cut in cuts(trace) if cut.kind == "data" and _harmful(trace, cut)}
    dead = {term.block.site.user.location(): term for term in dead_terms(paths(trace), "data")}
    plain: dict[tuple[str, int, int], list[_Place]] = {}
    cutting: dict[int, list[_Place]] = {}
    for place in places.values():
        cut, term = harmful.get(place.site.location()), dead.get(place.site.location())
        if cut is not None:
            cutting.setdefault(id(cut), []).append(place)
        elif term is not None:
            yield _ending(trace, place, term)
        else:
            plain.setdefault(_statement(trace, place.site), []).append(place)
    for cut in harmful.values():
        if id(cut) in cutting:
            yield _cutting(trace, cutting[id(cut)], cut)
    others = {place.site.span() for place in places.values()} - {
        p.site.span() for some in plain.values() for p in some
    }
    for some in plain.values():
        place = _first(some)
        if place.written or not _assigned_back(trace, place.site):
            yield _reading(trace, place, others)


def _only_asked(trace: Trace, site: Site) -> bool:
    """Whether this is `hasattr(x, "data")`, which reads it and keeps nothing."""
    node = trace.source_file(site.path).at(site)
    return isinstance(node, ast.Call) and called_name(node) == "hasattr"


def _statement(trace: Trace, site: Site) -> tuple[str, int, int]:
    """What is edited at once, on however many lines it stands."""
    statement = trace.source_file(site.path).statement(site)
    if statement is None or hasattr(statement, "body"):
        return site.path, site.line, 0
    return site.path, statement.lineno, statement.col_offset


def _assigned_back(trace: Trace, site: Site) -> bool:
    """Whether it is read to compute what the same tensor's `.data` becomes: `w.data = w.data - lr * w.grad.data`."""
    statement = trace.source_file(site.path).statement(site)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    parts = [
        part for target in targets for part in (target.elts if isinstance(target, ast.Tuple) else [target])
    ]
    return any(ast.unparse(part) == source(trace, site) for part in parts)


def _first(line: list[_Place]) -> _Place:
    """One note for a statement: the write where there is one (`p.data.copy_(q.data)`)."""
    shown = min(line, key=lambda place: (not place.written, place.site.column))
    shown.subjects = set().union(*(place.subjects for place in line))
    return shown


def _trained(trace: Trace, event: DataRead) -> bool:
    parameter = event.parameter
    return bool(event.requires_grad) or (parameter is not None and trace.parameter(parameter).requires_grad)


def _look(trace: Trace, event: DataRead, place: _Place) -> None:
    graph, alias = trace.graph(event.graph), event.alias
    if event.parameter is not None:
        place.subjects |= parameter_subjects([event.parameter])
    if alias is not None:
        place.subjects.add(("memory", event.graph, memory_root(graph, alias)))
        shown = [
            alias,
            *(v for op in graph.consumers.get(alias, ()) for v in op.outputs if _is_view(graph, v, alias)),
        ]
        place.written |= any(v in op.writes for v in shown for op in graph.consumers.get(v, ()))
        maker = graph.values[alias].op
        region = trace.regions.get(graph.ops[maker].region or -1) if maker is not None else None
        place.off |= region is not None and region.kind in ("no_grad", "inference_mode")


def _is_view(graph: Graph, value: int, alias: int) -> bool:
    return graph.values[value].alias_of == alias


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


def _reading(trace: Trace, place: _Place, others: set[Span]) -> Finding:
    name = owner(source(trace, place.site), "data") or _text(trace, place.site)
    if place.written:
        message = (
            f"{f'`{name}`' if name else 'a tensor'} is written through `.data`, which autograd cannot check"
        )
        itself = f"`{name}`" if name else "it"
        fix = f"write to {itself} inside `with torch.no_grad():`"
        if place.off:
            fix = f"write to {itself} itself: gradients are off here already"
    else:
        message = f"`{name}.data` is read where `{name}.detach()` is safe"
        fix = f"use `{name}.detach()`: the same values, and autograd sees writes to them"
    return Finding(
        message=message,
        cause=place.site,
        cause_label="written through `.data`" if place.written else "`.data` read",
        seen=(
            f"{f'`{name}`' if name else 'it'} requires a gradient where its `.data` is"
            f" {'written to' if place.written else 'read'}",
        ),
        fix=fix,
        count=place.count,
        severity="note",
        edits=_without_data(trace, place, others),
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


def _without_data(trace: Trace, place: _Place, others: set[Span]) -> tuple[Edit, ...]:
    """`.detach()` for `.data`; a write goes under `torch.no_grad()` instead. `others` are told of by themselves."""
    here = Source(trace, place.site.path)
    statement = here.file.statement(place.site)
    if statement is None or hasattr(statement, "body"):
        return ()
    reads = [n for n in ast.walk(statement) if isinstance(n, ast.Attribute) and n.attr == "data"]
    written = [n for n in reads if place.written and here.file.at(place.site) is n]
    if place.written and (not written or "torch" not in here.file.imported):
        return ()
    under = here.under(statement, "with torch.no_grad():") if written and not place.off else ()
    itself = bool(under) or place.off  # else a write through `.detach()`, which autograd checks
    edits: list[Edit] = []
    for node in reads:
        if (here.path, *here.file.span(node)) in others:
            continue
        if not isinstance(node.ctx, ast.Load) and not (node in written and itself):
            continue  # `p.data = …` gives it other memory
        inner = here.file.text(node.value)
        edits += here.replace(node, inner if node in written and itself else f"{inner}.detach()")
    return (*under, *edits)
