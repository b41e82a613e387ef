"""A tensor of True and False is compared with a number that it never holds: the answer is the same at every place.

Why: `mask + mask` of two boolean tensors is boolean as well, their "or": True + True is True, and `== 2` holds
nowhere. A count of the places where both are True, as in an intersection over union, is 0 for every model.

Fix: `a & b` for where both are True, or `a.int() + b.int()` to count.

Measured: the dtype of what was compared, in every call of the line, beside the number that the line names.
Silent on: comparisons with True, False, 0 and 1, and with numbers that have a name.
"""

from __future__ import annotations

import ast
import operator
from collections import Counter
from collections.abc import Iterator

from gradscope.analysis.ops import ADDITIONS
from gradscope.analysis.text import written_input
from gradscope.analysis.words import code, located, plural
from gradscope.fixes.source import Binds, Edits, Source
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.source import method_name
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 3)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(5):
        x, kinds = torch.randn(16, 4), torch.randint(3, (16,))
        scores = net(x)
        opt.zero_grad()
        nn.functional.cross_entropy(scores, kinds).backward()
        opt.step()
        wanted, found = kinds == 1, scores.argmax(1) == 1
        both = (wanted + found) == 2  # cause: GS370
        print(both.sum().item() / max(1, (wanted | found).sum().item()))


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 3)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(5):
        x, kinds = torch.randn(16, 4), torch.randint(3, (16,))
        scores = net(x)
        opt.zero_grad()
        nn.functional.cross_entropy(scores, kinds).backward()
        opt.step()
        wanted, found = kinds == 1, scores.argmax(1) == 1
        both = (wanted.int() + found.int()) == 2
        print(both.sum().item() / max(1, (wanted | found).sum().item()))


COMPARISONS = {
    name: asked
    for asked in (operator.eq, operator.ne, operator.gt, operator.ge, operator.lt, operator.le)
    for name in (asked.__name__, f"__{asked.__name__}__")
}


@rule("GS370", name="compared-beyond-its-type", severity="warning")
def compared_beyond_its_type(trace: Trace) -> Iterator[Finding]:
    calls: Counter[tuple[str, int, int]] = Counter()
    others: set[tuple[str, int, int]] = set()  # lines that compare something else too
    first: dict[tuple[str, int, int], tuple[Graph, Op]] = {}
    for graph in trace.graphs:
        for op in graph.called(COMPARISONS):
            site = op.site.user
            place = site.path, site.line, site.column
            calls[place] += graph.count
            if len(op.inputs) == 1 and graph.values[op.inputs[0]].dtype == "bool" and site.kind == "user":
                first.setdefault(place, (graph, op))
            else:
                others.add(place)
    for place, (graph, op) in first.items():
        number = _number(trace, op) if place not in others else None
        if number is not None:
            yield _finding(trace, graph, op, number, calls[place])


def _number(trace: Trace, op: Op) -> float | None:
    """The number that the line compares with, where True and False give the same answer."""
    node = trace.source_file(op.site.user.path).at(op.site.user)
    if isinstance(node, ast.Call):  # `torch.ge(votes, 2)`, `votes.ge(2)`
        right = written_input(trace, op, 1)
    else:
        right = node.comparators[0] if isinstance(node, ast.Compare) and len(node.ops) == 1 else None
    number = right.value if isinstance(right, ast.Constant) else None
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        return None
    return number if COMPARISONS[op.name](0, number) == COMPARISONS[op.name](1, number) else None


def _finding(trace: Trace, graph: Graph, op: Op, number: float, calls: int) -> Finding:
    place = op.site.user
    asked = COMPARISONS[op.name]
    answer = asked(0, number)
    added = graph.maker(op.inputs[0])
    summed = (
        added is not None
        and added.name in ADDITIONS
        and len(added.inputs) == 2
        and all(graph.values[index].dtype == "bool" for index in added.inputs)
    )
    new, edits = _both(trace, place) if summed and asked is operator.eq and number == 2 else ("", ())
    return Finding(
        message=f"{code(trace, place)} is {answer} at every place: what is compared with {number:g} holds True and"
        " False alone" + (", as the sum of two such tensors does" if summed else ""),
        cause=place,
        cause_label=f"is {answer}, whatever the tensors hold",
        related=((added.site.user, "True + True is True"),)
        if summed and added is not None and added.site.user.location() != place.location()
        else (),
        seen=(f"a boolean tensor in {plural(calls, 'call')} of {calls}",),
        fix=f"write `{new}` in place of {located(trace, place)}: True where both are"
        if edits
        else f"add integers in {located(trace, added.site.user)}: `.int()` of each boolean tensor"
        if summed and added is not None
        else f"compare what {located(trace, place)} is meant to ask, and not where that already is True",
        edits=edits,
        count=calls,
    )


def _both(trace: Trace, place: Site) -> tuple[str, Edits]:
    """`a & b` for `(a + b) == 2`."""
    here = Source(trace, place.path)
    node = here.file.at(place)
    left = node.left if isinstance(node, ast.Compare) else None
    if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Add):
        sides = [left.left, left.right]
    elif isinstance(left, ast.Call) and method_name(left) == "add" and len(left.args) == 1:
        assert isinstance(left.func, ast.Attribute)
        sides = [left.func.value, left.args[0]]
    else:
        return "", ()
    new = " & ".join(here.part(side, Binds.BIT_AND) for side in sides)
    assert node is not None and isinstance(node, ast.Compare)
    return new, here.replace(node, new)
