"""What an SVG gets besides the layout: fonts as wide as those that it was laid out with, and colours for dark pages."""

from __future__ import annotations

import html
import re

from gradscope.render import _style as style

_TEXT = re.compile(r"<text( [^>]*)>([^<]*)</text>")
_FAMILY = re.compile(rf'font-family="({"|".join(style.FAMILIES)})[^"]*"')
_SIZE = re.compile(r'font-size="([\d.]+)"')
_HEAD = re.compile(r"<svg [^>]*>")
_GROUP = re.compile(r'<g id="[^"]*" class="cluster">.*?(?=<g id="[^"]*" class="|</g>\s*</svg>)', re.DOTALL)
_END = re.compile(r"</g>\s*</svg>\s*$")

# Widths of Helvetica, from the space on, in thousandths of the size; Arial and Liberation Sans are as wide.
_PLAIN = (
    "278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 278 278 "
    "584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778 722 667 611 722 667 944 "
    "667 667 611 278 278 278 469 556 333 556 556 500 556 556 278 556 556 222 222 500 222 833 556 556 556 556 333 500 "
    "278 556 500 722 500 500 500 334 260 334 584"
)
_BOLD = (
    "278 333 474 556 556 889 722 238 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 333 333 "
    "584 584 584 611 975 722 722 722 722 667 611 778 722 278 556 722 611 833 722 778 667 778 722 667 611 722 667 944 "
    "667 667 611 333 278 333 584 556 333 556 611 556 611 556 333 611 611 278 278 556 278 889 611 611 611 611 389 556 "
    "333 611 556 778 556 556 500 389 280 389 584"
)
_WIDTHS = {
    bold: {chr(32 + n): int(width) for n, width in enumerate(row.split())}
    | {"\u00a0": 278, "×": 584, "–": 556, "…": 1000, "·": 278}
    for bold, row in ((False, _PLAIN), (True, _BOLD))
}
_MONO_WIDTH = 600


def _other(sign: str) -> int:
    """The width of a sign that no font was measured for, as the engine reckons it that `graphviz-pure` brings: by its
    bytes. Arial's arrows and squares are about as wide."""
    return 278 * min(len(sign.encode(errors="replace")), 3)


def finish(svg: bytes) -> bytes:
    """The SVG of the layout engine, as it is shown."""
    text = _TEXT.sub(_fixed, svg.decode())
    text = _titles_above(text)
    text = _FAMILY.sub(lambda match: f'font-family="{style.FAMILIES[match[1]]}"', text)
    return _HEAD.sub(lambda match: f"{match[0]}\n<style>{_edged()}{_dark()}</style>", text, count=1).encode()


def _titles_above(svg: str) -> str:
    """Draws the titles of groups of boxes after the arrows, with an edge around their letters: arrows run through
    where they stand."""
    titles = [text[0] for group in _GROUP.finditer(svg) for text in _TEXT.finditer(group[0])]
    if not titles:
        return svg
    svg = _GROUP.sub(lambda group: _TEXT.sub("", group[0]), svg)
    return _END.sub(lambda end: f'<g class="titles">\n{chr(10).join(titles)}\n</g>\n{end[0]}', svg)


def _fixed(match: re.Match[str]) -> str:
    """A text with the width that its box was made for, whatever font stands in."""
    attributes, shown = match.groups()
    family, size = _FAMILY.search(attributes), _SIZE.search(attributes)
    plain = html.unescape(shown)
    if (
        family is None or size is None or len(plain.strip()) < 2
    ):  # a sign alone: each engine reckons its width anew
        return match[0]
    if family[1] == style.MONO:
        width = _MONO_WIDTH * len(plain)
    else:
        known = _WIDTHS["bold" in attributes]
        width = sum(known.get(sign) or _other(sign) for sign in plain)
    length = width * float(size[1]) / 1000
    if (
        "xml:space" not in attributes
    ):  # else spaces at the ends are dropped, and the rest is as wide as with them
        attributes = f' xml:space="preserve"{attributes}'
    return f'<text{attributes} textLength="{length:.2f}" lengthAdjust="spacingAndGlyphs">{shown}</text>'


def _edged() -> str:
    """What puts an edge around the letters of titles, where that is drawn below them."""
    look = f"paint-order:stroke;stroke:{style.MODULE_FILL};stroke-width:3px;stroke-linejoin:round"
    return f"@supports (paint-order:stroke){{.titles text{{{look}}}}}"


def _dark() -> str:
    """Colours for a page that is dark, by those of the picture."""
    rules = [f'text[fill="{light}"]{{fill:{dark}}}' for light, dark in style.DARK_TEXT.items()]
    rules.append(f"text:not([fill]){{fill:{style.DARK_TEXT[style.INK]}}}")
    for light, dark in style.DARK_FILL.items():
        rules.append(f':not(text)[fill="{light}"]{{fill:{dark}}}')
    for light, dark in style.DARK_LINE.items():
        rules.append(f'[stroke="{light}"]{{stroke:{dark}}}')
        rules.append(f':is(polygon,path,ellipse)[fill="{light}"]{{fill:{dark}}}')
    rules.append(f".titles text{{stroke:{style.DARK_FILL[style.MODULE_FILL]}}}")
    return f"@media (prefers-color-scheme:dark){{{''.join(rules)}}}"
