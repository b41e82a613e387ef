"""An answer of `gradscope why`, as frames of source."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from functools import partial
from typing import TextIO

from gradscope.analysis.names import relative
from gradscope.answers import Answer, Step
from gradscope.escape import one_line
from gradscope.model import place_of
from gradscope.render.frames import GUTTER_STYLE, Frame, Mark
from gradscope.render.terminal import Text, inline, print_rows, to_plain
from gradscope.store import Trace


def render(trace: Trace | None, answer: Answer) -> str:
    """The answer, plain."""
    return to_plain(partial(answer_rows, trace, answer))


def show(trace: Trace, answer: Answer, stream: TextIO) -> None:
    """Prints the answer, in colour where `stream` is a terminal."""
    print_rows(partial(answer_rows, trace, answer), stream)


def answer_rows(trace: Trace | None, answer: Answer, width: int) -> Iterator[Text]:
    """Headline, the way through the source in its order, what was measured. trace: None for an answer about
    live tensors, which has no steps."""
    for line in textwrap.wrap(one_line(answer.headline), width):
        row = inline(line)
        row.stylize("bold")
        yield row
    cwd = str(trace.program.get("cwd") or "") if trace is not None else ""
    gutter = len(str(max((s.site.end_line for s in answer.steps), default=1)))
    for path, steps in _stretches(answer.steps):
        assert trace is not None
        marks = [_mark(step) for step in steps]
        frame = Frame(trace.lines(path), marks, gutter=gutter, width=width)
        yield Text.assemble(
            (" " * gutter + "-->", GUTTER_STYLE),
            f" {place_of(one_line(relative(path, cwd)), steps[0].site.line)}",
        )
        yield frame.edge()
        yield from frame.rows()
        yield frame.edge()
    for label, texts in (("seen", answer.seen), ("fix", [answer.fix] if answer.fix else [])):
        for number, text in enumerate(texts):
            head = f"{label:>5}: " if number == 0 else " " * 7
            for part, line in enumerate(textwrap.wrap(one_line(text), max(width - 7, 30))):
                yield Text.assemble((head if part == 0 else " " * 7, "bold"), inline(line))


def _stretches(steps: list[Step]) -> Iterator[tuple[str, list[Step]]]:
    """Steps in their order; a frame shows a file downwards, so going back up begins a new one."""
    stretch: list[Step] = []
    for step in steps:
        if stretch and (stretch[-1].site.path != step.site.path or stretch[-1].site.line >= step.site.line):
            yield stretch[0].site.path, stretch
            stretch = []
        stretch.append(step)
    if stretch:
        yield stretch[0].site.path, stretch


def _mark(step: Step) -> Mark:
    site = step.site
    return Mark(
        site.line, site.column, site.end_line, site.end_column, label=one_line(step.label),
        sign="^" if step.main else "-", style="bold yellow" if step.main else f"bold {GUTTER_STYLE}",
    )  # fmt: skip
