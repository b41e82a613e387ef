"""Boxes within boxes: closed ones say what the picture of their depth says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import gradscope
from gradscope.graph import view
from gradscope.graph._build import Builder
from gradscope.graph._owners import line_boxes
from gradscope.graph._shown import shown
from gradscope.graph.outline import Outline, outline


class Block(nn.Module):
    def __init__(self, size: int):
        super().__init__()
        self.one, self.two = nn.Linear(size, 2 * size), nn.Linear(2 * size, size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = torch.relu(self.one(x))
        return x + self.two(hidden)


class Net(nn.Module):
    def __init__(self, depth: int):
        super().__init__()
        self.inner = nn.Linear(3, 4)
        self.blocks = nn.ModuleList(Block(4) for _ in range(depth))
        self.side = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.inner(x)
        for block in self.blocks:
            x = block(x)
        return self.side(x.detach() if x.shape[0] > 8 else x)


def traced(depth: int, rows: int = 4) -> Any:
    net = Net(depth)
    step = torch.optim.SGD(net.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(2):
            loss = net(torch.randn(rows, 3)).pow(2).mean()
            step.zero_grad()
            loss.backward()
            step.step()
    return scope


def closed(found: Outline, way: str) -> list[int]:
    """The boxes of a way that are seen at first."""
    boxes = found.ways[way]
    return [n for n, b in enumerate(boxes) if not b.opened and (b.parent is None or _open(boxes, b.parent))]


def _open(boxes: list[Any], number: int) -> bool:
    box = boxes[number]
    return box.opened and (box.parent is None or _open(boxes, box.parent))


@pytest.mark.parametrize("depth", [1, 2, 6])
@pytest.mark.parametrize("rows", [4, 16])
def test_what_is_shown_first_is_the_picture(depth: int, rows: int) -> None:
    scope = traced(depth, rows)
    found = outline(scope.trace, scope.findings)
    shown = found.view.graph.nodes.items()
    kinds = ("line", "module", "op", "cut")
    drawn = Counter((d["label"], d["count"]) for _, d in shown if d["kind"] in kinds and not d["earlier"])
    boxes = found.ways[found.view.level]
    told = [boxes[n].data for n in closed(found, found.view.level)]
    assert Counter((d["label"], d["count"]) for d in told if d["kind"] in kinds) == drawn


def test_a_line_that_the_picture_has_in_one_box_is_one_on_the_page_and_opens() -> None:
    """Its rounds all differ, and would be too many boxes."""
    sizes = [*range(3, 37), 2]
    layers = nn.ModuleList(nn.Linear(*pair) for pair in pairwise(sizes))
    with gradscope.watch() as scope:
        x = torch.randn(4, 3)
        for layer in layers:
            x = torch.tanh(layer(x))
        x.pow(2).mean().backward()
    found = outline(scope.trace)
    boxes = found.ways["line"]
    assert found.view.level == "line" and found.view.rolled
    (rounds,) = [n for n in closed(found, "line") if boxes[n].data["label"] == "x = torch.tanh(layer(x))"]
    assert boxes[rounds].data["count"] == len(layers) and not boxes[rounds].leaf
    assert any(box.parent == rounds for box in boxes)


@pytest.mark.parametrize("way", ["module", "line"])
def test_every_innermost_box_lies_in_one_box_of_each_depth(way: str) -> None:
    found = outline(traced(4).trace)
    boxes = found.ways[way]
    innermost = Counter(atom for box in boxes if box.leaf for atom in box.atoms)
    ops = {id for id in found.graph if id.startswith("op:")}
    assert set(innermost) == ops and set(innermost.values()) == {1}
    for number, box in enumerate(boxes):
        inside = [atom for b in boxes if b.parent == number for atom in b.atoms]
        assert box.leaf or sorted(inside) == sorted(box.atoms)


def test_findings_point_at_innermost_boxes() -> None:
    scope = traced(2, rows=16)
    found = outline(scope.trace, scope.findings)
    causes, _ = found.pointed[[f.code for f in scope.findings].index("GS301")]
    assert [found.graph.nodes[id]["cut"] for id in causes] == ["detach"]


def test_a_line_that_calls_a_loop_ran_once(tmp_path: Path) -> None:
    scope = traced(6)
    counts = {
        d["label"]: d["count"]
        for _, d in view(scope.trace, "line", depth=0).graph.nodes.items()
        if d["kind"] == "line"
    }
    assert counts == {"loss = net(torch.randn(rows, 3)).pow(2).mean()": 1}
    counts = {
        d["label"]: d["count"]
        for _, d in view(scope.trace, "line", depth=1).graph.nodes.items()
        if d["kind"] == "line"
    }
    assert counts["x = block(x)"] == 6 and counts["x = self.inner(x)"] == 1


def test_all_that_one_call_did_is_in_one_box_also_where_a_cut_divides_it() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.seg, self.cls = nn.Linear(3, 3), nn.Linear(3, 2), nn.Linear(3, 2)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            x = self.body(x).relu()
            with torch.no_grad():
                seg = self.seg(x)
            return seg, self.cls(x)

    net = Net()
    with gradscope.watch() as scope:
        seg, logits = net(torch.randn(4, 3))
        (seg.sum() + logits.sum()).backward()
    found = outline(scope.trace, scope.findings)
    boxes = found.ways["line"]
    (call,) = [n for n, box in enumerate(boxes) if box.data["label"].startswith("seg, logits = net(")]
    assert boxes[call].parent is None and boxes[call].data["count"] == 1
    inside = {box.data["label"] for box in boxes if box.parent == call}
    assert {"seg = self.seg(x)", "return seg, self.cls(x)"} <= inside
    assert any(name.endswith("seg.weight") for name in boxes[call].data["severs"])


class Wary(Block):
    """Does a part of its work under no_grad, where it is told to."""

    def __init__(self, learns: bool):
        super().__init__(4)
        self.learns = learns

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = torch.relu(self.one(x))
        with torch.set_grad_enabled(self.learns):
            out = self.two(hidden)
        return x + out


def of_wary_blocks(wary: Container[int] = (5,)) -> Any:
    class Stack(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(4, 4)
            self.blocks = nn.ModuleList(Wary(number not in wary) for number in range(10))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.inner(x)
            for block in self.blocks:
                x = block(x)
            return x

    net = Stack()
    with gradscope.watch() as scope:
        net(torch.randn(2, 4)).square().mean().backward()
    return scope


def test_a_module_that_works_under_two_grad_modes_is_one_box_that_opens() -> None:
    scope = of_wary_blocks()
    boxes = outline(scope.trace, scope.findings).ways["module"]
    (net,) = [number for number, box in enumerate(boxes) if box.data["label"] == "net"]
    (held,) = [box for box in boxes if box.data["label"] == "blocks"]
    assert boxes[net].parent is None and held.parent == net
    assert boxes[net].data["severs"] and boxes[net].data["region"] is None


def test_a_module_that_is_called_under_two_grad_modes_is_two_boxes() -> None:
    net = Block(4)
    with gradscope.watch() as scope:
        with torch.no_grad():
            before = net(torch.randn(2, 4))
        (net(torch.randn(2, 4)) - before).square().mean().backward()
    boxes = outline(scope.trace, scope.findings).ways["module"]
    assert [b.data["label"] for b in boxes if b.parent is None].count("net") == 2


def test_a_box_of_some_of_the_blocks_that_are_one_has_their_names() -> None:
    scope = of_wary_blocks()
    graph = view(scope.trace, "module", scope.findings, depth=2).graph
    told = {
        (data["label"], data["count"]): len(data["severs"])
        for _, data in graph.nodes.items()
        if data["kind"] in ("module", "cut")
    }
    assert told == {
        ("inner", 1): 0,
        ("blocks.0–4", 5): 0,
        ("blocks.5–9", 5): 0,
        ("blocks.5", 1): 4,
        ("blocks.6–9", 4): 0,
    }


def test_a_line_whose_calls_work_under_two_grad_modes_is_one_box_with_the_true_count() -> None:
    scope = of_wary_blocks(range(10))
    boxes = outline(scope.trace, scope.findings).ways["line"]
    (loop,) = [number for number, box in enumerate(boxes) if box.data["label"] == "x = block(x)"]
    assert boxes[loop].data["count"] == 10
    inside = {(box.data["label"], box.data["count"]) for box in boxes if box.parent == loop}
    assert inside == {
        ("hidden = torch.relu(self.one(x))", 10),
        ("out = self.two(hidden)", 10),
        ("return x + out", 10),
    }
    flow = shown(scope.trace, None, []).flow
    closed = Builder(flow, line_boxes(flow, 1, rolled=True), "line", {}, []).build()
    assert {data["count"] for _, data in closed.nodes.items() if data["label"] == "x = block(x)"} == {10}


def test_where_a_grad_mode_cuts_the_finding_is_told_at_what_it_cut() -> None:
    scope = of_wary_blocks()
    graph = view(scope.trace, "line", scope.findings).graph
    told = [(data["label"], data["kind"]) for _, data in graph.nodes.items() if "GS301" in data["causes"]]
    assert told == [("out = self.two(hidden)", "cut")]
