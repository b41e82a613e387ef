"""The outputs: one file each, found by being here.

A renderer of reports is a file with `FORMAT` (its name for `--output-format`), `SUFFIX`
(of `--report FILE`, or None), both written out, and `render(report) -> str`. Other files here draw graphs
or are shared by several renderers.
"""

from __future__ import annotations

import ast
import importlib
import os
import pkgutil
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gradscope.model import GradscopeError

if TYPE_CHECKING:
    from gradscope.check import Report

_SAID = re.compile(r"^(FORMAT|SUFFIX|PICTURES|WHOLE) = (.+)$", re.MULTILINE)


class Renderer(NamedTuple):
    """One way to show a report as text."""

    format: str
    suffix: str | None
    module: str

    def render(self, report: Report) -> str:
        return str(importlib.import_module(self.module).render(report))


@cache
def outputs() -> dict[str, dict[str, Any]]:
    """Module → what a file or folder here says of itself (FORMAT, SUFFIX, PICTURES, WHOLE). Loads none."""
    found = {}
    for info in pkgutil.iter_modules(__path__):
        path = (
            Path(__path__[0], info.name, "__init__.py")
            if info.ispkg
            else Path(__path__[0], f"{info.name}.py")
        )
        if said := _SAID.findall(path.read_text(encoding="utf-8")):
            found[f"{__name__}.{info.name}"] = {what: ast.literal_eval(value) for what, value in said}
    return found


@cache
def renderers() -> dict[str, Renderer]:
    """Format name → renderer, from every file here that has a `FORMAT`."""
    return {
        said["FORMAT"]: Renderer(said["FORMAT"], said["SUFFIX"], module)
        for module, said in outputs().items()
        if "FORMAT" in said
    }


def report_suffixes() -> dict[str, Renderer]:
    """Suffix of a file → the renderer of reports that it asks for, in the order of the alphabet."""
    return {r.suffix: r for r in sorted(renderers().values(), key=lambda r: r.suffix or "") if r.suffix}


def renderer_for(path: str | os.PathLike[str]) -> Renderer:
    """The renderer that a report file's suffix asks for. Raises GradscopeError where there
    is none, or where the file can't be made: call it before a run starts."""
    path = Path(path)
    renderer = report_suffixes().get(path.suffix.lower())
    if renderer is None:
        raise GradscopeError(
            f"can't tell the kind of report from `{path}`: end it in {' or '.join(report_suffixes())}"
        )
    check_place(path, "report")
    return renderer


def check_place(path: Path, what: str) -> None:
    """Raises GradscopeError where no file can be made at `path` for a report or a picture."""
    if path.is_dir():
        raise GradscopeError(f"`{path}` is a directory, not a file for the {what}")
    if not path.absolute().parent.is_dir():
        raise GradscopeError(f"no directory `{path.parent}` for the {what}")


def write_report(report: Report, path: str | os.PathLike[str]) -> None:
    """Writes the report in the form that the suffix of `path` asks for."""
    write_text(renderer_for(path).render(report), path)


def write_text(text: str, path: str | os.PathLike[str]) -> None:
    """Writes a report's text. Raises GradscopeError where that can't be."""
    try:
        Path(path).write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
    except OSError as error:
        raise GradscopeError(f"cannot write {path}: {error.strerror}") from None
