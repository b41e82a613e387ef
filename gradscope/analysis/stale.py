"""Uses of gradients that hold an older part, and what that part came to."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.loop import in_order
from gradscope.analysis.unread import module_name
from gradscope.analysis.words import parameter_names, root_of
from gradscope.events import Backward, StaleUsed, Step, ZeroGrad
from gradscope.model import Site
from gradscope.store import Trace


def stale_uses(trace: Trace) -> list[StaleUsed]:
    """Uses of stale sums. A write by hand counts only where the program takes gradients itself:
    clipping weights or copying them is no use of a gradient. And where the old part was measured
    as zero, or all of what was used, it was cleared in a way that nobody saw (`p.grad.data.zero_()`)."""
    events = trace.of(StaleUsed)
    something = {event.site for event in events if event.norm is not None and not _adds_nothing(event)}
    nothing = {event.site for event in events if event.optimizer is None and _adds_nothing(event)}
    alike = nothing - something  # not all of a line are measured
    cleared = {p for event in events if _adds_nothing(event) or event.site in alike for p in event.parameters}
    return [
        event
        for event in events
        if not cleared.issuperset(event.parameters)
        and (event.optimizer is not None or any(trace.parameter(p).taken for p in event.parameters))
    ]


def lender(trace: Trace, event: StaleUsed) -> str:
    """The model whose gradients a step used that holds none of its parameters: the program puts them in the place of
    others'. "" where the step's own optimizer holds them."""
    known = trace.optimizers.get(event.optimizer) if event.optimizer is not None else None
    if known is None or not set(known.parameters).isdisjoint(event.parameters):
        return ""
    roots = {root_of(trace, trace.parameter(id)) for id in event.parameters}
    root = roots.pop() if len(roots) == 1 else None
    return module_name(trace, root).strip("`") if root is not None else "the model"


def _adds_nothing(event: StaleUsed) -> bool:
    norm, without = event.norm, event.norm_without
    return norm is not None and norm in (without, 0.0)


def measured(trace: Trace, events: list[StaleUsed]) -> Iterator[str]:
    """A gradient's norm with and without the part that a step had used before."""
    for event in events:
        if event.norm is not None and event.norm_without is not None and event.parameter is not None:
            name = parameter_names(trace, [event.parameter])
            yield (
                f"norm of {name}'s gradient as used: {event.norm:.4g}; "
                f"of the new gradient alone: {event.norm_without:.4g}"
            )
            return


def gradients_read(trace: Trace, cause: Site) -> list[str]:
    """`w` of the update `w -= lr * w.grad`, and of `w.data = w - g` where another line of the function reads
    `w.grad`."""
    file = trace.source_file(cause.path)
    statement = file.statement(cause)
    found = _grads_in(statement)
    if not found and isinstance(statement, ast.Assign | ast.AugAssign):
        target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
        name = ast.unparse(target).removesuffix(".data")
        found = [one for one in _grads_in(file.scope(cause)) if one == name]
    return found


def _grads_in(code: ast.AST | None) -> list[str]:
    return list(
        dict.fromkeys(
            ast.unparse(node.value)
            for node in (ast.walk(code) if code is not None else ())
            if isinstance(node, ast.Attribute) and node.attr == "grad"
        )
    )


def with_clear(trace: Trace) -> Iterator[tuple[int, StaleUsed, ZeroGrad | None]]:
    """Each use of stale gradients, with the `zero_grad()` that prepared the backward it follows:
    one without a step between it and that backward. In a GAN the other network's is none."""
    clear: ZeroGrad | None = None
    prepared: ZeroGrad | None = None
    passes = {event.site for event in trace.of(Backward)}  # what is added by hand no pass has prepared
    real = {id(e) for e in stale_uses(trace) if trace.site(e.backward) in passes}
    for repeat, event in in_order(trace):
        if isinstance(event, ZeroGrad) and event.by != "hand":
            clear = event
        elif isinstance(event, Backward) and event.call != "grad":
            prepared = clear
        elif isinstance(event, Step) and clear is prepared:
            clear = None
        elif isinstance(event, StaleUsed) and event.optimizer is not None and id(event) in real:
            yield repeat, event, prepared
