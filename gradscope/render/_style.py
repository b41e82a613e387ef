"""How each kind of thing looks in a picture, and the legend that says so."""

from __future__ import annotations

from typing import Any, NamedTuple

# The layout engines know the widths of these two. In an SVG each is the first of a list of
# fonts as wide as it (_layout.py).
FONT, MONO = "Arial", "Courier New"
FAMILIES = {
    FONT: "Arial,Helvetica,Liberation Sans,Arimo,sans-serif",
    MONO: "Menlo,Liberation Mono,DejaVu Sans Mono,Courier New,monospace",
}
CUT_SIGN = "✂"
CAUSE_SIGN, EFFECT_SIGN = "▲", "▽"
# What the fonts that draw a PNG do not have, and what stands for it there.
SIGNS_PNG = str.maketrans({CUT_SIGN: "×", EFFECT_SIGN: "▼", "⇢": "→"})
# The same for the fonts that each reader of a PDF has: Helvetica, Symbol and ZapfDingbats.
SIGNS_PDF = str.maketrans({EFFECT_SIGN: "▼", "⇢": "→", "○": "❍", "□": "❏", "►": "➤", "◄": "←", "▪": "◆"})
INK, MUTED, FAINT = "#1f2937", "#566070", "#7c8694"
RED, AMBER, GREEN, BLUE = "#b91c26", "#9a5b0c", "#2f855a", "#3b76c4"
NOTE = "#2b62ad"  # what findings say that are notes
FLOW, GRADIENT, UNUSED, MEMORY = "#4b5563", "#a87a1c", "#9a8f76", "#c26a14"  # arrows


class Look(NamedTuple):
    """Colours and outline of a box; `legend` is its line in the legend, `sign` tells it without its colour."""

    fill: str
    line: str
    legend: str
    text: str = INK
    style: str = "rounded,filled"
    shape: str = "box"
    width: float = 1.0
    sign: str = ""
    sample: str = ""  # what its legend shows of the writing in it, where that alone tells it from others


LOOKS = {
    "parameter": Look("#e6f4ea", GREEN, "parameter", sign="●"),
    "frozen": Look("#f1f2f4", FAINT, "frozen parameter", MUTED, sign="■"),
    "severed": Look("#fde8e8", RED, "parameter behind a cut", "#8b1a22", width=1.8, sign="×"),
    "unreached": Look(
        "#ffffff", GREEN, "parameter without gradient", style="rounded,filled,dashed", sign="○"
    ),
    "buffer": Look("#f4f1ea", "#8f856f", "buffer", sign="□"),
    "input": Look("#e8f1fc", BLUE, "input", sign="►"),
    "constant": Look("#ffffff", "#7c8fa6", "constant", style="filled", shape="ellipse"),
    "op": Look("#f7f8fa", "#8792a0", "op", style="filled", sample="op"),
    "line": Look("#f7f8fa", "#8792a0", "source line", sample="a=b"),
    "module": Look("#f7f8fa", "#7b8794", "module"),
    "earlier": Look("#eceef1", "#8d96a3", "made by an earlier pass", "#525b68", sign="◄"),
    "place": Look("#ffffff", "#8792a0", "line of a finding", style="rounded,filled,dotted", sign="◊"),
    "grad_fn": Look("#fdf4dc", GRADIENT, "grad_fn node", "#6b4e12", shape="box"),
    "cut": Look(
        "#ffffff", "#8b94a1", "gradient stops here", style="rounded,filled,dashed", width=1.4, sign=CUT_SIGN
    ),
    "severing": Look(
        "#fff5f5",
        RED,
        "cut that severs parameters",
        "#8b1a22",
        "rounded,filled,dashed",
        width=2.2,
        sign=CUT_SIGN,
    ),
    "write": Look("#fff3e6", MEMORY, "in-place write", width=1.6, sign="▪"),
    "backward": Look("#334155", "#2b3748", "backward starts here", "#ffffff", sign="▼"),
    "refused": Look("#fde8e8", RED, "backward that failed", "#8b1a22", width=2.0, sign="▼"),
}
REGION = "#4d6a93"
REGION_FILL = "#f5f8fc"
MODULE_FILL = "#fbfbfc"
SHADOW = "#d5dae1"
ON_DARK, RED_ON_DARK, NOTE_ON_DARK = (
    "#cbd5e1",
    "#fca5a5",
    "#a9cbff",
)  # small text and findings on the box of a backward

# The same colours on a dark page.
DARK_TEXT = {
    INK: "#e5e7eb", MUTED: "#a8b1be", RED: "#ff8a8a", AMBER: "#f0b26a", "#8b1a22": "#ffb3b3", "#525b68": "#b3bcc8",
    "#6b4e12": "#f1d48a", REGION: "#9dbbe6", "#ffffff": "#ffffff",
    ON_DARK: ON_DARK, RED_ON_DARK: RED_ON_DARK, NOTE_ON_DARK: NOTE_ON_DARK, NOTE: "#8ab8f0",
    FAINT: "#a8b1be", FLOW: "#c3cad4",
    GRADIENT: "#e0b65c", UNUSED: "#b5aa8e", MEMORY: "#f0a354", GREEN: "#7fd3a3", BLUE: "#8ab8f0",
    "#8b94a1": "#b3bcc8", "#334155": "#b7c6dc", "#8792a0": "#b3bcc8", "#8f856f": "#c9bea6", "#8d96a3": "#b3bcc8",
}  # fmt: skip
DARK_FILL = {
    "white": "#14181f", "#ffffff": "#14181f", "#e6f4ea": "#143021", "#f1f2f4": "#23272e", "#fde8e8": "#3d1a1d",
    "#f4f1ea": "#2b2820", "#e8f1fc": "#15263c", "#f7f8fa": "#1e242d", "#eceef1": "#2a2f37", "#fdf4dc": "#322a14",
    "#fff5f5": "#331b1e", "#fff3e6": "#33230f", "#334155": "#3b4d66", REGION_FILL: "#17202d", MODULE_FILL: "#191e26",
}  # fmt: skip
DARK_LINE = {
    GREEN: "#4fc3a1", FAINT: "#7c8694", RED: "#f06a6a", NOTE: "#6aa3e8",
    BLUE: "#6aa3e8", "#8f856f": "#a3987f", "#7c8fa6": "#8ea2ba",
    "#8792a0": "#7f8a98", "#7b8794": "#7f8a98", "#8d96a3": "#7f8a98", GRADIENT: "#d6a84a", "#8b94a1": "#98a2b0",
    MEMORY: "#e08a35", "#2b3748": "#5d7596", REGION: "#7f9fce", SHADOW: "#3a424e", FLOW: "#aab3c0", UNUSED: UNUSED,
}  # fmt: skip


def tone(mild: bool) -> str:
    """The colour of what a finding says: a note is no error."""
    return NOTE if mild else RED


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
        return str(data["form"])  # the region around it says so already
    if kind == "backward" and data["severed"]:
        return "refused"
    if kind in ("op", "line", "module") and data["writes"]:
        return "write"
    return kind if kind in LOOKS else "op"


def _swatch(key: str) -> str:
    look = LOOKS[key]
    dashes = ' STYLE="dashed"' if "dashed" in look.style else ' STYLE="rounded"' * ("rounded" in look.style)
    sign = f'<FONT POINT-SIZE="9" COLOR="{look.text}">{look.sign}</FONT>' if look.sign else ""
    width = 24 if look.sample else 18
    if look.sample:
        face = f' FACE="{MONO}"' if key == "line" else ""
        sign = f'<FONT POINT-SIZE="8" COLOR="{look.text}"{face}>{look.sample}</FONT>'
    return (
        f'<TD WIDTH="{width}" HEIGHT="13" FIXEDSIZE="TRUE" BORDER="1" COLOR="{look.line}" BGCOLOR="{look.fill}"'
        f"{dashes}>{sign}</TD>"
        f'<TD ALIGN="LEFT"><FONT POINT-SIZE="9" COLOR="{MUTED}">{look.legend}  </FONT></TD>'
    )


def legend(used: list[str], extras: list[tuple[str, str, str]], title: list[str], columns: int) -> str:
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
