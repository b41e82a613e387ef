"""What to compute in place of a logarithm or a quotient that gives no finite number."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.ops import LOGARITHMS, QUOTIENTS
from gradscope.analysis.reach import paths
from gradscope.analysis.words import located
from gradscope.events import NonFinite
from gradscope.fixes.calls import renamed, unwrapped, with_argument
from gradscope.fixes.source import Edits, Source
from gradscope.model import Graph, Op, Site
from gradscope.store import Trace

SELECTIONS = {"__getitem__", "gather", "view", "reshape", "squeeze", "unsqueeze", "select", "index_select"}
SAME_OF_BOTH = {"argmax"}  # gives of the logarithm what it gives of the probability
FILLS = {"masked_fill", "masked_fill_", "where", "__setitem__"}


def logarithm(trace: Trace, event: NonFinite, origin: Site | None) -> tuple[str, Edits]:
    """For the logarithm of a softmax or of a sum of exponentials: the one call that stays finite, and the edit."""
    found = next(_logarithms(trace, event, origin), None)
    if found is None:
        return "", ()
    graph, log = found
    made = graph.maker(log.inputs[0])
    if made is not None and made.name == "sum" and made.inputs:
        exponential = graph.maker(made.inputs[0])
        if exponential is not None and exponential.name == "exp":
            return _logsumexp(trace, log.site.user, exponential.site.user)
    while made is not None and made.name in SELECTIONS and made.inputs:
        made = graph.maker(made.inputs[0])
    if made is None or made.name != "softmax":
        return "", ()
    text = (
        f"take both in one: `log_softmax` in place of the softmax of {located(trace, made.site.user)}, and leave the"
        f" logarithm of {located(trace, log.site.user)} out; it is finite where the softmax is 0. A `clamp` between"
        " them would pass no gradient where it holds"
    )
    direct = made.index == graph.values[log.inputs[0]].op
    alone = direct and _read_only_by(trace, made, log)
    return text, _joined(trace, made.site.user, log.site.user) if alone else ()


def _logarithms(trace: Trace, event: NonFinite, origin: Site | None) -> Iterator[tuple[Graph, Op]]:
    """The op that the event tells of, or others of its line where the pass was not looked at."""
    if event.graph >= 0 and event.op is not None and event.op < len(trace.graph(event.graph).ops):
        op = trace.graph(event.graph).ops[event.op]
        if op.name in LOGARITHMS and op.inputs:
            yield trace.graph(event.graph), op
        return
    for number in reversed(paths(trace).graph_ids) if origin is not None else ():
        for op in trace.graph(number).ops:
            if op.name in LOGARITHMS and op.inputs and op.nodes and op.site.user == origin:
                yield trace.graph(number), op


def _read_only_by(trace: Trace, made: Op, log: Op) -> bool:
    """Whether what this line gives is read by this logarithm alone, or by what does not tell the two apart."""
    place, reader = made.site.user.location(), log.site.user.location()
    return all(
        op.name in SAME_OF_BOTH or (op.name == log.name and op.site.user.location() == reader)
        for graph in trace.graphs
        for one in graph.ops
        if one.name == made.name and one.site.user.location() == place
        for value in one.outputs
        for op in graph.consumers.get(value, ())
    )


def _joined(trace: Trace, softmax: Site, log: Site) -> Edits:
    """The softmax's call as one of `log_softmax`, and what the logarithm was taken of in its place."""
    here = Source(trace, softmax.path)
    inner, outer = here.file.at(softmax), here.file.at(log) if log.path == softmax.path else None
    if isinstance(inner, ast.Call) and isinstance(outer, ast.Call) and inner in ast.walk(outer):
        function = here.file.text(inner.func)
        text = here.file.text(inner)
        if inner not in (*outer.args, getattr(outer.func, "value", None)) or not function.endswith(
            ".softmax"
        ):
            return ()
        return here.replace(outer, f"{function.removesuffix('softmax')}log_softmax{text[len(function) :]}")
    one, other = renamed(trace, softmax, "softmax", "log_softmax"), unwrapped(trace, log)
    return (*one, *other) if one and other else ()


def _logsumexp(trace: Trace, log: Site, exponential: Site) -> tuple[str, Edits]:
    here = Source(trace, log.path)
    node, why = (
        here.file.at(log),
        "it takes the largest exponent out before it adds, so nothing over- or underflows",
    )
    text = _in_one(here, node)
    if text:
        plain = "torch" in here.file.imported and isinstance(node, ast.Call)
        return f"take `{text}` in place of {located(trace, log)}: {why}", here.replace(
            node, text
        ) if plain and isinstance(node, ast.Call) else ()
    return (
        f"take `torch.logsumexp` of the exponent of {located(trace, exponential)} in place of the exponential, the sum"
        f" and the logarithm in {located(trace, log)}: {why}"
    ), ()


def _in_one(here: Source, log: ast.AST | None) -> str:
    """`torch.logsumexp(x, -1)` for `torch.log(torch.exp(x).sum(-1))`, however it is written."""
    total, more = _taken_of(here, log, "log")
    added, how = _taken_of(here, total, "sum")
    exponent, other = _taken_of(here, added, "exp")
    if exponent is None or more or other or not how or how[0].arg not in (None, "dim"):
        return ""
    if any(keyword.arg not in (None, "dim", "keepdim") for keyword in how):
        return ""
    given = ", ".join(f"{f'{one.arg}=' if one.arg else ''}{here.file.text(one.value)}" for one in how)
    return f"torch.logsumexp({here.file.text(exponent)}, {given})"


def _taken_of(here: Source, node: ast.AST | None, name: str) -> tuple[ast.expr | None, list[ast.keyword]]:
    """What `torch.name(x, …)` or `x.name(…)` is taken of, and its other arguments."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != name:
        return None, []
    args = [ast.keyword(None, arg) for arg in node.args]
    if not here.file.is_imported(node.func):
        return node.func.value, [*args, *node.keywords]
    return (node.args[0], [*args[1:], *node.keywords]) if node.args else (None, [])


def infinite_dividend(trace: Trace, event: NonFinite, whole: str) -> tuple[str, Edits]:
    """For a quotient whose divisor is finite and not 0, but whose dividend is infinite in some entries: their
    gradient of 0 times infinity is the NaN of the divisor's."""
    if event.graph < 0 or event.op is None or event.op >= len(trace.graph(event.graph).ops):
        return "", ()
    graph = trace.graph(event.graph)
    op, data = graph.ops[event.op], event.inputs
    if op.name not in QUOTIENTS or len(op.inputs) != 2 or len(data) != 2 or not data[0].get("not_finite"):
        return "", ()
    if not away_from_zero(data[1]):
        return "", ()
    made = [graph.maker(i) for i in graph.upstream(op.inputs[0])]
    fills = {one.site.user.location(): one for one in made if one is not None and one.name in FILLS}
    fill = next(iter(fills.values())) if len(fills) == 1 else None
    at = f" before {located(trace, fill.site.user)}" if fill is not None else " before they are put in"
    text = (
        f"{data[0]['not_finite']} entries of what is divided in {whole} are not finite, and the divisor's gradient is"
        f" their own, 0, times infinity: divide{at}, or fill with a large finite number (`-1e9`) in place of -inf"
    )
    filled = fill is not None and fill.name in ("masked_fill", "masked_fill_")
    return text, with_argument(trace, fill.site.user, "value", "-1e9", position=1) if filled and fill else ()


def away_from_zero(data: dict[str, object]) -> bool:
    """Whether all that was measured of a tensor is finite and on one side of 0."""
    low, high = data.get("min"), data.get("max")
    if not isinstance(low, float) or not isinstance(high, float) or data.get("not_finite"):
        return False
    return low > 0 or high < 0
