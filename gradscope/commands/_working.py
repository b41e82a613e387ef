"""What stands on a terminal while something takes long: that it goes on, and for how long it has."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import TextIO

_LONG = 2.0  # seconds


@contextmanager
def working(what: str, stream: TextIO | None) -> Iterator[None]:
    """Around what may take long: from 2 s on its name and seconds stand in the last line of the terminal, and are gone
    afterwards. Nothing is written where `stream` is no terminal, or closed."""
    if stream is None or stream.closed or not stream.isatty():
        yield
        return
    over = threading.Event()
    teller = threading.Thread(target=_tell, args=(what, stream, over), daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()


def _tell(what: str, stream: TextIO, over: threading.Event) -> None:
    began, text = monotonic(), ""
    if over.wait(_LONG):
        return
    with suppress(OSError, ValueError):  # the terminal is gone
        while True:
            text = f"gradscope: {what}, {monotonic() - began:.0f} s"
            stream.write(f"\r{text}")
            stream.flush()
            if over.wait(1):
                break
        stream.write(f"\r{' ' * len(text)}\r")
        stream.flush()
