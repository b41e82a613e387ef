"""A setting is handed over and never read: whatever it is, nothing changes.

Why: Python says nothing of an argument that a function never looks at, or of an attribute that is set once and asked
for nowhere. The weight, margin or schedule that the program believes in is then some default, or a number that is
written into the code.

Fix: use it where it was meant, or take it away.

A note: it may stand there for the sake of an interface. Told of functions of the program that ran and are handed
something other than a constant (or than None, where a method reads `self.rate` in place of its argument `rate`), also
where the function's first mention of its argument gives the name another value; and
of an argument of a constructor that is handed another number than its default, while a method that ran has that
default written in. Silent on names that begin with `_`, on functions of one name in several classes, on functions
with a decorator.
"""

from collections.abc import Iterator

from gradscope.analysis.text import site_of
from gradscope.analysis.unread_settings import (
    UnreadArgument,
    UnreadAttribute,
    unread_arguments,
    unread_attributes,
)
from gradscope.analysis.words import located
from gradscope.fixes.calls import with_argument
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding
from gradscope.rules import rule
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
    yield from (_argument(trace, found) for found in unread_arguments(trace))
    yield from (_attribute(trace, found) for found in unread_attributes(trace))


def _argument(trace: Trace, found: UnreadArgument) -> Finding:
    name = found.name
    edits: Edits = ()
    unread = "never read there"
    if found.overwritten is not None:
        cause = site_of(found.path, found.function.name, found.overwritten)
        label = "gives the name another value"
        unread = "overwritten before anything reads it"
        fix = (
            f"give what {located(trace, cause)} makes a name of its own, and read `{name}` where it is meant"
        )
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
    else:
        cause = site_of(found.path, found.function.name, found.argument)
        label = "is read nowhere in the function"
        fix = f"use `{name}` in `{found.function.name}()`, or take it away"
    return Finding(
        message=f"`{name}` is handed to `{found.function.name}()` and {unread}: nothing depends on it",
        cause=cause,
        cause_label=label,
        effect=found.given,
        effect_label=f"hands `{name}` over",
        seen=(
            f"no line of `{found.function.name}()` reads `{name}`"
            + (" but to give it a value" if found.own else "")
            + (" before that" if found.overwritten is not None else ""),
        ),
        fix=fix,
        edits=edits,
    )


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
