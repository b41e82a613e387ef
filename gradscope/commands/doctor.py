"""`gradscope doctor`: what a report of a bug needs to tell, and what does not work here."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import metadata

import click
from rich.text import Text

import gradscope
from gradscope.commands import INSTALL, printing
from gradscope.escape import one_line
from gradscope.events import Backward
from gradscope.imports import broken, told
from gradscope.model import GradscopeError
from gradscope.places import standing
from gradscope.render.terminal import print_rows
from gradscope.render.text import field_rows

MISSING = "missing"
CAPTURE = "`gradscope run`, `gradscope fix` and `gradscope.watch()`"
LIBRARIES = ("click", "rich", "networkx", "graphviz", "graphviz-pure", "jinja2", "pygments", "textual")


@click.command()
def command() -> None:
    """Tell versions, what is switched off here and why, the layout engine and the terminal."""
    place = ("traces", _lines(_traces))
    if not standing().exists():
        os.chdir(os.sep)  # where torch can be looked at
    facts = [*((label, _lines(lines)) for label, lines in SECTIONS), place]
    with printing() as stdout:
        print_rows(lambda width: _rows(facts, width), stdout)


def _lines(section: Callable[[], Iterator[str]]) -> list[str]:
    """What a section tells: one that fails costs no other."""
    try:
        return list(section())
    except Exception as error:
        return [_broken("to tell this", error)]


def _rows(facts: list[tuple[str, list[str]]], width: int) -> Iterator[Text]:
    for label, lines in facts:
        yield from field_rows(f"{label:>9}", lines, width)


def _gradscope() -> Iterator[str]:
    yield f"{gradscope.__version__}, in {os.path.dirname(gradscope.__file__)}"


def _python() -> Iterator[str]:
    yield f"{platform.python_version()} ({platform.python_implementation()}), {sys.executable}"
    yield platform.platform()


def _torch() -> Iterator[str]:
    try:
        from gradscope.hooks._torch import about
    except ModuleNotFoundError as error:
        if error.name != "torch":
            yield _broken("torch", error)
        else:
            yield f"not installed: {CAPTURE} need it, the other commands do not"
    except GradscopeError as error:
        yield f"{error}: {CAPTURE} do not work here"
    except Exception as error:
        yield _broken("torch", error)
    else:
        yield from about()


def _numpy() -> Iterator[str]:
    """Whether it can be loaded, and whether torch can hand it tensors."""
    version = _version("numpy")
    if why := broken("numpy"):
        yield f"{version} does not work here: {why}; torch may not either"
        return
    if "numpy" not in sys.modules:
        yield "not installed: torch does without, all but `.numpy()` and `from_numpy`"
        return
    yield version
    try:
        from gradscope.hooks._torch import hand_to_numpy
    except Exception:
        return
    try:
        hand_to_numpy()
    except Exception as error:
        yield f"torch cannot hand it tensors: {told(error)} (torch before 2.3 needs `numpy<2`)"


def _watching() -> Iterator[str]:
    """What a small step of training under watch gives."""
    try:
        from gradscope.hooks._torch import small_step
    except Exception:
        yield "not tried: it needs a torch that works here"
        return
    try:
        with gradscope.watch() as scope:
            small_step()
        ops = sum(len(graph.ops) for graph in scope.trace.graphs)
        yield f"a small step was watched: {ops} ops, {len(scope.trace.of(Backward))} backward pass"
        yield from (f"a fault of gradscope's own: {fault}" for fault in scope.faults)
    except Exception as error:
        yield _broken("a small step", error)


def _switched_off() -> Iterator[str]:
    try:
        from gradscope.hooks._torch import FEATURES
    except Exception:
        yield "capture"
        return
    missing = [feature for feature in FEATURES.values() if feature.without and not feature.here]
    for feature in missing:
        yield f"`{feature.name}` (since torch {feature.since}): {feature.without}"
    if not missing:
        yield "nothing"


def _libraries() -> Iterator[str]:
    versions = {name: _version(name) for name in LIBRARIES}
    yield ", ".join(f"{name} {version}" for name, version in versions.items())
    missing = [name for name in LIBRARIES if versions[name] == MISSING]
    if missing:
        yield f"without {' and '.join(missing)} some commands do not work: {INSTALL}"


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return MISSING


def _layout() -> Iterator[str]:
    try:
        from gradscope.render._layout import engine, lay_out

        lay_out("digraph { a -> b }", "svg")
        yield f"{engine()}: {_says(str(engine()))}"
    except GradscopeError as error:
        yield str(error)
    except Exception as error:
        yield _broken("the layout engine", error)


def _says(program: str) -> str:
    try:
        done = subprocess.run([program, "-V"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        return f"does not tell its version ({type(error).__name__})"
    return (done.stderr or done.stdout).strip().partition("\n")[0] or "does not tell its version"


def _terminal() -> Iterator[str]:
    streams = {name: getattr(sys, name) for name in ("stdin", "stdout", "stderr")}
    shown = {name: stream is not None and stream.isatty() for name, stream in streams.items()}
    yield ", ".join(f"{name} {'is' if is_tty else 'is not'} one" for name, is_tty in shown.items())
    size = shutil.get_terminal_size()
    encoding = getattr(streams["stdout"], "encoding", None) or "no encoding"
    set_here = {n: os.environ[n] for n in ("TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR") if n in os.environ}
    yield f"{size.columns}×{size.lines}, {encoding}" + "".join(f", {n}={v}" for n, v in set_here.items())
    if not (shown["stdin"] and shown["stderr"]):
        yield "`gradscope view` and `gradscope run --view` need stdin and stderr to be one"
    elif os.environ.get("TERM") == "dumb":
        yield "`gradscope view` and `gradscope run --view` cannot draw where TERM is dumb"


def _traces() -> Iterator[str]:
    here = standing()
    if not here.exists():
        yield f"{here}, where this runs, is gone: traces are written elsewhere, and torch's kernels may not load"
        return
    yield f"{'can' if os.access(here, os.W_OK) else 'cannot'} be written in {here}"


def _broken(what: str, error: Exception) -> str:
    text = one_line(str(error))
    return f"{what} does not work here: {type(error).__name__}: {text if len(text) < 300 else told(error)}"


SECTIONS = (
    ("gradscope", _gradscope),
    ("python", _python),
    ("torch", _torch),
    ("numpy", _numpy),
    ("off", _switched_off),
    ("watching", _watching),
    ("libraries", _libraries),
    ("layout", _layout),
    ("terminal", _terminal),
)
