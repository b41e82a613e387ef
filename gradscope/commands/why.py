"""`gradscope why`: why something requires grad, has no gradient, has no graph."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gradscope.answers import why
from gradscope.commands import printing
from gradscope.model import GradscopeError
from gradscope.places import last_trace
from gradscope.render.answer import show
from gradscope.store import Trace


@click.command()
@click.argument("names", nargs=-1, metavar="[TRACE] NAME")
def command(names: tuple[str, ...]) -> int:
    """Explain the gradient of NAME: a parameter (`layer1.weight`), a variable (`loss`) or a
    place (`train.py:31`), in the run that TRACE holds (default: the newest)."""
    if not 1 <= len(names) <= 2:
        raise click.UsageError("give the NAME of a parameter, a variable or a place, or a TRACE and a NAME")
    trace = Trace(names[0] if len(names) == 2 else last_trace(Path.cwd()))
    if len(names) == 1 and Path(names[0]).suffix == ".gradscope":
        raise GradscopeError(f"`{names[0]}` is a trace: say also the name to explain")
    answer = why(trace, names[-1])
    with printing():
        show(trace, answer, sys.stdout)
    return 0
