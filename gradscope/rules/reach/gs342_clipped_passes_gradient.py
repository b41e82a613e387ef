"""The backward of a user's own Function hands gradients on where its forward clips.

Why: beyond the range of a clamp the result does not change with the input: the derivative is zero there. Handed on all
the same, the gradient pushes those values farther out, where no change of theirs reaches the loss; they come back late
or never, and gradients of the range itself are wrong beside them.

Fix: multiply the gradient by a mask of what lies inside, `grad * ((x >= low) & (x <= high))`, with `x` kept by
`ctx.save_for_backward`.

Measured: the elements of one call, ordered by what forward was given: the ends in which its result stays the same, for
longer than in any of its steps, and by what backward multiplied the gradients there.
A note: a straight-through estimator may be meant to bring clipped values back.
Silent on: signs and steps; results of which an element depends on more than one of the input's.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.own_functions import gradient_at
from gradscope.analysis.words import located
from gradscope.events import Slopes
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Quantize(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return (x * 8).round().clamp(-8, 7) / 8

        @staticmethod
        def backward(ctx: Any, given: torch.Tensor) -> torch.Tensor:
            return given  # cause: GS342

    torch.manual_seed(0)
    body, head = nn.Linear(4, 16), nn.Linear(16, 1)
    opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for _ in range(5):
        x = torch.randn(64, 4)
        loss = (head(Quantize.apply(2 * body(x))) - x[:, :1]).pow(2).mean()  # effect: GS342
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Quantize(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward((x >= -1) & (x < 1))
            return (x * 8).round().clamp(-8, 7) / 8

        @staticmethod
        def backward(ctx: Any, given: torch.Tensor) -> Any:
            (inside,) = ctx.saved_tensors
            return given * inside

    torch.manual_seed(0)
    body, head = nn.Linear(4, 16), nn.Linear(16, 1)
    opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for _ in range(5):
        x = torch.randn(64, 4)
        loss = (head(Quantize.apply(2 * body(x))) - x[:, :1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS342", name="clipped-passes-gradient", severity="note", needs=Slopes)
def clipped_passes_gradient(trace: Trace) -> Iterator[Finding]:
    told: set[tuple[str, int]] = set()
    for event in trace.of(Slopes):
        if event.flat and (event.function, event.line) not in told:
            told.add((event.function, event.line))
            yield _finding(trace, event)


def _finding(trace: Trace, event: Slopes) -> Finding:
    name = event.function
    made = gradient_at(trace, name, event.line, event.argument)
    most, where, factor = max(event.flat)
    return Finding(
        message=f"the backward of `{name}` hands gradients on where its forward clips and the result does not"
        " change",
        cause=made or event.site.user,
        cause_label="also for elements that are clipped",
        effect=event.site.user,
        effect_label="what is computed before it gets a gradient where the loss has none",
        seen=(
            f"in one call {most:,.0f} elements beyond {where:.3g} had the same result, and backward multiplied their"
            f" gradients by {factor:.3g}, none by zero",
        ),
        fix="keep a mask of what lies inside the range in forward (`ctx.save_for_backward`) and multiply"
        f" {located(trace, made, 'what backward returns')} by it, if those beyond are not meant to get a gradient",
        subjects=frozenset({("function", name)}),
    )
