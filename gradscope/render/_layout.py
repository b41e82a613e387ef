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

# What a layout that is written as DOT says: of the picture, and of each group of boxes.
_SIZE = re.compile(r'graph \[bb="0,0,([\d.]+),([\d.]+)"')
_GROUP = re.compile(r"subgraph cluster\w* \{\s+graph \[.*?\n\s*\];", re.DOTALL)
_ATTRIBUTE = re.compile(r"\b(label|lp|lwidth|lheight|fillcolor)=(<.*>|\"[^\"]*\"|[\w.]+),?$", re.MULTILINE)
_LABEL = re.compile(r"\blabel=<.*>(?=,?$)", re.MULTILINE)


@cache
def engine() -> Path:
    """The program to lay out with. Raises GradscopeError where there is none."""
    if (found := shutil.which("dot")) is not None:
        return Path(found)
    for candidate in _brought_by_wheel():
        if candidate.is_file():
            return candidate
    raise GradscopeError(
        "no layout engine: install graphviz (`dot`) or `pip install graphviz-pure`, or write what needs none: "
        ".html, .dot, .mmd, .graphml or .json"
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
    """The picture of a DOT text as "svg", "png" or "pdf", or its layout as "plain"; a PNG has at most MAX_PIXELS."""
    if kind == "png":
        laid = _run(dot.translate(style.SIGNS_PNG), "dot").decode()
        placed = laid.replace("{", f"{{\n\tgraph [dpi={_fitting_dpi(laid):.1f}]", 1)
        return _run(_titles_as_boxes(placed), kind, placed=True)
    if kind == "pdf":
        own = engine().stem == "dot"
        placed = _titles_as_boxes(_run(dot if own else dot.translate(style.SIGNS_PDF), "dot").decode())
        if own:  # which leaves half an inch around a picture for a printer
            return _run(placed.replace("{", "{\n\tgraph [margin=0]", 1), kind, placed=True)
        return _as_pdf(finish(_run(placed, "svg", placed=True)))
    picture = _run(dot, kind)
    return finish(picture) if kind == "svg" else picture


def _run(dot: str, kind: str, placed: bool = False) -> bytes:
    """What the layout engine makes of a DOT text. placed: it says where everything is."""
    before = dot_command.DOT_BINARY
    dot_command.DOT_BINARY = engine()
    try:
        if placed:
            return bytes(graphviz.pipe("neato", kind, dot.encode(), neato_no_op=2, quiet=True))
        return bytes(graphviz.pipe("dot", kind, dot.encode(), quiet=True))
    except graphviz.CalledProcessError as error:
        raise GradscopeError(f"the layout engine {engine()} failed: {_first_line(error.stderr)}") from None
    except (graphviz.ExecutableNotFound, OSError, subprocess.SubprocessError) as error:
        raise GradscopeError(f"the layout engine {engine()} can't be run: {error}") from None
    finally:
        dot_command.DOT_BINARY = before


def _titles_as_boxes(laid: str) -> str:
    """The same layout with each group's title as a box: an engine draws boxes after the arrows, which run through where
    titles stand, and titles before them. (In an SVG `finish` moves the titles themselves.)"""
    boxes: list[str] = []
    for head in _GROUP.finditer(laid):
        known = dict(_ATTRIBUTE.findall(head[0]))
        if {"label", "lp", "lwidth", "lheight"} <= known.keys():
            boxes.append(
                f"title{len(boxes)} [label={known['label']}, pos={known['lp']}, width={known['lwidth']}, "
                f"height={known['lheight']}, fillcolor={known['fillcolor']}, shape=box, style=filled, margin=0, "
                "penwidth=0, fixedsize=true]"
            )
    bare = _GROUP.sub(lambda head: _LABEL.sub('label=""', head[0]), laid)
    return bare[: bare.rindex("}")] + "\n".join(boxes) + "}\n"


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


def _fitting_dpi(laid: str) -> float:
    size = _SIZE.search(laid)
    if size is None:
        return BEST_DPI
    width, height = (max(float(n) / 72, 0.1) for n in size.groups())
    return max(min(BEST_DPI, math.sqrt(MAX_PIXELS / (width * height)), MAX_SIDE / max(width, height)), 1.0)
