"""Writes to parameters by the program's own code: whose memory, and whether that is training."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from observed import Observed, observed, optimizer
from torch import nn

from gradscope.analysis.writes import before_writes, initialises, loads_state, memory_root, only_bounded
from gradscope.model import Graph


def graph_of(run: Observed, text: str) -> Graph:
    return run.trace.graph(run.op(text).graph)


def test_the_memory_of_a_view_is_that_of_its_base_also_through_data() -> None:
    shared: list[bool] = []

    def program() -> None:
        x = torch.zeros(2, 3)
        view = x.view(6)[1:]
        alias = x.data
        copy = x.clone()
        last = view.add_(1)
        storage = x.untyped_storage().data_ptr()
        shared.extend(t.untyped_storage().data_ptr() == storage for t in (view, alias, copy, last))
        (x.sum() * torch.ones(1, requires_grad=True)).backward()

    run = observed(program)
    graph = graph_of(run, "x.clone()")
    base = run.key("torch.zeros(2, 3)")[1]
    made = [run.key(text)[1] for text in ("x.view(6)[1:]", "x.data", "x.clone()")]
    written = run.op("view.add_(1)").written[0]
    made.append(before_writes(graph, written))
    assert [memory_root(graph, value) == base for value in made] == shared


def test_before_all_writes_it_was_the_tensor_that_was_made() -> None:
    def program() -> None:
        x = torch.zeros(3)
        x.add_(1)
        x[0] = 5
        x += 1
        (x * torch.ones(1, requires_grad=True)).sum().backward()

    run = observed(program)
    graph = graph_of(run, "torch.zeros(3)")
    made = run.key("torch.zeros(3)")[1]
    states = [op.written[0] for op in graph.writing]
    assert len(set(states)) == 3
    assert {before_writes(graph, state) for state in (*states, made)} == {made}


BOUNDS: list[tuple[str, Callable[[nn.Parameter], object], set[str]]] = [
    ("clamp", lambda p: p.clamp_(-1, 1), {"p"}),
    ("data", lambda p: p.data.clamp_(min=0), {"p"}),
    ("after another write", lambda p: p.copy_(p).sub_(1).clamp_(-1, 1), set()),
    ("twice", lambda p: p.clamp_(min=-1).clamp_(max=1), {"p"}),
    ("view", lambda p: p.data.view(-1)[1:].clamp_(-1, 1), {"p"}),
    ("abs", lambda p: p.abs_(), {"p"}),
    ("update", lambda p: p.sub_(0.1), set()),
    ("both", lambda p: p.sub_(0.1).clamp_(-1, 1), set()),
    ("out of place", lambda p: p.clamp(-1, 1), set()),
    ("another", lambda p: p.clone().clamp_(-1, 1), set()),
]


@pytest.mark.parametrize(("write", "found"), [case[1:] for case in BOUNDS], ids=[case[0] for case in BOUNDS])
def test_a_bound_alone_is_told_from_an_update(
    write: Callable[[nn.Parameter], object], found: set[str]
) -> None:
    def program() -> None:
        p = nn.Parameter(torch.ones(4))
        opt = optimizer(p)
        for _ in range(3):
            opt.zero_grad()
            (p * 2).sum().backward()
            opt.step()
            with torch.no_grad():
                write(p)

    run = observed(program)
    assert run.names(only_bounded(run.trace)) == found


def test_a_bound_beside_torch_s_own_initialisers_is_still_a_bound_alone() -> None:
    def program() -> None:
        p = nn.Parameter(torch.ones(4, 4))
        nn.init.uniform_(p)
        (p * 2).sum().backward()
        with torch.no_grad():
            p.clamp_(-1, 1)
        (p * 2).sum().backward()

    run = observed(program)
    assert run.names(only_bounded(run.trace)) == {"p"}
    writes = [op for graph in run.trace.graphs for op in graph.writing]
    assert [(op.name, initialises(op)) for op in writes] == [("uniform_", True), ("clamp_", False)]


def test_a_state_that_is_loaded_is_told_from_other_writes() -> None:
    def program() -> None:
        one, other = nn.Linear(2, 1), nn.Linear(2, 1)
        one(torch.ones(1, 2)).sum().backward()
        one.load_state_dict(other.state_dict())
        with torch.no_grad():
            one.weight.copy_(other.weight)
        one(torch.ones(1, 2)).sum().backward()

    run = observed(program)
    writes = [op for graph in run.trace.graphs for op in graph.writing if op.name == "copy_"]
    assert [loads_state(op) for op in writes] == [True, True, False]
