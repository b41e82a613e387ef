"""Whoever sees colours differently, has other fonts or a dark page can read a picture."""

from __future__ import annotations

import base64
import io
import re
import shutil
import xml.etree.ElementTree as ET
import zlib
from typing import Any

import pytest
import torch
from PIL import Image
from reportlab.pdfbase.rl_codecs import RL_Codecs
from torch import nn

import gradscope
from gradscope.api import picture
from gradscope.model import Finding
from gradscope.render import _layout
from gradscope.render import _style as style
from gradscope.render._labels import shortened
from gradscope.render._layout import lay_out
from gradscope.render.picture import dot_text, svg


def contrast(one: str, other: str) -> float:
    """As WCAG 2 defines it."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def texts(look: style.Look) -> set[str]:
    """The colours of text in a box."""
    if look.fill == style.LOOKS["backward"].fill:
        return {look.text, style.ON_DARK, style.RED_ON_DARK, style.NOTE_ON_DARK}
    return {look.text, style.MUTED, style.RED, style.NOTE}


@pytest.mark.parametrize("name", style.LOOKS)
def test_text_stands_out_from_its_box(name: str) -> None:
    look = style.LOOKS[name]
    for colour in texts(look):
        assert contrast(colour, look.fill) >= 4.5, colour
        dark = style.DARK_TEXT.get(colour, colour)
        assert contrast(dark, style.DARK_FILL[look.fill]) >= 4.5, colour
    assert contrast(look.line, "#ffffff") >= 3 or look.text != style.INK
    assert contrast(style.DARK_LINE[look.line], style.DARK_FILL["white"]) >= 3 or name == "backward"


def test_no_colour_of_a_box_is_one_of_a_line() -> None:
    """The style sheet of a dark page knows them by their values alone."""
    assert not style.DARK_FILL.keys() & style.DARK_LINE.keys()


def test_in_place_writes_and_groups_can_be_read() -> None:
    for colour, fill in (
        (style.AMBER, style.LOOKS["write"].fill), (style.MUTED, style.MODULE_FILL), (style.REGION, style.REGION_FILL),
        (style.MUTED, style.REGION_FILL), (style.MUTED, "#ffffff"), (style.INK, "#ffffff"),
    ):  # fmt: skip
        assert contrast(colour, fill) >= 4.5
        assert contrast(style.DARK_TEXT[colour], style.DARK_FILL[fill]) >= 4.5


def test_what_colour_tells_a_sign_tells_too() -> None:
    coloured = {name: look for name, look in style.LOOKS.items() if name not in ("op", "line", "module")}
    silent = {name for name, look in coloured.items() if not look.sign}
    assert silent <= {"constant", "grad_fn"}  # the shape and the name tell these
    signs = [
        look.sign for name, look in coloured.items() if look.sign and name not in ("severing", "refused")
    ]
    assert len(signs) == len(set(signs))


@pytest.fixture(scope="module")
def cut() -> str:
    one, two = nn.Linear(3, 3), nn.Linear(3, 1)
    optimizer = torch.optim.SGD([*one.parameters(), *two.parameters()], lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(2):
            optimizer.zero_grad()
            two(one(torch.randn(2, 3)).detach()).mean().backward()
            optimizer.step()
    return svg(picture(scope.trace, "op").view)


def test_the_legend_has_all_that_is_drawn(cut: str) -> None:
    for meaning in (
        "parameter", "parameter behind a cut", "cut that severs parameters", "grad_fn node", "gradient",
        "carries a graph", "where the gradient is lost", "cause of a finding", "what it is about",
    ):  # fmt: skip
        assert meaning in [(e.text or "").strip() for e in ET.fromstring(cut).iter()]


def test_a_dark_page_has_colours_for_all_that_is_drawn(cut: str) -> None:
    assert "prefers-color-scheme:dark" in cut
    drawn = cut.partition("</style>")[2]
    for element in ET.fromstring(cut).iter():
        if (
            not element.tag.endswith(("text", "style"))
            and (fill := element.attrib.get("fill", "none")) != "none"
        ):
            assert f'[fill="{fill}"]' in cut or fill == "black"
    assert all(f'[stroke="{colour}"]' in cut for colour in re.findall(r'stroke="(#\w+)"', drawn))
    assert all(f'text[fill="{colour}"]' in cut for colour in re.findall(r'<text[^>]* fill="(#\w+)"', drawn))


def test_texts_are_as_wide_as_their_boxes_were_made_for(cut: str) -> None:
    lengths = {
        element.text: float(element.attrib["textLength"])
        for element in ET.fromstring(cut).iter()
        if "textLength" in element.attrib
    }
    assert lengths["AddmmBackward0"] == pytest.approx(92, abs=1)  # points, in Arial of 11
    assert not [
        e for e in ET.fromstring(cut).iter() if e.tag.endswith(("script", "image", "use", "foreignObject"))
    ]
    assert "url(" not in cut and "@import" not in cut


def test_no_text_is_left_to_the_width_of_whatever_font_stands_in(cut: str) -> None:
    """Also where signs stand in it: `● layer.weight`, `train.py:3 · → 8×32`."""
    loose = [
        e.text
        for e in ET.fromstring(cut).iter()
        if e.tag.endswith("text") and len((e.text or "").strip()) > 1 and "textLength" not in e.attrib
    ]
    assert not loose
    spaces = "{http://www.w3.org/XML/1998/namespace}space"
    made_wide = [e for e in ET.fromstring(cut).iter() if "textLength" in e.attrib]
    assert all(e.attrib.get(spaces) == "preserve" for e in made_wide)  # those of `● ` are two


def test_a_long_name_keeps_its_ends() -> None:
    name = "model.encoder." + "deep." * 20 + "self_attention.weight"
    short = shortened(name)
    assert len(short) == 40 and short.startswith("model.encoder.") and short.endswith("self_attention.weight")
    assert shortened("weight") == "weight"


def test_names_in_a_picture_are_shortened_in_their_middle() -> None:
    model: nn.Module = nn.Linear(2, 1)
    for _ in range(30):
        model = nn.Sequential(model)
    with gradscope.watch() as scope:
        model(torch.ones(1, 2)).sum().backward()
    text = dot_text(picture(scope.trace, "line").view)
    assert re.search(r"…[.0]*\.weight<", text)


# Kinds of boxes that a reader must tell apart at a glance, and arrows.
APART = [
    ("parameter", "severed"), ("parameter", "frozen"), ("cut", "severing"), ("op", "write"), ("line", "severing"),
    ("module", "write"), ("input", "parameter"), ("grad_fn", "op"), ("earlier", "parameter"), ("backward", "refused"),
]  # fmt: skip


def seen_without_green(colour: str) -> tuple[float, float, float]:
    """A colour as somebody with deuteranopia sees it: the linear model of Machado, Oliveira and Fernandes (2009)."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    rows = ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881))
    shown = (min(max(x * r + y * g + z * b, 0.0), 1.0) for x, y, z in rows)
    red, green, blue = (12.92 * c if c <= 0.0031308 else 1.055 * c ** (1 / 2.4) - 0.055 for c in shown)
    return red, green, blue


def apart(one: str, other: str) -> float:
    """How far two colours lie apart for deuteranopia, in 255ths of each channel."""
    pairs = zip(seen_without_green(one), seen_without_green(other), strict=True)
    return sum(((a - b) * 255) ** 2 for a, b in pairs) ** 0.5


def outline(look: style.Look) -> tuple[bool, float, str]:
    return "dashed" in look.style, look.width, look.sign


@pytest.mark.parametrize(("one", "other"), APART)
@pytest.mark.parametrize("dark", [False, True])
def test_kinds_of_boxes_differ_for_deuteranopia(one: str, other: str, dark: bool) -> None:
    a, b = style.LOOKS[one], style.LOOKS[other]
    lines = (style.DARK_LINE[a.line], style.DARK_LINE[b.line]) if dark else (a.line, b.line)
    fills = (style.DARK_FILL[a.fill], style.DARK_FILL[b.fill]) if dark else (a.fill, b.fill)
    assert max(apart(*lines), apart(*fills)) >= 25 or outline(a) != outline(b)
    if "severed" in (one, other) or "severing" in (one, other) or "write" in (one, other):
        assert outline(a) != outline(b)  # what goes wrong is told by more than its colour


def test_red_and_green_are_told_apart_by_more_than_their_hue() -> None:
    assert apart(style.RED, style.GREEN) >= 60
    assert apart(style.DARK_LINE[style.RED], style.DARK_LINE[style.GREEN]) >= 60
    assert apart(style.RED, style.FLOW) >= 45 and apart(style.RED, style.MEMORY) >= 45


def test_ops_and_lines_do_not_look_alike_in_the_legend() -> None:
    op, line = style.LOOKS["op"], style.LOOKS["line"]
    assert op.sample != line.sample and ("rounded" in op.style) != ("rounded" in line.style)


def test_signs_of_a_png_say_one_thing_each() -> None:
    """Its fonts have fewer."""
    signs = [style.CAUSE_SIGN, style.EFFECT_SIGN, style.LOOKS["place"].sign]
    shown = [sign.translate(style.SIGNS_PNG) for sign in signs]
    assert len(set(shown)) == len(signs)


def test_titles_of_groups_are_above_the_arrows() -> None:
    net = nn.Sequential(nn.Sequential(nn.Linear(3, 3), nn.Tanh()), nn.Linear(3, 1))
    with gradscope.watch() as scope:
        net(torch.randn(2, 3)).sum().backward()
    drawn = svg(picture(scope.trace, "module").view)
    root = ET.fromstring(drawn)
    groups = [g for g in root.iter("{http://www.w3.org/2000/svg}g") if g.get("class")]
    assert groups[-1].get("class") == "titles" and any(g.get("class") == "edge" for g in groups)
    assert [t.text for t in groups[-1].iter("{http://www.w3.org/2000/svg}text")] == ["net", "0"]
    clusters = [g for g in groups if g.get("class") == "cluster"]
    assert clusters and not any(list(g.iter("{http://www.w3.org/2000/svg}text")) for g in clusters)


CROSSED = """digraph { graph [outputorder=edgesfirst]; edge [color=red, penwidth=2]; over -> inside
    subgraph cluster_0 { graph [style=filled, fillcolor=white, label=<a title that the arrow crosses>]; inside } }"""


def test_titles_of_groups_are_above_the_arrows_in_a_png() -> None:
    image = Image.open(io.BytesIO(lay_out(CROSSED, "png"))).convert("RGB")
    red = [any(_is_red(image.getpixel((x, y))) for x in range(image.width)) for y in range(image.height)]
    first, last = red.index(True), len(red) - red[::-1].index(True)
    assert not all(red[first:last])  # the title interrupts it


def _is_red(pixel: Any) -> bool:
    r, g, b = pixel
    return bool(r > 200 and g < 80 and b < 80)


def test_titles_of_groups_are_above_the_arrows_in_a_pdf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)  # as where no `dot` is installed
    _layout.engine.cache_clear()
    try:
        pdf = lay_out(CROSSED, "pdf")
    finally:
        _layout.engine.cache_clear()
    stream = pdf.partition(b"stream\n")[2].partition(b"endstream")[0].strip()
    drawn = zlib.decompress(base64.a85decode(b"<~" + stream, adobe=True))
    assert 0 < drawn.rindex(b"1 0 0 RG") < drawn.index(b"(a title that the arrow crosses) Tj")


def test_a_pdf_has_only_signs_that_its_fonts_know() -> None:
    """In ZapfDingbats and Symbol: what they lack is drawn as a black square."""
    shown = "".join(look.sign for look in style.LOOKS.values()) + style.CAUSE_SIGN + style.EFFECT_SIGN + "⇢→↑"
    RL_Codecs.register()
    for sign in shown.translate(style.SIGNS_PDF):
        assert any(_has(font, sign) for font in ("zapfdingbatspdfdoc", "symbolpdfdoc")), sign


def _has(font: str, sign: str) -> bool:
    try:
        return bool(sign.encode(font))
    except UnicodeEncodeError:
        return False


def test_elements_of_parameters_in_one_row_are_added_up() -> None:
    net = nn.Sequential(nn.Conv1d(1, 8, 3), nn.BatchNorm1d(8), nn.Conv1d(8, 8, 3), nn.BatchNorm1d(8))
    with gradscope.watch() as scope:
        net(torch.randn(2, 1, 9)).sum().backward()
    count = sum(p.numel() for p in net.parameters())
    assert f"8 parameters, {count} elements" in svg(picture(scope.trace, "module", depth=0).view)


@pytest.mark.parametrize("severity", ["note", "error"])
def test_a_note_is_not_drawn_in_the_colour_of_errors(severity: str) -> None:
    one, two = nn.Linear(3, 4), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*one.parameters(), *two.parameters()], lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(2):
            optimizer.zero_grad()
            two(one(torch.randn(2, 3))).mean().backward()
            optimizer.step()
    cause = next(op for op in scope.trace.ops if op.name == "mean").site.user
    told = Finding("it is told of", cause=cause, cause_label="here", code="GS999", severity=severity)
    drawn = dot_text(picture(scope.trace, "line", findings=[told]).view)
    assert "GS999" in drawn
    assert (style.NOTE in drawn, style.RED in drawn) == (severity == "note", severity == "error")


def test_a_frame_of_a_grad_mode_has_the_words_that_open_it() -> None:
    net, critic = nn.Linear(3, 3), nn.Linear(3, 1)

    @torch.no_grad()
    def judged(x: torch.Tensor) -> Any:
        return critic(x)

    training = "<no>" == "<yes>"
    with gradscope.watch() as scope:
        x = torch.randn(2, 3)
        with torch.set_grad_enabled(training):
            before = net(x)
        ((net(x) - before).sum() + judged(x).sum()).backward()
    drawn = svg(picture(scope.trace, "line").view)
    titles = {t.text for t in ET.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")}
    assert {"with torch.set_grad_enabled(training)", "@torch.no_grad()"} <= titles
    assert not titles & {"set_grad_enabled", "with torch.no_grad()"}
