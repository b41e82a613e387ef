"""Prediction and target broadcast against each other: every prediction meets every target.

Why: (N, 1) against (N,) makes (N, N). The mean over that compares each prediction with all targets,
so the model learns their average.

Fix: give both the same shape: `prediction.squeeze(1)`, or `target.unsqueeze(1)`.

Silent on: pairwise differences written with `unsqueeze`, `None` or `expand`, and products unless all of them are added
up; one operand that repeats as a whole (a mean that is subtracted); distances that are not reduced to a loss.
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gradscope.analysis.names import names_of, op_name, place
from gradscope.analysis.ops import (
    MULTIPLICATIONS,
    NEGATIONS,
    POINTWISE_LOSSES,
    QUOTIENTS,
    REDUCTIONS,
    STATISTICS,
    SUMS,
)
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.since import since_graph
from gradscope.analysis.text import written_input
from gradscope.analysis.words import listed, located, source
from gradscope.fixes.calls import assigned_back, method_added
from gradscope.fixes.statements import beside, line_before
from gradscope.model import Edit, Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.rules.numbers._broadcasts import NEAR, POINTWISE, expanded
from gradscope.rules.numbers._losses import loss_event
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        target = torch.randn(8)
        loss = nn.functional.mse_loss(model(torch.randn(8, 4)), target)  # cause: GS703
        loss.backward()  # effect: GS703
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        target = torch.randn(8)
        nn.functional.mse_loss(model(torch.randn(8, 4)).squeeze(1), target).backward()
        opt.step()


@rule("GS703", name="broadcast-in-loss", severity="warning", over=("GS308",))
def broadcast_in_loss(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    found: dict[tuple[str, int], list[Op]] = {}
    for _, op in known.used_calls(POINTWISE_LOSSES | SUMS | MULTIPLICATIONS | QUOTIENTS):
        graph = known.graph(op.graph)
        if len(op.inputs) > 1:
            first, second = (graph.values[i].shape for i in op.inputs[:2])
            if _mutual(first, second) and _is_loss(known, graph, op):
                found.setdefault(_statement(trace, op.site.user), []).append(op)
    starts = {line: _before(known.graph(ops[0].graph), ops[0]) for line, ops in found.items()}
    told = {
        _statement(trace, op.site.user) for op in starts.values() if op is not None
    }  # mended with a later one
    mended: set[tuple[str, int]] = set()
    for line, ops in found.items():
        before = starts[line]
        if line in told:
            continue
        if before is not None:
            if _statement(trace, before.site.user) in mended:
                continue
            mended.add(_statement(trace, before.site.user))
        yield _finding(trace, known, ops)


def _statement(trace: Trace, site: Site) -> tuple[str, int]:
    """The file and first line of the statement: what broadcasts in several lines of one is mended at once."""
    statement = trace.source_file(site.path).statement(site)
    return (site.path, statement.lineno) if statement is not None else site.location()


def _mutual(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether each is repeated along a dimension of the other."""
    return _repeats(a, b) and _repeats(b, a)


def _repeats(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether `a` is repeated to meet `b`."""
    padded = (1,) * (len(b) - len(a)) + a
    return any(x == 1 and y > 1 for x, y in zip(padded[::-1], b[::-1], strict=False))


def _is_loss(known: Paths, graph: Graph, op: Op) -> bool:
    wide = [expanded(known, (graph.id, i)) for i in op.inputs[:2]]
    if op.name in POINTWISE_LOSSES:
        return not all(wide)
    result = graph.id, op.outputs[0]
    if any(wide) and (all(wide) or not _is_product_of_sums(known, op, result)):
        return False
    if _meets_one_of_each(known, result):
        return _without_ones(graph.values[op.inputs[0]].shape) == _without_ones(
            graph.values[op.inputs[1]].shape
        )
    if not known.becomes_number(result, POINTWISE, REDUCTIONS, NEAR):
        return False
    a, b = (graph.values[i] for i in op.inputs[:2])
    if any(value.kind in ("parameter", "buffer") for value in (a, b)):
        return False
    if a.requires_grad == b.requires_grad and (a.requires_grad or not _one_is_predicted(known, graph, op)):
        if a.requires_grad or not _weighs_samples(known, graph, op):
            return False  # not a prediction and a target
    return _without_ones(a.shape) == _without_ones(b.shape)  # the same examples on both sides


def _meets_one_of_each(known: Paths, pairs: Key) -> bool:
    """Whether what a call has made of all pairs goes, element by element, into a loss whose other side has one number
    for each: (32, 32) against (32,)."""
    shape = known.value(pairs).shape
    for _, _, op in known.onward(pairs, lambda _, op: op is None or op.name in POINTWISE, NEAR):
        if op is not None and op.name in POINTWISE_LOSSES and len(op.inputs) > 1:
            short, long = sorted((known.value((op.graph, i)).shape for i in op.inputs[:2]), key=len)
            if 0 < len(short) < len(long) and long == shape and long[-len(short) :] == short:
                return True
    return False


def _is_product_of_sums(known: Paths, op: Op, result: Key) -> bool:
    """Whether all pairs of a product are added up as they are, which gives the sum of one side times that of the other:
    nobody makes pairs for that."""
    return op.name in MULTIPLICATIONS and known.becomes_number(result, NEGATIONS, {"sum", "mean"}, NEAR)


def _one_is_predicted(known: Paths, graph: Graph, op: Op) -> bool:
    """Whether one of two constants comes from a network and the other does not: an advantage."""
    predicted = [
        any(known.parameter_of(key) is not None for key in known.flow([(graph.id, i)]).order)
        for i in op.inputs[:2]
    ]
    return predicted[0] != predicted[1]


def _weighs_samples(known: Paths, graph: Graph, op: Op) -> bool:
    """Whether all that is done with a constant is to multiply numbers of the graph by it, which are one per
    sample as what it was made from: the advantages of a policy's loss."""
    todo, seen, shapes = (
        [(graph.id, op.outputs[0])],
        set[Key](),
        [graph.values[i].shape for i in op.inputs[:2]],
    )
    found = False
    while todo:
        key = todo.pop()
        for reader, made in known.used.feeds.get(key, ()):
            if (
                made is not None
                and made.name in STATISTICS
                and not known.graph(made.graph).values[reader[1]].shape
            ):
                continue  # it is brought to mean 0 and deviation 1
            if made is None or made.name not in POINTWISE:
                return False
            here = known.graph(made.graph)
            others = [here.values[i] for i in made.inputs if (made.graph, i) != key]
            if any(other.requires_grad for other in others):
                if made.name not in MULTIPLICATIONS or any(other.shape not in shapes for other in others):
                    return False
                found = True
            elif reader not in seen:
                seen.add(reader)
                todo.append(reader)
    return found


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n for n in shape if n != 1)


def _finding(trace: Trace, known: Paths, ops: list[Op]) -> Finding:
    op = ops[0]
    graph = known.graph(op.graph)
    first, second = (graph.values[i].shape for i in op.inputs[:2])
    names = _operands(trace, graph, op)
    event = loss_event(known, op)
    made = _broadcast(first, second)
    wanted = max(_size(first), _size(second))
    spans = {o.site.user: o for o in reversed(ops)}  # each side of a sum may have its own
    fix, _ = _fix(trace, graph, op, [o for o in reversed(spans.values()) if o.site.user != op.site.user])
    edits = [_fix(trace, known.graph(o.graph), o)[1] for o in spans.values()]
    found = Finding(
        message=f"{names[0]} {first} and {names[1]} {second} broadcast to {made}: "
        "each element of one meets all of the other",
        cause=op.site.user,
        cause_label=f"{first} against {second}",
        effect=event.site.user if event is not None else None,
        effect_label="learns from the wrong pairs",
        seen=(f"{_size(made)} results where {wanted} were meant",),
        fix=fix,
        count=len(ops),
        edits=tuple(e for own in edits for e in own) if all(edits) else (),
        since=since_graph(trace, op.graph),
    )
    dropped = _dropped(trace, graph, op)
    before = _before(graph, op) if dropped is None else None
    if before is not None:
        return _mended_before(trace, graph, op, before, found)
    if dropped is None:
        return found
    return replace(
        found,
        cause=dropped,
        cause_label=f"its result has the shape {min(first, second, key=len)}, and is dropped",
        related=((op.site.user, found.cause_label),),
        fix=f"keep the result: `{_receiver(trace, dropped)} = {source(trace, dropped)}` ({place(dropped)})",
        edits=assigned_back(trace, dropped),
        subjects=found.subjects | {("dropped", dropped.location())},
    )


def _short(graph: Graph, op: Op) -> tuple[int, int] | None:
    """The side that lacks one dimension of the other, and which; None where it is not just that."""
    shapes = [graph.values[i].shape for i in op.inputs[:2]]
    long, short = (0, 1) if len(shapes[0]) > len(shapes[1]) else (1, 0)
    ones = [i for i, n in enumerate(shapes[long]) if n == 1]
    rest = tuple(n for i, n in enumerate(shapes[long]) if not ones or i != ones[-1])
    return (short, ones[-1]) if len(shapes[0]) != len(shapes[1]) and rest == shapes[short] else None


def _long(trace: Trace, op: Op) -> str:
    """The side with one dimension more than the other, as its line calls it."""
    graph = trace.graph(op.graph)
    shapes = [graph.values[i].shape for i in op.inputs[:2]]
    return _operands(trace, graph, op)[0 if len(shapes[0]) > len(shapes[1]) else 1]


def _before(graph: Graph, op: Op) -> Op | None:
    """The first call that broadcasts the same shorter tensor against another one in the same way."""
    side = _short(graph, op)
    if side is None:
        return None
    value, wide = op.inputs[side[0]], graph.values[op.inputs[1 - side[0]]].shape
    for other in graph.consumers.get(value, ()):
        if other.index >= op.index or other.site.user.location() == op.site.user.location():
            break
        shapes = [graph.values[i].shape for i in other.inputs[:2] if i != value]
        if other.name in POINTWISE | POINTWISE_LOSSES and shapes == [wide]:
            return other
    return None


def _mended_before(trace: Trace, graph: Graph, op: Op, before: Op, found: Finding) -> Finding:
    """The fix of a tensor that several calls broadcast: it gets its dimension before the first of them."""
    side = _short(graph, op)
    assert side is not None
    name = _operands(trace, graph, op)[side[0]].strip("`")
    at, site = side[1], before.site.user
    plain = name.isidentifier() and beside(trace, site, op.site.user)
    text = f"{name} = {name}.unsqueeze({at})" if plain else f"{name}.unsqueeze({at})"
    return replace(
        found,
        related=((site, f"`{name}` is broadcast here before, in the same way"),),
        fix=f"give `{name}` its dimension before the first of both: `{text}` before {located(trace, site)}",
        edits=line_before(trace, site, text) if plain else (),
    )


def _dropped(trace: Trace, graph: Graph, op: Op) -> Site | None:
    """A call as a statement of its own that made just the shape that is missing, of the tensor that
    broadcasts: its result is dropped."""
    shapes = [graph.values[i].shape for i in op.inputs[:2]]
    long, short = (0, 1) if len(shapes[0]) > len(shapes[1]) else (1, 0)
    for reader in graph.consumers.get(op.inputs[long], ()):
        site = reader.site
        file = trace.source_file(site.path)
        node = file.at(site)
        made = [i for i in reader.outputs if graph.values[i].shape == shapes[short]]
        if site.kind == "user" and made and not graph.consumers.get(made[0]) and _receiver(trace, site):
            if node is not None and isinstance(file.parent.get(id(node)), ast.Expr):
                return site
    return None


def _receiver(trace: Trace, site: Site) -> str:
    """The name that a method is called on."""
    node = trace.source_file(site.path).at(site)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return ""
    return node.func.value.id if isinstance(node.func.value, ast.Name) else ""


def _operands(trace: Trace, graph: Graph, op: Op) -> list[str]:
    """Both sides as the line that brings them together calls them."""
    file = trace.source_file(op.site.user.path)
    plain = isinstance(file.at(op.site.user), (ast.BinOp, ast.Call))
    parts = [written_input(trace, op, i) if plain else None for i in (0, 1)]
    texts = [" ".join(file.text(part).split()) if part is not None else "" for part in parts]
    return [
        f"`{texts[i]}`" if all(texts) and len(texts[i]) < 40 else _name(trace, graph, op.inputs[i])
        for i in (0, 1)
    ]


def _name(trace: Trace, graph: Graph, index: int) -> str:
    name = names_of(trace).name(graph, index)
    maker = graph.values[index].op
    if name or maker is None:
        return f"`{name}`" if name else "a tensor"
    op = graph.ops[maker]
    text = source(trace, op.site.user)
    return f"`{text}`" if text and len(text) < 40 else f"the output of `{op_name(op.name)}`"


def _fix(trace: Trace, graph: Graph, op: Op, more: Sequence[Op] = ()) -> tuple[str, tuple[Edit, ...]]:
    """What to write, and the edit. `more`: other calls of the statement that broadcast, which have edits of their
    own."""
    both = "give both the same shape"
    side = _short(graph, op)
    if side is None:
        return f"{both} before they are compared ({place(op.site.user)})", ()
    names = _operands(trace, graph, op)
    short, at = side
    long = 1 - short
    squeezed = f".squeeze({at})"
    edits = method_added(trace, op.site.user, names[long].strip("`"), squeezed)
    shapes = [graph.values[i].shape for i in op.inputs[:2]]
    others = _partners(graph, op, shapes[long])
    if more:
        too = [f"{_long(trace, other)} ({place(other.site.user)})" for other in more]
        return f"{both}: `{squeezed}` on {names[long]}, and on {listed(too)}", edits
    if not others:
        alternative = (
            "" if _partners(graph, op, shapes[short]) else f", or `.unsqueeze({at})` on {names[short]}"
        )
        return f"{both}: `{squeezed}` on {names[long]}{alternative}", edits
    too = []
    for other, i in others:
        name = _operands(trace, graph, other)[i]
        own = method_added(trace, other.site.user, name.strip("`"), squeezed)
        edits = edits + own if edits and own else ()
        too.append(f"{name} ({place(other.site.user)})")
    return f"{both}: `{squeezed}` on {names[long]}, and on {listed(too)}, which meets the result", edits


def _partners(graph: Graph, op: Op, shape: tuple[int, ...]) -> list[tuple[Op, int]]:
    """The calls on from this one, up to where it is reduced, that bring a tensor of this shape together with what came
    of it, and as which of their operands: once it has its own shape, that one broadcasts."""
    found: dict[tuple[str, int], tuple[Op, int]] = {}
    own = {*op.inputs, *op.outputs}
    for value, reader in graph.readers_behind(op.outputs, lambda r: r.name in POINTWISE | POINTWISE_LOSSES):
        if reader.name not in POINTWISE | POINTWISE_LOSSES:
            continue
        own.add(value)
        for i, other in enumerate(reader.inputs[:2]):
            if other not in own and graph.values[other].shape == shape:
                found.setdefault(reader.site.user.location(), (reader, i))
    return list(found.values())


def _broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    size = max(len(a), len(b))
    padded = [(1,) * (size - len(s)) + s for s in (a, b)]
    return tuple(max(x, y) for x, y in zip(*padded, strict=True))


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for n in shape:
        size *= n
    return size
