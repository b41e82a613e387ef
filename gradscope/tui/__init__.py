"""The terminal UI. Reads traces, as `check` does; nothing here knows torch.

Textual is imported when a UI starts: `gradscope --help` does without.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gradscope.model import GradscopeError
from gradscope.places import FOLDER
from gradscope.store import Trace

if TYPE_CHECKING:
    from gradscope.tui.app import Inspector

_KILLED = 128 + 9  # the exit code of a shell


def view(path: Path, command: list[str] | None = None, folder: Path | None = None) -> int:
    """Shows the trace at `path` until the user leaves. command: a program that writes it, run
    beside the UI; then its exit code is given back. folder: of a run of several processes, of which it is one.
    Raises GradscopeError for a file that is
    no trace, and where there is no terminal or no Textual."""
    need_screen()
    if command is None:
        Trace(path).close()  # a bad file is told before the screen is taken
    app = inspector(path, command, folder)
    code = app.show_all()
    child = app.child
    if child is None or child.process_id is None:
        return code
    output = os.path.relpath(child.output)
    if not child.running:
        # One that is killed at once makes no report.
        held = ["its traceback"] * app.raised + ["the report"] * (child.exit_code != _KILLED)
        _tell(f"the program ended with exit code {child.exit_code}. {_held(held)} in {output}")
        return code
    if app.failed:
        _tell(f"a fault of the terminal UI has ended it. The program runs on: the rest of {output} follows")
        return child.go_on(_print)
    check = " ".join(["gradscope check", *([] if path.parent.name == FOLDER else [os.path.relpath(path)])])
    _tell(f"the program runs on, as process {child.process_id}. It prints to {output}, at its end the report")
    _tell("nothing can be typed for it any more: what it reads has ended")
    _tell(f"meanwhile `{check}` says what is wrong so far, `kill -INT {child.process_id}` interrupts it")
    return 0


def need_screen() -> None:
    """Raises GradscopeError where there is no terminal, or none that can be drawn on."""
    # Textual draws on stderr: stdout may be redirected.
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise GradscopeError("the terminal UI needs a terminal: `gradscope check` prints the same findings")
    if os.environ.get("TERM") == "dumb":
        raise GradscopeError(
            "the terminal UI cannot draw on a terminal of TERM=dumb: `gradscope check` prints the same findings"
        )


def _held(more: list[str]) -> str:
    """What is in the file of the program's output: it, and more."""
    *first, last = ["What it printed", *more]
    return f"{', '.join(first)} and {last} are" if first else f"{last} is"


def _tell(text: str) -> None:
    print(f"gradscope: {text}", file=sys.stderr)


def _print(text: str) -> None:
    with suppress(OSError):
        sys.stdout.write(text)
        sys.stdout.flush()


def inspector(path: Path, command: list[str] | None = None, folder: Path | None = None) -> Inspector:
    """The UI as a Textual app, not started."""
    try:
        from gradscope.tui.app import Inspector
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "textual":
            raise
        raise GradscopeError(
            "textual is not installed: `pip install textual` brings the terminal UI"
        ) from None
    return Inspector(path, command, folder)
