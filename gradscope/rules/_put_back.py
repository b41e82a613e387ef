"""Losses that a program made anew from the numbers of values with a graph, and what to write instead."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import prod

from gradscope.model import Edit, Event, Op, Parameter, Site
from gradscope.rules._cuts import nearest_cuts
from gradscope.rules._edits import Source
from gradscope.rules._numbers import EXITS, MAKERS, entered
from gradscope.rules._paths import Key, Paths
from gradscope.store import Trace

_CUTS = ("item", "detach", "data")  # of them, those that leave the graph behind
_COPIES = ("item", "detach", "clone", "requires_grad_")  # methods that give the same numbers


def numbers_put_back(known: Paths) -> Iterator[tuple[Site, list[Parameter], Event]]:
    """Losses made of plain numbers, which `item()` had just taken out of a graph: where they were
    made, the parameters behind the numbers, and the pass."""
    expected = {p.id: p for p in known.expected()}
    if not expected:
        return
    told = set()
    for key, events in known.roots.items():
        reach = known.reach([key])
        if reach.parameters & {p.id for p in known.parameters.values() if p.registered or p.optimizers}:
            continue
        for leaf in reach.leaves:
            wrapped = _wrapped(known, leaf)
            if wrapped is None or wrapped[0].location() in told:
                continue
            site, before = wrapped
            behind: set[int] = set()
            for op in before:
                behind |= _parameters(known, [(leaf[0], i) for i in op.inputs])
            parameters = [expected[i] for i in sorted(behind & expected.keys())]
            if parameters:
                told.add(site.location())
                yield site, parameters, events[0]


def _parameters(known: Paths, keys: list[Key]) -> set[int]:
    """The parameters that these values were computed from, also where `detach()` came between."""
    found = known.reach(keys).parameters
    for key in keys:
        for op, output in nearest_cuts(known, key):
            if op.cut in ("detach", "data"):
                found |= known.reach((output[0], i) for i in op.inputs).parameters
    return found


def _wrapped(known: Paths, leaf: Key) -> tuple[Site, list[Op]] | None:
    """Where a leaf without a past was made, and the ops before it that took values out of a graph."""
    graph = known.graph(leaf[0])
    value = graph.values[leaf[1]]
    if value.op is not None:
        op = graph.ops[value.op]
        if op.inputs:
            return _made_to_require(known, leaf, op)
        if op.name not in MAKERS:
            return None
        return op.site.user, [o for o in graph.ops[: op.index] if o.name in EXITS]
    parameter = known.parameter_of(leaf)
    if value.origin is not None or prod(value.shape) != 1 or (parameter is not None and parameter.optimizers):
        return None
    site = known.required(leaf)
    given = [
        o for o in graph.ops if o.name in EXITS and o.cut is not None and o.index < entered(graph, leaf[1])
    ]
    if leaf in known.roots and site is not None and given:
        return site.user, given[-1:]
    taken = [o for o in graph.ops if o.cut in ("data", "detach") and not graph.consumers.get(o.outputs[0])]
    return (taken[-1].site.user, taken[-1:]) if taken else None


def _made_to_require(known: Paths, leaf: Key, op: Op) -> tuple[Site, list[Op]] | None:
    """The same for a leaf computed from numbers alone, which was then made to require a gradient."""
    graph = known.graph(leaf[0])
    sources = [graph.values[i] for i in graph.upstream(leaf[1])[1:]]
    if op.written or prod(graph.values[leaf[1]].shape) != 1:
        return None
    if any(v.parameter is not None or v.requires_grad or v.origin is not None for v in sources):
        return None
    before = [o for o in graph.ops[: op.index] if o.name in EXITS]
    set_by = op.site if op.name == "Variable" else known.required(leaf)
    return (set_by.user, before) if set_by is not None and before else None


def as_it_is(trace: Trace, site: Site, cut: Site | None = None) -> tuple[str, tuple[Edit, ...]]:
    """`loss` in place of `torch.tensor(loss.item(), requires_grad=True)` or `loss.detach().requires_grad_()`:
    the text that goes, and the edits. `cut` is where the graph was lost, which may be within what stays:
    `out.sum()` in place of `out.detach().sum().requires_grad_()`. Nothing where what stays has no graph."""
    here = Source(trace, site.path)
    node = here.file.at(site)
    while isinstance(node, ast.Call) and isinstance(above := here.file.parent.get(id(node)), ast.Attribute):
        call = here.file.parent.get(id(above))
        if above.attr not in _COPIES or not isinstance(call, ast.Call):
            break
        node = call
    if not isinstance(node, ast.expr):
        return "", ()
    value, mended = _behind(here, node)
    lost = here.file.at(cut) if cut is not None and cut.path == site.path else None
    if value is None or (isinstance(value, ast.Call) and here.file.is_imported(value.func)):
        return "", ()  # makes a new tensor itself
    text = here.file.text(value)
    if lost is not None and any(part is lost for part in ast.walk(value)):
        source = lost.func if isinstance(lost, ast.Call) else lost
        if not isinstance(source, ast.Attribute) or source.attr not in _CUTS:
            return "", ()
        assert isinstance(lost, ast.expr)
        text, mended = text.replace(here.file.text(lost), here.file.text(source.value), 1), True
    old = here.file.text(node)
    statement = here.file.parent.get(id(node))
    if not mended or text == old:
        return "", ()
    if isinstance(statement, ast.Assign) and [ast.unparse(t) for t in statement.targets] == [text]:
        return old, here.remove(statement)
    return old, here.replace(node, text)


def _behind(here: Source, node: ast.expr) -> tuple[ast.expr | None, bool]:
    """The value that a new leaf was made of, and whether what was taken off had cut its graph."""
    value, mended = node, False
    if isinstance(value, ast.Call) and value.args and here.file.is_imported(value.func):
        value, mended = value.args[0], True
        if not (isinstance(value, ast.Call) and getattr(value.func, "attr", "") == "item"):
            return None, False
    while isinstance(value, ast.Call) and getattr(value.func, "attr", "") in _COPIES:
        assert isinstance(value.func, ast.Attribute)
        mended |= value.func.attr in _CUTS
        value = value.func.value
    return value, mended
