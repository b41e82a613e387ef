"""Which part of what a program has frozen as a whole was to be trained: a load left it as it began, or an optimizer
holds it alone."""

from __future__ import annotations

from typing import NamedTuple

from gradscope.analysis.names import full_name
from gradscope.events import PartlyLoaded
from gradscope.model import Parameter, Site
from gradscope.store import Trace


class Spared(NamedTuple):
    """The part of frozen parameters that was to be trained."""

    parameters: list[int]
    load: Site | None  # that brought nothing for it; None where an optimizer holds it and not the others
    part: str  # the module that they are of, as the program names it; "" where they are of several
    others: str  # that of the rest


def spared(trace: Trace, frozen: list[Parameter]) -> Spared | None:
    ids = [p.id for p in frozen]
    for event in reversed(trace.of(PartlyLoaded)):
        meant = [id for id in ids if id in event.missing]
        if meant and len(meant) < len(ids) and all(id in event.given for id in ids if id not in meant):
            return _of(trace, ids, meant, event.site.user)
    meant = [p.id for p in frozen if p.optimizers]
    return _of(trace, ids, meant, None) if meant and len(meant) < len(ids) else None


def _of(trace: Trace, ids: list[int], meant: list[int], load: Site | None) -> Spared:
    rest = _common(trace, [id for id in ids if id not in meant])
    part = _common(trace, meant)
    apart = f"{part}.".startswith(f"{rest}.") or f"{rest}.".startswith(f"{part}.")
    return Spared(meant, load, *(("", "") if apart else (part, rest)))


def _common(trace: Trace, ids: list[int]) -> str:
    """The module that all of these are in, as the program names it."""
    ways = [full_name(trace, trace.parameter(id)).split(".")[:-1] for id in ids]
    common: list[str] = []
    for names in zip(*ways, strict=False):
        if len(set(names)) > 1:
            break
        common.append(names[0])
    text = "".join(f"[{name}]" if name.isdigit() else f".{name}" for name in common)
    return text.removeprefix(".") if all(name.isidentifier() or name.isdigit() for name in common) else ""
