"""`gradscope run`: run a program unchanged, then say what is wrong with its gradients."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from functools import partial
from os import getpid  # the program may put another in its place
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import click

from gradscope import interrupts
from gradscope.check import selected_rules
from gradscope.collector import paused, settle
from gradscope.commands._beside import follow as beside
from gradscope.commands._end import End
from gradscope.commands._files import Files
from gradscope.commands._misplaced import misplaced
from gradscope.commands._ranks import Place, place_of
from gradscope.commands._saying import say
from gradscope.commands.check import split_codes
from gradscope.config import load_config
from gradscope.imports import BEGAN, kept_apart, seconds_to_import, torch_needed
from gradscope.model import FAIL_ON, SEVERITIES, NoPlaceError
from gradscope.places import beside as folder_beside
from gradscope.places import last_from_here, new_trace_path, standing
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
@click.option("-o", "--output", "outputs", multiple=True, type=click.Path(path_type=Path), metavar="FILE",
              help="Also write this: a page (.html), a report (.txt, .md, .json, .sarif) or a picture (.svg, …)."
              " Repeatable.")  # fmt: skip
@click.option("--report", "reports", multiple=True, type=click.Path(path_type=Path), metavar="FILE",
              help="The same for reports only: .html, .txt, .md, .json or .sarif.")  # fmt: skip
@click.option("--graph", "pictures", multiple=True, type=click.Path(path_type=Path), metavar="FILE",
              help="The same for the graph: .svg, .png, .pdf, .dot, .mmd, .graphml, .json, or a page.")  # fmt: skip
@click.option("--trace", "trace_path", type=click.Path(path_type=Path), metavar="FILE",
              help="Keep the trace there instead of in .gradscope/.")  # fmt: skip
@click.option("--trace-dir", "trace_folder", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="Keep the traces of a run of several ranks there, one each.")  # fmt: skip
@click.option("--beside", "within", type=click.Path(path_type=Path), hidden=True,
              help="This process is one of several: another one, which made this folder, reports.")  # fmt: skip
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
    outputs: tuple[Path, ...],
    reports: tuple[Path, ...],
    pictures: tuple[Path, ...],
    trace_path: Path | None,
    trace_folder: Path | None,
    within: Path | None,
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
    files = Files.asked(outputs, reports, pictures, standing())
    target = Program.module(program, list(args)) if as_module else Program.script(program, list(args))
    if viewed:
        return _view(target, trace_path)
    given: list[str] = click.get_current_context().meta["given"]
    process = getpid()
    with kept_apart():
        try:
            place = place_of(target, trace_path, trace_folder, within, standing())
            with paused():  # torch's objects and ours all stay
                session = _session(target, place, full, prove)
                settle()
        except NoPlaceError as error:
            if trace_path is not None or trace_folder is not None:
                raise
            return _unwatched(target, str(error))
        if place.told_elsewhere:
            live, stop_on = False, None
        stop_following = _follow(session.path, live, select, ignore, stop_on)
        end = End(session, place, config, files, sys.stderr, stop_following, kept=trace_path is not None)
        end.listen()
        session.start(sys._getframe(), outermost=True)
        if not place.told_elsewhere:
            end.logged.start_once_asked(session, config)
        outcome = run(target)
        if getpid() == process:
            exit_code = end.of(outcome, partial(misplaced, command, given, [program, *args], target.path))
        else:  # a child that the program forked has come to the program's end
            from gradscope.offspring import end_of_fork

            end_of_fork(exit_code := outcome.exit_code, outcome.error)
    return _ended(outcome, exit_code)


def _view(target: Program, trace_path: Path | None) -> int:
    """The same run in a process of its own, with the terminal UI here."""
    from gradscope.tui import need_screen, view

    need_screen()  # before an older trace makes way
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


def _session(target: Program, place: Place, full: bool, prove: bool) -> Session:
    path = place.trace or new_trace_path(target.argv[0], standing())
    needed = torch_needed("`run` and `fix` need it (the other commands do not)")
    with last_from_here(path), needed:  # the first also of a run that is killed before torch is imported
        importing = seconds_to_import("torch")
        from gradscope.offspring import watch_children
        from gradscope.session import Session
    session = Session(
        target.argv,
        place.trace,
        target.path if target.source is not None else os.path.realpath(target.path),
        sample=not full,
        prove=prove,
        command=target.command(),
        rank=place.rank.facts() if place.rank is not None else None,
        child={"number": 1, "parent": os.getppid()} if place.told_elsewhere and place.rank is None else None,
        reserved=path if place.trace is None else None,
    )
    beside_it = session.path.parent if place.in_folder else folder_beside(session.path)
    watch_children(session, beside_it, place.launches)
    session.before = perf_counter() - BEGAN - importing, importing
    return session


def _follow(
    trace: Path,
    live: bool | None,
    select: Iterable[str],
    ignore: Iterable[str],
    stop_on: str | None,
) -> Callable[[], None]:
    """Has findings told while the program runs, where that is asked for. Gives what ends it."""
    stream = sys.stderr  # the program may put another in its place
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


def _ended(outcome: Outcome, exit_code: int) -> int:
    """The exit code. Where Ctrl-C has ended the program it ends this process as well, once Python has cleaned up:
    by that signal, as a shell or a Makefile around it expects."""
    if outcome.interrupted:
        raise KeyboardInterrupt
    interrupts.release()
    return exit_code
