"""Runs a script or module as plain Python would: argv, sys.path, `__main__`, exit code."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
import types
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

from gradscope import interrupts
from gradscope.model import GradscopeError
from gradscope.ranks import Rank
from gradscope.tracebacks import clean_exception, traceback_of


@dataclass
class Program:
    """What to run. `path` is the file, `argv` what it sees, `folder` its `sys.path[0]`;
    `source` is its text where it came from stdin."""

    path: str
    argv: list[str]
    folder: str
    spec: importlib.machinery.ModuleSpec | None = None
    source: bytes | None = None

    @classmethod
    def script(cls, path: str, args: list[str]) -> Program:
        """`-` is stdin. Raises GradscopeError if there is no such file, or it is a directory or
        an archive without `__main__.py`."""
        if path == "-":
            return cls("<stdin>", [path, *args], "", source=_from_stdin())
        found = Path(path)
        if found.is_dir() or (found.is_file() and _is_archive(path)):
            folder = os.path.abspath(path)
            spec = importlib.machinery.PathFinder.find_spec("__main__", [folder])
            if spec is None or spec.origin is None:
                kind = "a directory" if found.is_dir() else "an archive"
                raise GradscopeError(f"{path} is {kind} without a __main__.py")
            return cls(spec.origin, [path, *args], folder, spec)
        if not found.exists():
            raise GradscopeError(f"no such script: {path}")
        try:
            with found.open("rb") as file:
                file.read(1)
        except OSError as error:
            raise GradscopeError(f"cannot read {path}: {error.strerror}") from None
        return cls(path, [path, *args], os.path.dirname(os.path.realpath(path)))

    @classmethod
    def module(cls, name: str, args: list[str]) -> Program:
        """Raises GradscopeError if there is no such module or it can't be run."""
        sys.path.insert(0, os.getcwd())
        try:
            spec = importlib.util.find_spec(name)
            if spec is not None and spec.submodule_search_locations is not None:
                spec = importlib.util.find_spec(f"{name}.__main__")
                if spec is None:
                    raise GradscopeError(f"{name} is a package without a __main__ module")
        except (ImportError, ValueError, AttributeError) as error:
            raise GradscopeError(f"no module to run named {name}: {error}") from None
        finally:
            sys.path.pop(0)
        if spec is None or spec.origin is None or not os.path.isfile(spec.origin):
            raise GradscopeError(f"no module to run named {name}")
        return cls(spec.origin, [spec.origin, *args], os.getcwd(), spec)

    def command(self) -> dict[str, Any]:
        """What one has to know, beside argv, to start it once more. `ranks`: of how many such processes it is one;
        `together`: all of them were on this machine."""
        module = self.spec.name if self.spec is not None and self.spec.name != "__main__" else ""
        rank = Rank.of(os.environ)
        return {
            "module": module.removesuffix(".__main__"), "stdin": self.source is not None,
            "ranks": rank.world if rank is not None else 1, "together": rank is None or rank.together,
        }  # fmt: skip

    def code(self) -> CodeType:
        if self.spec is not None and self.spec.loader is not None and hasattr(self.spec.loader, "get_code"):
            code = self.spec.loader.get_code(self.spec.name)
            assert isinstance(code, CodeType)
            return code
        if self.source is not None:
            return compile(self.source, self.path, "exec", dont_inherit=True)
        if self.path.endswith(".pyc"):
            return self._compiled()
        import io

        with io.open_code(os.path.abspath(self.path)) as file:
            source = file.read()
        try:
            return compile(source, os.path.abspath(self.path), "exec", dont_inherit=True)
        except SyntaxError:
            fault = _unreadable(source, os.path.abspath(self.path))
            if fault is None:
                raise
        raise fault

    def _compiled(self) -> CodeType:
        loader = importlib.machinery.SourcelessFileLoader("__main__", self.path)
        code = loader.get_code("__main__")
        assert code is not None
        return code

    def main_module(self) -> types.ModuleType:
        main = types.ModuleType("__main__")
        loader: Any
        if self.spec is not None:
            main.__package__ = self.spec.parent
            main.__file__, loader = self.spec.origin, self.spec.loader
        elif self.source is not None:
            main.__package__, loader = None, importlib.machinery.BuiltinImporter
            main.__file__ = self.path
        else:
            main.__file__ = os.path.abspath(self.path)
            main.__package__ = None
            compiled = self.path.endswith(".pyc")
            kind = (
                importlib.machinery.SourcelessFileLoader if compiled else importlib.machinery.SourceFileLoader
            )
            loader = kind("__main__", self.path)
        main.__spec__ = self.spec
        main.__loader__ = loader
        vars(main)["__cached__"] = None
        main.__annotations__ = {}
        vars(main)["__builtins__"] = sys.modules["builtins"]
        return main


def _unreadable(source: bytes, path: str) -> SyntaxError | None:
    """What Python says of a file with such bytes, where it says something else of a string."""
    import tokenize

    lines = source.splitlines(keepends=True)
    with suppress(SyntaxError):
        if tokenize.detect_encoding(iter(lines).__next__)[0] != "utf-8":
            return None
    for number, line in enumerate(lines, 1):
        if b"\0" in line:
            text = line.partition(b"\0")[0].decode(errors="replace")
            return SyntaxError("source code cannot contain null bytes", (path, number, None, text))
        try:
            line.decode()
        except UnicodeDecodeError as error:
            return SyntaxError(
                f"Non-UTF-8 code starting with '\\x{line[error.start]:02x}' in file {path} on line {number}, "
                "but no encoding declared; see https://peps.python.org/pep-0263/ for details"
            )
    return None


def _from_stdin() -> bytes:
    if sys.stdin is None:
        raise GradscopeError("no program on stdin: it is closed")
    try:
        return sys.stdin.buffer.read()
    except (OSError, ValueError, AttributeError) as error:
        raise GradscopeError(f"cannot read the program from stdin: {error}") from None


def _is_archive(path: str) -> bool:
    import zipfile

    return zipfile.is_zipfile(path)


@dataclass
class Outcome:
    """How the program ended. `interrupted`: by Ctrl-C, to be passed on as a signal."""

    exit_code: int
    error: BaseException | None = None
    interrupted: bool = False
    left: SystemExit | None = None  # it has ended itself


def run(program: Program) -> Outcome:
    """Runs the program to its end; prints its uncaught exception as Python does."""
    main = program.main_module()
    sys.argv[:] = program.argv
    if not sys.flags.safe_path or program.spec is not None:
        sys.path[0:1] = [program.folder]
    sys.modules["__main__"] = main
    raised: BaseException | None = None
    interrupts.leave_to_program()
    try:
        exec(program.code(), vars(main))
    except BaseException as error:
        raised = error
    while True:
        try:
            interrupts.hold(isinstance(raised, KeyboardInterrupt))
            break
        except KeyboardInterrupt as error:  # one that came while the first had the program's frames freed
            raised = raised or error
    try:
        return _outcome(raised)
    finally:
        _flush()


def _outcome(raised: BaseException | None) -> Outcome:
    if raised is None:
        return Outcome(0)
    if isinstance(raised, SystemExit):
        return Outcome(_status(raised), left=raised)
    clean_exception(raised)
    _flush()
    return Outcome(_shown(raised), raised, isinstance(raised, KeyboardInterrupt))


def _status(error: SystemExit) -> int:
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code
    _flush()
    with suppress(Exception):  # as Python: what can't be written is lost
        os.write(2, f"{error.code}\n".encode()) if sys.stderr is None else print(error.code, file=sys.stderr)
    return 1


def _shown(error: BaseException) -> int:
    """Shows an uncaught exception by the program's own hook, and gives the exit code."""
    try:
        sys.excepthook(type(error), error, traceback_of(error))
    except SystemExit as end:
        return _status(end)
    except BaseException as fault:  # Python shows both then
        clean_exception(fault)
        with suppress(Exception):
            print("Error in sys.excepthook:", file=sys.stderr)
            sys.__excepthook__(type(fault), fault, traceback_of(fault))
            print("\nOriginal exception was:", file=sys.stderr)
            sys.__excepthook__(type(error), error, traceback_of(error))
    return 1


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass
