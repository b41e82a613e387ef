"""`gradscope check`: what the rules say about a saved trace."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import click

from gradscope.baseline import write_baseline as write
from gradscope.check import Report, fails
from gradscope.commands import printing
from gradscope.commands._opening import opened as opened_at
from gradscope.commands._working import working
from gradscope.config import Config, load_config, split
from gradscope.follow import follow as following
from gradscope.follow import interrupt
from gradscope.model import FAIL_ON, SEVERITIES, GradscopeError
from gradscope.places import last_trace
from gradscope.render import renderers
from gradscope.render.concise import line
from gradscope.render.terminal import encodable
from gradscope.render.text import show
from gradscope.store import Run, Trace
from gradscope.together import examine_path

_FORMATS = ("full", "concise", "json", "github", "sarif", "html", "diff")


def split_codes(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(code for text in given for code in split(text))


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
@click.option("--write-baseline", is_flag=True,
              help="Accept what is found: from now on only what is new is reported.")  # fmt: skip
@click.option("--follow", is_flag=True,
              help="Tell errors and warnings while the program runs, each when it is certain.")  # fmt: skip
@click.option("--stop-on", type=click.Choice(SEVERITIES[:2]),
              help="With --follow: interrupt the program, as Ctrl-C does, from this severity on.")  # fmt: skip
@click.option("--output-format", type=click.Choice(_FORMATS), default="full", show_default=True)
@click.option(
    "--diff", "output_format", flag_value="diff", help="Print the fixes that are mechanical as a patch."
)
def command(
    trace: Path | None,
    select: tuple[str, ...],
    extend_select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on: str | None,
    write_baseline: bool,
    follow: bool,
    stop_on: str | None,
    output_format: str,
) -> int:
    """Report what is wrong in a saved run.

    TRACE is the file of a run, or the folder with the traces of several ranks (default: the newest one here).

    Exits with 0 when nothing is, 1 on findings, 2 when it could not tell.
    """
    config = load_config(Path.cwd()).override(select, extend_select, ignore, fail_on)
    if stop_on is not None and not follow:
        raise click.UsageError("--stop-on needs --follow")
    opened = opened_at(trace or last_trace(Path.cwd()))
    if write_baseline:
        return _accept(opened, config)
    if follow:
        report = _follow(opened, config, stop_on)
    else:
        with working("looking at what was seen", sys.stderr):
            report = examine_path(opened, config)
    with printing() as stdout:
        if output_format == "full":
            show(report, stdout)
        else:
            stdout.write(encodable(renderers()[output_format].render(report), stdout))
    if output_format == "diff" and not any(finding.edits for finding in report.findings):
        click.echo("no finding has a fix that is mechanical", err=True)
    return int(fails(report.findings, config.fail_on or "warning"))


def _follow(trace: Trace | Run, config: Config, stop_on: str | None) -> Report:
    """Tells what is found while the program runs; the report once it has ended."""
    if isinstance(trace, Run):
        raise GradscopeError(f"--follow needs the trace of one rank, as {trace.members[0].trace.path}")
    stopped = False
    for news in following(trace.path, config):
        if isinstance(news, Report):
            return news
        with printing() as stdout:
            gone = "no longer found: " if news.over else ""
            text = f"gradscope, step {news.step:,}: {gone}{line(news.report, news.finding)}\n"
            stdout.write(encodable(text, stdout))
        if stop_on is not None and not stopped and not news.over and fails([news.finding], stop_on):
            stopped = True
            interrupt(news.report.trace)
    raise AssertionError("the report comes last")


def _accept(trace: Trace | Run, config: Config) -> int:
    report = examine_path(trace, replace(config, baseline=None), each=True)
    assert config.baseline is not None, "load_config says where it lies"
    write(config.baseline, [(finding, report.lines_of(finding)) for finding in report.findings])
    with printing() as stdout:
        count = len(report.findings)
        stdout.write(f"{count} finding{'' if count == 1 else 's'} accepted in {config.baseline}\n")
    return 0
