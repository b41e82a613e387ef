"""A setting is handed over and never read: whatever it is, nothing changes.

Why: Python says nothing of an argument that a function never looks at, or of an attribute that is set once and asked
for nowhere. The weight, margin or schedule that the program believes in is then some default, or a number that is
written into the code.

Fix: use it where it was meant, or take it away.

A note: it may stand there for the sake of an interface. Told of functions of the program that ran and are handed
something other than a constant (or than None, where a method reads `self.rate` in place of its argument `rate`), also
where the function's first mention of its argument gives the name another value or where all that it computes of it
are tensors that no operation of the run reads; and of an argument of a constructor that is handed another number than
its default, while a method that ran has that default written in; and of a setting of an optimizer of the program's own
for which nothing asks its groups. Silent on names that begin with `_`, on functions of
one name in several classes, on functions with a decorator, on files that the program imports by name, on what a
function has to accept since another call hands it all of a mapping (`model(**batch)`). What a module hands to a part
of its own is told where it is a mask: a boolean tensor that the module was called with, of the shape of what a softmax
of the part goes over.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.text import site_of
from gradscope.analysis.unread_settings import (
    UnreadArgument,
    UnreadAttribute,
    UnreadDefault,
    unread_arguments,
    unread_attributes,
    unread_defaults,
)
from gradscope.analysis.words import located
from gradscope.events import ModuleCall
from gradscope.fixes.calls import with_argument
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.source import arguments, own_name
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Hinge(nn.Module):
        def __init__(self, margin: float = 0.1) -> None:
            super().__init__()
            self.margin = margin

        def forward(self, near: torch.Tensor, far: torch.Tensor) -> torch.Tensor:
            return torch.relu(near - far + 0.1).mean()  # cause: GS786

    net, criterion = nn.Linear(4, 3), Hinge(margin=1.0)  # effect: GS786
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(5):
        a, b, c = (net(torch.randn(8, 4)) for _ in range(3))
        loss = criterion((a - b).norm(dim=1), (a - c).norm(dim=1))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Triplet(nn.Module):
        def __init__(self, gap: float = 0.1) -> None:
            super().__init__()
            self.gap = gap

        def forward(self, near: torch.Tensor, far: torch.Tensor) -> torch.Tensor:
            return torch.relu(near - far + self.gap).mean()

    net, criterion = nn.Linear(4, 3), Triplet(gap=1.0)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(5):
        a, b, c = (net(torch.randn(8, 4)) for _ in range(3))
        loss = criterion((a - b).norm(dim=1), (a - c).norm(dim=1))
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS786", name="setting-never-read", severity="note")
def setting_never_read(trace: Trace) -> Iterator[Finding]:
    for found in unread_arguments(trace):
        softmax = _past_the_mask(trace, found)
        if softmax is not None or not (found.part or found.unpacked):
            yield _argument(trace, found, softmax)
    yield from (_attribute(trace, found) for found in unread_attributes(trace))
    yield from (_default(found) for found in unread_defaults(trace))


def _argument(trace: Trace, found: UnreadArgument, softmax: _Softmax | None) -> Finding:
    name = found.name
    edits: Edits = ()
    unread = "never read there"
    masked: tuple[str, ...] = ()
    if found.overwritten is not None:
        cause = site_of(found.path, found.function.name, found.overwritten)
        label = "gives the name another value"
        unread = "overwritten before anything reads it"
        fix = (
            f"give what {located(trace, cause)} makes a name of its own, and read `{name}` where it is meant"
        )
        edits = _of_it(trace, found)
        if edits:
            here = Source(trace, found.path)
            fix = (
                f"`{here.text_after(found.overwritten, edits)}`: `{here.text_of(found.overwritten.value)}` is"
                " computed already, by the same function"
            )
    elif found.dropped is not None:
        cause = site_of(found.path, found.function.name, found.dropped)
        label = "is made of it, and read by nothing"
        unread = "read only for what nothing reads"
        fix = f"use `{own_name(found.dropped.targets[0])}` where it is meant: nothing behind this line does"
    elif found.own:
        cause = site_of(found.path, found.function.name, found.own[0])
        label = f"takes the object's own, whatever `{name}` is"
        fix = f"`{name}` in place of `self.{name}` in `{found.function.name}()`"
        here = Source(trace, found.path)
        edits = tuple(edit for node in found.own for edit in here.replace(node, name))
    elif found.inside is not None:
        cause = site_of(found.path, found.function.name, found.inside)
        label = f"leaves `{found.default}` at its default"
        fix = f"hand `{name}` on: `{found.default}={name}` for {located(trace, cause)}"
        edits = with_argument(trace, cause, found.default, name)
    elif softmax is not None:
        cause = softmax.op.site.user
        label = f"goes over all places, whatever `{name}` says"
        fix = (
            f'give {located(trace, cause)} the scores with `.masked_fill(~{name}, float("-inf"))`, if `{name}` is True'
            f" at the places that count; `{name}` in place of `~{name}`, if it is True at the others"
        )
        masked = (
            f"the model was called with a boolean tensor of {softmax.shape}, the shape of what the softmax goes over,"
            " and no operation within it reads that",
        )
    else:
        cause = site_of(found.path, found.function.name, found.argument)
        label = "is read nowhere in the function"
        fix = f"use `{name}` in `{found.function.name}()`, or take it away"
    return Finding(
        message=f"`{name}` is handed to `{found.function.name}()` and {unread}",
        cause=cause,
        cause_label=label,
        effect=found.given,
        effect_label=f"hands `{name}` over",
        seen=(
            f"no line of `{found.function.name}()` reads `{name}`"
            + (
                f" but for `{own_name(found.dropped.targets[0])}`, which no operation reads"
                if found.dropped
                else ""
            )
            + (" but to give it a value" if found.own else "")
            + (" before that" if found.overwritten is not None else ""),
            *masked,
        ),
        fix=fix,
        edits=edits,
        subjects=frozenset({("made", *cause.location())}) if found.overwritten is not None else frozenset(),
    )


def _of_it(trace: Trace, found: UnreadArgument) -> Edits:
    """The call that gives the name another value, with the name as its one argument: where the function makes the same
    call twice, so that one of them was meant to be of something else."""
    call = found.overwritten.value if found.overwritten is not None else None
    if not isinstance(call, ast.Call) or len(call.args) != 1 or call.keywords:
        return ()
    twice = [node for node in ast.walk(found.function) if ast.dump(node) == ast.dump(call)]
    of_argument = own_name(call.args[0]) in {one.arg for one in arguments(found.function)}
    return (
        Source(trace, found.path).replace(call.args[0], found.name) if len(twice) > 1 and of_argument else ()
    )


class _Softmax(NamedTuple):
    op: Op
    shape: tuple[int, ...]


def _past_the_mask(trace: Trace, found: UnreadArgument) -> _Softmax | None:
    """The softmax of the function, over scores of the very shape of a boolean tensor that the model is called with and
    that nothing within it reads."""
    lines = range(found.function.lineno, (found.function.end_lineno or found.function.lineno) + 1)
    for event in trace.of(ModuleCall):
        graph = trace.graph(event.graph) if event.graph is not None and event.graph >= 0 else None
        for op in graph.called({"softmax"}) if graph is not None else ():
            place = op.site.user
            if graph is None or place.path != found.path or place.line not in lines or not op.inputs:
                continue
            shape = graph.values[op.inputs[0]].shape
            for index in event.inputs:
                value = graph.values[index]
                read = any(reader.module is not None for reader in graph.consumers.get(index, ()))
                if value.dtype == "bool" and value.shape == shape and not read:
                    return _Softmax(op, shape)
    return None


def _attribute(trace: Trace, found: UnreadAttribute) -> Finding:
    cause = site_of(found.path, "", found.constant)
    number = found.constant.value
    return Finding(
        message=f"`self.{found.name}` is never read: {number!r}, its default, is written in, whatever it is set to",
        cause=cause,
        cause_label=f"is {number!r} all the time",
        effect=found.made,
        effect_label=f"sets `{found.name}`, for nothing",
        seen=(f"no line of the program reads `.{found.name}`",),
        fix=f"`self.{found.name}` in place of {number!r} ({found.path.rpartition('/')[2]}:{found.constant.lineno})",
        edits=Source(trace, found.path).replace(found.constant, f"self.{found.name}"),
    )


def _default(found: UnreadDefault) -> Finding:
    cause = site_of(found.path, found.step.name, found.step.args.args[0])
    read = f'read `group["{found.name}"]` in `step()`'
    if found.meant is not None:
        read = f'call `{found.meant.name}()` in `step()`, with `group["{found.name}"]`: nothing does'
    return Finding(
        message=f"`{found.name}` is handed to `{found.cls}()`, and no step reads it: whatever it is, nothing changes",
        cause=cause,
        cause_label=f'asks no group for its "{found.name}"',
        effect=found.given,
        effect_label=f"hands `{found.name}` over",
        seen=(f'no line but the constructor names "{found.name}", and `step()` hands no group on',),
        fix=f"{read}, or take `{found.name}` away",
    )
