"""The terminal UI. Reads traces, as `check` does; nothing here knows torch.

Textual is imported when a UI starts: `gradscope --help` does without.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gradscope.model import GradscopeError
from gradscope.store import Trace

if TYPE_CHECKING:
    from gradscope.tui.app import Inspector


def view(path: Path, command: list[str] | None = None) -> int:
    """Shows the trace at `path` until the user leaves. command: a program that writes it, run
    beside the UI; then its exit code is given back. Raises GradscopeError for a file that is
    no trace, and where there is no terminal or no Textual."""
    # Textual draws on stderr: stdout may be redirected.
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise GradscopeError("the terminal UI needs a terminal: `gradscope check` prints the same findings")
    if command is None:
        Trace(path).close()  # a bad file is told before the screen is taken
    return inspector(path, command).show_all()


def inspector(path: Path, command: list[str] | None = None) -> Inspector:
    """The UI as a Textual app, not started."""
    try:
        from gradscope.tui.app import Inspector
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "textual":
            raise
        raise GradscopeError(
            "textual is not installed: `pip install textual` brings the terminal UI"
        ) from None
    return Inspector(path, command)
