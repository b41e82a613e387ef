"""Findings and answers as HTML for notebooks: no script, no class, and no style sheet, which front ends take out.

Colours are readable on light pages and dark ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from gradscope.escape import html, one_line

BADGES = {"error": "#b91c26", "warning": "#8a5a00", "note": "#2f6fab"}  # below white letters
_MARKED = "background:rgba(224,160,40,.30);border-bottom:2px solid rgba(200,120,0,.9)"
_PRE = (
    "margin:.15em 0 .5em;padding:.3em .6em;border-left:3px solid #888;overflow-x:auto;white-space:pre;"
    "font-family:ui-monospace,Menlo,monospace"  # a front end may give its `pre` the font of its text
)
_CODE = re.compile(r"`([^`]+)`")
_MOST = 6  # lines of one place


def block(parts: Iterable[str]) -> str:
    """What belongs together, in one box."""
    return f'<div style="text-align:left;line-height:1.45;max-width:64em">{"".join(parts)}</div>'


def finding(found: Any) -> str:
    """A `Finding`, with the source of its places."""
    return block(finding_parts(found))


def finding_parts(found: Any, told: set[tuple[str, str]] | None = None) -> list[str]:
    """The same without its box. What is in `told`, (code, text), has been said and is left out."""
    told = set() if told is None else told
    times = f" <i>{html(found.extent)}</i>" if found.extent else ""
    lead = f"{found.severity} {found.code}".strip()
    badge = (
        f'<b style="background:{BADGES[found.severity]};color:#fff;padding:.1em .5em;border-radius:.3em">'
        f"{html(lead)}</b>"
    )
    parts = [f'<p style="margin:.6em 0 .3em">{badge} <b>{sentence(found.message)}</b>{times}</p>']
    parts += [_place(place) for place in found.locations]
    fields = [("seen", text) for text in found.seen]
    for label, text in (("why", found.why), ("fix", found.fix)):
        if text and (found.code, text) not in told:
            told.add((found.code, text))
            fields.append((label, text))
    return [*parts, table(fields)]


def _place(place: Any) -> str:
    role = "" if place.role == "related" else place.role
    label = ": ".join(part for part in (role, place.label) if part)
    return source(str(place), label, place.source.split("\n") if place.source else [], place)


def source(where: str, label: str, lines: Sequence[str], span: Any) -> str:
    """A place: its name, what is said of it, its lines with the span of it marked. span: what has `line`, `column`,
    `end_line` and `end_column`, which begins in the first of `lines`."""
    said = f" {sentence(label)}" if label else ""
    head = f'<div style="font-size:92%"><span style="opacity:.75">{html(where)}</span>{said}</div>'
    if not any(lines):
        return head
    shown = "\n".join(_lines(lines, span))
    return f'{head}<pre style="{_PRE}">{shown}</pre>'


def _lines(lines: Sequence[str], span: Any) -> Iterable[str]:
    single = span.end_line <= span.line
    for number, text in enumerate(lines[:_MOST]):
        if number == 0 and single and 0 < span.column < span.end_column:
            start, end = span.column - 1, span.end_column - 1
            before, marked, after = text[:start], text[start:end], text[end:]
            yield f'{html(before)}<span style="{_MARKED}">{html(marked)}</span>{html(after)}'
        elif single:
            yield html(text)
        else:
            yield f'<span style="{_MARKED}">{html(text)}</span>'
    if len(lines) > _MOST:
        yield "…"


def table(fields: Iterable[tuple[str, str]]) -> str:
    """Labels with their sentences; a label that comes again is not said again."""
    rows, last = [], ""
    for label, text in fields:
        shown, last = ("" if label == last else label), label
        rows.append(
            '<tr style="background:none"><td style="text-align:right;vertical-align:top;opacity:.75">'
            f'{html(shown)}</td><td style="text-align:left;vertical-align:top">{sentence(text)}</td></tr>'
        )
    return f'<table style="border:none;margin:.2em 0 .8em">{"".join(rows)}</table>' if rows else ""


def sentence(text: str) -> str:
    """A line of ours, in which `code` stands out."""
    return _CODE.sub(r"<code>\1</code>", html(one_line(text)))
