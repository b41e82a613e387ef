"""What takes long says on a terminal that it goes on."""

from __future__ import annotations

import io
import os

from gradscope.commands._working import working


def test_a_terminal_shows_what_takes_long_and_then_nothing_of_it() -> None:
    master, slave = os.openpty()
    seen = ""
    with os.fdopen(slave, "w") as terminal:
        with working("counting", terminal):
            while " s" not in seen:
                seen += os.read(master, 1000).decode()
        seen += os.read(master, 1000).decode()
        with working("done at once", terminal):
            pass
        terminal.write("the end")
        terminal.flush()
        seen += os.read(master, 1000).decode()
    os.close(master)
    first, *_, cleared, end = seen.split("\r")[1:]
    assert first.startswith("gradscope: counting, ") and not cleared.strip() and len(cleared) >= len(first)
    assert end == "the end"


def test_nothing_is_written_where_there_is_no_terminal() -> None:
    file = io.StringIO()
    with working("counting", file):
        pass
    assert file.getvalue() == ""
