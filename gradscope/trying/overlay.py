"""Edited files in place of those on the disk, for this process and what it forks: nothing is written.

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
from typing import Any

from gradscope.source import lines_of

_READERS: tuple[Any, ...] = (io, importlib.import_module("_io"))  # the importer knows the other one


def install(texts: Mapping[str, tuple[str, str]], read: Callable[[str], None]) -> None:
    """From now on each file has its text, in its encoding, here. `read` is told when the program loads one."""
    files = {os.path.realpath(path): (path, *found) for path, found in texts.items()}
    real_open, real_stats = io.open_code, importlib.machinery.SourceFileLoader.path_stats

    def open_code(path: str) -> Any:
        found = files.get(os.path.realpath(path))
        if found is None:
            return real_open(path)
        known, text, encoding = found
        _show(path, text)
        read(known)
        return io.BytesIO(text.encode(encoding))

    def path_stats(loader: Any, path: str) -> Any:
        if os.path.realpath(path) in files:
            raise OSError("not that of the disk")
        return real_stats(loader, path)

    for module in _READERS:
        module.open_code = open_code
    loads: Any = importlib.machinery.SourceFileLoader
    loads.path_stats = path_stats
    for path, (text, _) in texts.items():
        _show(path, text)


def _show(path: str, text: str) -> None:
    """What tracebacks and `inspect` quote. Without a time, `linecache` does not look at the disk again."""
    linecache.cache[path] = (len(text), None, lines_of(text, keep_ends=True), path)
