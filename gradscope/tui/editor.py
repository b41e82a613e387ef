"""The user's files on disk: whether they are still what ran, an editor for them, and
`# gradscope: ignore` comments written into them."""

from __future__ import annotations

import os
import re
import shlex
import tokenize
from pathlib import Path

from gradscope.model import GradscopeError
from gradscope.suppress import comment_on

_PLUS_LINE = {"vi", "vim", "nvim", "nano", "emacs", "emacsclient", "kak", "micro", "joe", "mg", "ed", "ne"}
_COLON_LINE = {"hx", "helix", "subl", "zed"}


def difference(path: str, recorded: str) -> str | None:
    """What happened to a file since it ran, as a sentence; None where it is as it was."""
    try:
        with tokenize.open(path) as file:
            now = file.read()
    except OSError:
        return "is gone since the run: shown as it ran"
    except (SyntaxError, UnicodeDecodeError):
        return "can't be read any more: shown as it ran"
    same = now.splitlines() == recorded.splitlines()
    return None if same else "has changed since the run: shown as it ran"


def command(path: str, line: int) -> list[str]:
    """What to run to edit a file at a line, by $VISUAL or $EDITOR. Raises GradscopeError."""
    if not Path(path).is_file():
        raise GradscopeError(f"{path} is gone: there is nothing to edit")
    chosen = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    words = shlex.split(chosen)
    if not words:
        raise GradscopeError("$EDITOR is empty")
    name = Path(words[0]).stem
    if name in ("code", "codium", "cursor"):
        return [*words, "--wait", "--goto", f"{path}:{line}"]
    if name in _COLON_LINE:
        return [*words, f"{path}:{line}"]
    return [*words, f"+{line}", path] if name in _PLUS_LINE else [*words, path]


def with_ignore(path: str, line: int, recorded: str, code: str) -> str:
    """The line as it would be with a comment that silences `code`. Raises GradscopeError where the
    file on disk no longer has the line that ran."""
    return comment_on(_line(path, line, recorded), code)


def write_ignore(path: str, line: int, recorded: str, code: str) -> None:
    """Puts that comment into the file, and changes nothing else of it."""
    wanted = with_ignore(path, line, recorded, code)
    try:
        with tokenize.open(path) as file:
            encoding = file.encoding
        text = Path(path).read_bytes().decode(encoding)
        lines = re.split(r"(\r\n|\n|\r)", text)
        lines[2 * (line - 1)] = wanted
        Path(path).write_bytes("".join(lines).encode(encoding))
    except (OSError, SyntaxError, UnicodeError) as error:
        raise GradscopeError(f"cannot write {path}: {error}") from None


def _line(path: str, line: int, recorded: str) -> str:
    try:
        with tokenize.open(path) as file:
            now = file.read().split("\n")
    except (OSError, SyntaxError, UnicodeDecodeError) as error:
        raise GradscopeError(f"cannot read {path}: {error}") from None
    then = recorded.split("\n")
    if not 0 < line <= min(len(now), len(then)) or now[line - 1] != then[line - 1].rstrip("\r"):
        raise GradscopeError(f"{Path(path).name}:{line} has changed since the run: run again first")
    return now[line - 1]
