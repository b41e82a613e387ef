"""`%load_ext gradscope` and `%%gradscope`: a cell of a notebook under watch.

The cell is not handed to a magic, which would have to run it: it runs as any other cell does, with its display, its
errors and its `await`, between two events that IPython sends.
"""

from __future__ import annotations

import re
import shlex
import sys
from keyword import iskeyword
from typing import Any

import click

from gradscope import watch
from gradscope.model import GradscopeError
from gradscope.scope import Scope

_FIRST = re.compile(r"\s*%%gradscope\b(?!\?)[ \t]*(?P<args>[^\n]*)")


@click.command("%%gradscope", add_help_option=False)
@click.option("--full", is_flag=True, help="Look at every step, also when the graph repeats.")
@click.option("--prove", is_flag=True, help="For a corrupted gradient, always compute the right one too.")
@click.option("--select", multiple=True, metavar="CODES", help="Only these rules, by prefix: GS201,GS3.")
@click.option("--graph", is_flag=True, help="Also draw the graph.")
@click.argument("name", default="scope")
def _options(**_: Any) -> None:
    """Watch the cell, and show below it what was found. NAME is the variable that holds the watch afterwards."""


class _Cells:
    """Watches the cells that begin with `%%gradscope`."""

    def __init__(self, shell: Any):
        self.shell = shell
        self.running = 0  # cells, one within the other
        self.scope: Scope | None = None
        self.watched = 0  # how many cells ran when it began
        self.asked: dict[str, Any] = {}

    def before(self, info: Any) -> None:
        """Before a cell runs."""
        self.running += 1
        if (found := _FIRST.match(info.raw_cell or "")) is not None:
            self._begin(found["args"])

    def after(self, result: Any) -> None:
        """After a cell has run, or failed."""
        self.running = max(self.running - 1, 0)
        if self.scope is None or self.running >= self.watched:
            return
        scope, self.scope = self.scope, None
        scope.end(result.error_in_exec, f"In [{result.execution_count}]")
        if result.error_before_exec is not None:  # no Python: nothing has run
            return
        display = sys.modules["IPython.display"].display
        self.shell.user_ns[self.asked["name"]] = scope
        try:
            display(scope)
            if self.asked["graph"]:
                display(scope.graph())
        except GradscopeError as error:
            print(f"gradscope: {error}", file=sys.stderr)

    def magic(self, line: str, cell: str) -> None:
        """%%gradscope [--full] [--prove] [--select CODES] [--graph] [NAME]

        Watches the cell, and shows below it what was found. NAME is the variable that holds the watch afterwards
        (`scope`). --full: look at every step, also when the graph repeats. --prove: for a corrupted gradient, always
        compute the right one too. --select: only these rules, by prefix (GS201,GS3). --graph: also draw the graph.
        """
        # called only below another magic: a cell within a cell
        self.running += 1
        self._begin(line)
        self.running -= 1
        self.shell.run_cell(f"# %%gradscope {line}\n{cell}")

    def for_python(self, lines: list[str]) -> list[str]:
        """The text of a cell with its first line a comment, so that the others keep their numbers; a magic of the whole
        cell that stands below it comes first, as it must."""
        if self.running or not lines or not _FIRST.match(lines[0]):
            return lines
        below = 1 + (len(lines) > 1 and lines[1].startswith("%%"))
        return [*lines[1:below], "# " + lines[0].lstrip(), *lines[below:]]

    def _begin(self, args: str) -> None:
        try:
            self.asked = dict(_options.make_context("%%gradscope", shlex.split(args)).params)
            if not self.asked["name"].isidentifier() or iskeyword(self.asked["name"]):
                raise GradscopeError(f"`{self.asked['name']}` is no name for a variable")
            scope = watch(not self.asked["full"], self.asked["prove"], select=self.asked["select"])
            scope.name = self.asked["name"]
            self.scope, self.watched = scope.begin(sys._getframe(1)), self.running
        except (click.ClickException, GradscopeError, ValueError) as error:
            said = error.format_message() if isinstance(error, click.ClickException) else str(error)
            print(f"gradscope: {said.rstrip('.')}: the cell runs unwatched", file=sys.stderr)


def load(shell: Any) -> None:
    """What `%load_ext gradscope` calls."""
    unload(shell)
    cells = shell.gradscope_cells = _Cells(shell)
    shell.events.register("pre_run_cell", cells.before)
    shell.events.register("post_run_cell", cells.after)
    shell.input_transformers_cleanup.append(cells.for_python)
    shell.register_magic_function(cells.magic, "cell", "gradscope")


def unload(shell: Any) -> None:
    """What `%unload_ext gradscope` calls."""
    cells = getattr(shell, "gradscope_cells", None)
    if cells is None:
        return
    shell.gradscope_cells = None
    shell.events.unregister("pre_run_cell", cells.before)
    shell.events.unregister("post_run_cell", cells.after)
    shell.input_transformers_cleanup.remove(cells.for_python)
    shell.magics_manager.magics["cell"].pop("gradscope", None)
