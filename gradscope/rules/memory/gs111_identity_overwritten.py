"""A branch overwrites its own input in place, and that is added to what the branch gives as if it were untouched.

Why: a layer with `inplace=True` at the head of a branch writes into the tensor that the block was given. What the
block adds to the branch's result afterwards is no longer its input, but what that layer has made of it: the skip path
carries, say, only the positive part.

Fix: make that layer without `inplace=True`.

Silent on: inputs that are activated on purpose (`x = self.act(x)`), layers in place within the branch, activations
that leave their input as it is.
"""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.ops import ADDITIONS, PASSING
from gradscope.analysis.text import own_nodes, written_input
from gradscope.analysis.words import code, located, where
from gradscope.fixes.in_place import call_not_in_place, layer_not_in_place
from gradscope.fixes.source import Edits
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.source import called_name
from gradscope.store import Trace

KEEP_POSITIVE = {
    "relu",
    "relu_",
    "leaky_relu",
    "leaky_relu_",
    "elu",
    "elu_",
    "celu",
    "celu_",
    "rrelu",
    "rrelu_",
}
NEVER_NEGATIVE = {
    "relu",
    "relu_",
    "relu6",
    "sigmoid",
    "sigmoid_",
    "softmax",
    "exp",
    "square",
    "abs",
    "softplus",
}
SAME_SIGN = (
    PASSING | ADDITIONS | {"max_pool1d", "max_pool2d", "max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d"}
)
SAME_SIGN |= {
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_max_pool2d",
    "dropout",
    "dropout2d",
    "pad",
}


class Overwritten(NamedTuple):
    """An addition that reads `name` after the call at `branch` has written to it."""

    add: Op
    write: Op
    branch: Site
    name: str


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(4, 4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self.body(x)  # cause: GS111
            return x + y  # effect: GS111

    model = nn.Sequential(nn.Linear(3, 4), Block(), nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.act = nn.ReLU(inplace=True)
            self.body = nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True), nn.Linear(4, 4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.act(x)
            y: torch.Tensor = self.body(x)
            return x + y

    model = nn.Sequential(nn.Linear(3, 4), Block(), nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


@rule("GS111", name="identity-overwritten", severity="warning")
def identity_overwritten(trace: Trace) -> Iterator[Finding]:
    told: dict[tuple[tuple[str, int], tuple[str, int]], tuple[Graph, Overwritten, int]] = {}
    for graph in trace.graphs:
        for op in graph.ops:
            found = _overwritten(trace, graph, op)
            if found is not None:
                places = found.branch.location(), op.site.user.location()
                first = told.get(places, (graph, found, 0))
                told[places] = (*first[:2], first[2] + graph.count)
    for graph, found, count in told.values():
        yield _finding(trace, graph, found, count)


def _overwritten(trace: Trace, graph: Graph, op: Op) -> Overwritten | None:
    if op.name not in ADDITIONS or len(op.inputs) != 2 or op.site.kind != "user":
        return None
    for position, value in enumerate(op.inputs):
        write = _write(graph, value)
        other = graph.values[op.inputs[1 - position]]
        if write is None or write.name in ADDITIONS or other.shape != graph.values[value].shape:
            continue
        branch = _called_beside(write.site, op.site)
        if branch is None or not _of_one_call(trace, graph, write, op) or _changes_nothing(graph, write):
            continue
        name = _still_named(trace, branch, op, position)
        if name and value in graph.upstream(other.index):
            return Overwritten(op, write, branch, name)
    return None


def _write(graph: Graph, value: int) -> Op | None:
    """The call that made a value by writing to another in place."""
    op = graph.maker(value)
    return op if op is not None and value in op.written else None


def _called_beside(inner: Site, site: Site) -> Site | None:
    """Where the function that runs at `site` made the call in which `inner` ran."""
    for frame in inner.stack:
        if frame.path == site.path and frame.function == site.function and _same(frame.parent, site.parent):
            return frame
    return None


def _same(one: Site | None, other: Site | None) -> bool:
    return one is other or (one is not None and other is not None and one.id == other.id)


def _of_one_call(trace: Trace, graph: Graph, write: Op, add: Op) -> bool:
    """Whether both ran in one call of the function: of the same module, and with no other such write between them."""
    between = graph.ops[write.index + 1 : add.index]
    if any(op.writes and (op.site.id, op.module) == (write.site.id, write.module) for op in between):
        return False
    module: int | None = write.module
    while module is not None and add.module is not None and module != add.module:
        module = trace.modules[module].parent
    return add.module is None or module == add.module


def _changes_nothing(graph: Graph, write: Op) -> bool:
    """Whether an activation was given what is never negative, and leaves that as it is."""
    return write.name in KEEP_POSITIVE and all(_never_negative(graph, value) for value in write.writes)


def _never_negative(graph: Graph, value: int) -> bool:
    todo = [value]
    for one in todo:  # grows while it is walked
        op = graph.maker(one)
        if op is None or (op.name not in NEVER_NEGATIVE and op.name not in SAME_SIGN):
            return False
        if op.name not in NEVER_NEGATIVE:
            todo += [source for source in op.inputs if source not in todo]
    return True


def _still_named(trace: Trace, branch: Site, addition: Op, position: int) -> str:
    """The variable that the addition reads, where it has had its value since before the call at `branch`, and that
    call was no statement of its own nor a method whose name says that it writes."""
    file, add = trace.source_file(branch.path), addition.site
    operand, call = written_input(trace, addition, position), file.at(branch)
    if not isinstance(operand, ast.Name) or not isinstance(call, ast.Call) or branch.line > add.line:
        return ""
    method = called_name(call)
    if method.endswith("_") or isinstance(file.parent.get(id(call)), ast.Expr):
        return ""
    own = next((node for node in file.around(add) if isinstance(node, (ast.FunctionDef, ast.Lambda))), None)
    statements = file.statement(branch), file.statement(add)
    for node in own_nodes(own) if own is not None else ():
        if isinstance(node, ast.Name) and node.id == operand.id and not isinstance(node.ctx, ast.Load):
            if branch.line <= node.lineno < add.line or (
                statements[0] is not statements[1] and _in(node, statements[0])
            ):
                return ""
    return operand.id if own is not None else ""


def _in(node: ast.AST, statement: ast.stmt | None) -> bool:
    return statement is not None and any(other is node for other in ast.walk(statement))


def _finding(trace: Trace, graph: Graph, found: Overwritten, count: int) -> Finding:
    add, write = found.add.site.user, found.write
    layer = (
        trace.modules.get(write.module) if write.module is not None and write.site.kind == "torch" else None
    )
    by = f"`{layer.cls}` in it" if layer is not None else f"`{write.name}`"
    branch = code(trace, found.branch, "the branch")
    shape = graph.values[write.writes[0]].shape
    fix, edits = _fix(trace, found)
    return Finding(
        message=f"{branch} overwrites `{found.name}` in place, and {code(trace, add, 'the sum')} adds it afterwards: "
        "the skip path does not carry the block's input",
        cause=found.branch,
        cause_label=f"{by} writes in place to `{found.name}`",
        effect=add,
        effect_label=f"reads `{found.name}` after that",
        seen=(
            f"the {shape} that {code(trace, add, 'the sum')} added as `{found.name}` is what `{write.name}` wrote "
            f"there, in the call at {where(found.branch)} that made the other side of the sum",
        ),
        fix=fix,
        edits=edits,
        count=count,
        subjects=frozenset({("written", found.branch.location())}),
    )


def _fix(trace: Trace, found: Overwritten) -> tuple[str, Edits]:
    write = found.write
    own = call_not_in_place(trace, write.site.user)
    if own is not None:
        return own
    module = (
        trace.modules.get(write.module) if write.module is not None and write.site.kind == "torch" else None
    )
    only = layer_not_in_place(trace, module.cls, module) if module is not None else None
    if only is not None:
        return only
    if module is not None:
        return f"make `{module.path or module.cls}` (`{module.cls}`) without `inplace=True`", ()
    return (
        f"let {located(trace, write.site.user, 'the write')} make a new tensor, or keep a copy: "
        f"`{found.name}.clone()` before {located(trace, found.branch, 'the branch')}",
        (),
    )
