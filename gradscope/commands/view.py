"""`gradscope view`: a saved run in the terminal UI."""

from __future__ import annotations

from pathlib import Path

import click

from gradscope.commands._opening import one_trace
from gradscope.places import last_trace
from gradscope.tui import view


@click.command()
@click.argument("trace", type=click.Path(path_type=Path), required=False)
@click.option("--rank", type=click.IntRange(min=0), metavar="K", help="Of a run of several ranks, this one.")
def command(trace: Path | None, rank: int | None) -> int:
    """Look through the run that TRACE holds (default: the newest): findings, graph, source,
    parameters, steps. Also while the run still goes. Of several ranks the findings of all, and the rest of one
    after the other."""
    path = trace or last_trace(Path.cwd())
    folder = path if path.is_dir() else None
    if folder is not None or rank is not None:
        opened = one_trace(path, rank)
        path = opened.path
        opened.close()
    return view(path, folder=folder)
