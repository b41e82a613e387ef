"""A layer that dies of batches of one class each is told with them, and is no reason for a smaller learning rate."""

from __future__ import annotations

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import gradscope
from gradscope.check import check
from gradscope.config import Config


def _train(rate: float, seed: int = 3, width: int = 8) -> gradscope.Trace:
    torch.manual_seed(seed)
    labels = torch.arange(5).repeat_interleave(80)
    inputs = torch.randn(400, 10) + 2 * torch.randn(5, 10)[labels]
    loader = DataLoader(TensorDataset(inputs, labels), batch_size=20)
    net = nn.Sequential(nn.Linear(10, 8), nn.ReLU(), nn.Linear(8, width), nn.ReLU(), nn.Linear(width, 5))
    opt = torch.optim.SGD(net.parameters(), lr=rate, momentum=0.9)
    with gradscope.watch() as scope:
        for _ in range(4):
            for x, y in loader:
                opt.zero_grad()
                nn.functional.cross_entropy(net(x), y).backward()
                opt.step()
    return scope.trace


def test_a_layer_that_dies_when_the_class_changes_follows_from_the_order() -> None:
    trace = _train(0.1)
    assert [finding.code for finding in check(trace)] == ["GS745"]
    (alone,) = check(trace, Config(select=("GS720",)))
    assert "in a random order" in alone.fix and not alone.edits


def test_a_layer_that_dies_before_the_class_changes_has_another_cause() -> None:
    found = {finding.code: finding for finding in check(_train(3.0, seed=11, width=2))}
    assert "learning rate" in found["GS720"].fix and found["GS720"].edits
    assert "GS745" in found, "and both are told"
