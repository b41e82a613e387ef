"""A backward pass went into a graph whose saved values an earlier pass had freed.

Why: `backward()` frees what the forward saved, as soon as it has used it. A second pass
through the same part finds nothing. Most often a value of an earlier step (a hidden state, a
running sum, a tensor made before the loop) carried its old graph along.

Fix: detach what is carried over from step to step, compute it anew in each step, or keep the
graph with `retain_graph=True` where two passes over it are meant.

Silent on: a first pass with `retain_graph=True`.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.carried import carried_into
from gradscope.analysis.names import names_of
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import code, located, user
from gradscope.events import ErrorRaised
from gradscope.fixes.calls import line_before
from gradscope.model import Finding, Site, Value
from gradscope.rules import rule
from gradscope.store import Trace


def bad_twice() -> None:  # fix: by hand
    import torch

    x = torch.ones(3, requires_grad=True)
    loss = (x * x).sum()
    loss.backward()  # cause: GS306
    loss.backward()  # effect: GS306


def good_retained() -> None:
    import torch

    x = torch.ones(3, requires_grad=True)
    loss = (x * x).sum()
    loss.backward(retain_graph=True)
    loss.backward()


@rule("GS306", name="second-backward", severity="error")
def second_backward(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    for event in trace.of(ErrorRaised):
        text = event.text
        if "second time" in text and "backward" in text.lower():
            yield _explain(trace, known, event)


def _explain(trace: Trace, known: Paths, event: ErrorRaised) -> Finding:
    effect = event.site.user
    old, carrier = _carrier(known, event)
    saved = user(trace.site(event.saved_site))
    first = user(trace.site(event.freed_by)) or _earlier_pass(known, event) or effect
    made = old is not None and first.location() == effect.location()
    maker = _maker(old, effect) if old is not None else None
    cause = maker if maker is not None and made else first
    related: list[tuple[Site, str]] = []
    if carrier is not None and carrier.location() != cause.location():
        related.append((carrier, "brought the old graph into this step"))
    if saved is not None and saved.location() not in {s.location() for s, _ in related} | {cause.location()}:
        related.append((saved, "its saved values were freed"))
    node = event.node_name
    carried = code(trace, carrier, "a value of an earlier step") if carrier is not None else ""
    return Finding(
        message="backward went a second time through a graph that was already freed"
        + (f": {carried} carried it over from an earlier step" if carried else ""),
        cause=cause,
        cause_label="made in an earlier step, with its graph" if made else "freed here, by the first pass",
        effect=effect,
        effect_label="freed the graph, and needs it again" if made else "needs it again",
        related=tuple(related),
        seen=(f"the saved values of `{node}` were gone",) if node else (),
        fix=_fix(trace, carrier, maker, first, effect),
        count=event.count,
        edits=line_before(trace, carrier, f"{name} = {name}.detach()")
        if carrier is not None and (name := _state(trace, carrier))
        else (),
        subjects=frozenset(_subjects(event, old, carrier)),
    )


def _subjects(event: ErrorRaised, old: Site | None, carrier: Site | None) -> Iterator[tuple[str, object]]:
    yield "graph", event.graph
    if old is not None:
        yield "made", old.user.location()
    if carrier is not None:
        yield "taken in", carrier.location()


def _carrier(known: Paths, event: ErrorRaised) -> tuple[Site | None, Site | None]:
    """Where a value of an earlier graph was made, and the line that took it into the failing pass."""
    found = carried_into(known, event)
    return (_made(known, event.graph, found[0]), found[1].site.user) if found is not None else (None, None)


def _made(known: Paths, number: int, value: Value) -> Site | None:
    """Where a value that came to graph `number` from an earlier one was made."""
    op = known.maker((number, value.index))
    return op.site if op is not None else None


def _maker(old: Site, effect: Site) -> Site:
    """The line that made it in the function that calls `backward()`; else where the user calls torch."""
    own = (f for f in old.stack if (f.path, f.function) == (effect.path, effect.function))
    return next(own, old.entry)


def _earlier_pass(known: Paths, event: ErrorRaised) -> Site | None:
    earlier = [e for e in known.backwards if e.segment <= event.segment]
    return earlier[-1].site.user if earlier else None


def _state(trace: Trace, carrier: Site) -> str:
    """`h` of `h = cell(x, h)`, the line that carries it over; "" where another line made it."""
    name = names_of(trace).assigned(carrier) or ""
    node = trace.source_file(carrier.path).at(carrier)
    given = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} if node is not None else set()
    return name if name in given else ""


def _fix(trace: Trace, carrier: Site | None, maker: Site | None, first: Site, effect: Site) -> str:
    if carrier is not None:
        name = _state(trace, carrier)
        if name:
            return f"detach what is carried over: `{name} = {name}.detach()` before {located(trace, carrier)}"
        if maker is not None:
            return (
                f"compute {located(trace, maker, 'it')} anew in each step, or detach its result before "
                f"{located(trace, carrier, 'it is used')}"
            )
        return f"detach what is carried over before {located(trace, carrier, 'it is used')}"
    if first.location() == effect.location():
        return "call `backward()` once on the sum of the losses, or pass `retain_graph=True` until the last"
    return (
        f"call `backward()` once, on the sum of the losses, or pass `retain_graph=True` to "
        f"{located(trace, first, 'the first')}"
    )
