"""A backward pass went into a graph whose saved values an earlier pass had freed.

Why: `backward()` frees what the forward saved, as soon as it has used it. A second pass
through the same part finds nothing. Most often a value of an earlier step (a hidden state, a
running sum, a tensor made before the loop) carried its old graph along.

Fix: detach what is carried over from step to step, compute it anew in each step, or keep the
graph with `retain_graph=True` where two passes over it are meant.

Silent on: a first pass with `retain_graph=True`.
"""

from collections.abc import Iterator

from gradscope.analysis.carried import carried_into
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import listed, located, user
from gradscope.events import ErrorRaised
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.rules.reach._carried_over import carried_over
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


@rule("GS306", name="second-backward", severity="error", over=("GS601",))
def second_backward(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    for event in trace.of(ErrorRaised):
        text = event.text
        if "second time" in text and "backward" in text.lower():
            yield _explain(trace, known, event)


def _explain(trace: Trace, known: Paths, event: ErrorRaised) -> Finding:
    effect = event.site.user
    first = user(trace.site(event.freed_by)) or _earlier_pass(known, event) or effect
    over = carried_over(trace, known, event) if first.location() == effect.location() else None
    cause = over.cause if over is not None else first
    related = list(over.related if over is not None else ())
    saved = user(trace.site(event.saved_site))
    told = {site.location() for site, _ in related} | {cause.location(), effect.location()}
    if saved is not None and saved.location() not in told:
        related.append((saved, "its saved values were freed"))
    carried = listed([f"`{name}`" for name in over.names]) if over is not None else ""
    return Finding(
        message="backward went a second time through a graph that was already freed"
        + (f": {carried} carried it over from an earlier step" if carried else ""),
        cause=cause,
        cause_label=over.label if over is not None else "freed here, by the first pass",
        effect=effect,
        effect_label="freed the graph, and needs it again" if over is not None else "needs it again",
        related=tuple(dict.fromkeys(r for r in related if r[0].location() != cause.location())),
        seen=(
            *((f"the saved values of `{event.node_name}` were gone",) if event.node_name else ()),
            *(over.seen if over is not None else ()),
        ),
        fix=over.fix if over is not None else _fix(trace, first, effect),
        count=event.count,
        edits=over.edits if over is not None else (),
        subjects=frozenset(_subjects(known, event))
        | {("leaf", site.location()) for site in (over.leaves if over is not None else ())},
    )


def _subjects(known: Paths, event: ErrorRaised) -> Iterator[tuple[str, object]]:
    yield "graph", event.graph
    found = carried_into(known, event)
    if found is not None:
        made = known.maker((event.graph, found[0].index))
        if made is not None:
            yield "made", made.site.user.location()
        yield "taken in", found[1].site.user.location()


def _earlier_pass(known: Paths, event: ErrorRaised) -> Site | None:
    earlier = [e for e in known.backwards if e.segment <= event.segment]
    return earlier[-1].site.user if earlier else None


def _fix(trace: Trace, first: Site, effect: Site) -> str:
    if first.location() == effect.location():
        return "call `backward()` once on the sum of the losses, or pass `retain_graph=True` until the last"
    return (
        f"call `backward()` once, on the sum of the losses, or pass `retain_graph=True` to "
        f"{located(trace, first, 'the first')}"
    )
