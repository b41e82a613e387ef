"""What a trace keeps of a call's arguments: its axes, and nothing that differs from step to step."""

from collections.abc import Callable

import torch

import gradscope
from gradscope.model import Graph


def graphs(index: Callable[[int], int]) -> list[Graph]:
    """Those of five passes that take another place of an axis each, or the same one."""
    weight = torch.ones(4, requires_grad=True)
    x = torch.randn(6, 5, 4)
    with gradscope.watch(sample=False) as scope:
        for step in range(5):
            (x[:, index(step)].transpose(0, 1)[..., None].sum(dim=(1, 2)) * weight).sum().backward()
    assert not scope.faults
    return [scope.trace.graph(number) for number in scope.trace.graphs_with_nodes]


def test_axes_are_told_and_the_numbers_of_an_index_are_not() -> None:
    found = graphs(lambda step: step)
    told = [op.extra for op in found[0].ops if op.extra]
    assert told == [{"at": ":i"}, {"dims": [0, 1]}, {"at": ".n"}, {"dims": [1, 2]}]
    assert len(found) == len(graphs(lambda step: 0))
