"""How the program of a trace was started, and whether it can be started so once more."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path, PurePath

from gradscope.analysis.names import relative
from gradscope.model import GradscopeError
from gradscope.store import Run, Trace
from gradscope.trying.files import stored

_PACKAGES = re.compile(r"[\\/](?:site|dist)-packages[\\/]")


@dataclass(frozen=True)
class Command:
    """What to start, and how the run is watched. `module` is "" for a script, `ranks` how many of it a launcher
    starts; `spawns`: it starts the processes that train by itself."""

    argv: tuple[str, ...]
    module: str
    cwd: str
    sample: bool
    prove: bool
    ranks: int = 1
    spawns: bool = False

    def __str__(self) -> str:
        """As the user would type it."""
        return shlex.join(["-m", self.module, *self.argv[1:]] if self.module else self.argv)


def starter(trace: Trace, run: Run | None) -> Trace:
    """The trace that tells how the program was started: of a process that another one made, that one's."""
    parent = run.parent if run is not None and trace.program.get("child") else None
    return parent.trace if parent is not None else trace


def why_not(trace: Trace, run: Run | None = None) -> str:
    """Why nobody can start the program of `trace` once more, as far as its run tells; "" where one can."""
    trace = starter(trace, run)
    start = trace.program.get("command")
    argv = trace.program.get("argv") or [""]
    if not start:
        if any(path.startswith(("<ipython", "<cell")) or "ipykernel" in path for path in trace.sources):
            return "the run was in a notebook"
        return f"this trace does not tell how {PurePath(str(argv[0])).name or 'its program'} was started"
    if start.get("stdin"):
        return "the program came from stdin"
    if not start.get("together", True):
        return f"its {start['ranks']} ranks were on several machines"
    return ""


def check_again(trace: Trace, run: Run | None = None) -> None:
    """Raises GradscopeError where nobody can start the program once more."""
    if reason := why_not(trace, run):
        raise GradscopeError(f"the program can't be run again: {reason}")


def command_of(trace: Trace, run: Run | None = None) -> Command:
    """How to start the program of `trace`, one of `run`, once more. Raises GradscopeError where that would not be the
    run that the trace holds: it can't be repeated, its files are gone or have changed."""
    check_again(trace, run)
    program = starter(trace, run).program
    start = program["command"]
    cwd, argv = str(program.get("cwd") or ""), tuple(str(arg) for arg in program["argv"])
    if not os.path.isdir(cwd):
        raise GradscopeError(f"the program can't be run again: its folder {cwd} is gone")
    module = str(start.get("module") or "")
    if not module and not (Path(cwd) / argv[0]).exists():
        raise GradscopeError(f"the program can't be run again: {argv[0]} is gone")
    if different := changed(trace):
        names = ", ".join(relative(path, cwd) for path in different[:3])
        has = "has" if len(different) == 1 else "have"
        raise GradscopeError(f"{names} {has} changed since the run: `gradscope run` it again first")
    return Command(
        argv,
        module,
        cwd,
        bool(start.get("sample", True)),
        bool(start.get("prove")),
        int(start.get("ranks", 1)),
        program is not trace.program,
    )


def changed(trace: Trace) -> list[str]:
    """The user's files that are there and no longer hold what ran."""
    return [
        path
        for path, text in trace.sources.items()
        if os.path.isfile(path) and ((now := stored(path)) is None or now.text != text)
    ]


def is_installed(path: str) -> bool:
    """Whether a file belongs to an installed library: what is there is not the user's to edit."""
    return bool(_PACKAGES.search(os.path.realpath(path))) or os.path.realpath(path).startswith(
        os.path.dirname(os.path.realpath(os.__file__)) + os.sep
    )
