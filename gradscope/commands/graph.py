"""`gradscope graph`: a picture of the graph that was built."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gradscope.check import check, examine
from gradscope.commands import printing
from gradscope.commands._opening import one_trace
from gradscope.commands._working import working
from gradscope.graph import LEVELS, view
from gradscope.places import last_trace
from gradscope.render import renderer_for, write_text
from gradscope.render.picture import screens
from gradscope.render.pictures import check_target, draw, size_words, whole


@click.command()
@click.argument("trace", type=click.Path(path_type=Path), required=False)
@click.option("--level", type=click.Choice(LEVELS), help="How fine (default: what suits the program).")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE",
    help="A .svg, .png, .pdf or .dot, a page (.html), Mermaid (.mmd), .graphml or .json (default: TRACE.svg).",
)  # fmt: skip
@click.option("--step", type=click.IntRange(min=0), help="Which optimizer step (from 1; 0: the whole run).")
@click.option("--around", metavar="NAME", help="Only what is near this parameter, variable or place.")
@click.option(
    "--depth", type=click.IntRange(min=0), metavar="N",
    help="Open modules, or lines that call others, to this depth; with --around: how near, in edges.",
)  # fmt: skip
@click.option("--rank", type=click.IntRange(min=0), metavar="K", help="Of a run of several ranks, this one.")
def command(
    trace: Path | None,
    level: str | None,
    output: Path | None,
    step: int | None,
    around: str | None,
    depth: int | None,
    rank: int | None,
) -> int:
    """Draw the graph of the run that TRACE holds (default: the newest)."""
    source = trace or last_trace(Path.cwd())
    path = output if output is not None else Path(f"{source.stem}.svg")
    if path.suffix.lower() == ".html":
        return _page(source, rank, path, step, asked=bool(level or around or depth is not None))
    kind = check_target(path, [".html"])
    opened = one_trace(source, rank)
    extent = None if whole(kind) and level is not None else screens
    with working("drawing the graph", sys.stderr):
        shown = view(
            opened,
            level,
            check(opened),
            step=step,
            around=around,
            depth=depth,
            extent=extent,
            whole=whole(kind),
        )
        draw(shown, path)
    with printing() as stdout:
        for note in shown.notes:
            print(f"note: {note}", file=stdout)
        print(f"wrote {path} ({shown.level} level, {size_words(shown, kind)})", file=stdout)
    return 0


def _page(source: Path, rank: int | None, path: Path, step: int | None, asked: bool) -> int:
    """The report with a picture that is opened and closed in the browser."""
    renderer_for(path)
    if asked:
        raise click.UsageError(
            "a page opens and closes by itself: --level, --around and --depth are for pictures"
        )
    from gradscope.render.html import render

    with working("drawing the graph", sys.stderr):
        write_text(render(examine(one_trace(source, rank)), step), path)
    with printing() as stdout:
        print(f"wrote {path}", file=stdout)
    return 0
