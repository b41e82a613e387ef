"""`gradscope view`: a saved run in the terminal UI."""

from __future__ import annotations

from pathlib import Path

import click

from gradscope.places import last_trace
from gradscope.tui import view


@click.command()
@click.argument("trace", type=click.Path(path_type=Path), required=False)
def command(trace: Path | None) -> int:
    """Look through the run that TRACE holds (default: the newest): findings, graph, source,
    parameters, steps. Also while the run still goes."""
    return view(trace or last_trace(Path.cwd()))
