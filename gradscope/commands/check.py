"""`gradscope check`: what the rules say about a saved trace."""

from __future__ import annotations

from pathlib import Path

import click

from gradscope.check import examine, fails
from gradscope.commands import printing
from gradscope.config import FAIL_ON, load_config
from gradscope.places import last_trace
from gradscope.render import renderers
from gradscope.render.terminal import encodable
from gradscope.render.text import show
from gradscope.store import Trace

_FORMATS = ("full", "concise", "json", "github", "sarif")


def split_codes(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(code for text in given for code in text.split(",") if code)


@click.command()
@click.argument("trace", type=click.Path(path_type=Path), required=False)
@click.option(
    "--select", multiple=True, callback=split_codes, metavar="CODES", help="Only these, by prefix: GS201,GS3."
)
@click.option("--extend-select", multiple=True, callback=split_codes, metavar="CODES", help="These too.")
@click.option("--ignore", multiple=True, callback=split_codes, metavar="CODES", help="Not these.")
@click.option(
    "--fail-on", type=click.Choice(FAIL_ON), help="Exit 1 from this severity on (default: warning)."
)
@click.option("--output-format", type=click.Choice(_FORMATS), default="full", show_default=True)
def command(
    trace: Path | None,
    select: tuple[str, ...],
    extend_select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on: str | None,
    output_format: str,
) -> int:
    """Report what is wrong in a saved run.

    TRACE is the file of a run (default: the newest one here).

    Exits with 0 when nothing is, 1 on findings, 2 when it could not tell.
    """
    config = load_config(Path.cwd()).override(select, extend_select, ignore, fail_on)
    report = examine(Trace(trace or last_trace(Path.cwd())), config)
    with printing() as stdout:
        if output_format == "full":
            show(report, stdout)
        else:
            stdout.write(encodable(renderers()[output_format].render(report), stdout))
    return int(fails(report.findings, config.fail_on or "warning"))
