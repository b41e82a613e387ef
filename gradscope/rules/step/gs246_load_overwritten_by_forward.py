"""The first batch after a load initialises anew what was loaded: the flag that it was done is not in the state.

Why: a layer that sets its scale by its first batch remembers in a flag that it has done so. `state_dict()` holds
parameters and buffers alone, so a plain attribute is not saved, and a model that was loaded takes itself for new: its
first batch in training overwrites what was trained.

Fix: keep the flag as a buffer: `self.register_buffer("initialized", torch.tensor(False))`.

Measured: the first call of the module in training after the load overwrote the parameters before any operation had
read them, and its next calls left them alone.
Silent on: bounds and norms that are computed from what was loaded, values that every call sets, layers that a load
doesn't change.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.text import site_of
from gradscope.analysis.words import located, parameter_names, parameter_subjects
from gradscope.events import LoadOverwritten
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.source import FUNCTIONS
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Scale(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(width))
            self.initialized = False  # cause: GS246

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if self.training and not self.initialized:
                self.scale.data = 1 / x.std(0).detach()
                self.initialized = True
            return x * self.scale

    def train(model: nn.Module, steps: int) -> None:
        opt = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(steps):
            x = torch.randn(16, 4) * 3
            opt.zero_grad()
            (model(x) - x[:, :2]).pow(2).mean().backward()
            opt.step()

    first, second = (nn.Sequential(Scale(4), nn.Linear(4, 2)) for _ in range(2))
    train(first, 8)
    second.load_state_dict(first.state_dict())  # effect: GS246
    train(second, 4)


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Scale(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(width))
            self.initialized: torch.Tensor
            self.register_buffer("initialized", torch.tensor(False))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if self.training and not self.initialized:
                self.scale.data = 1 / x.std(0).detach()
                self.initialized.fill_(True)
            return x * self.scale

    def train(model: nn.Module, steps: int) -> None:
        opt = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(steps):
            x = torch.randn(16, 4) * 3
            opt.zero_grad()
            (model(x) - x[:, :2]).pow(2).mean().backward()
            opt.step()

    first, second = (nn.Sequential(Scale(4), nn.Linear(4, 2)) for _ in range(2))
    train(first, 8)
    second.load_state_dict(first.state_dict())
    train(second, 4)


@rule("GS246", name="load-overwritten-by-forward", severity="warning", needs=LoadOverwritten)
def load_overwritten_by_forward(trace: Trace) -> Iterator[Finding]:
    told: dict[Site, list[LoadOverwritten]] = {}
    for event in trace.of(LoadOverwritten):
        load = trace.site(event.load) if event.load is not None else None
        if load is not None:
            told.setdefault(load.user, []).append(event)
    yield from (_finding(trace, load, events) for load, events in told.items())


def _finding(trace: Trace, load: Site, events: list[LoadOverwritten]) -> Finding:
    first = events[0]
    names = parameter_names(trace, [id for event in events for id in event.parameters])
    write = first.site.user
    flag = _flag(trace, first.site)
    fix = f"don't let {located(trace, write)} run after a load: what it depends on must be in the state"
    if flag is not None:
        fix = f'keep `self.{flag.name}` as a buffer, which the state has: `self.register_buffer("{flag.name}", …)`'
    return Finding(
        message=f"what was loaded into {names} is overwritten by the first batch, before anything has used it",
        cause=flag.made if flag is not None else write,
        cause_label=f"`{flag.name}` is no part of the state"
        if flag is not None
        else "overwrites what was loaded",
        effect=load,
        effect_label="loads what is then overwritten",
        related=tuple((event.site.user, "overwrites it") for event in events) if flag is not None else (),
        seen=(
            f"the first call in training after the load wrote to {names} before any operation had read it; the calls"
            " behind that left it alone",
        ),
        fix=fix,
        edits=flag.edits if flag is not None else (),
        subjects=parameter_subjects(id for event in events for id in event.parameters),
    )


class _Flag(NamedTuple):
    """An attribute that a constructor sets to False, and that is asked before the write."""

    name: str
    made: Site
    edits: Edits  # that make it a buffer


def _flag(trace: Trace, site: Site) -> _Flag | None:
    """The plain attribute that a condition around the write, or around the call that led to it, asks for."""
    for frame in site.stack[::-1]:
        if frame.kind != "user":
            continue
        here = Source(trace, frame.path)
        cls = next((node for node in here.file.around(frame) if isinstance(node, ast.ClassDef)), None)
        for node in here.file.around(frame) if cls is not None else ():
            if isinstance(node, FUNCTIONS):
                break
            for name in _asked(node.test) if isinstance(node, ast.If) else ():
                found = _kept(here, cls, name) if cls is not None else None
                if found is not None:
                    return found
    return None


def _asked(test: ast.expr) -> list[str]:
    """The attributes of the object that a condition reads."""
    return [
        node.attr
        for node in ast.walk(test)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    ]


def _kept(here: Source, cls: ast.ClassDef, name: str) -> _Flag | None:
    """The attribute as a buffer, where its class sets it to True and False alone."""
    made: ast.Assign | None = None
    edits: Edits = ()
    for function in (node for node in cls.body if isinstance(node, FUNCTIONS)):
        for node in ast.walk(function):
            if not isinstance(node, ast.Assign) or [ast.unparse(t) for t in node.targets] != [f"self.{name}"]:
                continue
            value = node.value.value if isinstance(node.value, ast.Constant) else None
            if type(value) is not bool:
                return None
            if function.name == "__init__" and not value and made is None:
                made = node
                edits += here.replace(node, f'self.register_buffer("{name}", torch.tensor(False))')
            else:
                edits += here.replace(node, f"self.{name}.fill_({value})")
    if made is None:
        return None
    edits = edits if "torch" in here.file.imported else ()
    return _Flag(name, site_of(here.path, "__init__", made), edits)
