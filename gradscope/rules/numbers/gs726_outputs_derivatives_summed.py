"""The derivatives of several outputs come as one sum, and are taken for each output's own.

Why: `autograd.grad` gives what the outputs change by all together. Of two outputs for each row and one input it gives
one number for each row, the sum of both derivatives, and where that meets numbers for each output it is broadcast
to them without a word.

Fix: differentiate each output on its own and put the results side by side:
`torch.cat([grad(y[:, i].sum(), t, create_graph=True)[0] for i in range(k)], 1)`.

Silent on: one output, derivatives by several inputs, sums that stay one number for each row.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.ops import COMPARING_LOSSES, SCALES, SUMS
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.rules.numbers._derivatives import is_grad, summed
from gradscope.store import Trace

MEETING = SUMS | COMPARING_LOSSES
ALONE = SUMS | SCALES | {"neg", "pow"}  # that keep one number for each row


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 2))
    opt = torch.optim.Adam(net.parameters())
    t = torch.linspace(0, 1, 16).unsqueeze(1).requires_grad_()
    for _ in range(3):
        y = net(t)
        dy = torch.autograd.grad(y, t, torch.ones_like(y), create_graph=True)[0]  # cause: GS726
        loss = (dy + y).pow(2).mean()  # effect: GS726
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 2))
    opt = torch.optim.Adam(net.parameters())
    t = torch.linspace(0, 1, 16).unsqueeze(1).requires_grad_()
    for _ in range(3):
        y = net(t)
        dy = torch.cat([torch.autograd.grad(y[:, i].sum(), t, create_graph=True)[0] for i in range(2)], 1)
        opt.zero_grad()
        (dy + y).pow(2).mean().backward()
        opt.step()


@rule("GS726", name="outputs-derivatives-summed", severity="warning")
def outputs_derivatives_summed(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for key, op in known.used_calls({"grad"}):
        graph = known.graph(key[0])
        if op.site.user.location() in told or not is_grad(op):
            continue
        outputs = summed(known, graph, op)
        width = _width(graph, op, outputs) if outputs is not None else 0
        reader = _broadcasting(known, key, width) if width > 1 else None
        if reader is not None and outputs is not None:
            told.add(op.site.user.location())
            yield _finding(trace, graph, op, outputs, reader)


def _width(graph: Graph, op: Op, outputs: int) -> int:
    """How many outputs there are for each row, where it is differentiated by one number for each row."""
    of, by = graph.values[outputs].shape, graph.values[op.inputs[1]].shape
    return of[-1] if len(of) > 1 and by == (*of[:-1], 1) and of[-2] > 1 else 0


def _broadcasting(known: Paths, key: Key, width: int) -> Op | None:
    """The first reader in which the derivatives, perhaps scaled, meet so many numbers for each row."""
    shape, graph = known.value(key).shape, known.graph(key[0])

    def alone(result: Key, op: Op | None) -> bool:
        inner = op is not None and op.graph == key[0] and op.name in ALONE
        return inner and known.value(result).shape == shape

    for read, _, op in known.onward(key, alone):
        if op is not None and op.graph == key[0] and op.name in MEETING:
            if (*shape[:-1], width) in (graph.values[i].shape for i in op.inputs if i != read[1]):
                return op
    return None


def _finding(trace: Trace, graph: Graph, op: Op, outputs: int, reader: Op) -> Finding:
    of, gives = graph.values[outputs].shape, graph.values[op.outputs[0]].shape
    instead, edits = _each(trace, op.site.user, of)
    text = code(trace, op.site.user, "`autograd.grad`")
    return Finding(
        message=f"{text} sums the derivatives of all {of[-1]} outputs, and the sum is broadcast to each of them",
        cause=op.site.user,
        cause_label=f"differentiates {of[-1]} outputs at once",
        effect=reader.site.user,
        effect_label="takes the sum for the derivative of each",
        seen=(
            f"what was differentiated had the shape {_by(of)}, the result {_by(gives)}, and it met numbers of"
            f" the shape {_by((*gives[:-1], of[-1]))}",
        ),
        fix=f"differentiate each output on its own in {located(trace, op.site.user)}"
        f"{f': `{instead}`' if instead else ' and put the results side by side with `torch.cat`'}",
        edits=edits,
    )


def _by(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape))


def _each(trace: Trace, site: Site, shape: tuple[int, ...]) -> tuple[str, Edits]:
    """`torch.cat([grad(y[..., i].sum(), t, create_graph=True)[0] for i in range(k)], -1)` for `grad(y, t, …)[0]` at
    `site`: the text, and the edits."""
    here = Source(trace, site.path)
    call = here.file.at(site)
    if not isinstance(call, ast.Call) or len(call.args) not in (2, 3) or "torch" not in here.file.imported:
        return "", ()
    first = here.file.parent.get(id(call))
    taken = isinstance(first, ast.Subscript) and ast.unparse(first.slice) == "0"
    outputs = _outputs(call.args[0])
    kept = [k for k in call.keywords if k.arg not in ("grad_outputs", None)]
    graph = any(k.arg in ("create_graph", "retain_graph") and ast.unparse(k.value) == "True" for k in kept)
    if not taken or not outputs or not graph or not isinstance(first, ast.expr):
        return "", ()
    given = [f"{outputs}[..., i].sum()", here.file.text(call.args[1])]
    given += [f"{k.arg}={here.file.text(k.value)}" for k in kept]
    text = f"torch.cat([{here.file.text(call.func)}({', '.join(given)})[0] for i in range({shape[-1]})], -1)"
    return text, here.replace(first, text)


def _outputs(given: ast.expr) -> str:
    """`y` of `y` and of `y.sum()`, where that is a variable."""
    if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and not given.args:
        given = given.func.value if given.func.attr == "sum" else given
    return ast.unparse(given) if isinstance(given, (ast.Name, ast.Attribute)) else ""
