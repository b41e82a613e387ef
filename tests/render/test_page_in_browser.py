"""The page in a browser, by mouse and by keyboard. Skipped where there is no chromium."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import gradscope
from gradscope.answers import why
from gradscope.check import examine
from gradscope.render.html import render

sys.path.insert(0, str(Path(__file__).parent))
from browser import CHROMIUM, Browser

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here")


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16))
        self.mean, self.spread = nn.Linear(16, 4), nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = self.body(x)
        spread = self.spread(hidden).detach()
        return self.mean(hidden), spread


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = Encoder(), nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8))
        self.add_module("</script><img src=x onerror=alert(1)>", nn.Linear(8, 8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mean, spread = self.encoder(x)
        taken = mean + torch.randn_like(mean) * spread.exp()
        evil = self._modules["</script><img src=x onerror=alert(1)>"]
        return evil(self.decoder(taken))


@pytest.fixture(scope="module")
def scope() -> Any:
    torch.manual_seed(0)
    net = Net()
    step = torch.optim.SGD(net.parameters(), lr=0.01)
    with gradscope.watch() as scope:
        for _ in range(4):
            x = torch.randn(4, 8)
            loss = (net(x) - x).pow(2).mean()
            step.zero_grad()
            loss.backward()
            step.step()
    return scope


@pytest.fixture(scope="module")
def file(scope: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "a <b>#?.html"
    path.write_text(render(examine(scope.trace)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture
def page(browser: Browser, file: Path) -> Iterator[Browser]:
    browser.size(1500, 950)
    browser.dark(False)
    browser.open(file)
    yield browser
    assert browser.faults == []  # no exception, nothing that the policy has refused
    assert len(browser.requests) == 1


def texts(page: Browser, selector: str) -> list[str]:
    found: list[str] = page.run(f"[...document.querySelectorAll({selector!r})].map(e => e.textContent)")
    return found


def box(words: str) -> str:
    return f"[...document.querySelectorAll('.box')].find(b => b.querySelector('.name').textContent.includes({words!r}))"


def status(page: Browser) -> str:
    return str(page.run("document.getElementById('where').textContent"))


def test_a_finding_opened_outlines_its_boxes_and_marks_its_lines(page: Browser) -> None:
    page.click("document.querySelector('details.finding summary')")
    assert page.run("document.querySelector('details.finding').open")
    page.until("document.querySelector('.box.told')")
    told = " ".join(texts(page, ".box.told"))
    assert "GS301" in told and "backward" in told
    lines = texts(page, ".line.here code")
    assert any(".detach()" in line for line in lines) and any("loss.backward()" in line for line in lines)
    shown = page.run(
        "(() => { const r = document.querySelector('.line.here').getBoundingClientRect(); return r.top; })()"
    )
    assert 0 < shown < 950


def test_a_box_opens_and_closes_by_mouse(page: Browser) -> None:
    page.keys("m")
    before = texts(page, ".box .name")
    page.click(
        "[...document.querySelectorAll('.title')].find(t => t.textContent.includes('encoder')).querySelector('.toggle')"
    )
    closed = texts(page, ".box .name")
    assert len(closed) < len(before) and any("encoder" in name for name in closed)
    assert "no gradient for encoder.spread" in page.run(f"({box('encoder')}).textContent")
    page.click(f"({box('encoder')}).querySelector('.toggle')")
    assert sorted(texts(page, ".box .name")) == sorted(before)
    page.click(box("mean"), clicks=1)
    assert page.run(f"({box('mean')}).classList.contains('chosen')")
    assert "encoder.mean" in page.run("document.getElementById('about').textContent")


def test_boxes_stay_apart_and_inside_those_that_hold_them(page: Browser) -> None:
    for key in ("m", "l", "o", "o"):
        page.keys(key)
        rects = page.run(
            "[...document.querySelectorAll('.box>rect.body')].map(r => r.getBBox())"
            ".map(b => [b.x, b.y, b.width, b.height])"
        )
        for at, (x, y, w, h) in enumerate(rects):
            for x2, y2, w2, h2 in rects[at + 1 :]:
                assert x + w <= x2 or x2 + w2 <= x or y + h <= y2 or y2 + h2 <= y
        wide = page.run(
            "[...document.querySelectorAll('.box')].flatMap(b => { const r = b.querySelector('.body').getBBox();"
            " return [...b.querySelectorAll('text')].map(t => t.getBBox())"
            ".filter(t => t.x + t.width > r.x + r.width + 1); }).length"
        )
        assert wide == 0  # each text is inside its box


def test_the_way_of_a_gradient_is_lit_under_the_mouse(page: Browser) -> None:
    page.keys("m")
    page.mouse(*page.middle(f"({box('mean')}).querySelector('.name')"))
    lit = " ".join(texts(page, ".box.lit .name"))
    assert "mean" in lit and "loss.backward()" in lit and "spread" not in lit
    assert page.run("document.querySelectorAll('.edge.lit').length") >= 5
    page.mouse(*page.middle(f"({box('spread')}).querySelector('.name')"))
    lost = " ".join(texts(page, ".box.lost .name"))
    assert "spread" in lost and "detach" in lost and "mean" not in lost
    assert page.run("document.querySelectorAll('.lit').length") == 0


def test_a_closed_box_says_where_the_cut_in_it_stands(page: Browser) -> None:
    for key in "mccc":
        page.keys(key)
    page.click(box("✂"), clicks=1)
    facts = page.run(
        "Object.fromEntries([...document.querySelectorAll('#about dt')]"
        ".map(name => [name.textContent, name.nextSibling.textContent]))"
    )
    assert "detach: " in facts["cut"] and ".py:33" in facts["cut"] and "at" not in facts


def test_pan_and_zoom(page: Browser) -> None:
    page.keys("g", "-")
    (x, y, _, _), *_ = page.corners(".box")
    ((left, top, right, low),) = page.corners("#canvas")
    page.drag((left + 4, low - 4), (left + 64, low - 44))
    (x2, y2, _, _), *_ = page.corners(".box")
    assert abs(x2 - x - 60) < 3 and abs(y2 - y + 40) < 3
    before, *_ = page.corners(".box")
    page.wheel((left + right) / 2, (top + low) / 2, -120)
    after, *_ = page.corners(".box")
    assert after[2] - after[0] > 1.1 * (before[2] - before[0])
    page.keys("f")
    for x, y, x2, y2 in page.corners(".box"):
        assert left <= x and top <= y and x2 <= right and y2 <= low


def test_search_opens_what_hides_it(page: Browser) -> None:
    page.keys("m", "c", "c", "c", "/", *"spread")
    found = texts(page, "#hits li span:first-child")
    assert "encoder.spread.weight" in found and any("detach()" in text for text in found)
    page.keys("ArrowDown", "ArrowUp", "Enter")
    assert "spread" in page.run("document.querySelector('.chosen').textContent")
    page.keys("/")
    page.run("document.getElementById('search').select()")
    page.keys(*"decoder.0.bias", "Enter")
    assert "decoder.0.bias" in page.run("document.activeElement.textContent")
    assert "gets its gradient by the way below" in page.run("document.querySelector('td.why').textContent")


def test_search_lists_each_name_once_and_says_how_many_are_left(page: Browser) -> None:
    page.keys("/", *"a")
    rows = page.run(
        "[...document.querySelectorAll('#hits li')].map(e => [...e.children].map(s => s.textContent).join('|'))"
    )
    assert len(rows) == len(set(rows)) and rows[-1].startswith("and ") and "more" in rows[-1]
    page.run("document.getElementById('search').select()")
    page.keys(*"spread.weight")
    assert texts(page, "#hits li span:first-child").count("encoder.spread.weight") == 1


def test_a_small_window_has_the_top_of_the_picture_and_the_whole_legend(browser: Browser, file: Path) -> None:
    browser.size(1280, 720)
    browser.open(file)
    ((_, top, _, _),) = browser.corners("#canvas")
    assert min(box[1] for box in browser.corners(".box")) >= top
    whole = "(e => e.scrollHeight <= e.clientHeight && e.scrollWidth <= e.clientWidth)"
    assert browser.run(f"{whole}(document.getElementById('legend'))")


def test_it_is_used_by_keyboard_alone(page: Browser) -> None:
    page.keys("g", "m", "ArrowDown", "ArrowDown")
    first = status(page)
    assert page.run("document.activeElement.id") == "canvas" and first
    page.keys("ArrowDown")
    assert status(page) != first and page.run("document.querySelectorAll('.chosen').length") == 1
    for _ in range(12):
        if page.run("document.querySelector('.chosen').classList.contains('shut')"):
            break
        page.keys("ArrowDown")
    count = len(texts(page, ".box"))
    page.keys("Enter")
    assert len(texts(page, ".box")) > count and "opened" in status(page)
    page.keys("s")
    assert page.run("document.querySelectorAll('.line.here').length") == 1
    page.keys("Escape", "n")
    assert page.run("document.activeElement.closest('details.finding') !== null")
    page.keys("2", "?")
    assert page.run("document.getElementById('help').open")
    page.keys("Escape", "3")
    assert page.run("document.getElementById('tab-steps').getAttribute('aria-selected')") == "true"
    reached = set()
    page.run("document.activeElement.blur()")
    for _ in range(40):
        page.keys("Tab")
        reached.add(
            page.run(
                "document.activeElement.id || document.activeElement.className || document.activeElement.tagName"
            )
        )
    assert {"search", "canvas", "help-button", "tab-steps"} <= reached


def test_help_is_left_by_its_key_by_a_click_beside_it_and_gives_the_focus_back(page: Browser) -> None:
    opened, focused = "document.getElementById('help').open", "document.activeElement.textContent.trim()"
    page.keys("g", "?")
    assert page.run(opened) and page.run(focused) == "Close"
    page.keys("?")
    assert not page.run(opened) and page.run("document.activeElement.id") == "canvas"
    page.click("document.getElementById('help-button')")
    page.mouse(5, 5, clicks=1)
    assert not page.run(opened)


def test_data_that_a_line_makes_does_not_put_it_above_what_it_takes(tmp_path: Path) -> None:
    net = nn.Linear(3, 2)
    with gradscope.watch() as scope:
        out = net(torch.randn(4, 3))
        loss = nn.functional.cross_entropy(out, torch.randint(0, 2, (4,)))
        loss.backward()
    path = tmp_path / "page.html"
    path.write_text(render(examine(scope.trace)))
    browser = Browser()
    try:
        browser.open(path)
        browser.click("document.querySelector('[data-way=line]')")
        (_, first), (_, second) = (browser.middle(box(words)) for words in ("out = net(", "loss = nn"))
        assert first < second
    finally:
        browser.close()


def test_the_steps_say_what_the_program_did(page: Browser) -> None:
    titles, events = texts(page, "#steps td:first-child"), " ".join(texts(page, "#steps td.events"))
    assert "step 1" in titles and "no step" not in titles
    assert "backward" in events and "call_time" not in events and "still" not in events


def test_the_legend_has_the_marks_of_findings(page: Browser) -> None:
    shown = page.run(
        "[...document.querySelectorAll('#legend li')].filter(e => !e.hidden).map(e => e.textContent)"
    )
    assert {"▲cause of a finding", "▽what it is about"} <= set(shown)
    page.keys("3")
    (figure,) = page.corners("figure#loss svg")
    assert figure[3] > figure[1]


def test_parameters_sort_filter_and_answer(page: Browser, scope: Any) -> None:
    page.keys("2")
    page.click("document.querySelector('[data-key=got]')")
    names = texts(page, "#rows .name button")
    assert names[:2] == ["encoder.spread.weight", "encoder.spread.bias"]
    page.click("document.querySelector('#rows .name button')")
    shown = page.run("document.querySelector('td.why').textContent")
    answer = why(scope.trace, "encoder.spread.weight")
    assert answer.headline.replace("`", "") in shown
    assert all(fact.replace("`", "") in shown for fact in answer.seen)
    page.click("document.querySelector('td.why button.place')")
    assert page.run("document.getElementById('source').hidden") is False
    page.keys("2")
    page.click("document.getElementById('filter')")
    page.keys(*"decoder")
    assert all("decoder" in name for name in texts(page, "#rows .name button"))


def test_a_line_of_the_source_is_found_in_the_picture(page: Browser) -> None:
    page.keys("l")
    page.click(
        "[...document.querySelectorAll('.line.worked')].find(l => l.textContent.includes('spread.exp()'))"
        ".querySelector('.no')"
    )
    assert "spread.exp()" in page.run("document.querySelector('.chosen').textContent")


@pytest.mark.parametrize("dark", [False, True])
def test_texts_stand_out_from_their_boxes(page: Browser, dark: bool) -> None:
    page.dark(dark)
    page.keys("m", "o")
    pairs = page.run(
        "[...document.querySelectorAll('.box')].flatMap(b => {"
        " const f = getComputedStyle(b.querySelector('.body')).fill;"
        " return [...b.querySelectorAll(':scope > text')].map(t => [getComputedStyle(t).fill, f, t.textContent]); })"
    )
    for ink, ground, text in pairs:
        assert contrast(ink, ground) >= 4.5, (text, ink, ground)


def contrast(one: str, other: str) -> float:
    def light(colour: str) -> float:
        parts = [int(n) / 255 for n in colour.removeprefix("rgb(").removesuffix(")").split(", ")]
        r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


def test_a_narrow_window_shows_one_part_at_a_time(page: Browser) -> None:
    page.size(420, 800)
    assert page.run("getComputedStyle(document.getElementById('findings')).visibility") == "hidden"
    assert page.run("document.getElementById('canvas').clientHeight") > 300
    page.click("document.querySelector('nav [data-to=findings]')")
    assert page.run("getComputedStyle(document.getElementById('findings')).visibility") == "visible"
    page.click("document.querySelector('details.finding summary')")
    page.click("document.querySelector('details.finding button.place')")
    assert page.run("getComputedStyle(document.getElementById('source')).visibility") == "visible"
    assert page.run("document.documentElement.scrollWidth") <= 420


def test_names_of_the_program_stay_text(page: Browser) -> None:
    assert page.run("document.images.length") == 0
    page.keys("m")
    assert any("onerror" in name for name in texts(page, ".box .name"))
    page.keys("/", *"onerror")
    assert any("</script><img" in text for text in texts(page, "#hits li"))
    assert page.run("document.images.length") == 0


def test_a_finding_about_a_call_stands_in_the_box_around_it(tmp_path: Path) -> None:
    """Whether that box is open or not."""
    net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    step = torch.optim.SGD(net.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(3):
            step.zero_grad()
            net(torch.randn(4, 4)).pow(2).mean().backward()
            step.step()
            net.eval()
            net(torch.randn(4, 4)).argmax(1)
            net.train()
    assert [finding.code for finding in scope.trace.findings] == ["GS402"]
    path = tmp_path / "page.html"
    path.write_text(render(examine(scope.trace)))
    browser = Browser()
    try:
        browser.open(path)
        browser.click("document.querySelector('[data-way=module]')")
        signs = "[...document.querySelectorAll('#world .red')].map(e => e.textContent.trim())"
        for button in ("open", "shut"):
            browser.click(f"document.querySelector('[data-do={button}]')")
            browser.settle()
            assert browser.run(signs) == ["▲ GS402"]
            assert (
                browser.run("document.querySelectorAll('#world .o-place, #world .edge.finding').length") == 0
            )
            assert browser.run("document.querySelector('[data-mark=\"▲\"]').hidden") is False
        assert not browser.faults
    finally:
        browser.close()
