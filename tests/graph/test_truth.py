"""Folded pictures say what happened: their counts, arrows and cuts are those of the single ops."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import gradscope
from gradscope.analysis.flow import Flow
from gradscope.graph import view
from gradscope.graph._counts import Counts
from gradscope.graph._marks import marks
from gradscope.graph._owners import Boxes, line_boxes, module_boxes
from gradscope.graph._places import Key
from gradscope.graph._shown import shown as shown_of


class Gate(nn.Module):
    def __init__(self, skip: bool) -> None:
        super().__init__()
        self.inner, self.out = nn.Linear(8, 8), nn.Linear(8, 8)
        self.side = nn.Linear(8, 8) if skip else None

    def forward(self, x: Any) -> Any:
        y = torch.tanh(self.inner(x))
        if self.side is not None:
            x = self.side(x)
        return self.out(y) + x


class Stages(nn.Module):
    def __init__(self, *skips: bool) -> None:
        super().__init__()
        self.stages = nn.ModuleList(Gate(skip) for skip in skips)

    def forward(self, x: Any) -> Any:
        for stage in self.stages:
            x = stage(x)
        return x


class Straight(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        x = self.inner(x)
        return x + (x.round() - x).detach()


def layers(count: int, *sizes: int) -> list[nn.Linear]:
    widths = sizes or (8,) * (count + 1)
    return [nn.Linear(a, b) for a, b in pairwise(widths)]


def looped(model: list[nn.Module], x: Any, cut: int | None = None) -> Any:
    for number, layer in enumerate(model):
        x = F.relu(layer(x))
        if number == cut:
            x = x.detach()
    return x


def cells(rounds: int, truncated: bool = False) -> Any:
    cell, head = nn.RNNCell(4, 8), nn.Linear(8, 1)
    state, total = torch.zeros(2, 8), 0.0
    for number in range(rounds):
        state = cell(torch.ones(2, 4), state)
        total = total + head(state).mean()
        if truncated and number % 2:
            state = state.detach()
    return total


def tower(depth: int, x: Any, layer: nn.Module) -> Any:
    return x if depth == 0 else tower(depth - 1, torch.sin(layer(x)), layer)


def u_shaped(depth: int) -> Any:
    down, up = layers(depth), [nn.Linear(16, 8) for _ in range(depth)]
    x, kept = torch.randn(2, 8), []
    for layer in down:
        x = torch.relu(layer(x))
        kept.append(x)
    for layer in up:
        x = torch.relu(layer(torch.cat([x, kept.pop()], 1)))
    return x


def written() -> Any:
    x = layers(1)[0](torch.randn(2, 8))
    for _ in range(3):
        x = x * 2
        x[:, 0] = 0
    return x


def experts(count: int) -> Any:
    gate, all_of_them = nn.Linear(8, count), layers(count)
    x = torch.randn(6, 8)
    weights, out = gate(x).softmax(-1), torch.zeros(6, 8)
    for number, expert in enumerate(all_of_them):
        rows = torch.arange(6) % count == number
        out = out.index_add(0, rows.nonzero()[:, 0], weights[rows, number, None] * expert(x[rows]))
    return out


def data() -> Any:
    return torch.randn(2, 8)


PROGRAMS = {
    "one line": lambda: layers(1)[0](data()),
    "a loop": lambda: looped(layers(5), data()),
    "two rounds": lambda: looped(layers(2), data()),
    "layers that differ": lambda: looped(layers(0, 8, 16, 16, 16, 4), data()),
    "kinds that differ": lambda: looped([*layers(3), nn.Tanh(), *layers(2)], data()),
    "a cut in a loop": lambda: looped(layers(4), data(), cut=1),
    "a cut at its end": lambda: F.mse_loss(looped(layers(2), data(), cut=1) + layers(1)[0](data()), data()),
    "a recurrent cell": lambda: cells(6),
    "a truncated one": lambda: cells(7, truncated=True),
    "recursion": lambda: tower(5, data(), layers(1)[0]),
    "equal blocks": lambda: Stages(*[False] * 6)(data()),
    "blocks in pairs": lambda: Stages(*[False, True] * 3)(data()),
    "one block that differs": lambda: Stages(False, False, True, False)(data()),
    "first block differs": lambda: Stages(True, False, False, False)(data()),
    "a Sequential": lambda: nn.Sequential(*layers(3), nn.ReLU(), *layers(2))(data()),
    "Sequentials": lambda: nn.Sequential(*[nn.Sequential(*layers(2), nn.Tanh()) for _ in range(4)])(data()),
    "one Sequential twice": lambda: (lambda net: net(net(data())))(nn.Sequential(*layers(2))),
    "shared layer": lambda: (lambda layer: layer(data()) + layer(data() * 2))(layers(1)[0]),
    "a U": lambda: u_shaped(4),
    "a small U": lambda: u_shaped(1),
    "experts": lambda: experts(4),
    "uneven experts": lambda: experts(5),
    "writes": written,
    "attention": lambda: nn.MultiheadAttention(8, 2, batch_first=True)(*[torch.randn(2, 3, 8)] * 3)[0],
    "a transformer": lambda: nn.TransformerEncoder(
        nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 4, enable_nested_tensor=False
    )(torch.randn(2, 3, 8)),
    "an LSTM": lambda: nn.LSTM(8, 8, 2)(torch.randn(3, 2, 8))[0],
    "convolutions": lambda: nn.Sequential(
        *[nn.Sequential(nn.Conv1d(4, 4, 1), nn.BatchNorm1d(4), nn.ReLU()) for _ in range(3)]
    )(torch.randn(2, 4, 5)),
    "comprehension": lambda: torch.stack([layer(data()) for layer in layers(4)]).sum(0),
    "branches": lambda: sum(
        (layer(data()) if n % 2 else layer(data()).tanh()) for n, layer in enumerate(layers(5))
    ),
    "a cut beside": lambda: (lambda x: x + (x.round() - x).detach())(layers(1)[0](data())),
    "cuts beside": lambda: Stages(False)(nn.Sequential(*[Straight() for _ in range(3)])(data())),
    "no_grad inside": lambda: layers(1)[0](torch.no_grad()(looped)(layers(3), data())),
}


def let_out(flow: Flow, ops: list[int]) -> set[int]:
    """The values with a graph that leave a box."""
    own = set(ops)
    made = {value for op in ops for value in flow.outputs[op] if flow.values[value].requires_grad}
    return {v for v in made if v in flow.roots or not own.issuperset(flow.consumers.get(v, ()))}


def kept_back(flow: Flow, ops: list[int]) -> set[int]:
    """What comes into a box, reaches a cut in it, and no value with a graph that leaves it."""
    known = marks(flow)
    own = set(ops)

    def after(value: int) -> set[int]:
        """The ops that it goes to, and what these give: on ways with a graph, cuts included."""
        found: set[int] = set()
        todo = [value]
        while todo:
            for op in own.intersection(flow.consumers.get(todo.pop(), ())) - found:
                found.add(op)
                if op not in known:
                    todo += [v for v in flow.outputs[op] if flow.values[v].requires_grad]
        return found

    out = let_out(flow, ops)
    kept = set()
    for value in {v for op in ops for v in flow.inputs[op]}:
        if flow.maker[value] in own or not flow.values[value].requires_grad:
            continue
        reached = after(value)
        made = {v for op in reached if op not in known for v in flow.outputs[op]}
        if reached & known.keys() and not made & out:
            kept.add(value)
    return kept


def boxed(flow: Flow, level: str, depth: int | None) -> Boxes:
    return line_boxes(flow, depth) if level == "line" else module_boxes(flow, depth)


def made_by(flow: Flow, boxes: Boxes) -> list[Key | None]:
    """Of each value the box that made it; of data that was made before, the one of the same call's other rounds."""
    data: dict[Key, bool] = {}
    for op, key in zip(flow.ops, boxes.keys, strict=True):
        data[key] = data.get(key, True) and not op.nodes
    calls: dict[Any, set[Key]] = {}
    for at, (op, key) in enumerate(zip(flow.ops, boxes.keys, strict=True)):
        for value in flow.outputs[at] if data[key] else ():
            calls.setdefault((op.site.id, flow.values[value].shape), set()).add(key)
    found: list[Key | None] = []
    for value, maker in zip(flow.values, flow.maker, strict=True):
        at = value.site.id if value.kind == "input" and value.site is not None else -1
        others = calls.get((at, value.shape), set())
        found.append(
            boxes.keys[maker] if maker is not None else next(iter(others)) if len(others) == 1 else None
        )
    return found


@pytest.mark.drawn(0.4)
@pytest.mark.parametrize("level", ["line", "module"])
@pytest.mark.parametrize("depth", [None, 1])
@pytest.mark.parametrize("name", PROGRAMS)
def test_folded_pictures_are_true(name: str, level: str, depth: int | None) -> None:
    torch.manual_seed(0)
    with gradscope.watch() as scope:
        PROGRAMS[name]().sum().backward()
    trace = scope.trace
    shown = view(trace, level, depth=depth).graph
    flow = shown_of(trace, None, []).flow
    boxes = boxed(flow, level, depth)
    name_of = [":".join(str(part) for part in key) for key in boxes.keys]
    assert set(name_of) <= set(shown)
    # Arrows: there is one from box to box exactly where an op of one reads what an op of the other made.
    between: dict[tuple[str, str], set[int]] = {}
    makers = made_by(flow, boxes)
    for op, inputs in enumerate(flow.inputs):
        for value in inputs:
            if (maker := makers[value]) is not None and maker != boxes.keys[op]:
                between.setdefault((":".join(map(str, maker)), name_of[op]), set()).add(value)
    drawn: Counter[tuple[str, str]] = Counter()
    for a, b, data in shown.edges():
        if data["kind"] == "flow" and a != b and {a, b} <= set(name_of):
            drawn[a, b] += data["count"]
    assert drawn == {way: len(values) for way, values in between.items()}
    # A box that feeds itself does so from one round to the next.
    for a, b, data in shown.edges():
        if data["kind"] == "flow" and a == b:
            assert data["loop"] and shown.nodes[a]["count"] > 1
    # Cuts stand at the boxes whose ops are cut, and nowhere else. Drawn as cut is what lets no gradient through.
    cut = {name_of[op] for op in marks(flow)}
    assert {id for id, data in shown.nodes.items() if data["cut"]} == cut
    for id in cut:
        inside = [op for op, name in enumerate(name_of) if name == id]
        assert (shown.nodes[id]["kind"] == "cut") == bool(
            kept_back(flow, inside) or not let_out(flow, inside)
        )
    # Nothing is merged that differs in its kinds of modules or in the parameters' shapes.
    if level == "line" and depth is None:
        modules = trace.modules
        for key in set(boxes.keys):
            ops = [op for op, own in enumerate(boxes.keys) if own == key]
            rounds = Counter(boxes.run[op] for op in ops)
            kinds = {
                run: frozenset(
                    modules[m].cls
                    for op in ops
                    if boxes.run[op] == run and (m := flow.ops[op].module) is not None
                )
                for run in rounds
            }
            assert len(set(kinds.values())) == 1
            # What a line does between calls ran as often as it came to that.
            times = len(rounds) if key in boxes.parts else Counts(flow).of_lines(ops)
            assert shown.nodes[":".join(map(str, key))]["count"] == times
