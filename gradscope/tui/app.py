"""The application: the trace that the screens show, and what works on every screen."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from textual.app import App, SystemCommand
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.command import CommandPalette
from textual.screen import Screen

from gradscope.analysis.words import counted
from gradscope.check import Report
from gradscope.escape import one_line
from gradscope.follow import Certain, key_of
from gradscope.model import GradscopeError
from gradscope.places import SUFFIX
from gradscope.store import Pages, Run, Trace, tidy
from gradscope.tui import editor, jobs
from gradscope.tui.child import Child
from gradscope.tui.screens._page import Page
from gradscope.tui.screens.ask import AskText, Confirm, Leaving
from gradscope.tui.screens.findings import BESIDE, FindingsPage
from gradscope.tui.screens.graph import GraphPage
from gradscope.tui.screens.help import Help
from gradscope.tui.screens.output import OutputPage
from gradscope.tui.screens.parameters import ParametersPage
from gradscope.tui.screens.source import SourcePage
from gradscope.tui.screens.steps import StepsPage
from gradscope.tui.screens.why import WhyPage
from gradscope.tui.shell import Shell, begin
from gradscope.tui.widgets.keys import in_reach

PAGES = (FindingsPage, GraphPage, SourcePage, ParametersPage, StepsPage, WhyPage)
_POLL = 0.5  # seconds between looks at a growing trace
_LINE = 20_000  # letters that are kept of a line without an end
_SOON = 0.8  # seconds of work that nobody needs to be told of
_SHARE = 10  # a growing trace is checked for at most one part in this many of the time


class Palette(CommandPalette):
    """Textual's, which fails where its list is paged through while it has no rows yet, and where two keys
    take it away (8.2)."""

    def dismiss(self, result: Any = None) -> AwaitComplete:
        return super().dismiss(result) if self.is_active else AwaitComplete()

    def _action_command_list(self, action: str) -> None:
        with suppress(KeyError):
            super()._action_command_list(action)


@dataclass(eq=False)
class Work:
    """A job that goes on beside the UI."""

    what: str
    began: float
    task: asyncio.Task[Any]
    said: str = ""
    cancelled: bool = False

    def tell(self, said: str) -> None:
        self.said = said

    @property
    def words(self) -> str:
        """`checking: rule 12 of 91, 4 s`."""
        seconds = f"{time.monotonic() - self.began:.0f} s"
        return f"{self.what}: {self.said}, {seconds}" if self.said else f"{self.what}, {seconds}"


class Inspector(Shell):
    """Shows the trace at `path`, also while a program writes it."""

    TITLE = "gradscope"
    CSS_PATH = "app.tcss"
    MODES: ClassVar[dict[str, Any]] = {page.NAME: page for page in (*PAGES, OutputPage)}
    DEFAULT_MODE = "findings"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide"), (BESIDE, "-beside")]
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(str(n), f"page('{page.NAME}')", page.TITLE_TEXT, show=False, tooltip=page.ABOUT)
            for n, page in enumerate((*PAGES, OutputPage), 1)
        ),
        Binding("g", "export", "Export", tooltip="Write a picture or a report to a file"),
        Binding("question_mark", "help", "Help", key_display="?", tooltip="Every key of this screen"),
        Binding(
            "escape",
            "cancel",
            "Cancel",
            show=False,
            tooltip="Cancel the work that the bar at the top tells of",
        ),
        Binding("r", "check_again", "Check", tooltip="Run the rules, which were cancelled"),
        Binding("R", "next_rank", "Rank", tooltip="The next process (rank) of the run"),
        Binding("x", "interrupt", "Ctrl-C", tooltip="Interrupt the program, as Ctrl-C in its terminal does"),
        Binding("q", "leave", "Quit", tooltip="Leave"),
        # Textual's own would leave at once, or tell of a key that does.
        Binding("ctrl+c,ctrl+q", "leave", "Quit", show=False, priority=True, system=True),
    ]

    def __init__(self, path: Path, command: list[str] | None = None, folder: Path | None = None):
        super().__init__()
        self.path = path
        self.folder = folder or path.with_suffix(
            ""
        )  # where processes that the program starts leave their traces
        self.members: list[tuple[str, Path]] = []  # (name, trace) of the processes, where there are several
        self._files: list[Path] = []
        self.trace: Trace | None = None
        self.pages: Pages | None = None
        self.checked: jobs.Checked | None = None
        self._certainty = Certain()
        self._checked_at = 0  # the edition that was checked
        self.fault = ""  # why there is no trace, or no findings, to show
        self.edition = 0  # counts what has been read of a growing trace
        self.output: list[str] = [""]
        output = Path(f"{path}.out")
        self.child = Child(command, output, self._printed) if command is not None else None
        self.helper = jobs.Helper()
        self.works: list[Work] = []  # the first is being done
        self.given_up = False  # the rules were cancelled
        self._page_before = self.DEFAULT_MODE
        self.interrupted = False  # by the user: leave when it has ended
        self.raised = False  # an exception has ended the program
        self._check_after = 0.0

    def show_all(self) -> int:
        """Runs the UI to its end; gives the exit code."""
        try:
            code = self.run()
        finally:
            self.helper.close()
            if self.trace is not None:
                self.trace.close()
            if self.child is not None and not self.child.running:
                with suppress(GradscopeError):
                    trace = Trace(self.path)
                    self.raised = bool(trace.program.get("exception"))
                    trace.close()
                tidy(self.path)
        return code or self.return_code or 0

    @property
    def tabs(self) -> list[tuple[str, str]]:
        pages = PAGES if self.child is None else (*PAGES, OutputPage)
        return [(page.NAME, page.TITLE_TEXT) for page in pages]

    def clear_selection(self) -> None:
        """An input field asks for this while its screen is still on its way to the stack (seen on Python 3.13),
        which Textual 8 does not expect."""
        if self.screen_stack:
            super().clear_selection()

    @property
    def failed(self) -> bool:
        """Whether an exception has ended the UI."""
        return bool(self.return_code)

    @property
    def _leaving(self) -> bool:
        """Whether the UI is about to end: what a screen that comes now is made of will never be there."""
        return self.return_code is not None

    async def run_action(self, *args: Any, **more: Any) -> bool:
        """A key that was typed behind the one that leaves does nothing."""
        return not self._leaving and await super().run_action(*args, **more)

    # -- the trace -------------------------------------------------------------------

    def on_mount(self) -> None:
        if self.console.color_system == "standard" and not self.is_headless:
            self.theme = "ansi-dark"  # the terminal's own 16 colours, and its background
        if self.child is not None:
            begin(self, self._run_child, self.child, group="child")
        else:
            self._look_for_members()
            self._open()
        self.set_interval(_POLL, self._look)

    @property
    def large(self) -> bool:
        return self.pages is not None and sum(g.ops for g in self.pages.graphs()) > jobs.LARGE

    @property
    def running(self) -> bool:
        """Whether the watched program still goes."""
        return self.child is not None and self.child.running

    @property
    def outdated(self) -> bool:
        """Whether the trace was read anew since the rules were asked."""
        return self._checked_at != self.edition

    @property
    def report(self) -> Report | None:
        """What the rules said of the trace, once they have been asked."""
        if self.trace is None or self.checked is None:
            return None
        told = self.checked
        return Report(self.trace, told.findings, told.faults, told.unused, notes=told.notes)

    def _look_for_members(self) -> None:
        """The processes of a run; goes to the first of them where this one only waits for them."""
        files = sorted(self.folder.glob(f"*{SUFFIX}")) if self.folder.is_dir() else []
        if files == self._files:
            return
        try:
            run = Run(self.folder)
        except GradscopeError:
            return
        self._files = files
        self.members = [(member.name, member.trace.path) for member in run.members]
        run.close()
        paths = [path for _, path in self.members]
        waits = self.trace is None or not self.trace.summary["passes"]
        renamed = not self.path.exists()  # by its rank, at the end
        if self.path not in paths and (waits or renamed):
            self._turn_to_member(0)

    def _turn_to_member(self, number: int) -> None:
        self.path = self.members[number][1]
        self._open()

    @property
    def _whole(self) -> list[str]:
        """The folder that the rules look at, where they look at several processes: once all have ended."""
        return [str(self.folder)] if len(self.members) > 1 and not self.running else []

    def action_next_rank(self) -> None:
        """Shows the next process of the run."""
        paths = [path for _, path in self.members]
        at = paths.index(self.path) + 1 if self.path in paths else 0
        self._turn_to_member(at % len(paths))

    def _open(self) -> None:
        """Reads the file anew, and has it checked."""
        before = self.trace
        try:
            self.trace = Trace(self.path)
            self.pages = Pages(self.trace)
            self.fault = ""
        except GradscopeError as error:
            if not (self.running and before is None):  # a program makes its trace when it is up
                self.fault = str(error)
            self._show()
            return
        if before is not None:
            before.close()
        self.edition += 1
        self._show()
        self._check()

    def _look(self) -> None:
        if self.works or self.running:
            self.refresh_state()
        self._look_for_members()
        if self.trace is None:
            if self.child is not None:
                self._open()
                self._show()
            return
        if self.trace.grown():
            self._open()
        elif self._check_after and time.monotonic() > self._check_after:
            self._check()

    def _check(self) -> None:
        """Asks the rules; soon again, but not all the while, where the trace grows."""
        running = any(worker.group == "check" and worker.is_running for worker in self.workers)
        if running or time.monotonic() < self._check_after:
            self._check_after = max(self._check_after, time.monotonic() + _POLL)
            return
        self._check_after = 0.0
        begin(self, self._checked, group="check")

    async def _checked(self) -> None:
        began = time.monotonic()
        edition = self.edition
        steps = self.trace.summary["steps"] if self.trace is not None else 0
        try:
            checked = await self._work("checking", jobs.check, str(Path.cwd()), *self._whole)
        except GradscopeError as error:
            self.fault = str(error)
        except Exception as error:  # ours: the other screens work on
            self.fault = f"no findings, a fault of its own: {type(error).__name__}: {error}"
        else:
            self.given_up = checked is None
            self.checked = self._certain(checked, steps) if checked is not None else self.checked
        self.edition += 1
        self._checked_at = edition + 1
        if self.outdated or self.running:
            now = time.monotonic()
            grows = self.child is None or self.running
            self._check_after = now + (_SHARE * (now - began) if grows else 0.0)
        self._show()

    def _certain(self, checked: jobs.Checked, steps: int) -> jobs.Checked:
        """What the rules said, while the program runs without that of which they may think otherwise soon."""
        if not self.running:
            return checked
        keys = self._certainty.look([key_of(finding) for finding in checked.findings], steps)
        return replace(checked, findings=tuple(f for f in checked.findings if key_of(f) in keys))

    # -- long work ---------------------------------------------------------------------------

    async def _work(self, what: str, job: jobs.Job, *args: str) -> Any:
        """What a job gives; None where the user has cancelled it. Raises GradscopeError."""
        task = asyncio.current_task()
        assert task is not None
        work = Work(what, time.monotonic(), task)
        self.works.append(work)
        try:
            return await self.helper.run(job, self.path, *args, large=self.large, progress=work.tell)
        except asyncio.CancelledError:
            if not work.cancelled:
                raise
            task.uncancel()
            return None
        finally:
            self.works.remove(work)
            self.refresh_state()

    @property
    def _long_works(self) -> list[Work]:
        """Those that the bar tells of."""
        return [work for work in self.works if time.monotonic() - work.began > _SOON]

    @property
    def _may_cancel(self) -> bool:
        """Whether escape cancels: not beside what one types for the program, whose line it closes."""
        return bool(self._long_works) and not isinstance(self.screen, OutputPage)

    def action_cancel(self) -> None:
        """Ends the work that has gone on for longest."""
        if self._long_works:
            work = self._long_works[0]
            work.cancelled = True
            work.task.cancel()
            self.tell(f"cancelled: {work.what}")

    def action_check_again(self) -> None:
        """Runs the rules after they were cancelled."""
        self.given_up = False
        self._check()
        self._show()

    def refresh_state(self) -> None:
        """Says in the bar how the work goes."""
        for screen in self.screen_stack[-1:]:
            if isinstance(screen, Page):
                screen.tell_state()

    def _show(self) -> None:
        for screen in self.screen_stack[-1:]:  # none while the UI ends
            if isinstance(screen, Page):
                screen.renew()

    # -- the program -------------------------------------------------------------------

    async def _run_child(self, child: Child) -> None:
        try:
            code = await child.run()
        except OSError as error:
            self.fault = f"the program can't be started: {error.strerror}"
            return
        self._printed(f"\n[exit code {code}]\n")
        if self.interrupted or isinstance(self.screen, Leaving):  # nothing is left to be asked
            self.exit(code)
            return
        self._check_after = 0.0  # nothing is slowed down any more
        self._look_for_members()
        self._open()
        self.notify(f"the program ended with exit code {code}", markup=False)

    def _printed(self, text: str) -> None:
        """Adds what the program printed: a carriage return starts its line again."""
        if not text:
            return
        first, *rest = text.replace("\r\n", "\n").split("\n")
        lines = [self.output.pop() + first, *rest]
        self.output += [line.rstrip("\r").rpartition("\r")[2] for line in lines[:-1]] + [lines[-1][-_LINE:]]
        del self.output[:-20_000]
        for screen in self.screen_stack[-1:]:
            if isinstance(screen, OutputPage):
                screen.follow()

    @property
    def state(self) -> str:
        """The run in a few words."""
        long = self._long_works
        if long:
            waiting = f", {len(self.works) - 1} waiting" if len(self.works) > 1 else ""
            key = ", esc cancels" if self._may_cancel else ""
            return one_line(f"{long[0].words}{waiting}{key}")
        if self.child is not None and self.child.waits_for_input:
            return "press 7 and enter to type, asks for input"  # the bar keeps the end
        if self.trace is None:
            return "waiting for the first step" if self.child is not None else ""
        program = Path(" ".join(self.trace.program["argv"][:1])).name or self.path.name
        steps = self.trace.summary["steps"]
        ended = ""
        if self.child is not None:
            ended = "running" if self.child.running else f"exit code {self.child.exit_code}"
        elif exception := self.trace.program.get("exception"):
            ended = str(exception.get("type", ""))
        several = self.members if len(self.members) > 1 else ()
        names = [name for name, path in several if path == self.path]
        ranks = sum(name.startswith("rank ") for name, _ in self.members)
        which = f"{names[0]} of {ranks}" if names and names[0].startswith("rank ") else "".join(names)
        words = [program, which, counted(steps, "step"), ended]
        return one_line(", ".join(word for word in words if word))

    # -- actions of every screen -----------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "interrupt":
            return self.running
        if action == "check_again":
            return self.given_up
        if action == "next_rank":
            return len(self.members) > 1
        if action == "cancel":
            return self._may_cancel
        return action != "page" or parameters != (OutputPage.NAME,) or self.child is not None

    async def action_page(self, name: str) -> None:
        """Shows a screen."""
        if isinstance(self.screen, Page):
            await self._turn_to(name)

    async def _turn_to(self, name: str) -> None:
        if self._leaving:
            return
        if name != self.current_mode:
            self._page_before = self.current_mode
        await self.switch_mode(name)

    async def action_page_before(self) -> None:
        await self._turn_to(self._page_before)

    async def open_page(self, kind: type[Page], *what: Any) -> None:
        """Shows a screen at one thing: `page.show_at(*what)`."""
        await self._turn_to(kind.NAME)
        if isinstance(self.screen, kind):  # another key may have turned on meanwhile
            self.screen.show_at(*what)

    async def open_source(self, path: str, line: int) -> None:
        await self.open_page(SourcePage, path, line)

    async def open_op(self, graph: int, op: int) -> None:
        await self.open_page(GraphPage, graph, op)

    async def open_graph(self, graph: int) -> None:
        await self.open_page(GraphPage, graph)

    async def open_why(self, name: str) -> None:
        await self.open_page(WhyPage, name)

    def action_help(self) -> None:
        """Shows the keys."""
        if isinstance(self.screen, Page):
            self.push_screen(Help(self.screen))

    def action_export(self) -> None:
        """Asks where to, and writes a picture or a report."""
        if self.trace is None:
            return
        from gradscope.render import report_suffixes
        from gradscope.render.pictures import suffixes

        reports = list(report_suffixes())
        pictures = [suffix for suffix in suffixes() if suffix not in reports]
        prompt = f"write to a file: the report ({' '.join(reports)}) or a picture ({' '.join(pictures)})"
        self.push_screen(AskText(prompt, f"{self.path.stem}.svg"), self._export)

    def _export(self, target: str | None) -> None:
        if target and Path(target).exists():
            self.push_screen(Confirm(f"{one_line(target)} is there already: write over it?"),
                             lambda sure: self._write(target) if sure else None)  # fmt: skip
        elif target:
            self._write(target)

    def _write(self, target: str) -> None:
        begin(self, self._exported, target, group="export", exclusive=True)

    async def _exported(self, target: str) -> None:
        self.tell(await self.job(jobs.export, target, str(Path.cwd()), *self._whole))

    async def job(self, job: jobs.Job, *args: str) -> Any:
        """What a job gives; None where it failed, which the user is told."""
        what = {"export": f"writing {args[0]}", "explain": f"why {args[0]}"} if args else {}
        try:
            return await self._work(what.get(job.__name__, "reading the trace"), job, *args)
        except GradscopeError as error:
            self.tell(str(error), wrong=True)
            return None

    def tell(self, message: str | None, *, wrong: bool = False) -> None:
        """A short message in the corner."""
        if message:
            self.notify(one_line(message), severity="error" if wrong else "information", markup=False)

    def edit(self, path: str, line: int) -> None:
        """Opens the user's editor at a line, with the UI set aside meanwhile."""
        try:
            command = editor.command(path, line)
            with self.suspend():
                subprocess.run(command, check=False)
        except GradscopeError as error:
            self.tell(str(error), wrong=True)
        except OSError as error:
            self.tell(f"can't run {command[0]}: {error.strerror}", wrong=True)
        except Exception as error:  # Textual can't suspend here (a web terminal, a test)
            self.tell(f"no editor here: {error}", wrong=True)
        self._show()

    def action_leave(self) -> None:
        """Quits; asks first what becomes of a program that still runs."""
        if not self.running or self.child is None:
            self.exit(self.child.exit_code if self.child is not None else 0)
        elif not isinstance(self.screen, Leaving):
            self.push_screen(Leaving(self.interrupted), self._leave)

    def _leave(self, choice: str | None) -> None:
        assert self.child is not None
        if choice and not self.running:  # it has ended meanwhile
            self.exit(self.child.exit_code)
        elif choice == "run on":
            self.exit(0)
        elif choice == "interrupt":
            self.interrupted = True
            self.child.interrupt()
            self.notify("interrupted: this closes when the program has ended, q asks again", markup=False)
        elif choice == "kill":
            self.interrupted = True
            self.child.kill()

    def action_interrupt(self) -> None:
        """Hands Ctrl-C on to the program, and stays."""
        if self.running and isinstance(self.screen, Page):
            self.push_screen(Confirm("interrupt the program, as Ctrl-C does?"), self._interrupt)

    def _interrupt(self, sure: bool | None) -> None:
        if sure and self.child is not None:
            self.child.interrupt()
            self.tell("interrupted" if self.running else "the program has ended already")

    # -- the palette ---------------------------------------------------------------------

    def action_command_palette(self) -> None:
        """Shows it over a page; over a dialog there might be one below, and it can stand there only once."""
        if isinstance(self.screen, Page):
            self.push_screen(Palette(id="--command-palette"))

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Every action that has a key, and Textual's own (the theme)."""
        seen = set()
        for active in in_reach(screen):
            binding = active.binding
            if not active.enabled or not binding.description or binding.action in seen:
                continue
            if not isinstance(active.node, (Page, App)) or not binding.tooltip:
                continue  # to move about needs no palette
            if binding.system or binding.action in ("command_palette", "help_quit"):
                continue
            seen.add(binding.action)
            key = binding.key_display or self.get_key_display(binding)
            about = f"{binding.tooltip or binding.description} ({key})"
            yield SystemCommand(
                binding.description, about, partial(self._run_from_palette, binding.action, active.node)
            )
        for command in super().get_system_commands(screen):
            if command.title in ("Theme", "Screenshot"):
                yield command

    async def _run_from_palette(self, action: str, node: Any) -> None:
        await self.run_action(action, node)
