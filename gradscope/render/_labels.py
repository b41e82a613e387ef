"""Labels and tooltips of boxes, as safe HTML-like text of DOT."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from typing import Any

import graphviz

from gradscope import escape
from gradscope.analysis.names import place, relative, shape_words
from gradscope.graph import View
from gradscope.graph.arrows import Graph
from gradscope.model import place_of
from gradscope.render import _style as style

MAX_TEXT = 40  # characters of a source line in one row
_BREAK = re.compile(r"[ ,(]|\.(?!\d)")  # a row may end here, but not within 0.5
MAX_TOLD = 3  # leaves that findings are about, in the box of a module or line
MAX_ROWS = 6  # parameters listed in one box


def shape_text(shape: tuple[int, ...] | None, dtype: str | None) -> str:
    """`32×10`, with the dtype where it is not float32; "" where unknown."""
    if shape is None:
        return ""
    text = shape_words(shape)
    return text if dtype in (None, "float32") else f"{text} {dtype}"


def several(count: int, shape: str) -> str:
    """`3 of 32×10` for three tensors of a shape; ×3 where none is told: beside one it would read as a part of it."""
    if count == 1:
        return shape
    return f"{count:,} of {shape}" if shape else f"×{count:,}"


def below(name: str, module: dict[str, Any]) -> str:
    """A parameter's name inside its module's box: "weight" in `layer1`."""
    before, found, rest = name.partition(f"{module['label']}.")
    return rest if found and (not before or before.endswith(".")) else name


def label(lines: list[str], rows: list[str]) -> str:
    body = "".join(f"<TR><TD>{line}</TD></TR>" for line in lines)
    body += "".join(f'<TR><TD ALIGN="LEFT">{row}</TD></TR>' for row in rows)
    return f'<<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="1">{body}</TABLE>>'


def together(graph: Graph, apart: Container[str]) -> list[list[str]]:
    """Leaves that one box lists: those alike that the same boxes take. apart: those that are rows of a box."""
    alike: dict[tuple[Any, ...], list[str]] = {}
    for id, data in graph.nodes.items():
        nameless = id.startswith("input:") and not data["names"] and not data["trainable"]
        if id in apart or (data["kind"] not in ("parameter", "buffer") and not nameless):
            continue
        users = tuple(sorted({b for _, b, e in graph.edges_from(id) if e["kind"] in ("flow", "finding")}))
        alike.setdefault((users, style.look_of(data), tuple(data["findings"])), []).append(id)
    return list(alike.values())


def rows(data: Iterable[dict[str, Any]]) -> list[str]:
    """Leaves as rows: name in bold, shape, state."""
    shown = list(data)
    rows = []
    for leaf in shown[:MAX_ROWS]:
        look = style.LOOKS[style.look_of(leaf)]
        told = shortened if leaf["names"] else crop  # of code that has no name rather the beginning
        name = escape.html(f"{look.sign} " if look.sign else "") + escape.html(
            escape.one_line(told(leaf["label"], 44))
        )
        facts = [escape.html(several(leaf["count"], shape_text(leaf["shape"], leaf["dtype"])))]
        if leaf["kind"] == "parameter" and not leaf["trainable"]:
            facts.append("frozen")
        if leaf["kind"] == "input" and leaf["trainable"]:
            facts.append("requires grad")
        if leaf["effects"]:
            codes = escape.html(", ".join(leaf["effects"]))
            facts.append(f'<FONT COLOR="{style.tone(leaf["mild"])}">{style.EFFECT_SIGN} {codes}</FONT>')
        after = small("&#160; ".join(facts), style.MUTED)
        rows.append(f'<FONT COLOR="{look.text}"><B>{name}</B></FONT>&#160;&#160;{after}')
    if len(shown) > MAX_ROWS:
        rows.append(small(f"and {len(shown) - MAX_ROWS} more", style.MUTED))
    return rows


def summary(leaves: list[dict[str, Any]], most: int) -> list[str]:
    """The leaves of one box as rows; where they are many, those that findings are about and the number of the rest."""
    if len(leaves) <= most:
        return rows(leaves)
    told = [leaf for leaf in leaves if leaf["findings"]][:MAX_TOLD]
    found = rows(told)
    for kind, word in (("parameter", "parameter"), ("buffer", "buffer")):
        rest = [leaf for leaf in leaves if leaf["kind"] == kind and leaf not in told]
        states: dict[str, list[dict[str, Any]]] = {}
        for leaf in rest:
            states.setdefault(style.look_of(leaf), []).append(leaf)
        for look, same in states.items():
            count, elements = sum(leaf["count"] for leaf in same), sum(leaf["numel"] for leaf in same)
            state = (
                ""
                if look == kind
                else f" ({style.LOOKS[look].legend.removeprefix('parameter ').removesuffix(' parameter')})"
            )
            of = f"and {count:,} more" if told else f"{count:,}"
            text = f"{of} {word}{'s' if count > 1 else ''}{state}, {elements:,} elements"
            found.append(small(f"{style.LOOKS[look].sign} {text}", style.LOOKS[look].text))
    return found


def cut_words(data: dict[str, Any]) -> str:
    """What a box says of the cuts in it that lose no parameter's gradient; "" without any."""
    if not data["cut"] or data["severs"]:
        return ""
    if data["kind"] != "cut":  # the gradient goes past it
        return f"{style.CUT_SIGN} {data['cut']} inside"
    if style.look_of(data) != "cut":
        return ""
    if kept := data["kept_from"]:  # others have a way
        names = ", ".join(shortened(escape.one_line(name)) for name in kept[:2])
        return f"{data['cut']}: no gradient for {names}" + (f" +{len(kept) - 2}" if len(kept) > 2 else "")
    return f"{data['cut']}: no gradient passes"


def group_marks(view: View, id: int) -> list[str]:
    """What findings say of a group of boxes: "▲ GS402 at train.py:29"; of a calling line without the line."""
    found = []
    for group, codes in view.told.items():
        if group.cluster != id:
            continue
        where = "" if view.nesting else f" at {place(group.site.user)}"
        effects = [code for code in codes.effects if code not in codes.causes]
        told = ((style.CAUSE_SIGN, list(codes.causes)), (style.EFFECT_SIGN, effects))
        found += [f"{sign} {', '.join(known)}{where}" for sign, known in told if known]
    return found


def small(text: str, colour: str) -> str:
    return f'<FONT POINT-SIZE="9" COLOR="{colour}">{text}</FONT>'


def crop(text: str, size: int = MAX_TEXT) -> str:
    return text if len(text) <= size else text[: size - 1].rstrip() + "…"


def shortened(name: str, size: int = MAX_TEXT) -> str:
    """A name without its middle: what it begins and ends with tells it from others."""
    if len(name) <= size:
        return name
    tail = size * 3 // 5
    return f"{name[: size - tail - 1]}…{name[-tail:]}"


def wrap(text: str, size: int = MAX_TEXT, most: int = 2) -> list[str]:
    """The text on at most so many rows."""
    if len(text) <= size or most == 1:
        return [crop(text, size)]
    at = max((m.end() for m in _BREAK.finditer(text[:size]) if m.end() > size // 3), default=size)
    if len(text) - at <= 6:  # not worth a row
        return [text]
    return [text[:at].rstrip(), *wrap(f"  {text[at:].lstrip()}", size, most - 1)]


def attr(text: str) -> str:
    """A DOT attribute of plain text: never taken for HTML, its backslashes literal."""
    return str(graphviz.nohtml(escape.dot(text)))


def tooltip(data: dict[str, Any], cwd: str) -> str:
    """What a box tells under the mouse; paths as seen from `cwd`."""
    lines = [data["label"]]
    if (site := data["site"]) is not None:
        lines.append(place_of(relative(site.user.path, cwd), site.user.line))
    if (shape := shape_text(data["shape"], data["dtype"])) and data["shape"] is not None:
        lines.append(shape if "float32" in shape or data["dtype"] is None else f"{shape} ({data['dtype']})")
    if data["module"]:
        lines.append(f"in {data['module']}")
    return attr("\n".join(lines))
