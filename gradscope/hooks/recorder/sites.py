"""Call sites, interned as a tree of (code, f_lasti): one dictionary look-up per frame."""

from __future__ import annotations

import inspect
import linecache
import opcode
import os
import re
import site as python_site
import stat
import sys
import sysconfig
import tokenize
from collections.abc import Callable
from functools import cache
from itertools import count
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any

import torch

from gradscope.places import standing
from gradscope.source import lines_of
from gradscope.store import TraceWriter
from gradscope.tracebacks import is_detour, is_own, real_path

_PACKAGE = str(Path(__file__).resolve().parent.parent) + os.sep
_TORCH = str(Path(torch.__file__).resolve().parent) + os.sep
_LIBRARY = tuple(
    {
        os.path.realpath(path) + os.sep
        for path in [
            *sysconfig.get_paths().values(),
            *python_site.getsitepackages(),
            python_site.getusersitepackages(),
        ]
        if path and os.path.basename(path) not in ("bin", "data", "scripts") and "python" in path.lower()
    }
)
_PACKAGES = re.compile(r"[\\/](?:site|dist)-packages(?=[\\/])")  # `pip install --target`, other environments
_CELL_NUMBER = re.compile(r"^In ?\[(\d+)\]$")
_CELL_FILE = re.compile(r"ipython-input-(\d+)-")
MAX_STACK = (
    65  # numbers, two a frame, in a stack that is looked up whole: a deep recursion has too many of them
)
PREPARES = opcode.opmap.get("PRECALL")  # only CPython 3.11 has it
PREPARED = 4  # bytes from there to the call: the instruction and its one cache entry
_RECORDS = (".dist-info", ".egg-info")  # what pip leaves beside what it installs


def kind_of(path: str, main: str | None = None) -> str:
    """ "own" (gradscope's frames, never shown), "torch", "library" or "user"."""
    if is_own(path):
        return "own"
    path = real_path(path)
    if path.startswith(_TORCH):
        return "torch"
    if main is not None and path == main:
        return "user"
    if path.startswith("<") and not path.startswith(("<ipython", "<string", "<stdin", "<doctest", "<cell")):
        return "library"
    if path.startswith(_PACKAGE):  # the rules' examples are programs under watch
        return "user"
    return "library" if path.startswith(_LIBRARY) or _is_installed(path, main) else "user"


def own_line(function: Any, main: str | None) -> int | None:
    """The first line of a function that the user wrote; None for other functions, and what is none."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code.co_firstlineno if code is not None and kind_of(code.co_filename, main) == "user" else None


def _is_installed(path: str, main: str | None) -> bool:
    """Whether it lies in a folder of packages: a project's own folder may be called so too."""
    folders = [path[: match.end()] for match in _PACKAGES.finditer(path)]
    program = {os.path.dirname(main or ""), str(standing())}
    searched = {real_path(entry) for entry in sys.path if isinstance(entry, str) and entry} - program
    if any(folder in searched or _has_records(folder) for folder in folders):
        return True
    # as `pip install --target` makes them; the records of a project's own code lie elsewhere
    return any(path.startswith(entry + os.sep) and _has_records(entry, _RECORDS[:1]) for entry in searched)


@cache
def _has_records(folder: str, kinds: tuple[str, ...] = _RECORDS) -> bool:
    try:
        return any(name.endswith(kinds) for name in os.listdir(folder))
    except OSError:  # an archive, say
        return True


class SiteNode:
    """One frame position below its parent."""

    __slots__ = ("children", "frames", "id", "kind")

    def __init__(self, id: int, kind: str, frames: frozenset[tuple[int, int]] = frozenset()):
        self.id = id
        self.kind = kind
        self.frames = (
            frames  # the positions on the way to it, each once however often a function calls itself
        )
        self.children: dict[tuple[int, int], SiteNode] = {}


def _call_at(code: CodeType, lasti: int) -> int:
    """Where the call stands that is prepared there. CPython 3.11 calls what is built in already while it prepares the
    call, once it has specialized that: from then on the frame stands at another instruction of the same expression."""
    prepares = PREPARES is not None and 0 <= lasti < len(code.co_code) and code.co_code[lasti] == PREPARES
    return lasti + PREPARED if prepares else lasti


class SiteTree:
    """Interns stacks and writes each new site to the trace once."""

    def __init__(self, writer: TraceWriter, main: str | None):
        self.writer = writer
        self.main = main
        self.root = SiteNode(0, "own")
        self.anchors: dict[int, SiteNode] = {}  # id of a live frame → the site it stands at
        # By site, each number given once: another thread's exception may end any of our lines, and a
        # signal handler add sites between two of them.
        self._numbers = count(1)
        self.nodes: dict[int, SiteNode] = {0: self.root}
        self.users: dict[int, int] = {0: 0}  # its innermost frame in the user's code
        self.places: dict[int, tuple[str, int, str]] = {0: ("", 0, "")}  # (path, line, function)
        self._codes: dict[int, CodeType] = {}  # keeps each code alive, so that its id stays its own
        # A frame that several ask for during one call, and its site: let go before the call returns.
        self.held: FrameType | None = None
        self.held_at = 0
        self._stacks: dict[tuple[int, ...], int] = {}  # (code, f_lasti, …, site they are below) → site
        self._files: dict[str, tuple[int, str]] = {}
        self._file_numbers = count(1)
        self._kinds: dict[int, str] = {}
        self._cells: set[str] = set()
        # Told of each new place where the user's code calls a `forward` itself: (frame, its code, site).
        self.on_forward: Callable[[FrameType | None, CodeType, int], None] | None = None

    def current(self, frame: FrameType | None) -> int:
        """The id of the stack that ends in `frame`."""
        if frame is not None and frame is self.held:
            return self.held_at
        stack: list[int] = []
        anchors = self.anchors
        node = self.root
        at = frame
        while at is not None:
            anchored = anchors.get(id(at))
            if anchored is not None:
                node = anchored
                break
            stack += id(at.f_code), at.f_lasti
            at = at.f_back
        stack.append(node.id)
        key = tuple(stack)
        known = self._stacks.get(key)
        if known is not None:
            return known
        site = self._below(node, frame, at)
        if len(key) <= MAX_STACK:
            self._stacks[key] = site
        return site

    def _below(self, node: SiteNode, innermost: FrameType | None, outer: FrameType | None) -> int:
        """The site of `innermost`, where `node` is the one of `outer`; each new place is added."""
        path = []
        frame = innermost
        while frame is not None and frame is not outer:
            path.append((frame.f_code, frame.f_lasti))
            frame = frame.f_back
        for code, lasti in reversed(path):
            child = node.children.get((id(code), lasti))
            if child is None:
                child = self._child(node, code, lasti)
                if code.co_name == "forward" and node.kind == "user" and self.on_forward is not None:
                    self.on_forward(innermost, code, node.id)
            node = child
        return node.id

    def kind(self, code: CodeType) -> str:
        """Whose code it is: user, library, torch or own."""
        return self._file(code.co_filename)[1]

    def of_user(self, frame: FrameType | None) -> FrameType | None:
        """The innermost frame of the program's own."""
        while frame is not None and self.kind(frame.f_code) != "user":
            frame = frame.f_back
        return frame

    def anchor(self, frame: FrameType, outermost: bool = False) -> None:
        """Fixes the site of a frame that stays where it is until `release`; `outermost`
        leaves it and all outside it out of every stack."""
        self.anchors[id(frame)] = self.root if outermost else self.nodes[self.current(frame)]

    def release(self, frame: FrameType) -> None:
        self.anchors.pop(id(frame), None)

    def below(self, site: int, code: CodeType) -> int:
        """The first line of `code` (of its decorators), as a frame below `site`."""
        node = self.nodes[site]
        child = node.children.get((id(code), -1))
        return (child if child is not None else self._add(node, code, -1)).id

    def within(self, site: int, code: CodeType, lasti: int) -> int:
        """This position of `code`, as a frame below `site`."""
        return self._child(self.nodes[site], code, lasti).id

    def of_traceback(self, traceback: TracebackType) -> int:
        """The id of the stack that an exception went up through, down to where it was raised."""
        node = self.nodes[self.current(traceback.tb_frame.f_back)]
        entry: TracebackType | None = traceback
        while entry is not None:
            code, lasti = entry.tb_frame.f_code, entry.tb_lasti
            node = self._child(node, code, lasti)
            entry = entry.tb_next
        return node.id

    def _child(self, parent: SiteNode, code: CodeType, lasti: int) -> SiteNode:
        """This position of `code` below a site: the same one before and after Python has specialized the call."""
        child = parent.children.get((id(code), lasti))
        if child is None:
            called = _call_at(code, lasti)
            child = parent.children.get((id(code), called)) or self._add(parent, code, called)
            parent.children[id(code), lasti] = child
        return child

    def _add(self, parent: SiteNode, code: CodeType, lasti: int) -> SiteNode:
        self._codes[id(code)] = code
        file, kind = self._file(code.co_filename)
        if kind == "own" or is_detour(code.co_filename):
            # Our frames (and the detour torch takes for us) are no part of the user's stack.
            parent.children[id(code), lasti] = parent
            return parent
        positions = list(code.co_positions())
        line, end_line, column, end_column = (
            positions[lasti // 2] if 0 <= lasti // 2 < len(positions) else (None, None, None, None)
        )
        line = line or code.co_firstlineno
        start, end = self.columns(code.co_filename, line, end_line or line, column, end_column)
        name = code.co_qualname if hasattr(code, "co_qualname") else code.co_name
        at = (id(code), lasti)
        frames = parent.frames if at in parent.frames else parent.frames | {at}
        node = SiteNode(next(self._numbers), kind, frames)
        self.nodes[node.id] = node
        self.users[node.id] = node.id if kind == "user" else self.users[parent.id]
        self.places[node.id] = (code.co_filename, line, name)
        self.writer.add("site", node.id, parent.id or None, file, line, start, end_line or line, end, name)
        parent.children[id(code), lasti] = node  # last: what is found there has its row
        return node

    @staticmethod
    def columns(path: str, line: int, end_line: int, start: int | None, end: int | None) -> tuple[int, int]:
        """Byte offsets → characters, from 1, end exclusive; the whole line where unknown."""
        lines = source_lines(path)
        first, last = (lines[n - 1] if 0 < n <= len(lines) else "" for n in (line, end_line))
        if start is None or end is None:
            return len(first) - len(first.lstrip()) + 1, max(len(last.rstrip()), 1) + 1
        if not first.isascii():
            start = len(first.encode()[:start].decode(errors="ignore"))
        if not last.isascii():
            end = len(last.encode()[:end].decode(errors="ignore"))
        return start + 1, end + 1

    def _file(self, path: str) -> tuple[int, str]:
        known = self._files.get(path)
        if known is None:
            known = (next(self._file_numbers), kind_of(path, self.main))
            number, kind = known
            if kind != "own":
                source = _text(path) or None if kind == "user" else None
                shown = self._cell(path) or (path if path.startswith("<") else os.path.abspath(path))
                self.writer.add("file", number, shown, kind, source)
            self._files[path] = known
        return known

    def _cell(self, path: str) -> str | None:
        """`In [3]` for a notebook's cell, as the one who wrote it sees it; None where two would be called so."""
        cell = cell_of(path)
        if cell is None or cell in self._cells:
            return None
        self._cells.add(cell)
        return cell

    def here(self, depth: int = 1) -> int:
        """The site of the caller, `depth` frames out."""
        return self.current(sys._getframe(depth + 1))


def cell_of(path: str) -> str | None:
    """The cell of a notebook, `In [3]`, that was compiled under this name; None for all else."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None:
        return None
    try:
        if (named := getattr(shell.compile, "format_code_name", None)) is not None:  # since IPython 8
            found = named(path)
            told = _CELL_NUMBER.search(found[1]) if found is not None and found[0] == "Cell" else None
            number = told and told[1]
        elif (file := _CELL_FILE.search(path)) is not None:  # of a terminal, of Colab
            number = file[1]
        else:
            number = _number_of(path, shell.history_manager.input_hist_parsed)
    except (AttributeError, TypeError, IndexError):  # another IPython than is known here
        return None
    return f"In [{number}]" if number else None


def _number_of(path: str, cells: list[str]) -> int:
    """The newest of the cells that has the text of this file; 0 where none has. A file has no number with IPython 7."""
    if "ipykernel" not in path:
        return 0
    text = "".join(source_lines(path)).strip()
    return next((n for n in range(len(cells) - 1, 0, -1) if cells[n].strip() == text), 0)


def source_lines(path: str, module_globals: dict[str, Any] | None = None) -> list[str]:
    """As `linecache` has them, but none of a pipe or a device: to read it might not end."""
    if path in linecache.cache or _can_end(path):
        return linecache.getlines(path, module_globals)
    return []


def _can_end(path: str) -> bool:
    try:
        found = os.stat(path)
    except OSError:  # not there, but `linecache` may know more
        return True
    except ValueError:  # no file can have this name
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size > 0  # what /proc shows has no size


def _text(path: str) -> str:
    """A file's source with its own line ends. `linecache` makes every one of them a line feed, and ends
    the last line where the file does not: a patch would not fit."""
    text = "".join(source_lines(path))
    if not _can_end(path):
        return text
    try:
        with open(path, "rb") as file:
            encoding, _ = tokenize.detect_encoding(file.readline)
            file.seek(0)
            stored = file.read().decode(encoding)
    except (OSError, ValueError, SyntaxError, LookupError):
        return text
    same = "\n".join(lines_of(stored)) == text.removesuffix("\n")
    return stored if same or not text else text
