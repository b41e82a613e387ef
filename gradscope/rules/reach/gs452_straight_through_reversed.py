"""A straight-through value takes the wrong part out of the graph: its gradient arrives with its sign turned round.

Why: a rounded or chosen value has no gradient, so `x + (q - x).detach()` gives the numbers of q and hands the
gradient on to x. In `x.detach() + (q - x)` the numbers are the same, and the only x with a graph is the one that is
subtracted: where the loss asks for a larger value, each step makes x smaller.

Fix: `x + (q - x).detach()`.

Measured: the sum holds x without its graph and takes x with its graph away; all else in it was computed from x by
rounding or choosing, whose gradient is zero, so that what reaches x is -1 times what arrives; and in all calls looked
at the sum rises with x. Silent where it falls with x, and on reversals of a gradient, where nothing is rounded.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.ops import (
    ALIASES,
    REVERSED_SUBTRACTIONS,
    SUBTRACTIONS,
    SUMS,
    ZERO_GRADIENT,
)
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located
from gradscope.events import StandIn
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.source import terms_of
from gradscope.store import Trace

RISES = 0.1  # correlation of the sum with the value
ROUNDING = {"round", "floor", "ceil", "trunc", "fix", "sign", "sgn", "heaviside", "bernoulli"}
FRACTIONS = ("float", "bfloat", "complex")  # how the names of their types begin
DEEP = 6  # sums within each other


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Linear(4, 16), nn.Linear(16, 1)
    opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for _ in range(5):
        x = torch.randn(64, 4)
        level = body(x)
        hidden = level.detach() + (torch.round(4 * level) / 4 - level)  # cause: GS452
        loss = (head(hidden) - x[:, :1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS452
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Linear(4, 16), nn.Linear(16, 1)
    opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for _ in range(5):
        x = torch.randn(64, 4)
        level = body(x)
        hidden = level + (torch.round(4 * level) / 4 - level).detach()
        loss = (head(hidden) - x[:, :1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


class Reversed(NamedTuple):
    total: Op
    cut: Op  # the detach
    taken: Op  # the difference that takes the value away
    given: int  # the value
    chosen: int  # the rest of the sum


@rule("GS452", name="straight-through-reversed", severity="warning", needs=StandIn)
def straight_through_reversed(trace: Trace) -> Iterator[Finding]:
    measured = {event.site.id: event for event in trace.of(StandIn) if event.least >= RISES}
    if not measured:
        return
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for key, op in known.used_calls(SUMS):
        event = measured.get(op.site.id)
        if event is None or op.site.user.location() in told:
            continue
        found = _reversed(known, key, op)
        if found is not None:
            told.add(op.site.user.location())
            yield _finding(trace, known, key, found, event)


def _reversed(known: Paths, key: Key, op: Op) -> Reversed | None:
    graph = known.graph(op.graph)
    parts = list(_parts(graph, op, op.outputs[0], 1, DEEP))
    cuts = {
        cut.inputs[0]: cut
        for value, sign, _ in parts
        if sign > 0 and (cut := graph.maker(value)) is not None and cut.name in ALIASES and cut.inputs
    }
    for value, sign, taken in parts:
        cut = cuts.get(value)
        rest = [(v, s) for v, s, _ in parts if v != value and (cut is None or v not in cut.outputs)]
        if cut is None or sign > 0 or len(parts) != 3 or len(rest) != 1 or rest[0][1] < 0:
            continue
        if graph.values[value].requires_grad and _stands_still(known, op.graph, value, rest[0][0]):
            return Reversed(op, cut, taken, value, rest[0][0])
    return None


def _parts(graph: Graph, op: Op, value: int, sign: int, deep: int) -> Iterator[tuple[int, int, Op]]:
    """What a sum of values of its own form adds up, each with its sign and the nearest sum that it stands in."""
    for place, given in enumerate(op.inputs[:2]):
        minus = op.name in SUBTRACTIONS and place == (0 if op.name in REVERSED_SUBTRACTIONS else 1)
        own = -sign if minus else sign
        maker = graph.maker(given)
        plain = maker is not None and maker.name in SUMS and len(maker.inputs) == 2 and not maker.extra
        same = graph.values[given].shape == graph.values[value].shape
        if plain and same and deep and maker is not None and len(op.inputs) == 2:
            yield from _parts(graph, maker, given, own, deep - 1)
        else:
            yield given, own, op


def _stands_still(known: Paths, graph: int, value: int, chosen: int) -> bool:
    """Whether what was chosen was computed from the value by a jump, and no gradient comes back from it."""
    values = known.graph(graph).values
    if values[chosen].shape != values[value].shape or not _jumps(known, (graph, value), (graph, chosen)):
        return False
    reach = known.reach([(graph, chosen)], ZERO_GRADIENT)
    node = values[value].node
    parameter = known.parameter_of((graph, value))
    if not reach.complete or (parameter is not None and parameter.id in reach.parameters):
        return False
    return (graph, value) not in reach.leaves and (node is None or (graph, node) not in reach.nodes)


def _jumps(known: Paths, value: Key, chosen: Key) -> bool:
    """Whether something on the way from a value to what was chosen is rounded, or a whole number: what only goes along
    with the value reverses a gradient on purpose."""
    feeds = known.flow([chosen]).feeds
    todo, seen = [value], {value}
    for key in todo:  # grows while it is walked
        for made, op in feeds.get(key, ()):
            if made in seen:
                continue
            jump = op is not None and op.name.rstrip("_") in ROUNDING
            dtype = known.value(made).dtype
            if jump or (dtype and not dtype.startswith(FRACTIONS)):
                return True
            seen.add(made)
            todo.append(made)
    return False


def _finding(trace: Trace, known: Paths, key: Key, found: Reversed, event: StandIn) -> Finding:
    cause = found.total.site.user
    loss = known.loss_of(key)
    value, text, edits = _exchanged(trace, found)
    least = f"{event.least:.3g} or more" if event.most - event.least > 0.005 else f"{event.least:.3g}"
    return Finding(
        message=f"{code(trace, cause, 'a straight-through value')} hands its gradient on with its sign turned round:"
        f" the only {value} with a graph in it is the one that is subtracted",
        cause=cause,
        cause_label=f"the gradient for {value} is -1 times what arrives here",
        effect=loss.site.user if loss is not None else cause,
        effect_label=f"what {value} is computed from learns from a gradient of the wrong sign",
        seen=(
            f"its numbers rise with those of {value} (their correlation was {least} in the calls looked at), and the"
            f" rest of the sum was computed from {value} by rounding or choosing, whose gradient is zero:"
            f" only -{value.strip('`')}"
            " is left",
        ),
        fix=f"let the graph go to the {value} that is added: {text} in place of {located(trace, cause)}",
        edits=edits,
        subjects=frozenset({("straight-through", cause.location())}),
    )


def _exchanged(trace: Trace, found: Reversed) -> tuple[str, str, Edits]:
    """What the value is called, the sum with the two exchanged, and the edits; the usual form where they stand in
    different statements."""
    usual = "`x + (q - x).detach()`"
    here = Source(trace, found.total.site.user.path)
    whole, cut = here.file.at(found.total.site.user), here.file.at(found.cut.site.user)
    if not isinstance(cut, (ast.Call, ast.Attribute)) or not isinstance(whole, ast.expr):
        return "`x`", usual, ()
    inner = cut.func.value if isinstance(cut, ast.Call) and isinstance(cut.func, ast.Attribute) else None
    inner = cut.value if isinstance(cut, ast.Attribute) else inner
    if inner is None or here.file.is_imported(inner):
        return "`x`", usual, ()
    name = ast.unparse(inner)
    others = [node for node in terms_of(whole, ast.Add, ast.Sub) if ast.unparse(node) == name]
    own = [node for node in terms_of(whole, ast.Add, ast.Sub) if node is cut]
    if len(others) != 1 or len(own) != 1:
        return f"`{name}`", f"`{name} + (q - {name}).detach()`", ()
    operand = here.file.operand(inner)
    edits = (*here.replace(cut, here.file.text(inner)), *here.replace(others[0], f"{operand}.detach()"))
    return f"`{name}`", f"`{here.text_after(whole, edits)}`", edits
