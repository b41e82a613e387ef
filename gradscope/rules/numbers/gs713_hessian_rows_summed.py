"""A second derivative is taken of all first derivatives at once: mixed derivatives are added to it.

Why: `autograd.grad` of several columns gives the sum of their gradients. Of (u_x, u_y) with respect to (x, y) that is
(u_xx + u_yx, u_xy + u_yy): each column has the mixed derivative in it.

Fix: differentiate each first derivative on its own and take its own column:
`grad(du[:, [0]], x, ones, create_graph=True)[0][:, [0]]`.

Silent on: one column, inputs that the model never mixes, products of the Hessian with a vector.
"""

from collections.abc import Iterator

from gradscope.analysis.names import names_of
from gradscope.analysis.ops import PRODUCTS_OF_MATRICES
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.rules.numbers._derivatives import is_grad, summed
from gradscope.store import Trace

MIXING = PRODUCTS_OF_MATRICES | {"linear", "addmm"}
POINTWISE = {
    "mul",
    "add",
    "sub",
    "__rsub__",
    "div",
    "neg",
}


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(net.parameters())
    for _ in range(3):
        x = torch.rand(16, 2, requires_grad=True)
        u = net(x)
        du = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
        ddu = torch.autograd.grad(du, x, torch.ones_like(du), create_graph=True)[0]  # cause: GS713
        loss = (ddu[:, 0] + ddu[:, 1] - 1).pow(2).mean()  # effect: GS713
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(net.parameters())
    for _ in range(3):
        x = torch.rand(16, 2, requires_grad=True)
        u = net(x)
        du = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
        ddu = [torch.autograd.grad(du[:, i].sum(), x, create_graph=True)[0][:, i] for i in range(2)]
        loss = (ddu[0] + ddu[1] - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS713", name="hessian-rows-summed", severity="warning")
def hessian_rows_summed(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: dict[tuple[str, int], tuple[Op, Op, Op]] = {}
    for key, second in known.used_calls({"grad"}):
        graph = known.graph(key[0])
        if second.site.user.location() in told or not is_grad(second):
            continue
        first = _first_derivative(known, graph, second)
        if first is None or not _mixed(graph, second.inputs[1]):
            continue
        reader = _of_columns(known, key)
        if reader is not None:
            told[second.site.user.location()] = (first, second, reader)
    for first, second, reader in told.values():
        yield _finding(trace, known, first, second, reader)


def _first_derivative(known: Paths, graph: Graph, second: Op) -> Op | None:
    """The first derivative that this one differentiates whole and with equal weights, by the same inputs; of one
    output for each row of these."""
    root = summed(known, graph, second)
    maker = graph.values[root].op if root is not None else None
    first = graph.ops[maker] if maker is not None else None
    if first is None or not is_grad(first) or first.inputs[1] != second.inputs[1]:
        return None
    shape, of = graph.values[first.outputs[0]].shape, graph.values[first.inputs[0]].shape
    rows = shape[:-1]
    single = of in ((*rows, 1), rows, ())
    return first if len(shape) >= 2 and shape[-1] > 1 and rows[-1] > 1 and single else None


def _mixed(graph: Graph, value: int) -> bool:
    """Whether a product of matrices goes over the columns of the inputs, so that each output depends on all."""
    width = graph.values[value].shape[-1:]

    def keeps(op: Op) -> bool:
        return op.name in POINTWISE and all(graph.values[made].shape[-1:] == width for made in op.outputs)

    behind = graph.readers_behind([value], keeps)
    return any(op.name in MIXING and op.inputs[0] == current for current, op in behind)


def _of_columns(known: Paths, key: Key) -> Op | None:
    """The first reader that takes some of the columns; None where another use is made of the whole."""
    graph = known.graph(key[0])
    width = graph.values[key[1]].shape[-1]
    found = None
    for target, op in known.used.feeds.get(key, ()):
        if op is None or not op.outputs:
            return None
        shape = known.value(target).shape
        rank = len(graph.values[key[1]].shape)
        picked = op.name in ("__getitem__", "select", "split", "chunk", "unbind", "narrow") and (
            len(shape) < rank or shape[-1] < width
        )
        summed = op.name == "sum" and op.extra.get("dims") in ([-1], [rank - 1])
        if not (picked or summed):
            return None
        found = found or op
    return found


def _finding(trace: Trace, known: Paths, first: Op, second: Op, reader: Op) -> Finding:
    graph = known.graph(second.graph)
    shape = graph.values[second.outputs[0]].shape
    name = names_of(trace).name(graph, first.outputs[0]) or "du"
    text = code(trace, second.site.user, "`autograd.grad`")
    return Finding(
        message=f"{text} sums the second derivatives of all {shape[-1]} columns: each has the mixed derivatives in it",
        cause=second.site.user,
        cause_label=f"differentiates all {shape[-1]} columns at once",
        effect=reader.site.user,
        effect_label="takes its columns for second derivatives",
        seen=(
            f"{located(trace, first.site.user, 'the first derivative')} gave {shape[-1]} columns for each of "
            f"{' × '.join(map(str, shape[:-1]))} rows; all were differentiated at once with weights of 1, by inputs "
            "whose columns a product of matrices mixes",
        ),
        fix=f"differentiate each column on its own in {located(trace, second.site.user)}, and of the result take the "
        f"same column: `grad({name}[:, [i]], …, create_graph=True)[0][:, [i]]`",
    )
