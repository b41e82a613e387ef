"""Rows of text on their way to a stream: in colour on a terminal, plain in a pipe."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TextIO

from gradscope.imports import undrawn

with undrawn():
    from rich.console import Console
    from rich.text import Text as Text  # others take it from here: what the program loads is another rich's

STYLES = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}
PIPE_WIDTH = 100
_MOST_WIDTH = 120
_CODE = re.compile(r"`[^`]+`")

Rows = Callable[[int], Iterable[Text]]  # width → rows


def to_plain(rows: Rows, width: int = PIPE_WIDTH) -> str:
    """The rows without colour."""
    return "".join(f"{row.plain.rstrip()}\n" for row in rows(width))


def print_rows(rows: Rows, stream: TextIO) -> None:
    """Prints rows as wide as the window. Minds NO_COLOR and FORCE_COLOR. Characters that
    the stream can't encode are replaced."""
    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    width = min(console.width, _MOST_WIDTH) if console.is_terminal else PIPE_WIDTH
    if not console.is_terminal or "utf" not in (stream.encoding or "utf-8").lower():
        stream.write(encodable(to_plain(rows, width), stream))
        return
    for row in rows(width):
        row.rstrip()
        console.print(row, soft_wrap=True)


def encodable(text: str, stream: TextIO) -> str:
    """`text` with what the stream's encoding lacks written as escapes."""
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def inline(text: str) -> Text:
    """Text in which `code` stands out."""
    row = Text(text)
    for match in _CODE.finditer(text):
        row.stylize("cyan", *match.span())
    return row
