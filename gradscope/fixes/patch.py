"""The edits of findings, applied to the sources that a trace holds."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gradscope.model import Edit, Finding
from gradscope.source import lines_of


@dataclass(frozen=True)
class Patch:
    """Path → new text of every file that edits change. `made` are the findings whose edits these are, `left`
    those with edits that could not be made beside them."""

    texts: dict[str, str] = field(default_factory=dict)
    made: list[Finding] = field(default_factory=list)
    left: list[Finding] = field(default_factory=list)


def patched(sources: Mapping[str, str], findings: Iterable[Finding]) -> Patch:
    """The findings' edits, made in the files.

    A finding's edits are made together or not at all: not where they overlap those of an
    earlier finding, nor where the result would be no Python.
    """
    patch = Patch()
    texts = patch.texts
    done: dict[str, list[Edit]] = {}
    for finding in findings:
        if not finding.edits:
            continue
        fresh = [edit for edit in finding.edits if edit not in done.get(edit.path, ())]
        if any(edit.path not in sources or _overlaps(edit, done.get(edit.path, ())) for edit in fresh):
            patch.left.append(finding)
            continue
        tried = {
            path: changed(sources[path], [*done.get(path, ()), *(e for e in fresh if e.path == path)])
            for path in {edit.path for edit in fresh}
        }
        if not all(_is_python(text) for text in tried.values()):
            patch.left.append(finding)
            continue
        patch.made.append(finding)
        texts |= tried
        for edit in fresh:
            done.setdefault(edit.path, []).append(edit)
    return patch


def changed(text: str, edits: Sequence[Edit]) -> str:
    """The text with edits made in it, none of which overlap."""
    lines = lines_of(text, keep_ends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    if text and not text.endswith("\n"):  # an edit may name the line after the last
        starts[-1] = len(text)
    spans = sorted(
        (
            _offset(starts, e.line, e.column),
            _offset(starts, e.end_line, e.end_column),
            number,
            _ended(e, lines),
        )
        for number, e in enumerate(edits)
    )
    parts, place = [], 0
    for start, end, _, new in spans:
        parts += [text[place:start], new]
        place = max(place, end)
    return "".join([*parts, text[place:]])


def _ended(edit: Edit, lines: Sequence[str]) -> str:
    """What an edit puts in, with the line ends of the line that it stands at."""
    near = lines[min(edit.line, len(lines)) - 1] if lines else ""
    ends = near if near.endswith(("\r", "\n")) or not lines else lines[0]
    return edit.text.replace("\n", "\r\n") if ends.endswith("\r\n") else edit.text


def _offset(starts: list[int], line: int, column: int) -> int:
    return min(starts[min(line, len(starts)) - 1] + column - 1, starts[-1])


def _overlaps(edit: Edit, others: Iterable[Edit]) -> bool:
    start, end = (edit.line, edit.column), (edit.end_line, edit.end_column)
    for other in others:
        first, last = (other.line, other.column), (other.end_line, other.end_column)
        if (start < last and first < end) or start == end == first == last:
            return True
    return False


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True
