"""`forward` of a custom Function was called directly: its own `backward` never runs.

Why: `Function.apply` runs `forward` with gradients off and puts one node for it into the graph, which is the
function's `backward`. Called by its name, `forward` is a method like any other: autograd records what it computes,
operation by operation, and goes back through that. A straight-through `backward` is then not used, and rounding and
comparisons pass nothing back.

Fix: `Name.apply(x)`, without `ctx`.

Measured: autograd has recorded operations within the `forward` of a class with a `backward` of its own, at a line that
calls it by its name, and a pass went through them.
Silent on: `forward` called where nothing is recorded, and within another `forward`.
"""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import code, located, parameter_names, parameter_subjects
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.source import FUNCTIONS, own_name
from gradscope.store import Trace


def bad() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Sign(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return torch.sign(x)

        @staticmethod
        def backward(ctx: Any, given: torch.Tensor) -> Any:
            return given

    torch.manual_seed(0)
    body, head = nn.Linear(4, 16), nn.Linear(16, 1)
    opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for _ in range(5):
        x = torch.randn(64, 4)
        hidden = Sign.forward(None, body(x).tanh())  # cause: GS346
        loss = (head(hidden) - x[:, :1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS346
        opt.step()


def good() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Sign(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return torch.sign(x)

        @staticmethod
        def backward(ctx: Any, given: torch.Tensor) -> Any:
            return given

    torch.manual_seed(0)
    body, head = nn.Linear(4, 16), nn.Linear(16, 1)
    opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for _ in range(5):
        x = torch.randn(64, 4)
        hidden = Sign.apply(body(x).tanh())
        loss = (head(hidden) - x[:, :1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        Sign.forward(None, torch.randn(3))


class _Direct(NamedTuple):
    """A call of a Function's `forward` by its name, and the class."""

    call: Site
    cls: ast.ClassDef
    graph: Graph
    op: Op


@rule(
    "GS346",
    name="function-forward-called-directly",
    severity="warning",
    over=("GS301", "GS302", "GS305", "GS315"),
)
def function_forward_called_directly(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    found: dict[int, list[_Direct]] = {}  # by class
    for graph in trace.graphs:
        for op in graph.ops:
            if ".forward" in op.site.user.function and any(
                (graph.id, n) in known.reached.nodes for n in op.nodes
            ):
                direct = _direct(trace, graph, op)
                if direct is not None:
                    found.setdefault(id(direct.cls), []).append(direct)
    for calls in found.values():
        yield _finding(trace, known, calls)


def _direct(trace: Trace, graph: Graph, op: Op) -> _Direct | None:
    users = [frame for frame in op.site.stack[::-1] if frame.kind == "user"]
    if len(users) < 2 or op.site.stack[-1].parent is None or users[0].parent != users[1]:
        return None
    inside, caller = users[:2]
    call, file = trace.source_file(caller.path).at(caller), trace.source_file(inside.path)
    function = next((node for node in file.around(inside) if isinstance(node, FUNCTIONS)), None)
    cls = file.parent.get(id(function))
    if (
        not isinstance(cls, ast.ClassDef)
        or not isinstance(call, ast.Call)
        or not isinstance(call.func, ast.Attribute)
    ):
        return None
    if call.func.attr != "forward" or own_name(call.func.value) != cls.name:
        return None
    methods = {node.name for node in cls.body if isinstance(node, FUNCTIONS)}
    of_function = any(own_name(base) == "Function" for base in cls.bases)
    return _Direct(caller, cls, graph, op) if of_function and "backward" in methods else None


def _finding(trace: Trace, known: Paths, calls: list[_Direct]) -> Finding:
    cls = calls[0].cls
    places = {one.call.span(): one.call for one in calls}
    call, *others = (places[span] for span in sorted(places))
    inside = {(one.graph.id, node) for one in calls for node in one.op.nodes}
    names = sorted({one.graph.nodes[node].name for one in calls for node in one.op.nodes})
    ids = known.reach((one.graph.id, i) for one in calls for i in one.op.inputs).parameters
    passed = next(
        (event for event in known.backwards if event.graph in {number for number, _ in inside}), None
    )
    applied = [_applied(trace, place, cls) for place in (call, *others)]
    edits = tuple(edit for _, part in applied for edit in part) if all(part for _, part in applied) else ()
    return Finding(
        message=f"{code(trace, call, f'`{cls.name}.forward(…)`')} goes past `{cls.name}.backward`, which never runs",
        cause=call,
        cause_label="calls `forward` as a plain function",
        effect=passed.site.user if passed is not None else None,
        effect_label=f"goes back through what `forward` computes, not through `{cls.name}.backward`",
        seen=(
            f"autograd recorded the operations within `forward` here ({', '.join(names[:3])}"
            f"{', …' if len(names) > 3 else ''}), and no node of `{cls.name}`",
            *((f"before it: {parameter_names(trace, sorted(ids))}",) if ids else ()),
        ),
        related=tuple((place, "and here") for place in others),
        fix=f"let autograd know of the function: `{applied[0][0]}` in {located(trace, call)}"
        + (", and so below" if others else ""),
        edits=edits,
        count=len({one.graph.id for one in calls}),
        subjects=parameter_subjects(ids),
    )


def _applied(trace: Trace, call: Site, cls: ast.ClassDef) -> tuple[str, Edits]:
    """The call by `apply`, which makes `ctx` itself where `forward` takes one."""
    here = Source(trace, call.path)
    node = here.file.at(call)
    assert isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    apart = any(isinstance(part, FUNCTIONS) and part.name == "setup_context" for part in cls.body)
    given = node.args if apart else node.args[1:]
    name = here.file.text(node.func.value)
    if (
        node.keywords
        or any(isinstance(one, ast.Starred) for one in node.args)
        or (not apart and not node.args)
    ):
        return f"{name}.apply(…)", ()
    text = f"{name}.apply({', '.join(here.file.text(one) for one in given)})"
    return text, here.replace(node, text)
