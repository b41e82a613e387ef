"""A tensor is scaled and then mixed with itself in another order: the second part carries both weights.

Why: `x.mul_(lam).add_(x.flip(0), alpha=1 - lam)` writes `lam * x` into `x` before `x.flip(0)` is read. The mixture is
`lam * x + lam * (1 - lam) * x.flip(0)`: its weights are not those that sum to one, and with `lam` near 0 nothing is
left. `x = x * lam` on a line before does the same.

Fix: take the second part before the first is scaled.

Silent on: parts that were taken before, weights that do not sum to one, averages of what was halved.
"""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.ops import ADDITIONS, MULTIPLICATIONS
from gradscope.analysis.words import code, located
from gradscope.fixes.in_place import root_name
from gradscope.fixes.source import Edits, Source
from gradscope.fixes.statements import beside
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.source import names_in, one_less
from gradscope.store import Trace

REORDERING = {"flip", "roll", "__getitem__", "index_select", "fliplr", "flipud", "take_along_dim", "gather"}


class Mixture(NamedTuple):
    """What is added to a scaled tensor is made of it again: `again` puts it into another order."""

    scaled: Op
    again: Op
    added: Op
    weights: tuple[str, str]


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for lam in (0.3, 0.6, 0.8):
        x, y = torch.randn(8, 4), torch.eye(3)[torch.randint(0, 3, (8,))]
        y = y * lam + y.flip(0) * (1 - lam)
        x.mul_(lam).add_(x.flip(0), alpha=1 - lam)  # cause: GS730 # effect: GS730
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for lam in (0.3, 0.6, 0.8):
        x, y = torch.randn(8, 4), torch.eye(3)[torch.randint(0, 3, (8,))]
        y = y * lam + y.flip(0) * (1 - lam)
        flipped = x.flip(0).mul_(1 - lam)
        x.mul_(lam).add_(flipped)
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        opt.step()


@rule("GS730", name="mixed-after-scaling", severity="warning")
def mixed_after_scaling(trace: Trace) -> Iterator[Finding]:
    told: dict[tuple[str, int], tuple[Graph, Mixture, int]] = {}
    for graph in trace.graphs:
        for op in graph.ops:
            found = _mixture(trace, graph, op)
            if found is not None:
                first = told.get(op.site.user.location(), (graph, found, 0))
                told[op.site.user.location()] = (*first[:2], first[2] + graph.count)
    for graph, found, count in told.values():
        yield _finding(trace, graph, found, count)


def _mixture(trace: Trace, graph: Graph, op: Op) -> Mixture | None:
    if op.name not in ADDITIONS or len(op.inputs) != 2 or op.site.kind != "user":
        return None
    for one, other in (op.inputs, op.inputs[::-1]):
        scaled = graph.maker(one)
        if scaled is None or scaled.name not in MULTIPLICATIONS or not beside(trace, scaled.site, op.site):
            continue
        chain = _made_of(graph, other, one)
        again = next((step for step in reversed(chain) if step.name in REORDERING), None)
        if again is None or again.site.kind != "user":
            continue
        weights = _weights(trace, scaled, [op, *chain])
        if weights is not None:
            return Mixture(scaled, again, op, weights)
    return None


def _made_of(graph: Graph, value: int, source: int) -> list[Op]:
    """The products and reorderings by which a value was made of another, the last first; none where other calls, or
    further values, take part."""
    chain: list[Op] = []
    while value != source:
        op = graph.maker(value)
        if op is None or op.name not in MULTIPLICATIONS | REORDERING:
            return []
        inputs = [one for one in op.inputs if one == source or source in graph.upstream(one, source)]
        if len(inputs) != 1:
            return []
        chain.append(op)
        value = inputs[0]
    return chain


def _weights(trace: Trace, scaled: Op, others: list[Op]) -> tuple[str, str] | None:
    """The two factors as they are written, where the text says that their sum is one."""
    for one in _factors(trace, scaled):
        for other in (factor for op in others for factor in _factors(trace, op)):
            if _sum_to_one(one, other):
                return ast.unparse(one), ast.unparse(other)
    return None


def _factors(trace: Trace, op: Op) -> list[ast.expr]:
    """What a product may multiply by, or an addition its second part."""
    node = trace.source_file(op.site.path).at(op.site)
    if op.name in ADDITIONS:
        return [k.value for k in node.keywords if k.arg == "alpha"] if isinstance(node, ast.Call) else []
    if op.name not in MULTIPLICATIONS:
        return []
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    return (
        [node.value] if isinstance(node, ast.AugAssign) else node.args if isinstance(node, ast.Call) else []
    )


def _sum_to_one(one: ast.expr, other: ast.expr) -> bool:
    if isinstance(one, ast.Constant) and isinstance(other, ast.Constant):
        plain = all(isinstance(number.value, float) for number in (one, other))
        return plain and abs(float(str(one.value)) + float(str(other.value)) - 1) < 1e-9
    return any(
        (whole := one_less(rest)) is not None and ast.dump(whole) == ast.dump(part)
        for part, rest in ((one, other), (other, one))
    )


def _finding(trace: Trace, graph: Graph, found: Mixture, count: int) -> Finding:
    again, scaled = code(trace, found.again.site, f"`{found.again.name}`"), found.scaled.site.user
    one, other = found.weights
    here = code(trace, scaled, "the product")
    fix, edits = _taken_before(trace, found)
    return Finding(
        message=f"{again} takes what {here} has scaled already: that part of the mixture is multiplied by "
        f"`{one}` and by `{other}`",
        cause=found.again.site,
        cause_label="reads the scaled tensor",
        effect=found.added.site.user,
        effect_label="adds both",
        related=((scaled, "scaled here"),) if scaled.location() != found.added.site.user.location() else (),
        seen=(
            f"`{found.again.name}` was given the result of `{found.scaled.name}`, of shape "
            f"{graph.values[found.again.inputs[0]].shape}; the weights `{one}` and `{other}` sum to one, those of this "
            "mixture do not",
        ),
        fix=fix,
        edits=edits,
        count=count,
    )


def _taken_before(trace: Trace, found: Mixture) -> tuple[str, Edits]:
    here = Source(trace, found.again.site.path)
    node, first = here.file.at(found.again.site), here.file.statement(found.scaled.site)
    last = here.file.statement(found.added.site)
    again, scaled = (
        located(trace, found.again.site, "the second part"),
        code(trace, found.scaled.site, "the product"),
    )
    fix = f"take {again} before {scaled}, and add that"
    product = here.file.at(found.scaled.site)
    if not isinstance(node, ast.expr) or first is None or last is None or product is None:
        return fix, ()
    name, around = root_name(node), names_in(here.file.scope(found.added.site), ast.Store)
    between = [
        s for s in here.file.siblings(first) if first.lineno <= s.lineno < last.lineno and s is not first
    ]
    bound = {bound for statement in between for bound in names_in(statement, ast.Store)}
    kept = next(free for free in ("second", "second_part", "second_part_") if free not in around)
    same = name.isidentifier() and name in names_in(product, ast.Load) | names_in(product, ast.Store)
    if not same or last not in here.file.siblings(first) or bound & names_in(node, ast.Load):
        return fix, ()
    text = " ".join(here.file.text(node).split())
    edits = here.before(first, f"{kept} = {text}")
    return f"{fix}: `{kept} = {text}`", edits + here.replace(node, kept) if edits else ()
