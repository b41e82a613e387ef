"""Pictures for other programs: networkx reads them back equal, Mermaid draws them."""

from __future__ import annotations

import io
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
import torch
from torch import nn

import gradscope
import gradscope.render.pictures
from gradscope.api import picture
from gradscope.commands import main
from gradscope.graph import READABLE
from gradscope.model import GradscopeError
from gradscope.render._plain import plain_graph
from gradscope.render.mermaid import mermaid

LEVELS = ["op", "line", "module"]


@pytest.fixture(scope="module")
def scope() -> Any:
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(inplace=True), nn.Linear(4, 1))
    lost = nn.Linear(3, 3)
    step = torch.optim.SGD([*net.parameters(), *lost.parameters()], lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(2):
            x = torch.randn(5, 3)
            loss = net(x + lost(x).detach()).pow(2).mean()
            step.zero_grad()
            loss.backward()
            step.step()
    return scope


@pytest.mark.parametrize("level", LEVELS)
def test_json_is_read_back_equal(scope: Any, level: str, tmp_path: Path) -> None:
    shown = picture(scope.trace, level)
    path = shown.render(tmp_path / "g.json")
    read = nx.node_link_graph(json.loads(path.read_text()), edges="edges")
    written = plain_graph(shown.view)
    assert nx.utils.graphs_equal(read, written) and read.graph == written.graph
    assert len(read) == len(shown.graph) and read.number_of_edges() == shown.graph.number_of_edges()
    assert {data["kind"] for _, data in read.nodes.items()} == {
        d["kind"] for _, d in shown.graph.nodes.items()
    }


@pytest.mark.parametrize("suffix", ["json", "graphml"])
def test_what_programs_read_has_the_level_that_is_asked_for(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = nn.Linear(3, 3)
    with gradscope.watch() as scope:
        x = torch.randn(2, 3)
        for k in range(100):  # no two rounds alike
            x = model(x)[:, :3].reshape(-1, 3).repeat(1 if k % 7 else 2, 1) + float(k)
            x = torch.sin(x) if k % 3 else x
        x.sum().backward()
    trace, path = scope.save(tmp_path / "t.gradscope"), tmp_path / f"g.{suffix}"
    assert main(["graph", str(trace), "--level", "op", "-o", str(path)]) == 0
    nodes = len(
        nx.read_graphml(path)
        if suffix == "graphml"
        else nx.node_link_graph(json.loads(path.read_text()), edges="edges")
    )
    assert nodes > READABLE
    assert f"(op level, {nodes} nodes)" in capsys.readouterr().out
    assert main(["graph", str(trace), "--level", "op", "-o", str(tmp_path / "g.dot")]) == 0
    boxes = (tmp_path / "g.dot").read_text().count("fillcolor=")
    assert f"(line level, {boxes} boxes)" in capsys.readouterr().out


@pytest.mark.parametrize("level", LEVELS)
def test_graphml_is_read_back_equal(scope: Any, level: str, tmp_path: Path) -> None:
    shown = picture(scope.trace, level)
    path = shown.render(tmp_path / "g.graphml")
    read = nx.read_graphml(path, force_multigraph=True)
    written = plain_graph(shown.view, lists=False)
    assert read.nodes == written.nodes and read.adj == written.adj
    assert written.graph.items() <= read.graph.items()  # GraphML has graph attributes of its own besides
    (cut,) = [data for _, data in read.nodes.items() if data.get("severs")]
    assert cut["causes"] == '["GS301"]'
    as_json = nx.node_link_graph(json.loads(shown.render(tmp_path / "g.json").read_text()), edges="edges")
    for id, data in as_json.nodes.items():
        lists = {key: value for key, value in data.items() if isinstance(value, list)}
        assert {key: json.loads(read.nodes[id][key]) for key in lists} == lists


def test_graphml_takes_any_text(scope: Any) -> None:
    shown = picture(scope.trace, "line")
    for _, data in shown.view.graph.nodes.items():
        data["label"] = "</node>\x00\x1b&\ud800\u202e"
    file = io.BytesIO(gradscope.render.pictures.paint(shown.view, "graphml"))
    assert "</node>" in next(data["label"] for _, data in nx.read_graphml(file).nodes(data=True))


@pytest.mark.parametrize("level", LEVELS)
def test_mermaid_has_every_box_and_way(scope: Any, level: str, tmp_path: Path) -> None:
    shown = picture(scope.trace, level)
    text = shown.render(tmp_path / "g.mmd").read_text(encoding="utf-8")
    assert text.splitlines()[1] == "flowchart TD"
    assert text.count("subgraph") == len(re.findall(r"^ +end$", text, re.M))
    assert "no gradient for lost.weight, lost.bias" in text and "GS301" in text and "-. lost .->" in text
    boxes = set(re.findall(r"^ +(n\d+)[\[(]", text, re.M))
    ends = set(re.findall(r"^  (n\d+) -.*> (n\d+)$", text, re.M))
    assert {box for both in ends for box in both} <= boxes


def test_mermaid_lists_leaves_that_the_same_boxes_take_in_one_box(scope: Any) -> None:
    shown = picture(scope.trace, "line")
    text = mermaid(shown.view)
    names = [data["label"] for _, data in shown.view.graph.nodes.items() if data["kind"] == "parameter"]
    holders = [
        line for line in text.splitlines() if any(f"{name} " in line for name in names) and "●" in line
    ]
    assert len(names) > len(holders) and all(name in text for name in names)


def test_mermaid_takes_any_text_and_refuses_what_it_would_not_draw(scope: Any, tmp_path: Path) -> None:
    shown = picture(scope.trace, "line")
    for _, data in shown.view.graph.nodes.items():
        data["label"] = '"]; click n1 javascript:alert(1) %% <b>`end`'
    text = shown.render(tmp_path / "g.mmd").read_text(encoding="utf-8")
    assert "<b>" not in text and '"];' not in text and "`" not in text
    for _, data in shown.view.graph.nodes.items():
        data["detail"] = "x" * 20_000
    with pytest.raises(GradscopeError, match="too much for Mermaid"):
        shown.render(tmp_path / "g.mmd")


def test_a_pdf_is_as_large_as_the_svg(scope: Any, tmp_path: Path) -> None:
    shown = picture(scope.trace, "line")
    pdf = shown.render(tmp_path / "g.pdf").read_bytes()
    assert pdf.startswith(b"%PDF-")
    box = re.search(rb"/MediaBox \[\s*0 0 ([\d.]+) ([\d.]+)", pdf)
    size = re.search(
        r'<svg width="([\d.]+)pt" height="([\d.]+)pt"', shown.render(tmp_path / "g.svg").read_text()
    )
    assert box is not None and size is not None
    assert [float(n) for n in box.groups()] == pytest.approx(
        [float(n) for n in size.groups()], abs=20
    )  # its layout is placed anew, with narrower margins around the legend


@pytest.mark.skipif(shutil.which("dot") is not None, reason="graphviz is here")
def test_a_pdf_that_nothing_can_write_is_one_clear_error(
    scope: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "svglib.svglib", None)
    with pytest.raises(GradscopeError, match=r"a PDF needs"):
        picture(scope.trace, "line").render(tmp_path / "g.pdf")
    assert list(tmp_path.iterdir()) == []


def test_a_run_writes_all_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.py").write_text("import torch\ntorch.ones(2, requires_grad=True).sum().backward()\n")
    names = ["p.html", "p.svg", "p.pdf", "p.mmd", "p.graphml", "p.dot", "p.md", "p.json"]
    assert main(["run", *(part for name in names for part in ("-o", name)), "p.py"]) == 0
    assert all((tmp_path / name).stat().st_size > 100 for name in names)
    assert "findings" in json.loads((tmp_path / "p.json").read_text())  # a run's JSON is the report
    assert main(["run", "-o", "p.xyz", "p.py"]) == 2
