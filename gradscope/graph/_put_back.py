"""Numbers that leave torch and come back in one expression, as in `torch.tensor(x.tolist())`: torch knows no way."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from gradscope.analysis.flow import Flow
from gradscope.analysis.ops import EXITS, MAKERS
from gradscope.model import Op, Site

NEAR = 8  # ops that give numbers, before the first one that reads a value which torch has not seen made


def put_back(flow: Flow) -> dict[int, list[int]]:
    """Value → the ops with a graph behind them whose numbers it was made of."""
    exits = [at for at, op in enumerate(flow.ops) if op.name in EXITS and taken_out(flow, at)]
    found: dict[int, list[int]] = {}
    for value, site, entered in _without_past(flow) if exits else ():
        before = exits[: bisect_left(exits, entered)][::-1]
        if flow.maker[value] is None:
            before = before[:NEAR]
            before = before[next((n for n, at in enumerate(before) if _inside(flow.ops[at], site)), NEAR) :]
        own: dict[int, int] = {}  # place → the last op there: what came before was of another round
        for at in before:
            if not _inside(flow.ops[at], site) or flow.ops[at].site.id in own:
                break
            own[flow.ops[at].site.id] = at
        if own:
            found[value] = sorted(own.values())
    return found


def taken_out(flow: Flow, op: int) -> list[int]:
    """From an op that gives numbers back to where the graph of what they are ends; empty where they have none."""
    way: list[int] = []
    at: int | None = op
    while at is not None and flow.inputs[at]:
        way.append(at)
        value = flow.inputs[at][0]
        if flow.values[value].requires_grad:
            return way
        at = flow.maker[value] if len(flow.inputs[at]) == 1 else None
    return []


def _without_past(flow: Flow) -> Iterator[tuple[int, Site, int]]:
    """(value that came in as numbers, the expression that made it, the op from which on it is there)."""
    for value, known in enumerate(flow.values):
        maker = flow.maker[value]
        if maker is not None:
            op = flow.ops[maker]
            if op.name in MAKERS and not flow.inputs[maker]:
                yield value, op.site.user, maker
        elif known.kind == "input" and known.origin is None and known.site is not None:
            readers = flow.consumers.get(value, ())
            if readers and flow.parameter(value) is None:
                yield value, known.site.user, readers[0]


def _inside(op: Op, site: Site) -> bool:
    """Whether an op ran in an expression, or in what that called."""
    at = len(site.stack) - 1
    return len(op.site.stack) > at and op.site.stack[at].within(site)
