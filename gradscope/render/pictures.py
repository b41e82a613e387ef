"""The kinds of pictures: one file each, found by being in this folder.

A painter is a file with `PICTURES` (suffixes, without the dot) and `paint(view, kind) -> bytes`; with `WHOLE`, programs
read what it writes: no level is too large for them.
"""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

from gradscope import render
from gradscope.analysis.words import plural
from gradscope.graph import View, size
from gradscope.model import GradscopeError


@cache
def painters() -> dict[str, str]:
    """Kind (a suffix without its dot) → the module that paints it."""
    return {kind: module for module, said in render.outputs().items() for kind in said.get("PICTURES", ())}


def suffixes() -> list[str]:
    """Those of pictures, usual ones first."""
    return [f".{kind}" for kind in sorted(painters(), key=_rank)]


def whole(kind: str) -> bool:
    """Whether files of that kind are for programs, which have no trouble with many nodes."""
    return bool(render.outputs()[painters()[kind]].get("WHOLE"))


def size_words(view: View, kind: str) -> str:
    """ "12 boxes" of a picture, "40 nodes" of a file for programs."""
    return plural(len(view.graph), "node") if whole(kind) else plural(size(view.graph), "box")


def paint(view: View, kind: str) -> bytes:
    """The content of a file of that kind."""
    painter = importlib.import_module(painters()[kind])
    return bytes(painter.paint(view, kind))


def check_target(path: Path, others: Iterable[str] = ()) -> str:
    """The kind of picture for `path`, before any work is done. Raises GradscopeError, which names as well the suffixes
    of the `others` that whoever asks has written."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in painters():
        *most, last = dict.fromkeys([*suffixes(), *others])
        raise GradscopeError(
            f"can't tell from the name `{path}` what to write: end it in {', '.join(most)} or {last}"
        )
    render.check_place(path, "picture")
    return kind


def _rank(kind: str) -> tuple[int, str]:
    usual = ("svg", "png", "pdf", "dot")
    return (usual.index(kind) if kind in usual else len(usual)), kind


def draw(view: View, path: Path) -> Path:
    """Writes the picture that the suffix of `path` asks for, and gives its path. What was there stays until it is made.

    Raises GradscopeError for another suffix, a missing folder, or without a layout engine.
    """
    kind = check_target(path)
    content = paint(view, kind)
    try:
        handle, name = tempfile.mkstemp(
            dir=path.absolute().parent, prefix=f".{path.stem}-", suffix=path.suffix
        )
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            mask = os.umask(0)
            os.umask(mask)
            Path(name).chmod(0o666 & ~mask)
            Path(name).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(name).unlink()
            raise
    except OSError as error:
        raise GradscopeError(f"cannot write {path}: {error.strerror}") from None
    return path
