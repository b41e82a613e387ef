"""What a screen may ask of the application that shows it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from textual.app import App
from textual.dom import DOMNode
from textual.worker import WorkType

from gradscope.check import Report
from gradscope.store import Pages, Trace
from gradscope.tui import jobs
from gradscope.tui.child import Child


class Shell(App[int]):
    """The trace that is shown, and the ways from one screen to another."""

    trace: Trace | None = None
    pages: Pages | None = None
    checked: jobs.Checked | None = None
    child: Child | None = None  # the program that is watched meanwhile
    fault = ""  # why there is no trace, or no findings, to show
    given_up = False  # the rules were cancelled
    edition = 0  # counts what has been read of a growing trace
    output: list[str]  # lines that the program has printed

    @property
    def tabs(self) -> list[tuple[str, str]]:
        """(name, title) of each numbered screen."""
        raise NotImplementedError

    @property
    def state(self) -> str:
        """What the bar says of the run."""
        raise NotImplementedError

    @property
    def running(self) -> bool:
        """Whether the watched program still goes."""
        raise NotImplementedError

    @property
    def outdated(self) -> bool:
        """Whether the trace was read anew since the rules were asked."""
        raise NotImplementedError

    @property
    def report(self) -> Report | None:
        """What the rules said of the trace, once they have been asked."""
        raise NotImplementedError

    async def action_page(self, name: str) -> None:
        """Shows the screen with this name."""
        raise NotImplementedError

    async def action_page_before(self) -> None:
        """Shows the screen that was shown before this one."""
        raise NotImplementedError

    async def open_source(self, path: str, line: int) -> None:
        """Shows a line of the user's source."""
        raise NotImplementedError

    async def open_op(self, graph: int, op: int) -> None:
        """Shows one op in the graph."""
        raise NotImplementedError

    async def open_graph(self, graph: int) -> None:
        """Shows a graph."""
        raise NotImplementedError

    async def open_why(self, name: str) -> None:
        """Asks why `name` has a gradient, or has none."""
        raise NotImplementedError

    async def job(self, job: jobs.Job, *args: str) -> Any:
        """Runs what has to read the whole trace, beside the UI."""
        raise NotImplementedError

    def tell(self, message: str | None, *, wrong: bool = False) -> None:
        """Shows a message for a moment."""
        raise NotImplementedError

    def edit(self, path: str, line: int) -> None:
        """Opens the user's editor."""
        raise NotImplementedError


def begin(
    of: DOMNode,
    work: Callable[..., Coroutine[Any, Any, None]],
    *args: Any,
    group: str = "default",
    exclusive: bool = False,
) -> None:
    """`work(*args)` as a worker of this node. Its coroutine is made when the worker begins: of one that was made
    before, and cancelled, Python says at the end that it was never awaited."""

    async def run() -> None:
        await work(*args)

    worker: WorkType[None] = run
    of.run_worker(worker, group=group, exclusive=exclusive)
