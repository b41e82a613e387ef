"""Where traces lie: `.gradscope/` beside where the user stands, the newest known as "last"; those of a run of
several processes in a folder of their own there."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gradscope.model import GradscopeError, NoPlaceError
from gradscope.ranks import stem_of

FOLDER = ".gradscope"
SUFFIX = ".gradscope"
_POINTER = "last"


def standing() -> Path:
    """The working directory; where it was removed, what the shell calls it."""
    try:
        return Path.cwd()
    except OSError:
        return Path(os.environ.get("PWD") or os.sep)


def new_trace_path(argv0: str, cwd: Path) -> Path:
    """A path for the trace of one run of `argv0`, reserved as an empty file.

    Lies in the temporary directory where `cwd` can't be written to.
    """
    name = f"{stem_of(argv0)}-{time.strftime('%Y%m%d-%H%M%S')}"
    try:
        return _reserve(_folder(cwd), name)
    except OSError:
        pass
    try:
        return _reserve(Path(tempfile.mkdtemp(prefix="gradscope-")), name)
    except OSError as error:
        raise NoPlaceError(f"no place for the trace: {error.strerror}") from None


def new_run_folder(name: str, cwd: Path) -> Path:
    """The folder of a run of several processes, which each of them may be the first to make.

    Lies in the temporary directory where `cwd` can't be written to.
    """
    try:
        folder = _folder(cwd) / name
        folder.mkdir(exist_ok=True)
        return folder
    except OSError:
        pass
    try:
        folder = Path(tempfile.gettempdir()) / f"gradscope-{os.getuid()}-{name}"
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder
    except (OSError, AttributeError) as error:
        raise NoPlaceError(f"no place for the traces: {error}") from None


def beside(trace: Path) -> Path:
    """The folder for the traces of a program's children, or of the ranks that were to write this one."""
    return trace.with_suffix("") if trace.suffix == SUFFIX else trace.with_name(f"{trace.name}-ranks")


def point_last(path: Path) -> None:
    """Makes a trace, or the folder of its run, the newest of its folder. Does nothing where that can't be written."""
    if path.parent.name != FOLDER and path.parent.parent.name == FOLDER:
        path = path.parent
    if path.parent.name != FOLDER:
        return
    pointer = path.parent / _POINTER
    fresh = path.parent / f"{_POINTER}.{os.getpid()}"
    with suppress(OSError):
        try:
            os.symlink(path.name, fresh)
        except (OSError, NotImplementedError):  # Windows without the right to make links
            fresh.write_text(path.name + "\n", encoding="utf-8")
        os.replace(fresh, pointer)


@contextmanager
def last_from_here(path: Path) -> Iterator[None]:
    """Makes a trace that is to be written the newest of its folder. An error in the block leaves all as it was, and
    an empty file at `path` is removed."""
    folder = path.parent if path.parent.name == FOLDER else path.parent.parent
    before = None
    with suppress(GradscopeError):
        before = last_trace(folder.parent)
    point_last(path)
    try:
        yield
    except Exception:
        with suppress(OSError):
            if folder.name == FOLDER and path.is_file() and not path.stat().st_size:
                path.unlink()
                (folder / _POINTER).unlink()
        if before is not None:
            point_last(before)
        raise


def last_trace(cwd: Path) -> Path:
    """The newest trace of `cwd`, or the folder of a run. Raises GradscopeError where there is none."""
    pointer = cwd / FOLDER / _POINTER
    if pointer.is_symlink():
        found = pointer.parent / os.readlink(pointer)
    elif pointer.is_file():
        try:
            text = pointer.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            raise GradscopeError(f"{pointer} can't be read: name a trace") from None
        found = pointer.parent / Path(text).name
    else:
        raise GradscopeError("no trace here yet: `gradscope run SCRIPT` makes one, or name a trace file")
    if not found.exists():
        raise GradscopeError(f"the last trace, {FOLDER}/{found.name}, is gone: name another, or run again")
    return found


def _folder(cwd: Path) -> Path:
    folder = cwd / FOLDER
    folder.mkdir(exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")
    return folder


def _reserve(folder: Path, name: str) -> Path:
    number = 1
    while True:
        path = folder / f"{name}{f'-{number}' if number > 1 else ''}{SUFFIX}"
        try:
            path.open("x").close()
            return path
        except FileExistsError:
            number += 1
