"""`gradscope why`: why something requires grad, has no gradient, has no graph."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gradscope.answers import why
from gradscope.commands import printing
from gradscope.commands._opening import one_trace
from gradscope.commands._working import working
from gradscope.model import GradscopeError
from gradscope.places import last_trace
from gradscope.render.answer import show


@click.command()
@click.option("--rank", type=click.IntRange(min=0), metavar="K", help="Of a run of several ranks, this one.")
@click.argument("names", nargs=-1, metavar="[TRACE] NAME")
def command(rank: int | None, names: tuple[str, ...]) -> int:
    """Explain the gradient of NAME: a parameter (`layer1.weight`), a variable or what it holds (`loss`, `out.loss`,
    `losses[2]`) or a place (`train.py:31`), in the run that TRACE holds (default: the newest)."""
    if not 1 <= len(names) <= 2:
        raise click.UsageError("give the NAME of a parameter, a variable or a place, or a TRACE and a NAME")
    if len(names) == 2 and Path(names[1]).exists() and not Path(names[0]).exists():
        names = names[1], names[0]  # the other way round
    trace = one_trace(Path(names[0]) if len(names) == 2 else last_trace(Path.cwd()), rank)
    if len(names) == 1 and Path(names[0]).suffix == ".gradscope":
        raise GradscopeError(f"`{names[0]}` is a trace: say also the name to explain")
    with working("looking at what was seen", sys.stderr):
        answer = why(trace, names[-1])
    with printing():
        show(trace, answer, sys.stdout)
    return 0
