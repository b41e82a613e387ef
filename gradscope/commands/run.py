"""`gradscope run`: run a program unchanged, then say what is wrong with its gradients."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from os import _exit, getpid  # the program may put others in their place
from pathlib import Path
from time import perf_counter, sleep
from typing import TYPE_CHECKING, TextIO

import click

from gradscope import interrupts
from gradscope.check import Report, fails, selected_rules
from gradscope.collector import paused, settle
from gradscope.commands._beside import follow as beside
from gradscope.commands._misplaced import misplaced
from gradscope.commands._opening import opened
from gradscope.commands._ranks import Place, gathered, not_ended_by, place_of
from gradscope.commands._saying import anew, say
from gradscope.commands._working import working
from gradscope.commands.check import split_codes
from gradscope.config import Config, load_config
from gradscope.imports import BEGAN, kept_apart, seconds_to_import, torch_needed
from gradscope.model import FAIL_ON, SEVERITIES, GradscopeError, NoPlaceError
from gradscope.places import beside as folder_beside
from gradscope.places import last_from_here, new_trace_path, point_last, standing
from gradscope.render import renderer_for, report_suffixes, write_report
from gradscope.runner import Outcome, Program, run
from gradscope.store import Trace
from gradscope.telling import Telling, asked
from gradscope.telling import ignore as ignore_all
from gradscope.together import examine_path
from gradscope.unwatched import WITHIN

if TYPE_CHECKING:
    from gradscope.session import Session

_REST = 0.03  # seconds: some turns of Python's lock, which is given on after 5 ms
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
    reports, pictures = _sorted(outputs, reports, pictures)
    target = Program.module(program, list(args)) if as_module else Program.script(program, list(args))
    if viewed:
        return _view(target, trace_path)
    cwd = standing()
    reports = tuple(cwd / path for path in reports)
    pictures = tuple(cwd / path for path in pictures)
    given: list[str] = click.get_current_context().meta["given"]
    stream = sys.stderr  # the program may put another in its place
    process = getpid()
    with kept_apart():
        try:
            place = place_of(target, trace_path, trace_folder, within, cwd)
            with paused():  # torch's objects and ours all stay
                session = _session(target, place, full, prove)
                settle()
        except NoPlaceError as error:
            if trace_path is not None or trace_folder is not None:
                raise
            return _unwatched(target, str(error))

        if place.told_elsewhere:
            live, stop_on = False, None
        end_following = _follow(session.path, live, select, ignore, stop_on, stream)

        logged = Telling(ignore_all)

        def told(stream: TextIO | None, in_haste: bool = False) -> tuple[Report | None, bool]:
            end_following()
            logged.stop()
            whole = place.whole(_all_of(session, place, trace_path))
            if place.told_elsewhere:
                return None, False
            with working("waiting for the other ranks", stream):
                place.wait(session.path, in_haste)
            report = _tell(session, whole, config, stream)
            if report is not None and not in_haste and asked():
                logged.end(report.findings)
            if report is None or not place.writes_files:
                return report, False
            return report, _write(report, reports, pictures, stream)

        def killed(number: int, hung: bool) -> None:
            own = anew(stream)

            def end() -> None:
                with _timers_stopped():
                    session.note_where_it_stands()
                    session.cut_short(-number) if hung else session.stop(-number)
                    told(own, in_haste=True)

            _tried(end, "report", own)

        session.recorder.signals.killed.connect(killed)

        def left(status: int) -> None:
            if threading.active_count() > 1 or threading.current_thread() is not threading.main_thread():
                say("the program left by os._exit while its threads ran: see `gradscope check`", stream)
                return
            interrupts.hold(False)
            with _timers_stopped(), _kept_from_ending(place):
                report, failed = told(stream)
            if not place.told_elsewhere:
                _exit(_exit_code(Outcome(status), report, config, failed))

        session.recorder.signals.process_exit.connect(left)

        def replaced() -> None:
            session.checkpoint()
            session.recorder.store.flush()
            before = "; `gradscope check` tells of what ran before" if session.recorder.passes else ""
            say(f"another program takes the place of this one, and runs unwatched: {WITHIN}{before}", stream)

        session.recorder.signals.replaced.connect(replaced)
        session.start(sys._getframe(), outermost=True)
        if not place.told_elsewhere:
            logged.start_once_asked(session, config)
        outcome = run(target)
        if getpid() != process:  # a child that the program forked has come to the program's end
            from gradscope.offspring import end_of_fork

            end_of_fork(outcome.exit_code, outcome.error)
            return _ended(outcome, outcome.exit_code)
        with _timers_stopped(), _kept_from_ending(place):
            session.stop(outcome.exit_code, outcome.error)
            report, failed = told(stream)
            if place.told_elsewhere:
                return _ended(outcome, outcome.exit_code)
            if hint := misplaced(command, given, [program, *args], target.path):
                say(hint, stream)
    _threads_rested(place)
    return _ended(outcome, _exit_code(outcome, report, config, failed))


def _kept_from_ending(place: Place) -> AbstractContextManager[None]:
    """Around the report of a run of several ranks."""
    return not_ended_by() if place.rank is not None else nullcontext()


def _all_of(session: Session, place: Place, asked: Path | None) -> Path:
    """The trace, or the folder of it and of those that children of the program have left."""
    children = session.recorder.children
    if children is None or place.rank is not None:
        return session.path
    whole = gathered(session.path, children, keep=asked is not None)
    if whole != session.path:
        point_last(whole)
    return whole


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


def _tell(session: Session, whole: Path, config: Config, stream: TextIO | None) -> Report | None:
    """Prints the report on stderr. A fault of ours here must not touch the program's end."""
    from gradscope.render.text import show

    try:
        with working("looking at what was seen", stream):
            report = examine_path(opened(whole), config)
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


def _sorted(
    outputs: tuple[Path, ...], reports: tuple[Path, ...], pictures: tuple[Path, ...]
) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Which files are reports, a page is one, and which are pictures. Raises GradscopeError where one is neither, or
    can't be made: before the run."""
    known = report_suffixes()
    reports += tuple(path for path in outputs if path.suffix.lower() in known)
    reports += tuple(path for path in pictures if path.suffix.lower() == ".html")
    pictures = tuple(path for path in pictures if path.suffix.lower() != ".html")
    pictures += tuple(path for path in outputs if path.suffix.lower() not in known)
    for path in reports:
        renderer_for(path)
    if pictures:
        from gradscope.render.pictures import check_target

        for path in pictures:
            check_target(path, known if path in outputs else [".html"])
    return reports, pictures


def _write(
    report: Report, reports: tuple[Path, ...], pictures: tuple[Path, ...], stream: TextIO | None
) -> bool:
    """Writes what was asked for; whether any of it failed."""
    done = [_tried(partial(write_report, report, path), f"report in {path}", stream) for path in reports]
    done += [_tried(partial(_draw, report, path, stream), f"graph in {path}", stream) for path in pictures]
    return not all(done)


def _draw(report: Report, path: Path, stream: TextIO | None) -> None:
    from gradscope.graph import view
    from gradscope.render.picture import screens
    from gradscope.render.pictures import draw

    with working("drawing the graph", stream):
        drawn = view(report.trace, findings=report.findings, extent=screens)
        draw(drawn, path)
    for note in drawn.notes:
        say(note, stream)
    say(f"graph in {os.path.relpath(path)}", stream)


def _tried(does: Callable[[], None], what: str, stream: TextIO | None) -> bool:
    """Whether it could be done. A fault of ours here must not touch the program's end."""
    try:
        does()
        return True
    except GradscopeError as error:
        say(str(error), stream)
    except Exception as error:
        say(f"no {what}, a fault of its own: {type(error).__name__}: {error}", stream)
    return False


def _threads_rested(place: Place) -> None:
    """While the report is made, threads that outlive the program (daemons, gloo's) wait for Python's lock, perhaps
    inside of torch: one that is met there by the interpreter's end aborts the process. Plain they would have had it."""
    if threading.active_count() > 1 or place.rank is not None:
        sleep(_REST)


def _ended(outcome: Outcome, exit_code: int) -> int:
    """The exit code. Where Ctrl-C has ended the program it ends this process as well, once Python has cleaned up:
    by that signal, as a shell or a Makefile around it expects."""
    if outcome.interrupted:
        raise KeyboardInterrupt
    interrupts.release()
    return exit_code


def _exit_code(outcome: Outcome, report: Report | None, config: Config, failed: bool) -> int:
    if outcome.exit_code:
        return outcome.exit_code
    if report is not None and config.fail_on is not None and fails(report.findings, config.fail_on):
        return 1
    return 2 if failed else 0
