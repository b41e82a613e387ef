"""Why a step left its parameters as they were, and what was measured of it."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.model import Event, Optimizer
from gradscope.rules._common import parameter_names, plural
from gradscope.rules._lost_writes import unwritten
from gradscope.rules._training import norm, optimizer_name, where
from gradscope.store import Trace

COMPARED = 24  # steps that are compared at most while nothing changes (hooks/effects.py)


def reason(trace: Trace, number: int, event: Event, ids: list[int]) -> tuple[str, str, str]:
    """Why nothing changes, what to say of the optimizer's line, and what to do."""
    holder, made = optimizer_name(trace, number), trace.optimizers[number].site
    if event.data["zero_rate"]:
        zero = "the learning rate is 0"
        return zero, zero, f"give {holder} a learning rate above 0 ({where(made)})"
    if unwritten(trace, event):
        fix = (
            "write to the parameters in place (`p.add_(…)` under `torch.no_grad()`): binding a name anew"
            " (`p = p - …`) changes none"
        )
        return "it writes to no parameter", "its `step` gives nothing back to the parameters", fix
    kinds = ", ".join(sorted({f"`{trace.parameter(p).dtype}`" for p in ids}))
    fix = (
        f"keep the parameters of {holder} in float32 and compute under `torch.autocast`,"
        " or raise the learning rate"
    )
    return f"the update is too small for {kinds}", "made with this learning rate", fix


def measured(trace: Trace, ids: list[int], lost: int, optimizer: Optimizer, event: Event) -> Iterator[str]:
    """How many parameters stayed, and how small their update was."""
    yield (
        f"{plural(len(ids), 'parameter')} with a non-zero gradient bit-equal after"
        f" {lost} of {plural(min(optimizer.steps, max(lost, COMPARED)), 'step')} compared"
    )
    last, rates = norm(trace, ids[0]), event.data.get("rates")
    if last and rates and not unwritten(trace, event):
        name = parameter_names(trace, ids[:1])
        yield f"norm of {name}'s gradient {last:.4g}, times the learning rate {rates[0]:g}: {last * rates[0]:.4g}"
