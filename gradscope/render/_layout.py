"""Runs the layout engine: a system `dot`, else the one that `graphviz-pure` brings."""

from __future__ import annotations

import io
import math
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from functools import cache
from importlib import metadata
from pathlib import Path

import graphviz
from graphviz.backend import dot_command

from gradscope.model import GradscopeError
from gradscope.render import _style as style
from gradscope.render._svg import finish

MAX_PIXELS = 16_000_000
MAX_SIDE = 12_000
BEST_DPI = 144.0


@cache
def engine() -> Path:
    """The program to lay out with. Raises GradscopeError where there is none."""
    if (found := shutil.which("dot")) is not None:
        return Path(found)
    for candidate in _brought_by_wheel():
        if candidate.is_file():
            return candidate
    raise GradscopeError(
        "no layout engine: install graphviz (`dot`) or `pip install graphviz-pure`, or write a .dot file"
    )


def _brought_by_wheel() -> list[Path]:
    name = "graphviz-pure.exe" if sys.platform == "win32" else "graphviz-pure"
    found = []
    try:
        files = metadata.files("graphviz-pure") or []
        found = [Path(os.path.normpath(str(file.locate()))) for file in files if file.name == name]
    except metadata.PackageNotFoundError:
        pass
    found += [Path(sysconfig.get_path("scripts")) / name, Path(sys.executable).parent / name]
    if (on_path := shutil.which("graphviz-pure")) is not None:
        found.append(Path(on_path))
    return found


def lay_out(dot: str, kind: str) -> bytes:
    """The picture of a DOT text as "svg", "png" or "pdf"; a PNG has at most MAX_PIXELS."""
    if kind == "pdf" and engine().stem != "dot":
        return _as_pdf(lay_out(dot, "svg"))
    if kind == "png":
        dpi = _fitting_dpi(lay_out(dot, "svg"))
        dot = dot.replace("{", f"{{\n\tgraph [dpi={dpi:.1f}]", 1).translate(style.SIGNS_PNG)
    before = dot_command.DOT_BINARY
    dot_command.DOT_BINARY = engine()
    try:
        picture = bytes(graphviz.pipe("dot", kind, dot.encode(), quiet=True))
    except graphviz.CalledProcessError as error:
        raise GradscopeError(f"the layout engine {engine()} failed: {_first_line(error.stderr)}") from None
    except (graphviz.ExecutableNotFound, OSError, subprocess.SubprocessError) as error:
        raise GradscopeError(f"the layout engine {engine()} can't be run: {error}") from None
    finally:
        dot_command.DOT_BINARY = before
    return finish(picture) if kind == "svg" else picture


def _as_pdf(svg: bytes) -> bytes:
    """By a library: the engine that a wheel brings writes none."""
    try:
        from reportlab.graphics import renderPDF
        from svglib.svglib import svg2rlg
    except ImportError:
        raise GradscopeError(
            "a PDF needs `pip install svglib` or Graphviz's own `dot` here; a .svg does without"
        ) from None
    return bytes(renderPDF.drawToString(svg2rlg(io.BytesIO(svg))))


def _first_line(text: bytes | str | None) -> str:
    shown = text.decode(errors="replace") if isinstance(text, bytes) else (text or "")
    return next((line.strip() for line in shown.splitlines() if line.strip()), "no message")


def _fitting_dpi(svg: bytes) -> float:
    size = re.search(rb'<svg width="([\d.]+)pt" height="([\d.]+)pt"', svg)
    if size is None:
        return 96.0
    width, height = (max(float(n), 1.0) / 72 for n in size.groups())
    return max(min(BEST_DPI, math.sqrt(MAX_PIXELS / (width * height)), MAX_SIDE / max(width, height)), 1.0)
