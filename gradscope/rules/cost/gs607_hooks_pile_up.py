"""A hook is put on a layer or a parameter again and again, and none of them is taken off.

Why: `register_forward_hook` and the like add a hook to those that stand there. Put there in every call, they pile up:
each call runs all of them. What they keep is kept several times, a list that they append to mixes new with old, a
gradient that they change is changed by each of them, and the run becomes slower with every round.

Fix: keep the handle that comes back and `remove()` it when the hook has done its work, or put the hook there once,
before the loop.

Silent on: hooks that are taken off again, different hooks, and hooks on tensors that are made anew.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.hook_bodies import hook_function
from gradscope.analysis.unread import module_name
from gradscope.analysis.words import listed, located, parameter_name, plural
from gradscope.events import GradientHook, PiledHook
from gradscope.fixes.blocks import moved_out
from gradscope.fixes.handles import taken_off
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.source import method_name
from gradscope.store import Trace

MANY = 3  # at once


def bad() -> None:
    import torch
    from torch import nn

    seen: list[torch.Tensor] = []

    def keep(module: nn.Module, given: tuple[torch.Tensor, ...], out: torch.Tensor) -> None:
        seen.append(out.detach())

    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(4):
        model[1].register_forward_hook(keep)  # cause: GS607
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    seen: list[torch.Tensor] = []

    def keep(module: nn.Module, given: tuple[torch.Tensor, ...], out: torch.Tensor) -> None:
        seen.append(out.detach())

    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(4):
        handle = model[1].register_forward_hook(keep)
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
        handle.remove()


@rule("GS607", name="hooks-pile-up", severity="warning", needs=PiledHook)
def hooks_pile_up(trace: Trace) -> Iterator[Finding]:
    changing = {event.site.id for event in trace.of(GradientHook) if event.returned or event.edited}
    piles: dict[tuple[object, ...], list[PiledHook]] = {}
    for event in trace.of(PiledHook):
        if event.most >= MANY:
            here = event.site.user
            piles.setdefault((here.path, here.function, event.module, event.parameter), []).append(event)
    for events in piles.values():
        yield _finding(trace, events, changing)


def _finding(trace: Trace, events: list[PiledHook], changing: set[int]) -> Finding:
    """`events`: hooks that one function puts on one module or tensor."""
    first, places = events[0], list(dict.fromkeys(event.site.user for event in events))
    most = max(event.most for event in events)
    of_tensor = first.parameter is not None
    on = _module(trace, first) if first.parameter is None else f"`{parameter_name(trace, first.parameter)}`"
    each = "backward pass" if of_tensor else "call of the model"
    defined = {event.name: site for event in events if (site := trace.site(event.hook)) is not None}
    lists = [name for name, site in defined.items() if _appends(trace, site, name)]
    seen = [
        f"{plural(most, 'hook')} of this line stood on {on} at once, with a {each} between one and the next: each"
        f" {each} runs all that stand there"
    ]
    if changing & {event.site.id for event in events}:
        seen.append("they change the gradient, which goes through one after the other")
    edits = tuple(edit for place in places for edit in moved_out(trace, place))
    return Finding(
        message=f"hooks pile up on {on}: {listed([_called(event) for event in events])}"
        f" {'are' if len(events) > 1 else 'is'} put there again each time, and never taken off",
        cause=places[0],
        cause_label=f"{most} of them stood there at once",
        related=(
            *((place, "and here") for place in places[1:]),
            *((site, "the hook") for name, site in defined.items() if name != "<lambda>"),
        ),
        seen=tuple(seen),
        fix=f"keep the handle that {located(trace, places[0])} gives, and call `handle.remove()` when the hook has done"
        " its work; or put the hook there once, before the loop"
        + ("; of the list that it appends to read the last entry, or empty it each time" if lists else ""),
        edits=edits or taken_off(trace, places),
        count=most,
        subjects=frozenset({("hook", place.location()) for place in places}),
    )


def _called(event: PiledHook) -> str:
    return "a lambda" if event.name == "<lambda>" else f"`{event.name}`"


def _module(trace: Trace, event: PiledHook) -> str:
    return f"a `{event.cls}`" if event.module is None else module_name(trace, event.module)


def _appends(trace: Trace, hook: Site, name: str) -> bool:
    function = hook_function(trace, hook, name)
    return function is not None and any(method_name(node) == "append" for node in ast.walk(function))
