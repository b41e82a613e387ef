"""`gradscope fix`: tries the edits of findings in a second run, and makes those that work."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from math import ceil
from pathlib import Path
from subprocess import DEVNULL

import click

from gradscope.analysis.names import relative
from gradscope.analysis.words import plural
from gradscope.check import Report
from gradscope.commands import printing
from gradscope.commands._opening import opened
from gradscope.config import load_config
from gradscope.fixes.patch import patched
from gradscope.model import Finding, GradscopeError
from gradscope.places import last_trace, standing
from gradscope.render.attempt import outcome, show
from gradscope.render.diff import difference
from gradscope.render.terminal import encodable
from gradscope.store import Trace
from gradscope.together import examine_path
from gradscope.trying.attempts import Attempt, Trial, try_all
from gradscope.trying.command import check_again
from gradscope.trying.files import stored, write


@click.command()
@click.argument("trace", type=click.Path(path_type=Path), required=False)
@click.option("--finding", "asked", multiple=True, metavar="CODE[:LINE]",
              help="Only these findings: GS201, GS201:14. Repeatable.")  # fmt: skip
@click.option("--apply", "applied", is_flag=True, help="Then write the edits that work to the files.")
@click.option("--diff", "as_patch", is_flag=True, help="Print the edits that work as a patch on stdout.")
@click.option("--steps", type=click.IntRange(min=0), metavar="N",
              help="End the second run after N optimizer steps (0: at its end).")  # fmt: skip
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS",
              help="End it then at the latest.")  # fmt: skip
@click.option("--show-output", is_flag=True, help="Show what the program prints.")
def command(
    trace: Path | None,
    asked: tuple[str, ...],
    applied: bool,
    as_patch: bool,
    steps: int | None,
    timeout: float | None,
    show_output: bool,
) -> int:
    """Try the fixes of a run's findings: the program runs once more with them in memory.

    TRACE is the file of a run (default: the newest one here). No file is changed without --apply; but what
    the program itself writes it writes again. Its stdin is empty.

    Exits with 0 when all that was tried works, 1 when not, or when there is nothing to try, 2 when it
    could not tell.
    """
    config = load_config(standing())
    report = examine_path(opened(trace or last_trace(standing())), config, each=True)
    chosen = _chosen(report, asked)
    if chosen:
        check_again(report.trace, report.run)
        if trace is None:
            _check_place(report.trace)
    findings = [finding for finding in chosen if finding.edits and _changes_text(report, finding)]
    by_hand = [finding for finding in chosen if finding not in findings and finding.severity != "note"]
    if not findings:
        return _nothing(report, chosen, applied)
    if _are_made(report, findings):
        click.echo("the edits are in the files already: `gradscope run` the program to see what they do")
        return 0
    with Trial(report, config, steps=steps, seconds=timeout, output=_output(show_output, as_patch)) as trial:
        _announce(trial, findings)
        attempts, best = try_all(trial, findings)
        patch = difference(trial.texts, best.texts, trial.command.cwd) if best is not None else ""
        with printing() as stdout:
            show(attempts, by_hand, sys.stderr if as_patch else stdout)
            if patch and not as_patch:
                stdout.write("\n")
            stdout.write(encodable(patch, stdout))
            stream = sys.stderr if as_patch else stdout
            stream.write("\n")
            for line in outcome(attempts, best, by_hand, _written(trial, best) if applied else None):
                stream.write(encodable(f"{line}\n", stream))
            if best is not None and not applied:
                stream.write(f" next: {_again(trace, asked)}\n")
    return 0 if best is not None and set(best.findings) >= set(findings) else 1


def _check_place(trace: Trace) -> None:
    """Raises GradscopeError where the run was in another folder than the one in which its trace is the newest: that was
    copied, and the edits would go to the files that it was copied from."""
    folder = str(trace.program.get("cwd") or "")
    if os.path.isdir(folder) and not os.path.samefile(folder, standing()):
        raise GradscopeError(
            f"the newest trace here is of a run in {folder}: `gradscope run` the program here first, or name the trace"
        )


def _chosen(report: Report, asked: Sequence[str]) -> list[Finding]:
    """The findings that are asked for. Raises GradscopeError for what fits none."""
    found: list[Finding] = []
    for text in asked:
        code, _, line = text.upper().partition(":")
        fitting = [
            finding
            for finding in report.findings
            if finding.code.startswith(code)
            and (not line or any(str(place.line) == line for place in finding.locations))
        ]
        if not code or not fitting:
            raise GradscopeError(f"no finding of this run fits `{text}`")
        found += [finding for finding in fitting if finding not in found]
    return found if asked else list(report.findings)


def _nothing(report: Report, findings: Sequence[Finding], applied: bool) -> int:
    """Says that there is nothing to try."""
    program = shlex.join(map(str, report.trace.program.get("argv") or ())) or report.trace.path.name
    if not findings:
        click.echo(f"nothing to fix: nothing was found in the run of `{program}`")
        return 0
    those = (
        "the finding has no edit"
        if len(findings) == 1
        else f"none of the {len(findings)} findings has an edit"
    )
    with printing() as stdout:
        stdout.write(
            f"nothing to try in the run of `{program}`: {those} that can be made without understanding the program\n"
        )
        show([], [f for f in findings if f.severity != "note"] or findings, stdout)
        if applied:
            stdout.write("\nno file was written\n")
    return 1


def _changes_text(report: Report, finding: Finding) -> bool:
    """Whether a finding's edits make another text of what ran."""
    sources = report.trace.sources
    texts = patched(sources, [finding]).texts
    return not texts or any(sources[path] != text for path, text in texts.items())


def _are_made(report: Report, findings: Sequence[Finding]) -> bool:
    texts = patched(report.trace.sources, findings).texts
    return bool(texts) and all((now := stored(path)) and now.text == text for path, text in texts.items())


def _output(shown: bool, as_patch: bool) -> int | None:
    """Where the program prints: with a patch on stdout, to stderr."""
    return (2 if as_patch else None) if shown else DEVNULL


def _announce(trial: Trial, findings: Sequence[Finding]) -> None:
    """Says that the program is about to run: that has effects."""
    count, most = len(findings), ceil(trial.seconds(findings) / 60)
    edits = "the edits of a finding" if count == 1 else f"the edits of {count} findings"
    folder = "" if trial.command.cwd == str(standing()) else f" in {trial.command.cwd}"
    folder += f" on {trial.command.ranks} ranks" if trial.command.ranks > 1 else ""
    click.echo(
        f"gradscope: running `{trial.command}` again{folder}, with {edits} in memory, {plural(most, 'minute')} at most",
        err=True,
    )


def _written(trial: Trial, best: Attempt | None) -> list[str]:
    """Writes the files; their names."""
    if best is None:
        return []
    write([(trial.files[path], text) for path, text in best.texts.items()])
    return [relative(path, str(standing())) for path in best.texts]


def _again(trace: Path | None, asked: Sequence[str]) -> str:
    """This command, with --apply."""
    named = [str(trace)] if trace is not None else []
    return shlex.join(["gradscope", "fix", *named, *(f"--finding={text}" for text in asked), "--apply"])
