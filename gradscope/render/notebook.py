"""What a notebook shows of a report, an answer and a trace: HTML that fits the page (gradscope.cards)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

from gradscope import cards
from gradscope.analysis.names import relative
from gradscope.analysis.words import counted
from gradscope.check import Report
from gradscope.model import place_of
from gradscope.render.terminal import Text
from gradscope.render.text import summary
from gradscope.store import Trace

if TYPE_CHECKING:
    from gradscope.answers import Answer

_MOST = 20  # findings with their source; the others get a line each


def report(of: Report, scope: str) -> str:
    """The findings of the watch of that name, most severe first, and what is said below them."""
    told: set[tuple[str, str]] = set()
    parts = [part for found in of.findings[:_MOST] for part in cards.finding_parts(found, told)]
    parts += [
        f"<div>{cards.sentence(f'{found.severity} {found.code}: {found.message}')}</div>"
        for found in of.findings[_MOST:]
    ]
    fields = [
        (label, text)
        for label, texts in summary(of, scope=scope)
        for text in ([texts.plain] if isinstance(texts, Text) else texts)
    ]
    return cards.block([*parts, cards.table(fields)])


def answer(trace: Trace | None, of: Answer) -> str:
    """An answer to "why?", with the lines that it leads through. trace: None for one about live tensors."""
    cwd = str(trace.program.get("cwd") or "") if trace is not None else ""
    parts = [f'<p style="margin:.4em 0"><b>{cards.sentence(of.headline)}</b></p>']
    for step in of.steps:
        site = step.site
        lines = trace.source_file(site.path).lines[site.line - 1 : site.end_line] if trace is not None else []
        span = SimpleNamespace(
            line=site.line, end_line=site.end_line, column=site.column if step.main else 0,
            end_column=site.end_column,
        )  # fmt: skip
        parts.append(cards.source(place_of(relative(site.path, cwd), site.line), step.label, lines, span))
    fields = [("seen", text) for text in of.seen] + ([("fix", of.fix)] if of.fix else [])
    return cards.block([*parts, cards.table(fields)])


def trace(of: Trace) -> str:
    """What a trace is of, and what can be asked of it."""
    asked = "`trace.findings`, `trace.why(name)`, `trace.picture()`"
    return cards.block([cards.table([("trace", run_words(of)), ("in", str(of.path)), ("ask", asked)])])


def run_words(of: Trace) -> str:
    """`train.py: 3 steps, 3 backward passes, 4 parameters`."""
    program, counts = of.program, of.summary
    name = relative(str((program.get("argv") or ["a program"])[0]), str(program.get("cwd") or ""))
    end = "" if program.get("ended", True) else "; it has not ended yet, or was killed"
    return (
        f"{name}: {counted(counts['steps'], 'step')}, {counted(counts['passes'], 'backward pass')}, "
        f"{counted(len(of.parameters), 'parameter')}{end}"
    )
