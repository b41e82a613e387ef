"""Errors of a device: they are raised at whatever call comes next."""

from __future__ import annotations

from gradscope.analysis.words import code
from gradscope.crashes import Crash, Place, explain
from gradscope.events import OutOfBounds

ASSERTED = r"(?:CUDA|HIP) error: device-side assert triggered"


def _found(crash: Crash) -> OutOfBounds | None:
    return next(iter(crash.trace.of(OutOfBounds)), None)


def _place(crash: Crash) -> Place | None:
    found = _found(crash)
    return (found.site.user, "is given them here") if found is not None else None


def _words(crash: Crash) -> dict[str, str]:
    found = _found(crash)
    if found is None:
        return {}
    if found.name == "embedding":
        which, there = "indices", f"the embedding has {found.limit} rows"
        fix = (
            f"make the embedding as large as the vocabulary (`num_embeddings={found.high + 1}` or more)"
            if found.low >= 0
            else "count the tokens from 0: an index below 0 is no row"
        )
    else:
        which, there = "targets", f"the prediction has {found.limit} scores"
        fix = (
            f"make the last layer as wide as there are classes ({found.high + 1} or more), or count the labels from 0"
            if found.low >= 0
            else f"count the labels from 0, or leave these out with `ignore_index={found.low}`"
        )
    call = code(crash.trace, found.site.user, f"`{found.name}`")
    return {
        "which": which,
        "range": f"{found.low} to {found.high}",
        "there": there,
        "call": call,
        "repair": fix,
    }


def _seen(crash: Crash) -> list[str]:
    found = _found(crash)
    return (
        []
        if found is None
        else [f"`{found.name}` was given {found.low} to {found.high}, of 0 to {found.limit - 1}"]
    )


explain(
    "index-outside-on-a-device",
    ASSERTED,
    "{call} was given {which} from {range}, and {there}",
    why="a kernel on the GPU found that out while the program went on: the error is raised at whatever call came next",
    fix="{repair}",
    cause=_place,
    when=lambda crash: _found(crash) is not None,
    words=_words,
    seen=_seen,
)
explain(
    "assertion-on-a-device",
    ASSERTED,
    "a kernel on the GPU was given what it does not allow, at this call or at one before it",
    why="the program goes on while the GPU works, and the error is raised at whatever call comes next; most often it is"
    " an index or a target outside of what there is",
    fix="run it with `CUDA_LAUNCH_BLOCKING=1` in the environment, or on the CPU: then the error stands at its own line",
    cause=lambda crash: None,
    when=lambda crash: _found(crash) is None,
)
