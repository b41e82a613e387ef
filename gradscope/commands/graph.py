"""`gradscope graph`: a picture of the graph that was built."""

from __future__ import annotations

from pathlib import Path

import click

from gradscope.check import check
from gradscope.commands import printing
from gradscope.graph import LEVELS, view
from gradscope.places import last_trace
from gradscope.render.picture import check_target, draw
from gradscope.store import Trace


@click.command()
@click.argument("trace", type=click.Path(path_type=Path), required=False)
@click.option("--level", type=click.Choice(LEVELS), help="How fine (default: what suits the program).")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="A .svg, .png or .dot file (default: TRACE.svg)."
)
@click.option("--step", type=click.IntRange(min=0), help="Which optimizer step (from 1; 0: the whole run).")
@click.option("--around", metavar="NAME", help="Only what is near this parameter, variable or place.")
@click.option(
    "--depth", type=click.IntRange(min=0), metavar="N",
    help="Open modules, or lines that call others, to this depth; with --around: how near, in edges.",
)  # fmt: skip
def command(
    trace: Path | None,
    level: str | None,
    output: Path | None,
    step: int | None,
    around: str | None,
    depth: int | None,
) -> int:
    """Draw the graph of the run that TRACE holds (default: the newest)."""
    source = trace or last_trace(Path.cwd())
    path = output if output is not None else Path(f"{source.stem}.svg")
    check_target(path)
    opened = Trace(source)
    shown = view(opened, level, check(opened), step=step, around=around, depth=depth)
    draw(shown, path)
    with printing() as stdout:
        for note in shown.notes:
            print(f"note: {note}", file=stdout)
        print(f"wrote {path} ({shown.level} level, {len(shown.graph)} nodes)", file=stdout)
    return 0
