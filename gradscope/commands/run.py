"""`gradscope run`: run a program unchanged, then say what is wrong with its gradients."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from os import getpid  # the program may put another in its place
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, TextIO

import click

from gradscope import interrupts
from gradscope.check import Report, examine, fails, selected_rules
from gradscope.commands._beside import follow as beside
from gradscope.commands._misplaced import misplaced
from gradscope.commands._saying import say
from gradscope.commands.check import split_codes
from gradscope.config import FAIL_ON, Config, load_config
from gradscope.imports import BEGAN, kept_apart, seconds_to_import
from gradscope.model import SEVERITIES, GradscopeError, NoPlaceError
from gradscope.places import new_trace_path, standing
from gradscope.render import renderer_for, write_report
from gradscope.runner import Outcome, Program, run
from gradscope.store import Trace

if TYPE_CHECKING:
    from gradscope.session import Session

_LATE = 30  # seconds: a run of a terminal that takes longer tells what is found while it goes


class _Run(click.Command):
    """Keeps its arguments as they were given: `--view` hands them to another process."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["given"] = list(args)
        return super().parse_args(ctx, args)


@click.command(cls=_Run, context_settings={"allow_interspersed_args": False})
@click.option("-m", "as_module", is_flag=True, help="PROGRAM is a module, as in `python -m`.")
@click.option("--report", "reports", multiple=True, type=click.Path(path_type=Path), metavar="FILE",
              help="Also write the report: .txt, .md, .json or .sarif. Repeatable.")  # fmt: skip
@click.option("--graph", "picture", type=click.Path(path_type=Path), metavar="FILE",
              help="Also draw the graph: .svg, .png or .dot.")  # fmt: skip
@click.option("--trace", "trace_path", type=click.Path(path_type=Path), metavar="FILE",
              help="Keep the trace there instead of in .gradscope/.")  # fmt: skip
@click.option("--full", is_flag=True, help="Look at every step, also when the graph repeats.")
@click.option("--prove", is_flag=True, help="For a corrupted gradient, always compute the right one too.")
@click.option(
    "--select", multiple=True, callback=split_codes, metavar="CODES", help="Only these rules, by prefix."
)
@click.option("--ignore", multiple=True, callback=split_codes, metavar="CODES", help="Not these rules.")
@click.option(
    "--fail-on", type=click.Choice(FAIL_ON), help="Exit 1 from this severity on, if the program succeeded."
)
@click.option("--live/--no-live", default=None,
              help="Tell errors and warnings while it runs [default: on a terminal, after 30 s].")  # fmt: skip
@click.option("--stop-on", type=click.Choice(SEVERITIES[:2]),
              help="Interrupt the program, as Ctrl-C does, when such a finding is certain.")  # fmt: skip
@click.option("--view", "viewed", is_flag=True, help="Watch the run in the terminal UI while it goes.")
@click.argument("program")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def command(
    as_module: bool,
    reports: tuple[Path, ...],
    picture: Path | None,
    trace_path: Path | None,
    full: bool,
    prove: bool,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on: str | None,
    live: bool | None,
    stop_on: str | None,
    viewed: bool,
    program: str,
    args: tuple[str, ...],
) -> int:
    """Run PROGRAM with ARGS as Python would, and report on its gradients.

    The program's own exit code is kept. The report goes to stderr.
    """
    config = load_config(standing()).override(select, (), ignore, fail_on)
    selected_rules(config)
    for path in reports:
        renderer_for(path)
    if picture is not None:
        from gradscope.render.picture import check_target

        check_target(picture)
    target = Program.module(program, list(args)) if as_module else Program.script(program, list(args))
    if viewed:
        return _view(target, trace_path)
    cwd = standing()
    reports = tuple(cwd / path for path in reports)
    picture = cwd / picture if picture is not None else None
    given: list[str] = click.get_current_context().meta["given"]
    stream = sys.stderr  # the program may put another in its place
    process = getpid()
    with kept_apart():
        try:
            session = _session(target, trace_path, full, prove)
        except NoPlaceError as error:
            if trace_path is not None:
                raise
            return _unwatched(target, str(error))

        end_following = _follow(session.path, live, select, ignore, stop_on, stream)

        def told() -> tuple[Report | None, bool]:
            end_following()
            report = _tell(session, config, stream)
            return report, report is not None and _write(report, reports, picture, stream)

        def killed(number: int, hung: bool) -> None:
            with _timers_stopped():
                session.cut_short(-number) if hung else session.stop(-number)
                told()

        session.recorder.signals.killed.connect(killed)
        session.start(sys._getframe(), outermost=True)
        outcome = run(target)
        if getpid() != process:  # a child that the program forked has come to the program's end
            return outcome.exit_code
        with _timers_stopped():
            session.stop(outcome.exit_code, outcome.error)
            report, failed = told()
            if hint := misplaced(command, given, [program, *args], target.path):
                say(hint, stream)
    return _ended(outcome, _exit_code(outcome, report, config, failed))


@contextmanager
def _timers_stopped() -> Iterator[None]:
    """An alarm that the program has left behind (`signal.alarm`) would have found it at its end:
    it does not go off while the report is made."""
    stopped = []
    for name in ("ITIMER_REAL", "ITIMER_VIRTUAL", "ITIMER_PROF"):
        with suppress(AttributeError, OSError):
            timer = getattr(signal, name)
            stopped.append((timer, *signal.setitimer(timer, 0)))
    try:
        yield
    finally:
        for timer, left, interval in stopped:
            if left:
                signal.setitimer(timer, left, interval)


def _view(target: Program, trace_path: Path | None) -> int:
    """The same run in a process of its own, with the terminal UI here."""
    from gradscope.tui import view

    given: list[str] = list(click.get_current_context().meta["given"])
    given.remove("--view")
    path = trace_path or new_trace_path(target.argv[0], standing())
    if trace_path is None:
        given = ["--trace", str(path), *given]
    elif path.exists():
        Trace(path).close()  # only a trace is written over
        path.unlink()
    exit_code = view(path, [sys.executable, "-u", "-m", "gradscope", "run", *given])
    print(f"gradscope: the trace is in {os.path.relpath(path)}", file=sys.stderr)
    return exit_code


def _session(target: Program, trace_path: Path | None, full: bool, prove: bool) -> Session:
    try:
        importing = seconds_to_import("torch")
        from gradscope.session import Session
    except ModuleNotFoundError as error:
        if error.name == "torch":
            raise GradscopeError(
                "torch is not installed here: `run` needs it (the other commands do not)"
            ) from None
        raise GradscopeError(f"torch cannot be used here: {error}") from None
    except (ImportError, OSError) as error:
        raise GradscopeError(f"torch cannot be used here: {error}") from None
    path = trace_path.absolute() if trace_path is not None else None
    session = Session(
        target.argv,
        path,
        target.path if target.source is not None else os.path.realpath(target.path),
        sample=not full,
        prove=prove,
        command=target.command(),
    )
    session.before = perf_counter() - BEGAN - importing, importing
    return session


def _follow(
    trace: Path,
    live: bool | None,
    select: Iterable[str],
    ignore: Iterable[str],
    stop_on: str | None,
    stream: TextIO | None,
) -> Callable[[], None]:
    """Has findings told while the program runs, where that is asked for. Gives what ends it."""
    asked = bool(live) or stop_on is not None
    if not asked and (live is False or stream is None or not stream.isatty()):
        return lambda: None
    options = [f"--select={code}" for code in select] + [f"--ignore={code}" for code in ignore]
    if stop_on is not None:
        options.append(f"--stop-on={stop_on}")
    return beside(trace, 0 if asked else _LATE, options, stream)


def _unwatched(target: Program, reason: str) -> int:
    """The program as Python would run it, where there is nowhere to note what it does."""
    stream = sys.stderr
    outcome = run(target)
    say(f"{reason}: the program ran unwatched", stream)
    return _ended(outcome, outcome.exit_code)


def _tell(session: Session, config: Config, stream: TextIO | None) -> Report | None:
    """Prints the report on stderr. A fault of ours here must not touch the program's end."""
    from gradscope.render.text import show

    try:
        report = examine(Trace(session.path), config)
        # What went wrong with the trace may have found no place in it.
        report = replace(report, faults=tuple(dict.fromkeys([*session.faults, *report.faults])))
        if stream is not None:
            show(report, stream)
            stream.flush()
        return report
    except GradscopeError as error:
        say(str(error), stream)
    except Exception as error:
        say(f"no report, a fault of its own: {type(error).__name__}: {error}", stream)
    for fault in session.faults:
        say(fault, stream)
    return None


def _write(report: Report, reports: tuple[Path, ...], picture: Path | None, stream: TextIO | None) -> bool:
    failed = False
    for path in reports:
        try:
            write_report(report, path)
        except GradscopeError as error:
            say(str(error), stream)
            failed = True
        except Exception as error:
            say(f"no report in {path}, a fault of its own: {type(error).__name__}: {error}", stream)
            failed = True
    if picture is not None:
        from gradscope.graph import view
        from gradscope.render.picture import draw

        try:
            drawn = view(report.trace, findings=report.findings)
            draw(drawn, picture)
            for note in drawn.notes:
                say(note, stream)
            say(f"graph in {os.path.relpath(picture)}", stream)
        except GradscopeError as error:
            say(str(error), stream)
            failed = True
        except Exception as error:
            say(f"no graph in {picture}, a fault of its own: {type(error).__name__}: {error}", stream)
            failed = True
    return failed


def _ended(outcome: Outcome, exit_code: int) -> int:
    """The exit code. Where Ctrl-C has ended the program Python is told so: when it has cleaned up it
    ends by that signal, as a shell or a Makefile around it expects."""
    if outcome.interrupted:
        interrupts.pass_on()
    else:
        interrupts.release()
    return exit_code


def _exit_code(outcome: Outcome, report: Report | None, config: Config, failed: bool) -> int:
    if outcome.exit_code:
        return outcome.exit_code
    if report is not None and config.fail_on is not None and fails(report.findings, config.fail_on):
        return 1
    return 2 if failed else 0
