"""The backward of a custom Function returns no gradient where one is needed.

Why: `backward` returns one gradient for each argument of `forward`. None, or zeros, for an
argument that requires a gradient ends the gradient there without a word: everything that the
argument was computed from does not train.

Fix: return the gradient for that argument; where none is meant, `detach()` what is passed in and
call `ctx.mark_non_differentiable` or freeze what should not train.

A note where what the argument was computed from gets a gradient by another path: that may be meant.
Silent on: arguments that need no gradient; integer inputs; parameters that are written by hand; a
Function whose name or comments say that it stops the gradient.
"""

from collections.abc import Iterator

from gradscope.model import Event, Finding, Graph, Op, Parameter, Site
from gradscope.rules import rule
from gradscope.rules._common import code, parameter_names, parameter_subjects
from gradscope.rules._function_calls import (
    applied,
    argument_of,
    definition_of,
    measured_calls,
    returned,
    shown_argument,
)
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


def bad_beside_another_path() -> None:
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
        loss = Scale.apply(fc(torch.ones(2, 3)), w).pow(2).sum()  # effect: GS309
        (loss + 0.01 * w.pow(2).sum()).backward()
        opt.step()


def good_stop() -> None:
    from typing import Any

    import torch
    from torch import nn

    class StopGradient(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:
            return None

    features, head, judge = nn.Linear(3, 3), nn.Linear(3, 2), nn.Linear(3, 1)
    opt = torch.optim.SGD([*features.parameters(), *head.parameters(), *judge.parameters()], lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        h = features(torch.randn(4, 3))
        (head(h).pow(2).sum() + judge(StopGradient.apply(h)).pow(2).sum()).backward()
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
        found = applied(trace, event)
        if found is None:
            continue
        graph, op = found
        yield from _hidden(trace, known, event, op)
        for kind in ("none", "zero"):
            for position in event.data[kind]:
                value = argument_of(graph, op, event, position)
                if value is None:
                    continue
                behind = _behind(known, graph, value)
                lost = [p for p in behind if not p.passes or _always_zero(trace, p)]
                if lost:
                    yield _finding(trace, event, kind, position, lost)
                elif kind == "none" and behind and not _stopped(trace, event, position):
                    yield _beside(trace, event, position, behind)


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
    _, shown = shown_argument(trace, event, position)
    yield Finding(
        message=f"{names} reaches `{name}` inside {shown}: autograd does not look into it, no gradient comes back",
        cause=event.site.user,
        cause_label=f"{shown} is no tensor",
        seen=(f"no gradient reached {names} in {passes(known.passes)}",),
        fix=f"pass the tensors themselves to `{name}.apply`, and return their gradients from `backward`",
        subjects=parameter_subjects(lost),
    )


def _behind(known: Paths, graph: Graph, value: int) -> list[Parameter]:
    """Leaves behind the argument that should train by gradients."""
    order = known.flow([(graph.id, value)]).order
    found = {p.id: p for key in order if (p := known.parameter_of(key)) is not None}
    return [p for p in found.values() if p.requires_grad and not p.updates]


def _stopped(trace: Trace, event: Event, position: int) -> bool:
    """Whether a comment or a name says that no gradient is meant: `StopGradient`, `# no gradient for w`."""
    site = definition_of(trace, event.data["function"], event.data["line"])
    lines = trace.lines(site.path)[site.line - 1 : site.line + 14] if site is not None else []
    words = " ".join([event.data["function"], *(line.partition("#")[2] for line in lines)]).lower()
    return any(word in words for word in ("stop", "block", "detach", "no grad"))


def _always_zero(trace: Trace, p: Parameter) -> bool:
    measured = trace.numbers("grad_norm", p.id)
    return bool(measured) and not any(norm for _, norm in measured)


def _finding(trace: Trace, event: Event, kind: str, position: int, lost: list[Parameter]) -> Finding:
    name, text, shown = event.data["function"], *shown_argument(trace, event, position)
    names = _names(trace, lost, text)
    what = "None" if kind == "none" else "only zeros"
    return Finding(
        message=f"the backward of `{name}` returns {what} for {shown}: {names} cannot train",
        cause=definition_of(trace, name, event.data["line"]) or event.site.user,
        cause_label=f"returns {what} for {shown}",
        effect=event.site.user,
        effect_label="a gradient is needed here",
        related=_returned(trace, event, position, shown),
        seen=(
            measured_calls(event, what),
            f"no gradient but zeros reached {names}" if kind == "zero" else f"no gradient reached {names}",
        ),
        fix=_fix(trace, event, position, text),
        subjects=parameter_subjects(p.id for p in lost),
    )


def _beside(trace: Trace, event: Event, position: int, behind: list[Parameter]) -> Finding:
    """What the argument is computed from trains all the same, by another path: a stop may be meant."""
    name, text, shown = event.data["function"], *shown_argument(trace, event, position)
    names = _names(trace, behind, text)
    whose = "its gradient comes" if names == f"`{text}`" else f"the gradient of {names} comes"
    return Finding(
        message=f"the backward of `{name}` returns None for {shown}: {whose} by other paths only",
        cause=definition_of(trace, name, event.data["line"]) or event.site.user,
        cause_label=f"returns None for {shown}",
        effect=event.site.user,
        effect_label="no gradient comes back from here",
        related=_returned(trace, event, position, shown),
        seen=(measured_calls(event, "None"),),
        fix=_fix(trace, event, position, text),
        severity="note",
        subjects=frozenset({("function", name)}),
    )


def _returned(trace: Trace, event: Event, position: int, shown: str) -> tuple[tuple[Site, str], ...]:
    site = returned(trace, event.data["function"], event.data["line"], position)
    return ((site, f"the gradient of {shown}"),) if site is not None else ()


def _names(trace: Trace, parameters: list[Parameter], text: str) -> str:
    """The parameters by name; a single one without a name by the argument's text."""
    nameless = len(parameters) == 1 and not parameters[0].name and text.isidentifier()
    return f"`{text}`" if nameless else parameter_names(trace, [p.id for p in parameters])


def _fix(trace: Trace, event: Event, position: int, text: str) -> str:
    return (
        f"return the gradient of {f'`{text}`' if text else 'that argument'} at position {position + 1} of"
        f" `backward`, or `detach()` it in {code(trace, event.site.user, 'the call')} if it should get none"
    )
