"""How each kind of thing looks in a picture, and the legend that says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# The layout engines know the widths of these two. In an SVG each is the first of a list of
# fonts as wide as it (_layout.py).
FONT, MONO = "Arial", "Courier New"
FAMILIES = {
    FONT: "Arial,Helvetica,Liberation Sans,Arimo,sans-serif",
    MONO: "Menlo,Liberation Mono,DejaVu Sans Mono,Courier New,monospace",
}
CUT_SIGN = "✂"
CAUSE_SIGN, EFFECT_SIGN = "▲", "▽"
CUT_SIGN_PNG = "×"  # the fonts that draw a PNG have no scissors
INK, MUTED, FAINT = "#1f2937", "#6b7280", "#b6bec9"
RED, AMBER, GREEN, BLUE = "#d1242f", "#b7791f", "#2f855a", "#3b76c4"


@dataclass(frozen=True)
class Look:
    """Colours and outline of a box; `legend` is its line in the legend."""

    fill: str
    line: str
    legend: str
    text: str = INK
    style: str = "rounded,filled"
    shape: str = "box"
    width: float = 1.0


LOOKS = {
    "parameter": Look("#e6f4ea", GREEN, "parameter"),
    "frozen": Look("#f1f2f4", FAINT, "frozen parameter", MUTED),
    "severed": Look("#fde8e8", RED, "parameter behind a cut", "#8b1a22", width=1.8),
    "unreached": Look("#ffffff", GREEN, "parameter without gradient", style="rounded,filled,dashed"),
    "buffer": Look("#f4f1ea", "#a89f8c", "buffer"),
    "input": Look("#e8f1fc", BLUE, "input"),
    "constant": Look("#ffffff", "#8fa3ba", "constant", style="filled", shape="ellipse"),
    "op": Look("#f7f8fa", "#9aa5b1", "op"),
    "line": Look("#f7f8fa", "#9aa5b1", "source line"),
    "module": Look("#f7f8fa", "#7b8794", "module"),
    "earlier": Look("#eceef1", "#a3abb6", "made by an earlier pass", "#5b6472"),
    "place": Look("#ffffff", "#9aa5b1", "line of a finding", style="rounded,filled,dotted"),
    "grad_fn": Look("#fdf4dc", "#d0a24c", "grad_fn node", "#6b4e12", shape="box"),
    "cut": Look("#ffffff", "#8b94a1", "gradient stops here", style="rounded,filled,dashed", width=1.4),
    "severing": Look(
        "#fff5f5", RED, "cut that severs parameters", "#8b1a22", "rounded,filled,dashed", width=2.2
    ),
    "write": Look("#fff3e6", "#d9822b", "in-place write", width=1.6),
    "backward": Look("#334155", "#334155", "backward starts here", "#ffffff"),
    "refused": Look("#fde8e8", RED, "backward that failed", "#8b1a22", width=2.0),
}
REGION = "#5b7ba6"
REGION_FILL = "#f5f8fc"
MODULE_FILL = "#fbfbfc"
SHADOW = "#d5dae1"


def look_of(data: dict[str, Any]) -> str:
    """The key in LOOKS for a node."""
    kind: str = data["kind"]
    if data["earlier"] and not data["severs"]:
        return "earlier"
    if kind in ("parameter", "input") and data["severed"]:
        return "severed"
    if kind == "parameter" and not data["trainable"]:
        return "frozen"
    if kind == "parameter" and not data["got_gradient"]:
        return "unreached"
    if kind == "cut" and data["severs"]:
        return "severing"
    if kind == "cut" and data["cut"] in ("no_grad", "inference_mode") and data["region"] is not None:
        return "op"  # the region around it says so already
    if kind == "backward" and data["severed"]:
        return "refused"
    if kind in ("op", "line", "module") and data["writes"]:
        return "write"
    return kind if kind in LOOKS else "op"


def _swatch(key: str) -> str:
    look = LOOKS[key]
    dashes = ' STYLE="dashed"' if "dashed" in look.style else ' STYLE="rounded"'
    return (
        f'<TD WIDTH="18" HEIGHT="11" FIXEDSIZE="TRUE" BORDER="1" COLOR="{look.line}" BGCOLOR="{look.fill}"{dashes}>'
        f'</TD><TD ALIGN="LEFT"><FONT POINT-SIZE="9" COLOR="{MUTED}">{look.legend}  </FONT></TD>'
    )


def legend(used: list[str], extras: list[tuple[str, str, str]], title: list[str], columns: int = 5) -> str:
    """The HTML-like label below a picture. used: keys of LOOKS; extras: (sign, colour,
    meaning); title: lines of safe text, the first in bold."""
    cells = [_swatch(key) for key in LOOKS if key in used]
    cells += [
        f'<TD WIDTH="18"><FONT COLOR="{colour}" POINT-SIZE="11"><B>{sign}</B></FONT></TD>'
        f'<TD ALIGN="LEFT"><FONT POINT-SIZE="9" COLOR="{MUTED}">{meaning}  </FONT></TD>'
        for sign, colour, meaning in extras
    ]
    columns = min(columns, max(len(cells), 1))
    rows = [cells[i : i + columns] for i in range(0, len(cells), columns)]
    body = "".join(
        f'<TR><TD COLSPAN="{2 * columns}" ALIGN="LEFT">'
        + (f'<FONT POINT-SIZE="11" COLOR="{INK}"><B>{text}</B></FONT>' if i == 0 else _small(text))
        + "</TD></TR>"
        for i, text in enumerate(title)
    )
    body += "".join("<TR>" + "".join(row) + "</TR>" for row in rows)
    return f'<<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="3" CELLPADDING="1">{body}</TABLE>>'


def _small(text: str) -> str:
    return f'<FONT POINT-SIZE="9" COLOR="{MUTED}">{text}</FONT>'
