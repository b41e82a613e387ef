"""Two factors in a row are zero: each keeps the other's gradient at zero, for ever.

Why: the gradient of a weight is its input times what comes back from behind it. Where a weight is all
zeros, nothing goes on forwards and nothing comes back; of two such, one behind the other, the first gets
no gradient because of the second, and the second none because of the first. One alone is fine: it gets
a gradient in the first step, and the other in the second.

Fix: let only the last of the two begin at zero.

Silent on: a single weight that begins at zero (the last of a residual branch, a gate, one half of
LoRA), weights that were zero for a few steps only.
"""

import ast
from collections.abc import Iterator
from math import prod

from gradscope.analysis.made import made_at
from gradscope.analysis.ops import MULTIPLICATIONS, PASSING, PRODUCTS_OF_MATRICES
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.scales import under_a_scaler
from gradscope.analysis.text import nodes_that_ran, site_of
from gradscope.analysis.words import located, parameter_names, parameter_subjects, plural, where
from gradscope.events import ZeroWeights
from gradscope.fixes.statements import taken_away
from gradscope.model import Finding, Graph, Site
from gradscope.rules import rule
from gradscope.source import called_name, method_name, names_in
from gradscope.store import Trace

ROWS = {"__getitem__": 0, "index_select": 0, "gather": 0, "embedding": -1}  # → which input they pick rows of
ENOUGH = 3  # passes that were measured
FACTORS = MULTIPLICATIONS | PRODUCTS_OF_MATRICES | {
    "linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "einsum",
    "addmm",
}  # fmt: skip
PLAIN_PRODUCTS = MULTIPLICATIONS | PRODUCTS_OF_MATRICES  # to which nothing is added
BOUNDED = {"clamp", "clamp_", "clip", "clamp_min", "clamp_max"}  # may give another number than 0 of a 0
KEEPING_ZERO = PASSING | {
    "relu", "relu_", "relu6", "leaky_relu", "gelu", "silu", "mish", "elu", "selu", "tanh", "tanh_", "dropout",
    "dropout1d", "dropout2d", "dropout3d", "hardswish", "neg", "sum", "mean", "max_pool1d", "max_pool2d",
    "avg_pool1d", "avg_pool2d", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "sin", "square", "abs",
}  # fmt: skip
ZEROING = {"zeros_", "zero_", "constant_", "fill_", "zeros", "zeros_like", "mul_"}


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Linear(4, 4), nn.Linear(4, 1)
    gate, scale = nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False)
    nn.init.zeros_(gate.weight)  # cause: GS710
    nn.init.zeros_(scale.weight)
    parts = nn.ModuleList([body, gate, scale, head])
    opt = torch.optim.SGD(parts.parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        hidden = body(torch.randn(8, 4))
        head(hidden + scale(torch.relu(gate(hidden)))).pow(2).mean().backward()  # effect: GS710
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Linear(4, 4), nn.Linear(4, 1)
    gate, scale = nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False)
    nn.init.zeros_(scale.weight)
    parts = nn.ModuleList([body, gate, scale, head])
    opt = torch.optim.SGD(parts.parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        hidden = body(torch.randn(8, 4))
        head(hidden + scale(torch.relu(gate(hidden)))).pow(2).mean().backward()
        opt.step()


@rule("GS710", name="zeros-in-a-row", severity="warning", over=("GS705", "GS707"), needs=ZeroWeights)
def zeros_in_a_row(trace: Trace) -> Iterator[Finding]:
    zero = {id for event in trace.of(ZeroWeights) for id in event.parameters if _never_moved(trace, id)}
    zero -= under_a_scaler(trace)  # steps that it skips leave zeros where they were
    if len(zero) < 2:
        return
    known = paths(trace)
    groups: dict[object, tuple[Site | None, Site | None, list[tuple[int, int]]]] = {}
    beside = set(_multiplied(known, zero))
    for first, second in dict.fromkeys((*_in_a_row(known, zero), *beside)):
        places = _zeroed(trace, known, first), _zeroed(trace, known, second)
        key = tuple(place.location() if place is not None else None for place in places)
        groups.setdefault(key, (*places, []))[2].append((first, second))
    for cause, other, pairs in groups.values():
        yield _finding(trace, known, cause, other, pairs, "beside" if pairs[0] in beside else "behind")


def _never_moved(trace: Trace, parameter: int) -> bool:
    """Whether each gradient that was measured, from the first step to the last, was exactly zero."""
    norms = [norm for _, norm in trace.numbers("grad_norm", parameter)]
    return len(norms) >= ENOUGH and not any(norms)


def _in_a_row(known: Paths, zero: set[int]) -> Iterator[tuple[int, int]]:
    """Pairs of these parameters of which the first makes zero what the second is multiplied with."""
    for number in known.graph_ids:
        graph = known.graph(number)
        for op in graph.ops:
            if op.name not in FACTORS or not op.nodes or (number, op.outputs[0]) not in known.used.order:
                continue
            factors = {index: _held(graph, index) for index in op.inputs}
            mine = [held for held in factors.values() if held in zero and held is not None]
            for index, held in factors.items():
                if mine and held is None:
                    yield from ((first, second) for first in _zero_by(graph, index, zero) for second in mine)


def _multiplied(known: Paths, zero: set[int]) -> Iterator[tuple[int, int]]:
    """Pairs of these parameters that are the two factors of one product, such as the rows of two tables."""
    for key, op in known.used_calls(PLAIN_PRODUCTS):
        held = [_held(known.graph(key[0]), index) for index in op.inputs]
        ids = [id for id in held if id is not None and id in zero]
        if len(ids) == len(held) == 2 and ids[0] != ids[1]:
            yield ids[0], ids[1]


def _zero_by(graph: Graph, index: int, zero: set[int]) -> list[int]:
    """The nearest of these parameters that alone make a value zero: it is a product with them, or what
    keeps a zero a zero was taken of one."""
    found: dict[int, None] = {}
    todo, seen = [index], {index}
    while todo:
        op = graph.maker(todo.pop())
        if op is None or not (op.name in FACTORS or op.name in KEEPING_ZERO):
            continue
        inputs = op.inputs if op.name in FACTORS else op.inputs[:1]
        held = {i: _held(graph, i) for i in inputs}
        mine = [id for id in held.values() if id in zero and id is not None]
        if op.name in FACTORS and mine:
            # with a bias beside the weight, both have to be zero
            plain = op.name in MULTIPLICATIONS or all(id is None or id in zero for id in held.values())
            found.update(dict.fromkeys(mine if plain else ()))
            continue
        found.update(dict.fromkeys(mine if op.name not in BOUNDED else ()))
        fresh = {i for i, id in held.items() if id is None} - seen
        seen |= fresh
        todo += fresh
    return list(found)


def _held(graph: Graph, index: int) -> int | None:
    """The parameter that a factor is, perhaps transposed or reshaped, or the rows of it that were picked."""
    value = graph.values[index]
    while value.parameter is None and value.op is not None:
        op = graph.ops[value.op]
        if op.name in ROWS and op.inputs:
            value = graph.values[op.inputs[ROWS[op.name]]]
        elif value.alias_of is not None:
            value = graph.values[value.alias_of]
        else:
            break
    return value.parameter


def _zeroed(trace: Trace, known: Paths, parameter: int) -> Site | None:
    """The user's line that filled a parameter with zeros, or a view of all of it; else the one that made it."""
    for graph in trace.graphs:
        for write in graph.writing:
            whole = known.parameter_of((graph.id, known.memory(graph.id, write.writes[0])))
            if write.name in ZEROING and whole is not None and whole.id == parameter:
                all_of_it = prod(graph.values[write.writes[0]].shape) == prod(whole.shape)
                if all_of_it and write.site.user.kind == "user":
                    return write.site.user
        for value in graph.values:
            if value.parameter == parameter:
                key = (
                    value.origin if value.op is None and value.origin is not None else (graph.id, value.index)
                )
                op = known.maker(key)
                if op is not None and op.name in ZEROING and op.site.user.kind == "user":
                    return op.site.user
    return made_at(trace, trace.parameter(parameter))


def _zeroed_later(trace: Trace, parameter: int, made: Site | None) -> Site | None:
    """The call that fills with zeros whatever parameters its loop comes to, where the program's text has one: the
    line that made the parameter is known, and what filled it ran while nobody looked."""
    if made is None or parameter not in {p.id for p in trace.parameters if p.module is not None}:
        return None
    found = []
    for path, function, node in nodes_that_ran(trace, ast.For):
        loop = node if isinstance(node.target, ast.Name) else None
        over = loop.iter if loop is not None else None
        if loop is None or not (isinstance(over, ast.Call) and method_name(over) == "parameters"):
            continue
        name = loop.target.id if isinstance(loop.target, ast.Name) else ""
        found += [
            site_of(path, function, call)
            for call in ast.walk(loop)
            if isinstance(call, ast.Call)
            and called_name(call) in ZEROING
            and name in names_in(call, ast.Load)
        ]
    return found[0] if len(found) == 1 else None


def _finding(
    trace: Trace,
    known: Paths,
    cause: Site | None,
    other: Site | None,
    pairs: list[tuple[int, int]],
    place: str,
) -> Finding:
    ids = list(dict.fromkeys(id for pair in pairs for id in pair))
    first, second = (parameter_names(trace, [id]) for id in pairs[0])
    filling = [event for event in known.backwards if set(ids) & set(event.filled)]
    measured = len(trace.numbers("grad_norm", pairs[0][0]))
    later = (
        _zeroed_later(trace, pairs[0][0], cause)
        if cause == made_at(trace, trace.parameter(pairs[0][0]))
        else None
    )
    edits = taken_away(trace, cause) if later is None and cause is not None and cause != other else ()
    here = f" ({where(cause)})" if cause is not None else ""
    mend = f"take {located(trace, cause)} out" if edits else f"give {first} small random numbers{here}"
    others = f" (and so in {plural(len(pairs) - 1, 'more pair')})" if len(pairs) > 1 else ""
    related: tuple[tuple[Site, str], ...] = ()
    if other is not None and other != cause:
        related = ((other, f"{second} {place} it: all zeros too"),)
    mend += f": only {second} may begin at zero"
    if later is not None and cause is not None:
        mend = (
            f"put {first} in after {located(trace, later)} has run, which fills all parameters that it comes to with"
            f" zeros: {located(trace, cause)} alone makes none. Only {second} may begin at zero"
        )
        related = (*related, (later, "fills all parameters that its loop comes to with zeros"))
    return Finding(
        message=f"{first} and {second} {place} it are all zeros: the gradients of both stay zero{others}",
        cause=cause,
        cause_label=f"{first}: all zeros",
        effect=filling[0].site.user if filling else None,
        effect_label="the gradients of both are exactly zero",
        related=related,
        seen=(
            f"the gradients of {first} and of {second} were exactly 0 in {plural(measured, 'pass')} measured, and"
            " after some steps every element of both still was",
        ),
        fix=mend,
        edits=edits,
        subjects=parameter_subjects(ids),
    )
