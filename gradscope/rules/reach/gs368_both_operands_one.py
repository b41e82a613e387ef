"""Two values are compared or mixed, and both are one and the same.

Why: `torch.min(a, a)` is `a`, and so are `torch.stack([a, a]).min(0)` and `w * a + (1 - w) * a`, whatever `w` is. Two
estimates of which the more careful one was to be taken, two branches of a `where`, a learning rate that was to go from
one value to another leave no trace of the one that was meant: nothing fails, and the numbers look as they should.

Fix: give it the other one.

Measured: the two inputs were the same tensor, or made of one by the same calls, in every call of the line, which names
the same thing twice. Of a mix, told from the program's text, of functions that ran: the weights add up to 1.
Silent on: lines that name two things, which may be the same in the first turn of a loop.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import combinations

from gradscope.analysis.ops import DRAWS, STACKS
from gradscope.analysis.text import nodes_that_ran, site_of, written_input
from gradscope.analysis.words import code, located, plural
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.source import called_name, names_in, one_less
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    one, other = nn.Linear(4, 1), nn.Linear(4, 1)
    opt = torch.optim.Adam([*one.parameters(), *other.parameters()], lr=0.01)
    for _ in range(5):
        state, reward = torch.randn(16, 4), torch.randn(16, 1)
        q1, q2 = one(state), other(state)
        careful = torch.min(q1, q1).detach()  # cause: GS368
        loss = (q1 - reward).pow(2).mean() + (q2 - reward - 0.1 * careful).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    one, other = nn.Linear(4, 1), nn.Linear(4, 1)
    opt = torch.optim.Adam([*one.parameters(), *other.parameters()], lr=0.01)
    for _ in range(5):
        state, reward = torch.randn(16, 4), torch.randn(16, 1)
        q1, q2 = one(state), other(state)
        careful = torch.min(q1, q2).detach()
        loss = (q1 - reward).pow(2).mean() + (q2 - reward - 0.1 * careful).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


MOST = 200  # calls that are compared
# of these two inputs one is taken
CHOICES = dict.fromkeys(("min", "max", "minimum", "maximum", "fmin", "fmax"), (0, 1)) | {"where": (1, 2)}
JOINS = STACKS | {"concatenate"}
REDUCED = {"min", "max", "amin", "amax", "mean", "median"}  # along one axis: of the same twice the same


@rule("GS368", name="both-operands-one", severity="warning")
def both_operands_one(trace: Trace) -> Iterator[Finding]:
    found: dict[tuple[str, int, int], tuple[Op, int, int]] = {}  # place → op, its calls, those of one tensor
    for graph in trace.graphs:
        for op in graph.called(CHOICES):
            first, second = CHOICES[op.name]
            if op.site.user.kind != "user" or len(op.inputs) <= second:
                continue
            place = op.site.user.path, op.site.user.line, op.site.user.column
            known, calls, same = found.get(place, (op, 0, 0))
            alike = _is_one(graph, op.inputs[first], op.inputs[second])
            found[place] = known, calls + graph.count, same + alike * graph.count
    for op, calls, same in found.values():
        if calls == same and (name := _named_twice(trace, op)):
            yield _finding(trace, op, name, calls)
    yield from _of_lists(trace)
    for path, function, node in nodes_that_ran(trace, ast.BinOp):
        mixed = _mixed(node)
        if mixed is not None:
            yield _of_a_mix(trace, path, function, node, *mixed)


def _of_lists(trace: Trace) -> Iterator[Finding]:
    """`torch.stack([a, a]).min(0)`: two of a list are one, of which one is chosen, or their mean is taken."""
    found: dict[
        tuple[str, int, int], tuple[Op, Op, ast.expr, int]
    ] = {}  # place → op, its reader, second, calls
    apart: set[tuple[str, int, int]] = set()
    for graph in trace.graphs:
        for op in graph.called(JOINS):
            place = op.site.user.path, op.site.user.line, op.site.user.column
            if op.site.kind != "user" or place in apart:
                continue
            reader, twice = _chosen_of(graph, op), _twice_in(trace, graph, op)
            if reader is None or twice is None:
                apart.add(place)
            else:
                calls = found[place][3] if place in found else 0
                found[place] = op, reader, twice, calls + graph.count
    for place, (op, reader, twice, calls) in found.items():
        if place not in apart:
            yield _twice_in_a_list(trace, op, reader, twice, calls)


def _chosen_of(graph: Graph, op: Op) -> Op | None:
    """What alone reads a stack or a row of tensors, and makes one number of all that stand side by side in it."""
    readers = graph.consumers.get(op.outputs[0], ())
    if len(readers) != 1 or readers[0].name not in REDUCED or readers[0].extra.get("dims") is None:
        return None
    width = len(graph.values[op.outputs[0]].shape)
    axes = [[axis % width for axis in one.extra.get("dims", [0])] for one in (op, readers[0])]
    alone = op.name == "stack" or graph.values[op.inputs[0]].shape[axes[0][0]] == 1
    return readers[0] if alone and len(axes[0]) == 1 and axes[0] == axes[1] else None


def _twice_in(trace: Trace, graph: Graph, op: Op) -> ast.expr | None:
    """The second of two entries of the list that have one name and are one."""
    call = trace.source_file(op.site.user.path).at(op.site.user)
    given = call.args[0] if isinstance(call, ast.Call) and call.args else None
    if not isinstance(given, (ast.List, ast.Tuple)) or len(given.elts) != len(op.inputs):
        return None
    pairs = combinations(zip(given.elts, op.inputs, strict=True), 2)
    return next(
        (
            b
            for (a, one), (b, other) in pairs
            if ast.unparse(a) == ast.unparse(b) and _is_one(graph, one, other)
        ),
        None,
    )


def _twice_in_a_list(trace: Trace, op: Op, reader: Op, twice: ast.expr, calls: int) -> Finding:
    place, name = op.site.user, ast.unparse(twice)
    other = _beside(trace, op, twice)
    return Finding(
        message=f"{code(trace, place)} holds `{name}` twice, and `{reader.name}` makes one of them: it has nothing to"
        " choose between",
        cause=place,
        cause_label=f"is given `{name}` twice",
        effect=reader.site.user if reader.site.user.location() != place.location() else None,
        effect_label=f"`{reader.name}` of both",
        seen=(f"one and the same numbers in {plural(calls, 'call')} of {calls}",),
        fix=f"give {located(trace, place)} "
        + (f"`{other}`, which is made together with `{name}`," if other else "the other tensor")
        + f" in place of the second `{name}`",
        edits=Source(trace, place.path).replace(twice, other) if other else (),
        count=calls,
    )


def _is_one(graph: Graph, one: int, other: int) -> bool:
    """Whether two values are one tensor, or made of one by the same calls, none of which draws: `q(x)` twice."""
    todo, seen = [(one, other)], 0
    while todo:
        a, b = todo.pop()
        if a == b:
            continue
        first, second = graph.maker(a), graph.maker(b)
        seen += 1
        if first is None or second is None or seen > MOST or not _are_alike(first, second):
            return False
        if first.outputs.index(a) != second.outputs.index(b):
            return False
        todo += zip(first.inputs, second.inputs, strict=True)
    return True


def _are_alike(first: Op, second: Op) -> bool:
    """Whether two calls do the same, given the same: those of one line of the program's, or of a module's."""
    return (
        first.name == second.name
        and first.name not in DRAWS
        and f"{first.name}_" not in DRAWS
        and not first.written
        and not second.written
        and first.extra == second.extra
        and len(first.inputs) == len(second.inputs)
        and bool(first.inputs)
    )


def _mixed(node: ast.BinOp) -> tuple[str, ast.expr] | None:
    """`w` and the second `a` of `w * a + (1 - w) * a`."""
    products = [side for side in (node.left, node.right) if isinstance(side, ast.BinOp)]
    if not isinstance(node.op, ast.Add) or len(products) != 2:
        return None
    if not all(isinstance(side.op, ast.Mult) for side in products):
        return None
    for weight, one in _turned(products[0]):
        for other_weight, other in _turned(products[1]):
            alike = ast.unparse(one) == ast.unparse(other) and bool(names_in(one)) and not _is_drawn(one)
            if alike and _is_rest(other_weight, weight):
                return ast.unparse(weight), other
            if alike and _is_rest(weight, other_weight):
                return ast.unparse(other_weight), other
    return None


def _turned(product: ast.BinOp) -> tuple[tuple[ast.expr, ast.expr], ...]:
    return (product.left, product.right), (product.right, product.left)


def _is_rest(one: ast.expr, of: ast.expr) -> bool:
    """Whether it is `1 - of`."""
    rest = one_less(one)
    return rest is not None and ast.unparse(rest) == ast.unparse(of)


def _is_drawn(node: ast.expr) -> bool:
    """Whether it may be another value the second time: a draw, or a call that is not given two values to compare."""
    calls = [part for part in ast.walk(node) if isinstance(part, ast.Call)]
    return any(len(call.args) < 2 or {called_name(call), f"{called_name(call)}_"} & DRAWS for call in calls)


def _of_a_mix(
    trace: Trace, path: str, function: str, node: ast.BinOp, weight: str, other: ast.expr
) -> Finding:
    place, name = site_of(path, function, node), ast.unparse(other)
    return Finding(
        message=f"both parts of {code(trace, place)} are `{name}`: the mix is `{name}`, whatever `{weight}` is",
        cause=place,
        cause_label=f"mixes `{name}` with itself",
        seen=(f"the weights, `{weight}` and one minus that, add up to 1",),
        fix=f"put the other value in place of one `{name}` in {located(trace, place)}: at"
        f" `{weight}` = 1 the mix is the one that `{weight}` weighs, at 0 the other one",
    )


def _named_twice(trace: Trace, op: Op) -> str:
    """What the line calls both inputs; "" where it calls them by two names."""
    given = [written_input(trace, op, place) for place in CHOICES[op.name]]
    texts = {ast.unparse(one) for one in given if one is not None}
    return texts.pop() if len(texts) == 1 and None not in given else ""


def _finding(trace: Trace, op: Op, name: str, calls: int) -> Finding:
    place, other = op.site.user, _other(trace, op)
    return Finding(
        message=f"both inputs of {code(trace, place)} are `{name}`: it gives `{name}` back, whatever else was meant",
        cause=place,
        cause_label=f"is given `{name}` twice",
        seen=(
            f"one and the same tensor in {plural(calls, 'call')} of {calls}"
            if len(set(op.inputs)) < len(op.inputs)
            else f"made by the same operations of the same tensors in {plural(calls, 'call')} of {calls}",
        ),
        fix=f"give {located(trace, place)} "
        + (f"`{other}`, which is made together with `{name}`," if other else "the other tensor")
        + f" in place of the second `{name}`",
        edits=_edits(trace, op, other),
        count=calls,
    )


def _other(trace: Trace, op: Op) -> str:
    """The other one of two that are given their names together: `q2` of `q1, q2 = critic(x)`."""
    return _beside(trace, op, written_input(trace, op, CHOICES[op.name][1]))


def _beside(trace: Trace, op: Op, node: ast.expr | None) -> str:
    if not isinstance(node, ast.Name):
        return ""
    file = trace.source_file(op.site.user.path)
    scope = file.scope(op.site.user)
    together = [
        [one.id for one in target.elts if isinstance(one, ast.Name)]
        for statement in ast.walk(scope)
        if isinstance(statement, ast.Assign) and statement.lineno <= op.site.user.line
        for target in statement.targets
        if isinstance(target, ast.Tuple) and len(target.elts) == 2
    ]
    others = {other for names in together if node.id in names for other in names} - {node.id}
    return others.pop() if len(others) == 1 else ""


def _edits(trace: Trace, op: Op, other: str) -> Edits:
    node = written_input(trace, op, CHOICES[op.name][1])
    return Source(trace, op.site.user.path).replace(node, other) if node is not None and other else ()
