"""What became of edits that were tried, as a person reads it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TextIO

from gradscope.escape import one_line
from gradscope.model import Finding
from gradscope.render.terminal import Text, inline, print_rows
from gradscope.trying.attempts import Attempt
from gradscope.trying.numbers import numbers

_FIXED, _NOT = "bold green", "bold red"
_MOST = 5  # new findings that are told


def show(attempts: Sequence[Attempt], by_hand: Sequence[Finding], stream: TextIO) -> None:
    """Prints them, in colour where `stream` is a terminal."""
    print_rows(partial(rows, attempts, by_hand), stream)


def rows(attempts: Sequence[Attempt], by_hand: Sequence[Finding], width: int) -> Iterator[Text]:
    """Each finding with what its edits have done, then what else is to be said of that run. Last come the findings that
    have no edits, `by_hand`: nothing was tried of them."""
    for number, attempt in enumerate(attempts):
        if number:
            yield Text()
        for finding in attempt.findings:
            word, style = _verdict(attempt, finding)
            yield from _row(word, style, _named(finding), width)
        for text in _said(attempt):
            yield from _row("", "", text, width)
    for finding in by_hand:
        yield Text()
        yield from _row("by hand", "bold yellow", _named(finding), width)
        yield from _row("", "", f"fix: {finding.fix}", width)


def outcome(
    attempts: Sequence[Attempt],
    best: Attempt | None,
    by_hand: Sequence[Finding],
    written: Sequence[str] | None,
) -> Iterator[str]:
    """What became of the files, and of each finding whose edits are not in them, or would not be, why. `written`: their
    names; None where nobody has asked for that."""
    made = best.findings if best is not None else ()
    edits = f"the edits of {', '.join(dict.fromkeys(finding.code or 'the error' for finding in made))}"
    if written:
        yield f"written: {', '.join(written)}, with {edits}"
    elif best is None:
        yield (
            "no file was written: none of the edits works"
            if written is not None
            else "none of the edits works"
        )
    for attempt in attempts:
        for finding in attempt.findings:
            if finding not in made:
                yield f"not made: {_reason(attempt, finding)}"
    for finding in by_hand:
        yield f"not made: {_place(finding)} has no edit: see its fix above"


def _reason(attempt: Attempt, finding: Finding) -> str:
    """Why an attempt's edits are not kept."""
    name = _place(finding)
    worse = [one for one in attempt.new if one.severity != "note"]
    if attempt.failure:
        return f"{name}: the program fails with its edit"
    if attempt.doubt:
        return f"{name}: nothing can be said of its edit"
    if finding in attempt.left:
        return f"{name}: its edit can't be made beside the others"
    if finding not in attempt.gone:
        return f"{name}: it is still found with its edit"
    if worse:
        return f"{name}: with its edit comes {', '.join(map(_place, worse[:_MOST]))}"
    return f"{name}: what was tried together with it is still found"


def _place(finding: Finding) -> str:
    return _code(finding) + (f" ({finding.locations[0]})" if finding.locations else "")


def _verdict(attempt: Attempt, finding: Finding) -> tuple[str, str]:
    if attempt.failure:
        return "fails", _NOT
    if attempt.doubt:
        return "unclear", "bold yellow"
    if finding in attempt.left:
        return "left", "bold yellow"
    return ("gone", _FIXED) if finding in attempt.gone else ("stays", _NOT)


def _said(attempt: Attempt) -> Iterator[str]:
    if attempt.failure:
        yield f"with this edit the program fails: {attempt.failure}"
        return
    if attempt.doubt:
        yield attempt.doubt
        return
    if attempt.beyond:
        yield f"the program comes farther, and ends with {attempt.beyond}"
    if attempt.left:
        yield "left: its edits can't be made beside the others (--finding tries them alone)"
    yield from numbers(attempt.comparison, attempt.findings)
    for finding in attempt.new[:_MOST]:
        yield f"new: {_named(finding)}"
    if len(attempt.new) > _MOST:
        yield f"new: {len(attempt.new) - _MOST} more"


def _named(finding: Finding) -> str:
    where = f" ({finding.locations[0]})" if finding.locations else ""
    return f"{_code(finding)}: {finding.message}{where}"


def _code(finding: Finding) -> str:
    return f"{finding.severity}[{finding.code}]" if finding.code else finding.severity


def _row(word: str, style: str, text: str, width: int) -> Iterator[Text]:
    lead = f"{word:>7}  "
    for line in textwrap.wrap(one_line(text), max(width - len(lead), 30), break_long_words=False) or [""]:
        yield Text.assemble((lead, style), inline(line))
        lead = " " * len(lead)
