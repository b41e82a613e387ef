"""What `gradscope.open()` and `gradscope.watch()` hand out: a trace that answers by itself, and its pictures.

Everything below is asked only when it is needed, so that opening a trace loads neither the rules nor the layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradscope import store
from gradscope.model import Finding, GradscopeError

if TYPE_CHECKING:
    from gradscope.graph import View


class Trace(store.Trace):
    """A saved trace. Opening one runs no code that came with it, and needs no torch."""

    @cached_property
    def findings(self) -> list[Finding]:
        """What the rules say about this run, most severe first."""
        from gradscope.check import check

        return check(self)

    def picture(self, level: str = "line", **options: Any) -> Picture:
        """The graph at "module", "line" or "op" level, with the findings on it."""
        return picture(self, level, **options)


@dataclass
class Picture:
    """A view that draws itself. `view` is the graph with all that is told about it."""

    view: View

    @property
    def graph(self) -> Any:
        """The networkx.MultiDiGraph; gradscope.graph lists its attributes."""
        return self.view.graph

    @property
    def notes(self) -> list[str]:
        """What the reader should know: what was left out, and why."""
        return self.view.notes

    def render(self, path: str | Path) -> Path:
        """Writes a picture; the suffix says which kind: .svg, .png or .dot. Raises GradscopeError
        for another suffix and where it can't be written."""
        from gradscope.render.picture import draw

        return draw(self.view, Path(path))

    def __str__(self) -> str:
        return str(self.view)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        from gradscope.render.picture import svg

        try:
            return {"image/svg+xml": svg(self.view), "text/plain": str(self)}
        except GradscopeError as error:
            return {"text/plain": f"{self}\n{error}"}


def picture(
    trace: store.Trace,
    level: str = "line",
    *,
    findings: Sequence[Finding] | None = None,
    step: int | None = None,
    around: str | None = None,
    depth: int | None = None,
) -> Picture:
    """The graph of `trace` at one level, with `findings` on it (by default what the rules say); the other
    options are those of `gradscope.graph.view`."""
    from gradscope.check import check
    from gradscope.graph import view

    marked = check(trace) if findings is None else findings
    return Picture(view(trace, level, marked, step=step, around=around, depth=depth))
