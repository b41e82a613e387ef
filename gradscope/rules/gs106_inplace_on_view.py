"""A view is written to in place that cannot take the write: torch stops it.

Why: a view shares memory with its base. Where several elements are one in memory (`expand`),
a write to one would change the others; where one call gave several views (`unbind`, `split`,
`chunk`), or the view was made without gradients or by a custom Function, autograd cannot say
what the write does to the graph of the base.

Fix: write to a copy (`.clone()`), or make a new tensor instead of writing in place
(`part = part + 1`).

Silent on: writes through slices and other single views of computed tensors.
"""

from collections.abc import Iterator

from gradscope.model import Finding, Site
from gradscope.names import names_of
from gradscope.rules import rule
from gradscope.rules._common import code, source
from gradscope.rules._failures import Failure, failures
from gradscope.rules._rewrites import line_before
from gradscope.store import Trace

_SHARED = "more than one element of the written-to tensor refers to a single memory location"
_VIEWS = "is a view and is being modified inplace"
_NO_GRAD = "A view was created in no_grad mode"
_INFERENCE = "A view was created in inference mode"


def bad_expanded() -> None:
    import torch

    mask = torch.zeros(1, 4).expand(3, 4)  # cause: GS106
    mask.add_(1.0)  # effect: GS106


def bad_unbind() -> None:
    import torch

    x = torch.ones(3, 2, requires_grad=True) * 2
    first, _second, _third = x.unbind()  # cause: GS106
    first += 1  # effect: GS106


def bad_view_without_gradients() -> None:
    import torch

    x = torch.ones(4, requires_grad=True) * 2
    with torch.no_grad():
        head = x[:2]  # cause: GS106
    head.mul_(3)  # effect: GS106


def good_clone() -> None:
    import torch

    mask = torch.zeros(1, 4).expand(3, 4).clone()
    mask.add_(1.0)
    x = torch.ones(3, 2, requires_grad=True) * 2
    first, second, _third = x.unbind()
    first = first + 1
    (first * second).sum().backward()


def good_slice() -> None:
    import torch

    x = torch.ones(4, requires_grad=True) * 2
    head = x[:2]
    head.mul_(3)
    x.sum().backward()


def good_views_without_gradient() -> None:
    import torch

    a, b = torch.ones(4).chunk(2)
    a += 1
    b *= 2
    assert float(a.sum() + b.sum()) > 0


@rule("GS106", name="inplace-on-view", severity="error")
def inplace_on_view(trace: Trace) -> Iterator[Finding]:
    for failure in failures(trace, _SHARED, _VIEWS, _NO_GRAD, _INFERENCE):
        if failure.event.data.get("where") != "backward":  # a write inside a hook: GS109
            yield _explained(trace, failure)


def _explained(trace: Trace, failure: Failure) -> Finding:
    made = _view_made(trace, failure)
    what, label = _kind(failure.text)
    name = names_of(trace).receiver(failure.site) or _written(source(trace, failure.site))
    shown = f"`{name}`" if name else "a view"
    written = code(trace, failure.site, "an in-place operation")
    return Finding(
        message=f"{written} writes in place to {shown}, {what}",
        cause=made or failure.site,
        cause_label=label,
        effect=failure.site,
        effect_label="torch stops: it cannot be written in place",
        seen=(failure.said,),
        fix=_fix(failure.text, name),
        count=failure.event.count,
        edits=line_before(trace, failure.site, f"{name} = {name}.clone()")
        if name.isidentifier() and _SHARED in failure.text
        else (),
    )


def _kind(text: str) -> tuple[str, str]:
    if _SHARED in text:
        return "whose elements share memory", "several elements become one in memory here"
    if _NO_GRAD in text or _INFERENCE in text:
        return "a view that was made while gradients were off", "made without gradients here"
    if "custom Function" in text:
        return (
            "a view that a custom Function (or a module's backward hook) gave out",
            "the view comes from here",
        )
    return "one of several views of one tensor", "several views are made here"


def _view_made(trace: Trace, failure: Failure) -> Site | None:
    """Where the written tensor was made: it is the first that the call was given."""
    written = failure.operands[0] if failure.operands else None
    if written is None:
        return None
    if written.value is None:
        return written.made
    graph = trace.graph(written.value[0])
    value = graph.values[written.value[1]]
    if value.op is None:
        return written.made
    return graph.ops[value.op].site.user


def _written(text: str) -> str:
    for sign in ("+=", "-=", "*=", "/="):
        left, found, _ = text.partition(sign)
        if found:
            return left.strip()
    return ""


def _fix(text: str, name: str) -> str:
    shown = name or "x"
    if _SHARED in text:
        return f"give each element memory of its own before the write: `{shown} = {shown}.clone()`"
    if _NO_GRAD in text or _INFERENCE in text:
        return f"make `{shown}` and write to it in the same mode: both inside the `no_grad` block, or both outside"
    if "custom Function" in text:
        return f"write to a copy (`{shown} = {shown}.clone()`), or use the operation that is not in place"
    return f"make a new tensor instead: write to `{shown}.clone()`, or use the operation that is not in place"
