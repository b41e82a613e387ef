"""One float64 tensor turns the rest of the graph into float64.

Why: NumPy computes in float64, torch in float32. Where a float64 tensor meets float32
activations, torch promotes: from there on the forward, the saved activations and the backward
take twice the memory, and on a GPU many times the time. Nothing says so.

Fix: convert where the data enters: `x = x.float()`, `torch.from_numpy(a).float()` or
`torch.tensor(a, dtype=torch.float32)`.

Silent on: programs whose parameters are float64; results that are converted on purpose
(`loss.double()`); numbers without dimensions, which do not promote; metrics.
"""

import ast
from collections.abc import Iterator
from math import prod

from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located, numbers, plural, tensor_variable
from gradscope.fixes.source import Source
from gradscope.fixes.statements import beside, line_after
from gradscope.model import Edit, Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.rules.device._origins import MAX_HOPS, became, value_name
from gradscope.store import Trace

SINGLE = ("float32", "float16", "bfloat16")


def bad_numpy_target() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    rows = torch.randn(8, 1).tolist()
    for _ in range(3):
        target = torch.tensor(rows, dtype=torch.float64)  # cause: GS504
        opt.zero_grad()
        loss = nn.functional.l1_loss(model(torch.randn(8, 4)), target)  # effect: GS504
        loss.backward()
        opt.step()


def good_converted_target() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    target = torch.zeros(8, 1, dtype=torch.float64).float()
    for _ in range(3):
        opt.zero_grad()
        nn.functional.mse_loss(model(torch.randn(8, 4)), target).backward()
        opt.step()


@rule("GS504", name="float64-leak", severity="warning")
def float64_leak(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    if not known.roots or any(p.dtype == "float64" for p in trace.parameters if p.passes):
        return
    found: dict[tuple[str, int], tuple[Op, Key]] = {}
    for number in known.graph_ids:
        graph = known.graph(number)
        for op in graph.ops:
            leak = _promotes(graph, op)
            if leak is not None and (number, op.outputs[0]) in known.used.order:
                found.setdefault(op.site.user.location(), (op, (number, leak)))
    told: set[tuple[str, int]] = set()
    for op, key in found.values():
        origin, how = became(trace, known, key)
        held = _buffer(known, key) if origin is None else None
        if held is not None:
            origin, how = became(trace, known, known.made(held))
        place = (origin or op.site.user).location()
        if place not in told:
            told.add(place)
            yield _finding(trace, known, op, origin, how, value_name(trace, known, held) if held else "")


def _buffer(known: Paths, key: Key) -> Key | None:
    """The buffer of a module that float64 data was taken from."""
    for _ in range(MAX_HOPS):
        graph = known.graph(key[0])
        value = graph.values[key[1]]
        if value.kind == "buffer":
            return key
        given = graph.ops[value.op].inputs if value.op is not None else ()
        held = next((i for i in given if graph.values[i].dtype == value.dtype), None)
        if held is None:
            return None
        key = key[0], held
    return None


def _promotes(graph: Graph, op: Op) -> int | None:
    """The float64 data that turned float32 activations into float64 in this op."""
    if not op.outputs or not op.inputs:
        return None
    result = graph.values[op.outputs[0]]
    if result.dtype != "float64" or not result.requires_grad:
        return None
    inputs = graph.inputs(op)
    if not any(v.shape for v in inputs):
        return None  # a weighted loss is one number: it costs nothing
    if not any(v.dtype in SINGLE and v.requires_grad for v in inputs):
        return None
    data = [v for v in inputs if v.dtype == "float64"]
    if not data or any(v.requires_grad for v in data):
        return None
    return data[0].index


def _finding(trace: Trace, known: Paths, op: Op, origin: Site | None, how: str, buffer: str) -> Finding:
    graph = known.graph(op.graph)
    effect = op.site.user
    after = [
        v for o in graph.ops[op.index :] for v in graph.outputs(o) if v.dtype == "float64" and v.requires_grad
    ]
    size = sum(8 * prod(v.shape) for v in after)
    name = tensor_variable(trace, origin)
    subject = buffer or (f"`{name}`" if name else code(trace, origin or effect, "data"))
    convert = (
        f"`{name} = {name}.float()`"
        if name
        else f"call `.float()` on {located(trace, origin or effect, 'it')}"
    )
    return Finding(
        message=f"{subject} is float64 and turns the graph behind it into float64",
        cause=origin or effect,
        cause_label=f"float64 since here ({how})" if origin is not None else "float64",
        effect=effect,
        effect_label="float32 activations become float64 here",
        seen=(
            f"{plural(len(after), 'result')} of float32 parameters "
            f"{'is' if len(after) == 1 else 'are'} float64 from here on: {numbers(size)} bytes in each pass "
            f"instead of {numbers(size // 2)}",
        ),
        fix=f"{convert} before it meets the model's output",
        count=graph.count or 1,
        edits=line_after(trace, origin, f"{name} = {name}.float()")
        if beside(trace, origin, effect) and name
        else _converted(trace, origin)
        if buffer
        else (),
        subjects=frozenset({("dtype", effect.location())}),
    )


def _converted(trace: Trace, origin: Site | None) -> tuple[Edit, ...]:
    """`.float()` behind the call that made a buffer."""
    if origin is None:
        return ()
    here = Source(trace, origin.path)
    node = here.file.at(origin)
    return here.append(node, ".float()") if isinstance(node, ast.Call) else ()
