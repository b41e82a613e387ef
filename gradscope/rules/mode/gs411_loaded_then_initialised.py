"""All weights that a `load_state_dict` brought are initialised anew before anything has used them.

Why: an initialisation that goes over all layers of a model goes over the part with the loaded weights, too. Nothing
is left of them, and the model begins from random numbers, as if nothing had been loaded.

Fix: load behind the initialisation, or leave the loaded part out of it.

Told also where what has one axis is left, as the scales of a normalisation, and two matrices or more are gone.
Silent on: a new last layer, or any other part of what was loaded that is made anew, weights that were used or copied
before, and a second state that is loaded over the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from gradscope.analysis.ops import ALIASES, FILLS
from gradscope.analysis.words import located, parameter_names, parameter_subjects
from gradscope.analysis.writes import initialises, loads_state, memory_root
from gradscope.fixes.source import Edits
from gradscope.fixes.statements import moved, moved_behind
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace

RANDOM = {
    "normal_",
    "uniform_",
    "trunc_normal_",
    "log_normal_",
    "random_",
    "bernoulli_",
    "exponential_",
    "cauchy_",
}
OVERWRITING = RANDOM | FILLS


def bad() -> None:
    import torch
    from torch import nn

    saved = nn.Linear(4, 8).state_dict()
    body, head = nn.Linear(4, 8), nn.Linear(8, 1)
    body.load_state_dict(saved)  # effect: GS411
    model = nn.Sequential(body, nn.ReLU(), head)
    for layer in model:
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight)  # cause: GS411
            nn.init.zeros_(layer.bias)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    saved = nn.Linear(4, 8).state_dict()
    body, head = nn.Linear(4, 8), nn.Linear(8, 1)
    model = nn.Sequential(body, nn.ReLU(), head)
    for layer in model:
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
    body.load_state_dict(saved)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


@dataclass
class Loaded:
    """What the loads of one line wrote, by the memory of each parameter, and what became of it."""

    op: Op
    parameters: dict[int, int] = field(default_factory=dict)
    matrices: set[int] = field(default_factory=set)  # those of them with several axes
    gone: dict[int, Op] = field(default_factory=dict)  # the initialisation that wrote over it
    again: bool = False  # loaded into one memory twice


@rule("GS411", name="loaded-then-initialised", severity="warning")
def loaded_then_initialised(trace: Trace) -> Iterator[Finding]:
    told = set()
    for graph in trace.graphs:
        if not any(map(loads_state, graph.writing)):
            continue
        for line, loaded in _loads(graph).items():
            if line not in told and _all_gone(loaded):
                told.add(line)
                yield _finding(trace, loaded)


def _all_gone(loaded: Loaded) -> bool:
    """Whether nothing is left of it, or of several matrices none: an initialisation may leave normalisations out."""
    drawn = any(op.name in RANDOM or initialises(op) for op in loaded.gone.values())
    gone = loaded.gone.keys()
    return (
        drawn
        and not loaded.again
        and (gone == loaded.parameters.keys() or (len(loaded.matrices) > 1 and loaded.matrices <= gone))
    )


def _loads(graph: Graph) -> dict[tuple[str, int], Loaded]:
    """Line of a load → what it wrote in this graph."""
    found: dict[tuple[str, int], Loaded] = {}
    fresh: dict[int, Loaded] = {}  # memory → the load whose numbers it holds, which nothing has read
    before: dict[int, int] = {}  # what a write made → the first value of that memory

    def memory(value: int) -> int:
        root = memory_root(graph, value)
        return before.get(root, root)

    for op in graph.ops:
        first = memory(op.writes[0]) if len(op.writes) == 1 else None
        if first is not None and loads_state(op):
            parameter = graph.values[first].parameter
            if parameter is not None:
                loaded = found.setdefault(op.site.user.location(), Loaded(op))
                loaded.again = loaded.again or first in loaded.parameters
                loaded.parameters[first] = parameter
                if len(graph.values[first].shape) > 1:
                    loaded.matrices.add(first)
                fresh[first] = loaded
        elif first is not None and first in fresh and op.name in OVERWRITING and _whole(graph, op, first):
            fresh.pop(first).gone[first] = op
        elif op.name not in ALIASES:
            for value in (*op.inputs, *op.writes):
                fresh.pop(memory(value), None)
        before.update({new: memory(old) for old, new in zip(op.writes, op.written, strict=True)})
    return found


def _whole(graph: Graph, op: Op, memory: int) -> bool:
    """Whether an op writes to all of this memory."""
    return graph.values[op.writes[0]].shape == graph.values[memory].shape


def _finding(trace: Trace, loaded: Loaded) -> Finding:
    load, last = loaded.op, next(iter(loaded.gone.values()))
    names = parameter_names(trace, sorted(loaded.parameters[memory] for memory in loaded.gone))
    left = loaded.parameters.keys() - loaded.gone.keys()
    fix, edits = _loaded_later(trace, load.site, last.site)
    lines = {op.site.user.location(): op.site.user for op in loaded.gone.values()}
    others = [site for place, site in lines.items() if place != last.site.user.location()]
    return Finding(
        message=f"what was loaded into {names} is initialised anew before anything has used it",
        cause=last.site.user,
        cause_label="initialises what was loaded",
        effect=load.site.user,
        effect_label="loads what is then overwritten: as if it did not run",
        related=tuple((site, "and this") for site in others),
        seen=(
            f"{len(loaded.gone)} of {len(loaded.parameters)} loaded parameters were overwritten, and nothing read them"
            " in between" + ("; those that are left have one axis" if left else ""),
        ),
        fix=fix,
        count=1,
        edits=edits,
        subjects=parameter_subjects(loaded.parameters.values()),
    )


def _loaded_later(trace: Trace, load: Site, initialised: Site) -> tuple[str, Edits]:
    """The load behind the initialisation, at the calls where their ways part."""
    pairs = [(a, b) for a, b in zip(load.stack, initialised.stack, strict=False) if a.span() != b.span()]
    a, b = pairs[0] if pairs else (load.user, initialised.user)
    if a.kind != "user" or b.kind != "user":
        a, b = load.user, initialised.user
    edits = moved_behind(trace, a, b) or moved(trace, a, b, after=True, conditional=True)
    return (
        f"move {located(trace, a, 'the load')} behind {located(trace, b, 'the initialisation')}, or leave what was"
        " loaded out of it",
        edits,
    )
