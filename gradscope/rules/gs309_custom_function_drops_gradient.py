"""The backward of a custom Function returns no gradient where one is needed.

Why: `backward` returns one gradient for each argument of `forward`. None, or zeros, for an
argument that requires a gradient ends the gradient there without a word: everything that the
argument was computed from does not train.

Fix: return the gradient for that argument; where none is meant, `detach()` what is passed in and
call `ctx.mark_non_differentiable` or freeze what should not train.

Silent on: arguments that need no gradient; integer inputs; parameters that get a gradient on another
way, or are written by hand.
"""

import ast
from collections.abc import Iterator

from gradscope.model import Event, Finding, Graph, Op, Parameter, Site
from gradscope.rules import rule
from gradscope.rules._common import code, parameter_names, parameter_subjects
from gradscope.rules._paths import Paths, passes, paths
from gradscope.store import Trace


def bad_none() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(w)
            return x * w

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:  # cause: GS309
            (w,) = ctx.saved_tensors
            return g * w, None

    fc, w = nn.Linear(3, 3), nn.Parameter(torch.ones(3))
    opt = torch.optim.SGD([*fc.parameters(), w], lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        Scale.apply(fc(torch.ones(2, 3)), w).pow(2).sum().backward()  # effect: GS309
        opt.step()


def bad_zeros() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Rounded(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x.round()

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:  # cause: GS309
            return torch.zeros_like(g)

    fc, head = nn.Linear(3, 3), nn.Linear(3, 1)
    opt = torch.optim.SGD([*fc.parameters(), *head.parameters()], lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        head(Rounded.apply(fc(torch.randn(4, 3)) * 5)).pow(2).sum().backward()  # effect: GS309
        opt.step()


def good_straight_through() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Rounded(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x.round()

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
            return g

    fc = nn.Linear(3, 3)
    opt = torch.optim.SGD(fc.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        Rounded.apply(fc(torch.randn(4, 3)) * 5).pow(2).sum().backward()
        opt.step()


def good_none_for_the_rest() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Pick(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, index: torch.Tensor, factor: float) -> torch.Tensor:
            ctx.save_for_backward(index)
            ctx.shape, ctx.factor = x.shape, factor
            return x[index] * factor

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:
            (index,) = ctx.saved_tensors
            return g.new_zeros(ctx.shape).index_add(0, index, g * ctx.factor), None, None

    fc = nn.Linear(3, 3)
    opt = torch.optim.SGD(fc.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        Pick.apply(fc(torch.randn(4, 3)), torch.tensor([0, 2]), 2.0).pow(2).sum().backward()
        opt.step()


def good_codebook_moved_by_hand() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Quantize(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, book: torch.Tensor) -> torch.Tensor:
            return book[torch.cdist(x, book).argmin(1)]

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:
            return g, None

    fc, head, book = nn.Linear(3, 2), nn.Linear(2, 1), nn.Parameter(torch.randn(5, 2))
    opt = torch.optim.SGD([*fc.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        z = fc(torch.randn(4, 3))
        head(Quantize.apply(z, book)).pow(2).sum().backward()
        opt.step()
        with torch.no_grad():
            book.lerp_(z[:1].expand(5, 2), 0.01)


def bad_behind_a_number() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, power: float, w: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(w)
            return x * w

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:  # cause: GS309
            (w,) = ctx.saved_tensors
            return g * w, None, None

    fc, power = nn.Linear(3, 3), 2.0
    w = nn.Parameter(torch.ones(3))
    opt = torch.optim.SGD([*fc.parameters(), w], lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        Scale.apply(fc(torch.ones(2, 3)), power, w).pow(2).sum().backward()  # effect: GS309
        opt.step()


def bad_module_as_an_argument() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Mix(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, layer: nn.Linear) -> torch.Tensor:
            ctx.save_for_backward(layer.weight)
            return x @ layer.weight.t()

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:
            (weight,) = ctx.saved_tensors
            return g @ weight, None

    first, second = nn.Linear(3, 3), nn.Linear(3, 3, bias=False)
    opt = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        Mix.apply(first(torch.ones(2, 3)), second).pow(2).sum().backward()  # cause: GS309
        opt.step()


def good_module_that_backward_runs_itself() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Rerun(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, layer: nn.Linear) -> Any:
            ctx.layer = layer
            ctx.save_for_backward(x)
            return layer(x)

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:
            with torch.enable_grad():
                x = ctx.saved_tensors[0].detach().requires_grad_()
                ctx.layer(x).backward(g)
            return x.grad, None

    first, second = nn.Linear(3, 3), nn.Linear(3, 3)
    opt = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        Rerun.apply(first(torch.ones(2, 3)), second).pow(2).sum().backward()
        opt.step()


@rule(
    "GS309", name="custom-function-drops-gradient", severity="warning",
    over=("GS204", "GS206", "GS301", "GS302"),
)  # fmt: skip
def custom_function_drops_gradient(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    for event in trace.of("dropped_gradient"):
        found = _applied(trace, event)
        if found is None:
            continue
        graph, op = found
        yield from _hidden(trace, known, event, op)
        for kind in ("none", "zero"):
            for position in event.data[kind]:
                value = _argument(graph, op, event, position)
                lost = _lost(trace, known, graph, value) if value is not None else []
                if lost:
                    yield _finding(trace, event, kind, position, lost)


def _hidden(trace: Trace, known: Paths, event: Event, op: Op) -> Iterator[Finding]:
    """Parameters inside an argument that is no tensor: autograd never learns of them."""
    if not any((op.graph, i) in known.used.order for i in op.outputs):
        return
    silent = {p.id for p in known.expected()} - set(known.feeding)
    lost = [p for p, _ in event.data.get("hidden", ()) if p in silent]
    if not lost:
        return
    names, name = parameter_names(trace, lost), event.data["function"]
    position = next(position for p, position in event.data.get("hidden", ()) if p == lost[0])
    call = _call(trace, event)
    text = ast.unparse(call.args[position]) if call is not None and position < len(call.args) else ""
    shown = f"argument {position + 1}{f', `{text}`' if text and len(text) < 40 else ''}"
    yield Finding(
        message=f"{names} reaches `{name}` inside {shown}: autograd does not look into it, no gradient comes back",
        cause=event.site.user,
        cause_label=f"{shown} is no tensor",
        seen=(f"no gradient reached {names} in {passes(known.passes)}",),
        fix=f"pass the tensors themselves to `{name}.apply`, and return their gradients from `backward`",
        subjects=parameter_subjects(lost),
    )


def _applied(trace: Trace, event: Event) -> tuple[Graph, Op] | None:
    for graph in trace.graphs:
        for op in graph.ops:
            if op.name == event.data["function"] and op.site.id == event.site.id:
                return graph, op
    return None


def _call(trace: Trace, event: Event) -> ast.Call | None:
    node = trace.source_file(event.site.user.path).at(event.site.user)
    plain = isinstance(node, ast.Call) and not any(isinstance(a, ast.Starred) for a in node.args)
    return node if isinstance(node, ast.Call) and plain else None


def _argument(graph: Graph, op: Op, event: Event, position: int) -> int | None:
    """The value that was passed at this position."""
    order = event.data["tensors"].index(position)
    index = op.inputs[order] if order < len(op.inputs) else None
    return index if index is not None and graph.values[index].requires_grad else None


def _lost(trace: Trace, known: Paths, graph: Graph, value: int) -> list[Parameter]:
    """Leaves behind the argument that no backward pass of the run gave a gradient."""
    order = known.flow([(graph.id, value)]).order
    found = {p.id: p for key in order if (p := known.parameter_of(key)) is not None}
    return [
        p
        for p in found.values()
        if p.requires_grad and not p.updates and (not p.passes or _always_zero(trace, p))
    ]


def _always_zero(trace: Trace, p: Parameter) -> bool:
    measured = trace.numbers("grad_norm", p.id)
    return bool(measured) and not any(norm for _, norm in measured)


def _finding(trace: Trace, event: Event, kind: str, position: int, lost: list[Parameter]) -> Finding:
    name = event.data["function"]
    call = _call(trace, event)
    text = ast.unparse(call.args[position]) if call is not None and position < len(call.args) else ""
    names = parameter_names(trace, [p.id for p in lost])
    what = "None" if kind == "none" else "only zeros"
    shown = f"argument {position + 1}{f', `{text}`' if text and len(text) < 40 else ''}"
    calls = event.data["calls"]
    return Finding(
        message=f"the backward of `{name}` returns {what} for {shown}: {names} cannot train",
        cause=_definition(trace, name, event.data["line"]) or event.site.user,
        cause_label=f"returns {what} for {shown}",
        effect=event.site.user,
        effect_label="a gradient is needed here",
        seen=(
            f"{what} in {'the one call' if calls == 1 else f'all {calls} calls'} that were looked at, with a"
            " gradient that was not zero arriving",
            f"no gradient but zeros reached {names}" if kind == "zero" else f"no gradient reached {names}",
        ),
        fix=f"return the gradient of {f'`{text}`' if text else 'that argument'} at position {position + 1} of"
        f" `backward`, or `detach()` it in {code(trace, event.site.user, 'the call')} if it should get none",
        subjects=parameter_subjects(p.id for p in lost),
    )


def _definition(trace: Trace, cls: str, line: int) -> Site | None:
    """The line of `backward` in the user's class."""
    for path in trace.sources:
        tree = trace.source_file(path).tree
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.ClassDef) and node.name == cls and _spans(node, line):
                for part in node.body:
                    if isinstance(part, ast.FunctionDef) and part.name in ("backward", "vjp"):
                        start = part.col_offset + 1
                        end = start + len(f"def {part.name}")
                        return Site(-1, path, part.lineno, start, part.lineno, end, part.name, "user")
    return None


def _spans(node: ast.ClassDef, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)
