"""The user's files, read and written byte for byte."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
import tokenize
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gradscope.model import GradscopeError


@dataclass(frozen=True)
class Stored:
    """A Python file as it lies on the disk, with its text as Python reads it."""

    path: str
    data: bytes
    text: str
    encoding: str

    def with_text(self, text: str) -> bytes:
        """The file's bytes with another text. Raises GradscopeError where its encoding lacks a character."""
        try:
            return text.encode(self.encoding)
        except UnicodeEncodeError:
            raise GradscopeError(f"the edits of {self.path} can't be written in {self.encoding}") from None


def stored(path: str) -> Stored | None:
    """None for a file that is not there, or is no text."""
    try:
        data = Path(path).read_bytes()
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return Stored(path, data, data.decode(encoding), encoding)
    except (OSError, SyntaxError, ValueError, LookupError):
        return None


def write(edits: Sequence[tuple[Stored, str]]) -> None:
    """Gives files their new text: all of them or none. Each is replaced at once, so that nobody finds half
    of one. Raises GradscopeError, and has changed nothing, where one can't be written or is not what it was."""
    ready: list[tuple[Stored, str, str]] = []  # with its real path and that of the new file
    replaced: list[tuple[Stored, str]] = []
    try:
        for old, text in edits:
            target = os.path.realpath(old.path)
            ready.append((old, target, _beside(target, old.with_text(text))))
        for old, target, _ in ready:
            if Path(target).read_bytes() != old.data:
                raise GradscopeError(f"{old.path} has changed meanwhile: nothing was written")
        for old, target, fresh in ready:
            os.replace(fresh, target)
            replaced.append((old, target))
    except OSError as error:
        for old, target in replaced:
            with suppress(OSError):
                Path(target).write_bytes(old.data)
        name = error.filename or "a file"
        raise GradscopeError(f"cannot write {name}: {error.strerror}: nothing was changed") from None
    finally:
        for _, _, fresh in ready:
            with suppress(OSError):
                os.unlink(fresh)


def _beside(target: str, data: bytes) -> str:
    """A new file in the same folder, with the rights of `target`."""
    if not os.access(target, os.W_OK):
        raise PermissionError(13, "it is read-only", target)
    handle, fresh = tempfile.mkstemp(prefix=".gradscope-", dir=os.path.dirname(target))
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    shutil.copymode(target, fresh)
    return fresh
