"""Pictures: what is drawn, that nothing of the program's text becomes markup, and where it is written."""

import re
import runpy
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import torch
from torch import nn

import gradscope
from gradscope.api import picture
from gradscope.model import GradscopeError
from gradscope.render import _layout
from gradscope.render._labels import wrap
from gradscope.render.picture import dot_text, screens, svg


@pytest.fixture(scope="module")
def scope():
    model = nn.Linear(3, 1)
    with gradscope.watch() as scope:
        b = model(torch.randn(4, 3))
        with torch.no_grad():
            target = b.abs()
        loss = (b.detach() - target + model.bias).pow(2).mean()
        loss.backward()
    return scope


@pytest.mark.parametrize("level", ["op", "line", "module"])
def test_svg_is_well_formed_and_has_a_legend(scope, level):
    text = svg(picture(scope.trace, level).view)
    ET.fromstring(text)
    assert "backward starts here" in text
    assert "with torch.no_grad()" in text


def test_a_long_line_takes_two_rows_without_its_comment():
    with gradscope.watch() as scope:
        w = torch.ones(3, requires_grad=True)
        result = (w * 2.0 + torch.ones(3) * 3.0 - w).pow(2).sum()  # not part of the code
        result.backward()
    text = dot_text(picture(scope.trace, "line").view)
    assert "not part" not in text and '<BR ALIGN="LEFT"/>' in text
    assert max(len(row) for row in wrap("a" * 300)) <= 40


def test_nameless_inputs_of_one_op_share_a_box():
    w = torch.ones(2, requires_grad=True)
    with gradscope.watch() as scope:
        torch.cat([w, *(torch.from_numpy(torch.ones(n).numpy()) for n in (2, 3, 3))]).sum().backward()
    text = dot_text(picture(scope.trace, "op").view)
    assert [line.count("input</B>") for line in text.splitlines() if "input</B>" in line] == [1]  # trained
    assert [n for line in text.splitlines() if (n := line.count("► torch.from_numpy"))] == [2]  # shapes


def test_several_tensors_of_one_shape_are_no_longer_shape():
    w = torch.ones(4, 5, requires_grad=True)
    with gradscope.watch() as scope:
        x, y = torch.randn(2, 4), torch.randn(3, 4)
        results = [torch.sin(data @ w) for data in (x, y, x, y, x)]
        torch.cat(results).sum().backward()
    text = dot_text(picture(scope.trace, "line").view)
    assert "3 of 2×5, 2 of 3×5" in text and not re.search(r"[0-9] ×[0-9]", text)


def test_every_suffix(scope, tmp_path):
    for kind, head in (("svg", b"<?xml"), ("png", b"\x89PNG"), ("dot", b"digraph")):
        path = tmp_path / f"g.{kind}"
        assert picture(scope.trace, "line").render(path) == path
        assert path.read_bytes().startswith(head)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["g.dot", "g.png", "g.svg"]


def test_a_picture_of_a_transformer_fits_a_screen():
    """By its calls it has few enough boxes at any depth, but not with every layout engine room for them."""
    with gradscope.watch() as scope:
        runpy.run_path(str(Path(__file__).parents[2] / "tools" / "gallery" / "gpt.py"), run_name="__main__")
    shown = picture(scope.trace)
    width, height = (
        float(found) for found in re.findall(r'<svg width="(.+?)pt" height="(.+?)pt"', svg(shown.view))[0]
    )
    assert width <= 1400 and height <= 1000
    opened = picture(scope.trace, "line", depth=shown.view.depth + 1)
    closed = len(opened.graph) > len(shown.graph)
    assert any("--depth" in note for note in shown.notes) == closed
    assert not closed or screens(opened.view) > 1


def test_a_wide_picture_has_shorter_rows():
    w = torch.ones(2, requires_grad=True)
    with gradscope.watch() as scope:
        one = ((w * 2.0 + 3.0 - w / 4.0).pow(2).sum() + (w * 2.0 + 3.0 - w / 4.0).abs().sum()) / 5.0
        two = ((w * 3.0 + 3.0 - w / 4.0).pow(2).sum() + (w * 2.0 + 3.0 - w / 4.0).abs().sum()) / 5.0
        three = ((w * 4.0 + 3.0 - w / 4.0).pow(2).sum() + (w * 2.0 + 3.0 - w / 4.0).abs().sum()) / 5.0
        four = ((w * 5.0 + 3.0 - w / 4.0).pow(2).sum() + (w * 2.0 + 3.0 - w / 4.0).abs().sum()) / 5.0
        five = ((w * 6.0 + 3.0 - w / 4.0).pow(2).sum() + (w * 2.0 + 3.0 - w / 4.0).abs().sum()) / 5.0
        (one + two + three + four + five).backward()
    view = picture(scope.trace, "line").view
    wide = _layout.lay_out(dot_text(view), "svg").decode()
    as_told, fitted = (int(re.findall(r'<svg width="(\d+)', text)[0]) for text in (wide, svg(view)))
    assert fitted <= 1400 < as_told


@pytest.mark.nightly
def test_a_long_picture_of_modules_stands_in_columns():
    with gradscope.watch() as scope:
        runpy.run_path(
            str(Path(__file__).parents[2] / "tools" / "gallery" / "resnet18.py"), run_name="__main__"
        )
    shown = picture(scope.trace, "module")
    width, height = (
        float(found) for found in re.findall(r'<svg width="(.+?)pt" height="(.+?)pt"', svg(shown.view))[0]
    )
    assert height < 3 * width


def test_no_text_becomes_markup(scope):
    shown = picture(scope.trace, "op").view
    evil = '<script>"&\\n\x1b[31m</TD>javascript:alert(1)'
    for _, data in shown.graph.nodes.items():
        data["label"] = data["detail"] = evil
    shown.title = evil
    shown.notes.append(evil)
    root = ET.fromstring(svg(shown))
    assert not [e for e in root.iter() if e.tag.endswith("script")]
    links = [v for e in root.iter() for k, v in e.attrib.items() if k.endswith("href")]
    assert not links
    assert "\x1b" not in dot_text(shown)


def test_bad_places_are_one_error(scope, tmp_path):
    shown = picture(scope.trace, "line")
    with pytest.raises(GradscopeError, match=r"end it in \.svg, \.png, "):
        shown.render(tmp_path / "g.gif")
    with pytest.raises(GradscopeError, match="no directory"):
        shown.render(tmp_path / "missing" / "g.svg")
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(GradscopeError, match="is a directory"):
        shown.render(tmp_path / "folder.svg")


def test_without_an_engine_text_still_works(scope, tmp_path, monkeypatch):
    monkeypatch.setattr(_layout.shutil, "which", lambda name: None)
    monkeypatch.setattr(_layout, "_brought_by_wheel", list)
    _layout.engine.cache_clear()
    try:
        shown = picture(scope.trace, "line")
        with pytest.raises(GradscopeError, match="no layout engine") as refused:
            shown.render(tmp_path / "g.svg")
        for suffix in (".dot", ".mmd", ".graphml", ".json"):
            assert suffix in str(refused.value)
            shown.render(tmp_path / f"g{suffix}")
        assert "no layout engine" in shown._repr_mimebundle_()["text/plain"]
    finally:
        _layout.engine.cache_clear()


def test_png_pixels_are_capped(scope, tmp_path, monkeypatch):
    monkeypatch.setattr(_layout, "MAX_PIXELS", 40_000)
    path = picture(scope.trace, "op").render(tmp_path / "g.png")
    head = path.read_bytes()[16:24]
    assert int.from_bytes(head[:4], "big") * int.from_bytes(head[4:], "big") < 60_000


def test_rich_display(scope):
    bundle = picture(scope.trace, "line")._repr_mimebundle_()
    assert bundle["image/svg+xml"].startswith("<?xml")
    assert re.match("line level of ", bundle["text/plain"])


def test_command(scope, tmp_path, monkeypatch, capsys):
    from gradscope.commands import main

    trace = scope.save(tmp_path / "t.gradscope")
    monkeypatch.chdir(tmp_path)
    assert main(["graph", str(trace), "--level", "op"]) == 0
    assert "wrote t.svg" in capsys.readouterr().out
    assert Path("t.svg").exists()
    assert main(["graph", str(trace), "-o", "x.bmp"]) == 2
    assert main(["graph", str(trace), "--depth", "2"]) == 0
    assert main(["graph", str(trace), "--step", "9"]) == 2
