"""A running sum or list of losses keeps the graph of every step alive.

Why: `total += loss` is itself an operation of the graph: its result leads back to every loss
that was added, and each loss to its own step. Nothing of it can be freed while the total
lives, so memory grows with every step.

Fix: add the number: `total += loss.item()`, or `loss.detach()` where it should stay on the device.

Silent on: losses that are summed and then backwarded.
"""

from collections.abc import Iterator

from gradscope.model import Event, Finding, Op, Value
from gradscope.rules import rule
from gradscope.rules._common import code, plural, user
from gradscope.rules._paths import Paths, paths
from gradscope.store import Trace

MANY = 4  # losses kept that are no accident


def bad_running_sum() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    total = torch.zeros(())
    for _ in range(12):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward()
        opt.step()
        total = total + loss  # cause: GS602
    assert total.detach() >= 0


def good_item() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    total = 0.0
    for _ in range(12):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward()
        opt.step()
        total += loss.item()


def good_summed_then_backwarded() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        total = torch.zeros(())
        for _ in range(6):
            total = total + model(torch.randn(8, 4)).pow(2).mean()
        total.backward()
        opt.step()


@rule("GS602", name="loss-keeps-graph", severity="warning")
def loss_keeps_graph(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    longest: dict[tuple[str, int], Event] = {}
    for event in trace.of("keeps_graph"):
        place = (user(trace.site(event.data.get("site"))) or event.site.user).location()
        if place not in longest or event.data.get("length", 0) > longest[place].data.get("length", 0):
            longest[place] = event
    for event in longest.values():
        if not _backwarded(known, event):
            yield _finding(trace, event)
    if not any(event.data.get("how") == "list" for event in longest.values()):
        yield from _lists(trace, known)


def _lists(trace: Trace, known: Paths) -> Iterator[Finding]:
    """Backwarded losses of many steps that meet again, each still with its graph."""
    told: set[tuple[str, int]] = set()
    for number in known.graph_ids:
        graph = known.graph(number)
        kept: dict[tuple[str, int], list[tuple[Value, Op]]] = {}
        for value in graph.values:
            if value.kind == "carried" and value.origin in known.roots and value.site is not None:
                for op in graph.consumers.get(value.index, ())[:1]:
                    if graph.values[op.outputs[0]].requires_grad if op.outputs else False:
                        kept.setdefault(value.site.user.location(), []).append((value, op))
        for place, found in kept.items():
            value, op = found[0]
            if len(found) < MANY or place in told or (number, found[-1][1].outputs[0]) in known.used.order:
                continue
            told.add(place)
            assert value.site is not None
            nodes = sum(len(known.reach([v.origin]).nodes) for v, _ in found if v.origin is not None)
            yield Finding(
                message=f"a list of losses keeps the graph of every step alive: {code(trace, value.site.user)}",
                cause=value.site.user,
                cause_label="each value brings its graph along",
                related=((op.site.user, f"{len(found)} losses meet here"),),
                seen=(f"{len(found)} losses hold {plural(nodes, 'node')} of their graphs",),
                fix="keep the number: `loss.item()`, or `loss.detach()` where it should stay on the device",
                count=len(found),
                subjects=frozenset({("keeps", place)}),
            )


def _finding(trace: Trace, event: Event) -> Finding:
    data = event.data
    cause = user(trace.site(data.get("site"))) or event.site.user
    length, nodes, held = data.get("length", 0), data.get("nodes", 0), data.get("bytes", 0)
    seen = f"after {plural(length, 'step')} it holds {plural(nodes, 'node')} of their graphs"
    if held:
        seen += f" and {held:,} bytes saved for backward"
    how = "a list of losses" if data.get("how") == "list" else "a running sum"
    return Finding(
        message=f"{how} keeps the graph of every step alive: {code(trace, cause, 'the loss')}",
        cause=cause,
        cause_label="each value brings its graph along",
        seen=(seen,),
        fix="keep the number: `loss.item()`, or `loss.detach()` where it should stay on the device",
        count=max(length, event.count),
        subjects=frozenset({("keeps", cause.location())}),
    )


def _backwarded(known: Paths, event: Event) -> bool:
    """Whether a later backward pass went through what was kept."""
    value = event.data.get("value")
    return value is not None and event.graph >= 0 and (event.graph, value) in known.used.order
