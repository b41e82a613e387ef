"""Edited files in place of those on the disk, for this process and what it starts: nothing is written.

Python reads the source of a script or a module through `io.open_code`, whoever has found it (the usual
importer, an editable install, `runpy`). Bytecode that is cached is of the file on the disk, and is passed by.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import io
import linecache
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradscope.source import lines_of

_READERS: tuple[Any, ...] = (io, importlib.import_module("_io"))  # the importer knows the other one


@dataclass(frozen=True)
class Overlay:
    """path → its text, and the encoding to hand that out in. `read` is the file in which each of them is noted when
    a process loads it."""

    texts: Mapping[str, tuple[str, str]]
    read: Path

    def install(self) -> None:
        """From now on each file has its text here, and in what this process forks."""
        files = {os.path.realpath(path): (path, *found) for path, found in self.texts.items()}
        real_open, real_stats = io.open_code, importlib.machinery.SourceFileLoader.path_stats

        def open_code(path: str) -> Any:
            found = files.get(os.path.realpath(path))
            if found is None:
                return real_open(path)
            known, text, encoding = found
            _show(path, text)
            with self.read.open("a", encoding="utf-8") as file:
                file.write(f"{known}\n")
            return io.BytesIO(text.encode(encoding))

        def path_stats(loader: Any, path: str) -> Any:
            if os.path.realpath(path) in files:
                raise OSError("not that of the disk")
            return real_stats(loader, path)

        for module in _READERS:
            module.open_code = open_code
        loads: Any = importlib.machinery.SourceFileLoader
        loads.path_stats = path_stats
        for path, (text, _) in self.texts.items():
            _show(path, text)

    def hand_on(self) -> None:
        """The processes that `multiprocessing` starts anew have them too: what it tells such a one is read there
        before the program's files are."""
        from multiprocessing import spawn

        own: Any = spawn
        real: Callable[[str], dict[str, Any]] = own.get_preparation_data

        def told(name: str) -> dict[str, Any]:
            data = real(name)
            return {**data, "sys_argv": _Installs(data["sys_argv"], self)}

        own.get_preparation_data = told


class _Installs(list[str]):
    """A list that installs edits where it is unpickled."""

    def __init__(self, items: list[str], overlay: Overlay):
        super().__init__(items)
        self._overlay = overlay

    def __reduce__(self) -> Any:
        return _installed, (list(self), self._overlay)


def _installed(items: list[str], overlay: Overlay) -> list[str]:
    overlay.install()
    return items


def _show(path: str, text: str) -> None:
    """What tracebacks and `inspect` quote. Without a time, `linecache` does not look at the disk again."""
    linecache.cache[path] = (len(text), None, lines_of(text, keep_ends=True), path)
