"""Where a schedule that is never stepped is to be stepped: at the end of each epoch, or after each step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.schedules import PLATEAU
from gradscope.analysis.text import site_of
from gradscope.analysis.words import code, is_known_at, located, named_at, variable, where
from gradscope.events import SchedulerMade, Step
from gradscope.fixes.source import Edits, Source
from gradscope.fixes.statements import line_after
from gradscope.model import Site
from gradscope.source import FUNCTIONS, LOOPS, REPEATS
from gradscope.store import Trace

OF_BATCHES = ("OneCycleLR", "CyclicLR")
NOTHING = 1e-3  # of a rate


class Place(NamedTuple):
    """Where the call belongs, in words, and the call put there."""

    text: str
    edits: Edits
    site: Site  # beside it


def place_of_step(trace: Trace, made: SchedulerMade, step: Step) -> Place:
    """Behind the loop over the batches, where another one stands around it and the schedule does not count batches;
    else after the optimizer's step."""
    name, batches = variable(trace, made.site) or "", _counts_batches(trace, made)
    name = "" if made.cls == PLATEAU else name  # nobody knows which number it is to be given
    after = f"after {code(trace, step.site.user, 'the step')} ({where(step.site)})"
    loops = list(_loops(trace, step.site))
    if batches or len(loops) < 2:
        often = "once per batch" if batches else "once per epoch (or per batch)"
        return Place(f"{often} {after}", _call_after(trace, name, step.site.user), step.site.user)
    inner, outer = loops[:2]
    if made.cls == PLATEAU:
        return Place(f"once per epoch, in the loop over the epochs ({where(outer.site)})", (), outer.site)
    own = _in_function_that_made(trace, made, step, outer)
    if own is not None and not is_known_at(trace, named_at(trace, name, inner.site), inner.site):
        text = (
            f"once per epoch, after {located(trace, own)}, in the loop over the epochs ({where(outer.site)})"
        )
        return Place(text, _call_after(trace, name, own), own)
    text = f"once per epoch, behind the {'loop over' if inner.block else 'line of'} the batches ({where(inner.site)})"
    if batches is None:
        text += f", or, where it counts batches, {after}"
    return Place(text, _call_after(trace, name, inner.site), inner.site)


def _in_function_that_made(trace: Trace, made: SchedulerMade, step: Step, outer: _Loop) -> Site | None:
    """The call of the schedule's own function, in the loop over the epochs, that goes through the batches."""
    home = made.site.user
    if (home.path, home.function) != (outer.site.path, outer.site.function):
        return None
    same = step.site.frames_in(home)
    own = next((frame for frame in same if frame.kind == "user"), None)
    return own if own is not None and own.location() != step.site.user.location() else None


class _Loop(NamedTuple):
    site: Site  # of the statement
    block: bool  # no comprehension


def _loops(trace: Trace, site: Site) -> Iterator[_Loop]:
    """What repeats a call, in its own function and in those that call it, innermost first."""
    for frame in reversed(site.stack):
        here = Source(trace, frame.path)
        for node in here.file.around(frame) if frame.kind == "user" else ():
            if isinstance(node, FUNCTIONS):
                break
            if not isinstance(node, REPEATS):
                continue
            statement = node if isinstance(node, LOOPS) else here.file.statement_of(node)
            if statement is not None:
                yield _Loop(site_of(frame.path, frame.function, statement), isinstance(node, LOOPS))


def _counts_batches(trace: Trace, made: SchedulerMade) -> bool | None:
    """Whether the schedule's numbers are those of batches, seen from how many there were; None where that is open."""
    steps, given = trace.optimizers[made.optimizer].steps, made.settings
    if made.cls in OF_BATCHES:
        return True
    gamma, size = given.get("gamma"), given.get("step_size") or 1
    if made.cls == PLATEAU:
        return False
    if gamma is not None and 0 < gamma < 1 and gamma ** (steps / size) < NOTHING:
        return False
    turns = max((given.get(name) or 0 for name in ("T_max", "total_steps", "total_iters")), default=0)
    return 2 * turns >= steps if turns else None


def _call_after(trace: Trace, name: str, site: Site) -> Edits:
    name = named_at(trace, name, site)
    return line_after(trace, site, f"{name}.step()") if name and is_known_at(trace, name, site) else ()
