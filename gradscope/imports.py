"""The program finds no library loaded that plain Python would not have loaded.

Importing can have effects: `rich` draws from Python's `random` when it is first imported,
and a program that has seeded it before would go on with other numbers.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from gradscope.model import GradscopeError

AT_START = frozenset(sys.modules)
BEGAN = perf_counter()


@contextmanager
def undrawn() -> Iterator[None]:
    """A block in which something is imported for the first time, and that leaves Python's `random` as it is."""
    drawn_from = sys.modules.get("random")
    state = drawn_from.getstate() if drawn_from is not None else None
    try:
        yield
    finally:
        if drawn_from is not None:
            drawn_from.setstate(state)


def seconds_to_import(name: str) -> float:
    """Imports a module of the program's; returns how long that took."""
    began = perf_counter()
    importlib.import_module(name)
    return perf_counter() - began


def broken(name: str) -> str:
    """How the import of an installed module fails, in a line; "" where it works, or there is none."""
    try:
        importlib.import_module(name)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name == name:
            return ""
        return told(error)
    return ""


def told(error: Exception) -> str:
    """An exception in a line: of a text of many lines the last, where NumPy says what it was."""
    lines = [line for line in map(str.strip, str(error).splitlines()) if line]
    return ": ".join([type(error).__name__, *lines[-1:]])


@contextmanager
def torch_needed(by: str) -> Iterator[None]:
    """A block that imports torch: raises GradscopeError where it is not installed, with who needs it (`by`), or
    cannot be loaded."""
    try:
        yield
    except GradscopeError:
        raise
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "torch":
            raise GradscopeError(f"torch is not installed here: {by}") from None
        if "torch" in sys.modules and not isinstance(error, (ImportError, OSError)):
            raise  # of what came after it
        why = broken("numpy")
        said = f"numpy, which it loads, does not work: {why}" if why else str(error)
        raise GradscopeError(f"torch cannot be used here: {said}") from None


def need_torch(what: str) -> None:
    """Raises GradscopeError where torch is not installed or cannot be loaded, which `what` needs."""
    with torch_needed(f"`{what}` needs it"):
        importlib.import_module("torch")


@contextmanager
def kept_apart() -> Iterator[None]:
    """What gradscope's command line has imported for itself is out of sight inside the block.

    Does nothing where torch is loaded: then this process is not the program's alone.
    """
    own = {} if "torch" in sys.modules else {n: m for n, m in sys.modules.items() if _is_library(n)}
    for name in own:
        del sys.modules[name]
    try:
        yield
    finally:
        sys.modules.update(own)


def _is_library(name: str) -> bool:
    top = name.partition(".")[0]
    return (
        name not in AT_START and top not in sys.stdlib_module_names and top not in ("gradscope", "__main__")
    )
