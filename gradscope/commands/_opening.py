"""What a command is pointed at: a trace, or the folder of a run of several processes."""

from __future__ import annotations

from pathlib import Path

from gradscope.model import GradscopeError
from gradscope.store import Run, Trace


def opened(path: Path) -> Trace | Run:
    """Raises GradscopeError where it is neither."""
    return Run(path) if path.is_dir() else Trace(path)


def one_trace(path: Path, rank: int | None) -> Trace:
    """The trace at `path`, or that of one rank in the folder there: of the first, where none is asked for.

    Raises GradscopeError where there is none.
    """
    if not path.is_dir():
        trace = Trace(path)
        own = (trace.program.get("rank") or {}).get("rank")
        if rank is not None and rank != own:
            whose = f"the trace of rank {own}" if own is not None else "no trace of a rank"
            raise GradscopeError(f"{path} is {whose}: name the folder of the run for another one")
        return trace
    run = Run(path)
    return (run.member(rank) if rank is not None else run.members[0]).trace
