"""What `run` says on stderr once the program has ended: by then the stream may be gone."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TextIO


def say(text: str, stream: TextIO | None) -> None:
    """Writes a line of gradscope's own. A stream that takes nothing more is no fault of the
    program's: what was to be said is lost."""
    if stream is None:
        return
    try:
        stream.write(f"gradscope: {text}\n")
        stream.flush()
    except Exception:
        silence(stream)


def anew(stream: TextIO | None) -> TextIO | None:
    """The same place by a stream of its own: where a signal has come while the program was writing to this one, it
    takes nothing any more ("reentrant call")."""
    if stream is None:
        return None
    try:
        return os.fdopen(os.dup(stream.fileno()), "w", encoding=stream.encoding, errors=stream.errors)
    except (OSError, ValueError, AttributeError):  # no file, or closed
        return stream


def silence(stream: TextIO) -> None:
    """Lets what the stream still holds go nowhere: else the interpreter finds at its end that it
    can't be written, and changes the exit code."""
    with suppress(Exception):
        number = stream.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        if nowhere != number:
            os.dup2(nowhere, number)
            os.close(nowhere)
