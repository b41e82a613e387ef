"""What a value is called: only what the program's text says of it for certain."""

from __future__ import annotations

import torch
from torch import nn

import gradscope
from gradscope.analysis.names import names_of


def test_a_distributions_own_tensors_are_not_called_like_what_it_is_asked_about() -> None:
    encoder = nn.Linear(3, 2)
    rows = torch.randn(4, 3)
    prior = torch.distributions.Normal(torch.zeros(2), torch.ones(2))
    with gradscope.watch() as scope:
        z = encoder(rows)
        (-prior.log_prob(z).mean()).backward()
    assert scope.trace is not None
    names = names_of(scope.trace)
    graph = scope.trace.graph(scope.trace.graphs_with_nodes[0])
    called = {names.name(graph, value.index): value.shape for value in graph.values}
    assert called["z"] == (4, 2) and called["rows"] == (4, 3)
    own = [value for value in graph.values if value.op is None and tuple(value.shape) == (2,)]
    assert own and "z" not in {names.name(graph, v.index) for v in own if v.parameter is None}


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mean, self.spread = nn.Linear(3, 2), nn.Linear(3, 2)

    def forward(self, x):
        return self.mean(x), self.spread(x).exp() + 1


def halves(x):
    return x[:2] * 2, x[2:] * 2


def test_what_a_function_returns_in_a_tuple_is_called_as_its_caller_does() -> None:
    encoder = Encoder()
    with gradscope.watch() as scope:
        middle, width = encoder(torch.randn(4, 3))
        upper, lower = halves(middle)
        (upper + lower + width[:2]).sum().backward()
    assert scope.trace is not None
    names, graph = names_of(scope.trace), scope.trace.graph(scope.trace.graphs_with_nodes[0])
    made = {names.name(graph, v.index): graph.ops[v.op].name for v in graph.values if v.op is not None}
    assert made.items() >= {"middle": "linear", "width": "add", "upper": "mul", "lower": "mul"}.items()


def slope(y, x):
    return torch.autograd.grad(y.sum(), x)[0]


def test_one_result_that_is_taken_of_several_has_the_name() -> None:
    cell, x = nn.LSTM(3, 2, batch_first=True), torch.randn(2, 4, 3, requires_grad=True)
    with gradscope.watch() as scope:
        states = cell(x)[0]
        largest = torch.max(states, 1)[0]
        own = torch.autograd.grad(largest.sum(), x, retain_graph=True)[0]
        of_function = slope(largest, x)
        first = torch.relu(x)[0]
        (first.sum() * 2).backward()
    assert own.shape == of_function.shape
    trace = scope.trace
    graphs = [trace.graph(s.graph) for s in trace.segments if s.graph is not None]
    names = names_of(trace)
    made = {
        names.name(g, v.index): (g.ops[v.op].name, v.position)
        for g in graphs
        for v in g.values
        if v.op is not None
    }
    assert made.items() >= {
        "states": ("lstm", 0), "largest": ("max", 0), "own": ("grad", 0), "of_function": ("grad", 0),
        "first": ("__getitem__", 0),
    }.items()  # fmt: skip
