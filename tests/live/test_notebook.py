"""Notebooks, run by a real kernel: cells have the names that their user sees, and what is shown can do no harm."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import chain
from pathlib import Path
from typing import Any

import nbformat
import pytest
import torch
from nbclient import NotebookClient

import gradscope

PACKAGE = Path(gradscope.__file__).parent
STALE = """\
torch.manual_seed(0)
net = torch.nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    loss = net(torch.randn(8, 4)).square().mean()
    loss.backward()
    opt.step()
print(net.weight.sum().item())
loss.item()
"""
CELLS = {
    "load": "import gradscope, torch\n%load_ext gradscope",
    "plain": STALE,
    "watched": "%%gradscope\n" + STALE,
    "finding": "scope.findings[0]",
    "graph": "scope.graph()",
    "trace": "scope.trace",
    "why": "scope.why('net.weight')",
    "table": "gradscope.table(net)",
    "live": "gradscope.why(loss)",
    "future": "%%gradscope kept\nfrom __future__ import annotations\nimport asyncio\nawait asyncio.sleep(0)\n"
    "x = torch.ones(3, requires_grad=True)\n(x * 2).sum().backward()",
    "fails": "%%gradscope\ny = torch.ones(3, requires_grad=True).sigmoid()\ny.add_(1)\ny.sum().backward()",
    "block": "with gradscope.watch() as s:\n    a = torch.ones(3, requires_grad=True)\n    b = a * 1\n"
    "    c = (b * b).sum()\n    b.data.zero_()  # <script>alert('x')</script><img src=x onerror=alert(1)>\n"
    "    c.backward()",
    "shown": "s",
    "within": "%%time\n%%gradscope\nb = torch.ones(3, requires_grad=True) * 1\nc = (b * b).sum()\n"
    "b.data.zero_()\nc.backward()",
    "above": "%%gradscope\n%%time\nwatched_above = torch.ones(3)",
    "captured": "%%gradscope\n%%capture\nprint('not shown')\nx = torch.ones(3, requires_grad=True)\n"
    "(x * 2).sum().backward()",
    "misspelt": "%%gradscope --ful\nprint('all the same')",
    "no name": "%%gradscope 2bad\nprint('runs all the same')",
    "help": "print(get_ipython().transform_cell('%%gradscope?'))",
    "no python": "%%gradscope\n1 +",
}


@pytest.fixture(scope="module")
def outputs() -> dict[str, list[Any]]:
    """What each cell of the notebook shows."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS.values()])
    # what a program prints may come in several pieces
    NotebookClient(
        book, timeout=120, kernel_name="python3", allow_errors=True, coalesce_streams=True
    ).execute()
    return dict(zip(CELLS, [cell.outputs for cell in book.cells], strict=True))


def number(cell: str) -> int:
    return list(CELLS).index(cell) + 1


def text(shown: list[Any]) -> str:
    """All that stands below a cell, as text."""
    parts = [out.get("text") or out.get("data", {}).get("text/plain", "") for out in shown]
    return "\n".join(parts + [line for out in shown for line in out.get("traceback", ())])


def pages(outputs: dict[str, list[Any]]) -> list[str]:
    shown = [out.get("data", {}) for out in chain(*outputs.values())]
    return [data["text/html"] for data in shown if "text/html" in data]


def test_a_watched_cell_gives_what_the_plain_one_gives(outputs: dict[str, list[Any]]) -> None:
    plain, watched = outputs["plain"], outputs["watched"]
    assert [out.output_type for out in plain] == ["stream", "execute_result"]
    assert [text([out]) for out in watched[:2]] == [text([out]) for out in plain]
    assert watched[2].output_type == "display_data", "the report comes below"


def test_lines_are_those_of_the_cell(outputs: dict[str, list[Any]]) -> None:
    report = text(outputs["watched"][2:])
    assert f"--> In [{number('watched')}], line 8" in report and "opt.step()" in report
    assert f"(In [{number('watched')}], line 7)" in report, "in the words of the fix, too"
    assert f"In [{number('shown') - 1}], line 5" in text(outputs["shown"])
    assert f"In [{number('watched')}]" in text(outputs["trace"])
    assert "ipykernel" not in "".join(text(shown) for shown in outputs.values())


def test_other_magics_stand_above_and_below(outputs: dict[str, list[Any]]) -> None:
    assert "GS101" in text(outputs["within"])
    assert "Wall time" in text(outputs["above"]) and "UsageError" not in text(outputs["above"])
    assert "not shown" not in text(outputs["captured"]) and "1 backward pass" in text(outputs["captured"])


def test_what_is_told_to_do_next_can_be_done(outputs: dict[str, list[Any]]) -> None:
    report = text(outputs["watched"][2:])
    assert "scope.graph()" in report and "scope.why('net.weight')" in report
    assert "gradscope graph" not in report and "gradscope fix" not in report
    assert "kept.graph()" in text(outputs["future"]), "by the name that the cell has given"


def test_everything_shows_itself(outputs: dict[str, list[Any]]) -> None:
    for cell in ("finding", "trace", "why", "table", "live", "shown"):
        assert {"text/plain", "text/html"} <= set(outputs[cell][0]["data"]), cell
    assert {"text/plain", "image/svg+xml"} <= set(outputs["graph"][0]["data"])
    assert "<code>opt.zero_grad()</code>" in outputs["finding"][0]["data"]["text/html"]
    assert "opt.step()" in outputs["finding"][0]["data"]["text/html"], "with its source"


def test_a_cell_may_await_and_begin_with_a_future(outputs: dict[str, list[Any]]) -> None:
    assert "nothing to report" in text(outputs["future"])


def test_an_error_is_an_error_and_is_explained(outputs: dict[str, list[Any]]) -> None:
    error, report = outputs["fails"]
    assert error.ename == "RuntimeError" and "GS104" in text([report])
    shown = re.sub(r"\x1b\[[\d;]*m", "", text([error]))
    frames = [Path(frame).expanduser() for frame in re.findall(r"^File (.+?)(?::\d+|, in |$)", shown, re.M)]
    assert frames and not any(frame.is_relative_to(PACKAGE) for frame in frames), "none of our frames"
    assert outputs["no python"][0].ename == "SyntaxError" and len(outputs["no python"]) == 1


def test_below_another_magic(outputs: dict[str, list[Any]]) -> None:
    assert "GS101" in text(outputs["within"]) and "Wall time" in text(outputs["within"])


def test_a_mistake_in_the_options_costs_the_report_only(outputs: dict[str, list[Any]]) -> None:
    assert "all the same" in text(outputs["misspelt"]) and "--ful" in text(outputs["misspelt"])


class _Tags(HTMLParser):
    ALLOWED = {"div", "p", "b", "i", "span", "pre", "code", "table", "tr", "td", "th"}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in self.ALLOWED and {name for name, _ in attrs} <= {"style"}, (tag, attrs)


def test_the_pages_run_nothing(outputs: dict[str, list[Any]]) -> None:
    found = pages(outputs)
    assert len(found) > 8
    for page in found:
        _Tags().feed(page)
    assert any("&lt;script&gt;" in page for page in found), "the user's text is there, as text"
    assert "<script" not in outputs["graph"][0]["data"]["image/svg+xml"]


def test_what_is_no_name_is_said_and_help_is_asked_for(outputs: dict[str, list[Any]]) -> None:
    said = str(outputs["no name"])
    assert "`2bad` is no name for a variable: the cell runs unwatched" in said and "runs all the same" in said
    assert "pinfo" in text(outputs["help"])


def test_what_to_call_next_names_the_variable_of_the_cell(outputs: dict[str, list[Any]]) -> None:
    assert "next: " in text(outputs["shown"]) and " s.graph()" in text(outputs["shown"])


def test_what_to_call_next_names_the_variable_of_a_module() -> None:
    module = {"__name__": "train", "gradscope": gradscope, "torch": torch}
    lines = ["with gradscope.watch() as mine:", "    torch.ones(3, requires_grad=True).sum().backward()"]
    exec("\n".join([*lines, "told = mine.report()"]), module)
    assert " mine.graph()" in str(module["told"])
