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
from gradscope.model import Finding, GradscopeError, Op

if TYPE_CHECKING:
    from gradscope.answers import Answer
    from gradscope.graph import View
    from gradscope.store import LineWork


class Trace(store.Trace):
    """A saved trace. Opening one runs no code that came with it, and needs no torch."""

    @cached_property
    def findings(self) -> list[Finding]:
        """What the rules say about this run, most severe first."""
        from gradscope.check import check

        return check(self)

    def why(self, name: str) -> Explanation:
        """Why a parameter (`layer1.weight`), a variable (`loss`) or what a place made (`train.py:31`) has (no)
        gradient. Raises GradscopeError where nothing, or more than one thing, is called so."""
        from gradscope.answers import why

        return Explanation(why(self, name), self)

    @cached_property
    def without_gradient(self) -> list[Explanation]:
        """Of each parameter that requires a gradient and got none in the run, why; in the model's order."""
        from gradscope.analysis.reach import paths
        from gradscope.answers import of_parameters

        known = paths(self)
        wanted = [p for p in self.parameters if p.requires_grad and (p.registered or p.optimizers)]
        answers = of_parameters(self, [p.id for p in wanted if not known.has_gradient(p)])
        return [Explanation(answer, self) for answer in answers.values()]

    def built(self, place: str) -> LineWork:
        """What a line (`train.py:31`) built, over all distinct graphs of the run: how many operations and `grad_fn`
        nodes, how many cuts and in-place writes. Raises GradscopeError where `place` is none, or nothing was seen."""
        from gradscope.answers import place_in
        from gradscope.store import Pages

        work = Pages(self).work_by_line()
        return work[place_in(place, work)]

    def cuts(self, loss: str, parameter: str) -> list[Op]:
        """The calls at which the gradient is lost between a loss (a variable, or the place of its `backward()`:
        `train.py:40`) and a parameter, nearest to the loss first; each says where it stands (`op.site.user.line`) and
        what cuts (`op.name`). None where the gradient arrives, or where the loss does not depend on it at all.
        Raises GradscopeError where nothing is called so, or no parameter or more than one is."""
        from gradscope.answers import cuts_between

        return cuts_between(self, loss, parameter)

    def picture(self, level: str | None = None, **options: Any) -> Picture:
        """The graph at "module", "line" or "op" level (without one, what suits the program), with the findings."""
        return picture(self, level, **options)

    def __repr__(self) -> str:
        from gradscope.render.notebook import run_words

        return f"<gradscope trace of {run_words(self)}; .findings, .without_gradient, .why(name), .picture()>"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        from gradscope.render.notebook import trace

        return {"text/plain": repr(self), "text/html": trace(self)}


@dataclass(repr=False)
class Explanation:
    """An answer to "why (not)?", which shows itself: at a prompt as text, in a notebook as well. With a `trace`
    it has the lines of the source."""

    answer: Answer
    trace: store.Trace | None = None

    @property
    def headline(self) -> str:
        """The answer in a sentence."""
        return self.answer.headline

    @property
    def seen(self) -> list[str]:
        """What was measured."""
        return self.answer.seen

    @property
    def fix(self) -> str:
        """What to do; "" where there is nothing to do, or it is not known."""
        return self.answer.fix

    def __str__(self) -> str:
        from gradscope.render.answer import render

        return render(self.trace, self.answer).rstrip("\n")

    __repr__ = __str__

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        from gradscope.render.notebook import answer

        return {"text/plain": str(self), "text/html": answer(self.trace, self.answer)}


@dataclass(repr=False)
class Picture:
    """A view that draws itself. `view` is the graph with all that is told about it."""

    view: View

    @cached_property
    def graph(self) -> Any:
        """A networkx.MultiDiGraph of it; gradscope.graph lists its attributes."""
        return self.view.graph.networkx()

    @property
    def notes(self) -> list[str]:
        """What the reader should know: what was left out, and why."""
        return self.view.notes

    def render(self, path: str | Path) -> Path:
        """Writes a picture; the suffix says which kind: .svg, .png, .pdf, .dot, .mmd, .graphml or .json. Raises
        GradscopeError for another suffix and where it can't be written."""
        from gradscope.render.pictures import draw

        return draw(self.view, Path(path))

    def __str__(self) -> str:
        return str(self.view)

    def __repr__(self) -> str:
        return f'{self}\n`.render("graph.svg")` draws it'

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        from gradscope.render.picture import svg

        try:
            return {"image/svg+xml": svg(self.view), "text/plain": str(self)}
        except GradscopeError as error:
            return {"text/plain": f"{self}\n{error}"}


def picture(
    trace: store.Trace,
    level: str | None = None,
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
    from gradscope.render.picture import screens

    marked = check(trace) if findings is None else findings
    return Picture(view(trace, level, marked, step=step, around=around, depth=depth, extent=screens))
