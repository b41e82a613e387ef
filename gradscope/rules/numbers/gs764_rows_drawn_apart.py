"""Inputs and targets are put in different orders: each sample is taught another one's target.

Why: `x[order]` and `y` (or `y[another_order]`) belong together no longer. A network can learn from that no more than
how often each target occurs: the loss stays where guessing puts it.

Fix: index both with the same order, `x[order]` and `y[order]`.

Measured: all that the prediction was computed from came through an index in a random order, and nothing of what it
is compared with did through that one; both were taken of as many rows. Silent on: inputs that go in unmixed as well
(mixup, pairs), targets that are made of the order itself, targets of one number, and what DataLoaders do.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

from gradscope.analysis.ops import LOSSES, MAKERS
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.samples import KEPT, TAKING, drawn
from gradscope.analysis.words import code, located
from gradscope.fixes.source import Edits, Source
from gradscope.fixes.statements import line_after
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.rules.numbers._losses import losses
from gradscope.store import Trace

MOST = 3000  # values behind a loss that are looked at
ROWS = 8
CALLS = 3  # of each loss
UNNAMED = "order"
DATA = MAKERS | {"randn", "rand", "randint", "normal", "linspace", "arange"}


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = (x[:, 0] > 0).long()
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        order = torch.randperm(64)
        x = x[order]  # cause: GS764
        for start in range(0, 64, 16):
            opt.zero_grad()
            scores = model(x[start : start + 16])
            loss = nn.functional.cross_entropy(scores, y[start : start + 16])  # effect: GS764
            loss.backward()
            opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = (x[:, 0] > 0).long()
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        order = torch.randperm(64)
        mixed, targets = x[order], y[order]
        for start in range(0, 64, 16):
            opt.zero_grad()
            scores = model(mixed[start : start + 16])
            loss = nn.functional.cross_entropy(scores, targets[start : start + 16])
            loss.backward()
            opt.step()


@dataclass(frozen=True)
class _Way:
    """How data comes to a loss: what it begins with, of how many rows it was taken, and by which draws."""

    leaf: Key
    rows: int
    draws: tuple[Key, ...]
    index: Op | None  # the first that takes rows in a random order
    cut: Op | None  # the last index of any kind


@rule("GS764", name="rows-drawn-apart", severity="warning")
def rows_drawn_apart(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    asked: Counter[tuple[str, int]] = Counter()
    for _, op in losses(known, LOSSES):
        place = op.site.user.location()
        if asked[place] >= CALLS or len(op.inputs) < 2:
            continue
        asked[place] += 1
        given, target = (op.graph, op.inputs[0]), (op.graph, op.inputs[1])
        apart = _apart(known, given, target)
        if apart is not None:
            asked[place] = CALLS
            yield _finding(trace, op, *apart)


def _apart(known: Paths, given: Key, target: Key) -> tuple[_Way, _Way] | None:
    graph = known.graph(given[0])
    if graph.values[target[1]].requires_grad or prod(graph.values[target[1]].shape) < ROWS:
        return None
    behind, beside = _ways(known, given), _ways(known, target)
    if not behind or not beside:
        return None
    own = {draw for way in beside for draw in way.draws}
    for one in behind:
        if one.index is None or set(one.draws) & own:
            return None
    rows = {way.rows for way in behind}
    other = next((way for way in beside if rows == {way.rows}), None)
    return (behind[0], other) if other is not None and len(beside) == 1 else None


def _ways(known: Paths, key: Key) -> list[_Way]:
    """From the data that a value was computed from; what was drawn at random itself is none, nor are weights."""
    found: dict[tuple[Key, tuple[Key, ...]], _Way] = {}
    todo = [_Way(key, 0, (), None, None)]
    seen: set[tuple[Key, tuple[Key, ...]]] = {(key, ())}
    while todo:
        if len(seen) > MOST:
            return []
        way = todo.pop()
        sources, op = known.sources(way.leaf)
        value = known.graph(way.leaf[0]).values[way.leaf[1]]
        if known.parameter_of(way.leaf) is not None or (value.is_leaf and value.requires_grad):
            continue
        if op is not None and op.name in TAKING:
            way = replace(way, cut=way.cut or op)
        if op is not None and op.name in TAKING and _takes_rows(known, op):
            maker = known.maker_behind((op.graph, op.inputs[1]), KEPT)
            assert maker is not None
            sources = sources[:1]
            rows = known.graph(op.graph).values[op.inputs[0]].shape[0]
            way = replace(way, rows=rows, draws=(*way.draws, (maker.graph, maker.outputs[0])), index=op)
        if not sources and value.shape and value.shape[0] >= ROWS and (op is None or op.name in DATA):
            found[way.leaf, way.draws] = replace(way, rows=way.rows or value.shape[0])
        for source in sources:
            if (source, way.draws) not in seen:
                seen.add((source, way.draws))
                todo.append(replace(way, leaf=source))
    return list(found.values())


def _takes_rows(known: Paths, op: Op) -> bool:
    """Whether an index puts whole rows in a random order: not the columns, as for pixels that are permuted."""
    values = known.graph(op.graph).values
    if not drawn(known, op):
        return False
    given, index, taken = (values[i].shape for i in (op.inputs[0], op.inputs[1], op.outputs[0]))
    at = str(op.extra.get("at", ""))
    if at.startswith("t") and len(at) > 1 and "t" not in at[1:]:  # `words[rows, 1:]`
        return taken[: len(index)] == index
    node = known.trace.source_file(op.site.user.path).at(op.site.user)
    by_axes = isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple)
    return not by_axes and taken == (*index, *given[1:])


def _finding(trace: Trace, loss: Op, given: _Way, target: _Way) -> Finding:
    index = given.index
    assert index is not None
    cause = index.site.user
    order, edits = _order(trace, index, target)
    if target.index is not None:
        where, label = target.index.site.user, "takes the targets in another order"
        fix = f"take both in one order: `{order}` in {located(trace, where)} as well"
        if (drawn_here := _drawn_in_place(trace, index)) is not None:
            fix = f"draw the order once, `{UNNAMED} = {drawn_here}`, and take both by it: {located(trace, cause)} and"
            fix += f" {located(trace, where)}"
        edits = ()
    else:
        fix = f"take the targets in the same order, with `[{order}]`, where {located(trace, cause)} takes the inputs"
    return Finding(
        message=f"{code(trace, cause, 'this')} puts the inputs in a random order, and the targets stay in another",
        cause=cause,
        cause_label="takes the inputs in a random order",
        effect=loss.site.user,
        effect_label="compares each sample with the target of another one",
        related=((where, label),) if target.index is not None else (),
        seen=(
            f"all that is predicted from came through this index of {given.rows} rows, and nothing of the targets, of"
            f" {target.rows} rows, did",
        ),
        fix=fix,
        edits=edits,
        subjects=frozenset({("loss", loss.site.user.location())}),
    )


def _drawn_in_place(trace: Trace, index: Op) -> str | None:
    """The call that draws the order, where it stands in the index itself, so that the order has no name."""
    file = trace.source_file(index.site.user.path)
    node = file.at(index.site.user)
    order = node.slice if isinstance(node, ast.Subscript) else None
    if isinstance(node, ast.Call) and node.args:
        order = node.args[-1]
    return file.text(order) if isinstance(order, ast.Call) else None


def _order(trace: Trace, index: Op, target: _Way) -> tuple[str, Edits]:
    """What the index is called in the text, and the edits where it is given to what it is taken of: the targets get
    the same line."""
    here = Source(trace, index.site.user.path)
    node, statement = here.file.at(index.site.user), here.file.statement(index.site.user)
    if isinstance(node, ast.Call) and node.args and isinstance(node.args[-1], ast.Name | ast.Attribute):
        return ast.unparse(node.args[-1]), ()
    if not isinstance(node, ast.Subscript):
        return UNNAMED, ()
    order = ast.unparse(node.slice)
    again = (
        isinstance(statement, ast.Assign)
        and statement.value is node
        and [ast.unparse(t) for t in statement.targets] == [ast.unparse(node.value)]
    )
    cut = here.file.at(target.cut.site.user) if target.cut is not None else None
    of = cut.value if isinstance(cut, ast.Subscript) else None
    if not again or not isinstance(of, ast.Name):
        return order, ()
    name = of.id
    return order, line_after(trace, index.site.user, f"{name} = {name}[{order}]")
