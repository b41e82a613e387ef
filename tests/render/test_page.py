"""The page: what stands in it, that nothing of the program's text becomes markup, how large it gets."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import gradscope
from gradscope.answers import why
from gradscope.check import Report, examine
from gradscope.commands import main
from gradscope.render.html import render

EVIL = '</script><img src=x onerror="alert(1)">\'{{7*7}}<!--'


class Page(HTMLParser):
    """The page's elements, its text, its data."""

    def __init__(self, text: str):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.styles: list[str] = []
        self.text = ""
        self._inside = ""
        self.feed(text)
        (self.data,) = (json.loads(s) for s in self.scripts if s.startswith('{"'))
        self.code = [s for s in self.scripts if not s.startswith('{"')]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag if tag in ("script", "style") else ""
        if self._inside:
            {"script": self.scripts, "style": self.styles}[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside:
            {"script": self.scripts, "style": self.styles}[self._inside][-1] += data
        else:
            self.text += data


def report_of(scope: Any) -> Report:
    return examine(scope.trace)


@pytest.fixture(scope="module")
def scope() -> Any:
    body, head, lost = nn.Linear(3, 4), nn.Linear(4, 1), nn.Linear(3, 4)
    step = torch.optim.SGD([*body.parameters(), *head.parameters(), *lost.parameters()], lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(3):
            x = torch.randn(8, 3)
            hidden = body(x) + lost(x).detach()
            loss = head(torch.relu(hidden)).pow(2).mean()
            step.zero_grad()
            loss.backward()
            step.step()
    return scope


@pytest.fixture(scope="module")
def page(scope: Any) -> Page:
    return Page(render(report_of(scope)))


def test_it_tells_what_the_report_tells(scope: Any, page: Page) -> None:
    assert "GS301" in [finding["code"] for finding in page.data["findings"]]
    shown = " ".join(page.text.split())
    for finding in scope.findings:
        assert finding.message.replace("`", "") in shown
        assert finding.fix.replace("`", "") in shown
        for fact in finding.seen:
            assert fact.replace("`", "") in shown


def test_each_parameter_has_the_answer_of_why(scope: Any, page: Page) -> None:
    rows = {row["name"]: row for row in page.data["params"]}
    assert set(rows) >= {"lost.weight", "body.bias", "head.weight"}
    for name, row in rows.items():
        answer = why(scope.trace, name)
        assert row["why"]["head"] == answer.headline
        texts = page.data["texts"]
        assert [texts[n] for n in row["why"]["seen"]] == answer.seen
        steps = [(line, texts[label]) for _, line, label, _ in row["why"]["steps"]]
        assert steps == [(s.site.line, s.label) for s in answer.steps]
    assert rows["lost.weight"]["got"] == "never" and rows["body.weight"]["got"] == "×3"
    assert [step for step, _ in rows["body.weight"]["norms"]] == [1, 2, 3]


def test_a_finding_knows_its_boxes_and_its_parameters(page: Page) -> None:
    number = [finding["code"] for finding in page.data["findings"]].index("GS301")
    causes, effects = page.data["pointed"][number]
    assert [page.data["nodes"][n]["cut"] for n in causes] == ["detach"]
    assert [page.data["nodes"][n]["k"] for n in effects] == ["backward"]
    names = [
        row["name"] for row in page.data["params"] if row["id"] in page.data["findings"][number]["params"]
    ]
    assert names == ["lost.weight", "lost.bias"]
    leaves = [page.data["nodes"][page.data["parameters"][str(row["id"])]] for row in page.data["params"]]
    assert [leaf["l"] for leaf in leaves] == [row["name"] for row in page.data["params"]]


def test_the_source_has_marks_in_its_gutter(scope: Any, page: Page) -> None:
    lines = {a["id"]: a.get("title") or "" for tag, a in page.elements if tag == "div" and a.get("id")}
    (cause,) = {f.locations[0].line for f in scope.findings if f.code == "GS301"}
    file = next(n for n, name in enumerate(page.data["files"]) if name.endswith("test_page.py"))
    assert "the gradient was cut here" in lines[f"s{file}-{cause}"]  # type: ignore[operator]
    assert "GS301 (cause" in lines[f"s{file}-{cause}"]  # type: ignore[operator]


def test_the_policy_lets_in_nothing_but_the_page_itself(page: Page) -> None:
    (policy,) = (a["content"] for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))  # type: ignore[union-attr]
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert "unsafe" not in policy  # type: ignore[operator]

    def hashes(texts: list[str]) -> str:
        found = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts)
        return " ".join(f"'sha256-{one}'" for one in found)

    assert rules["script-src"] == hashes(page.code) and rules["style-src"] == hashes(page.styles)
    for _, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
        assert not (attributes.get("src") or (attributes.get("href") or "data:,") != "data:,")
    assert not re.search(r"\beval\(|new Function|innerHTML|document\.write", "".join(page.code))


def test_no_text_of_the_program_becomes_markup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "a<img onerror=alert(1)>.py"
    program.write_text(
        f"""
import torch
from torch import nn
evil = {EVIL!r}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.add_module(evil.replace(".", ""), nn.Linear(2, 2))
        self.cut = nn.Linear(2, 2)
    def forward(self, x):
        return sum(m(x) for m in self._modules.values()) + self.cut(x).detach()
Net.__name__ = Net.__qualname__ = evil
net = Net(); lost = nn.Linear(2, 2)
step = torch.optim.SGD([*net.parameters(), *lost.parameters()], lr=0.1)
loss = net(torch.ones(1, 2)).sum() + lost(torch.ones(1, 2)).detach().sum()  # {EVIL} \u202e\u2066
loss.backward(); step.step()
""",
        encoding="utf-8",
    )
    assert main(["run", "-o", "out.html", str(program)]) == 0
    text = (tmp_path / "out.html").read_text(encoding="utf-8")
    page = Page(text)
    assert not [tag for tag, _ in page.elements if tag == "img"]
    assert "<!--" not in text.split("<script>")[0]
    assert "onerror=" in page.text  # shown as what it is
    assert not [sign for sign in text if sign in "\u202e\u2066\x1b"]
    assert len(page.scripts) == len(page.code) + 1 == 4


@pytest.mark.nightly
def test_three_thousand_boxes_take_three_megabytes(tmp_path: Path) -> None:
    class Unit(nn.Module):
        def __init__(self, size: int):
            super().__init__()
            self.one, self.two = nn.Linear(size, size), nn.Linear(size, size + 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.tanh(
                self.two(torch.relu(self.one(x))) * 0.5
            )  # of a size of its own: none are folded

    net = nn.Sequential(*(Unit(size) for size in range(2, 602)))
    with gradscope.watch() as scope:
        net(torch.randn(2, 2)).sum().backward()
    text = render(report_of(scope))
    assert sum(node["k"] != "parameter" for node in Page(text).data["nodes"]) >= 3000
    sizes = {key: len(json.dumps(value)) for key, value in Page(text).data.items()}
    assert len(text.encode()) <= 3_000_000, sizes


def test_it_is_made_by_run_graph_and_check(
    tmp_path: Path, scope: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    trace = scope.save(tmp_path / "t.gradscope")
    assert main(["graph", str(trace), "-o", "graph.html"]) == 0
    capsys.readouterr()
    assert main(["check", str(trace), "--output-format", "html"]) == 1
    printed = capsys.readouterr().out
    assert Page(printed).data["findings"] == Page((tmp_path / "graph.html").read_text()).data["findings"]
    assert main(["graph", str(trace), "-o", "graph.html", "--level", "op"]) == 2
    (tmp_path / "p.py").write_text("print('done')\n")
    assert main(["run", "--report", "r.html", "--graph", "g.html", "-o", "o.svg", "-o", "o.md", "p.py"]) == 0
    for name in ("r.html", "g.html"):
        assert "nothing to report" in (tmp_path / name).read_text()
    assert (tmp_path / "o.svg").exists() and (tmp_path / "o.md").exists()


def test_it_takes_part_in_nothing_without_a_graph() -> None:
    with gradscope.watch() as scope:
        torch.ones(2).sum()
    page = Page(render(report_of(scope)))
    assert page.data["params"] == [] and "nothing to report" in page.text


def test_two_losses_are_two_curves_and_a_leaf_of_each_round_is_one_row() -> None:
    fit, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    steps = [torch.optim.SGD(net.parameters(), lr=0.01) for net in (fit, critic)]
    with gradscope.watch() as scope:
        for _ in range(4):
            mixed = torch.randn(4, 2).requires_grad_()
            (slope,) = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
            score = (slope.norm(dim=1) - 1).square().mean() - 100
            steps[1].zero_grad()
            score.backward()
            steps[1].step()
            loss = fit(torch.ones(4, 2)).square().mean()
            steps[0].zero_grad()
            loss.backward()
            steps[0].step()
    page = Page(render(report_of(scope)))
    score, loss = page.data["losses"]
    assert score["name"].startswith("score (") and all(value < 0 for _, value in score["points"])
    assert loss["name"].startswith("loss (") and all(value >= 0 for _, value in loss["points"])
    rows = {row["name"]: row for row in page.data["params"]}
    assert "mixed ×4" in rows and "mixed" not in rows and len(rows) == 5
