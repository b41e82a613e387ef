"""What follows from batches of one class each is told with them: a layer that dies is no reason for a smaller learning
rate, and of the labels of a few batches no constant answer is made."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import gradscope
from gradscope.check import check
from gradscope.config import Config
from gradscope.events import ConstantAnswer


def _train(rate: float, seed: int = 3, width: int = 8, epochs: int = 4) -> gradscope.Trace:
    torch.manual_seed(seed)
    labels = torch.arange(5).repeat_interleave(80)
    inputs = torch.randn(400, 10) + 2 * torch.randn(5, 10)[labels]
    loader = DataLoader(TensorDataset(inputs, labels), batch_size=20)
    net = nn.Sequential(nn.Linear(10, 8), nn.ReLU(), nn.Linear(8, width), nn.ReLU(), nn.Linear(width, 5))
    opt = torch.optim.SGD(net.parameters(), lr=rate, momentum=0.9)
    with gradscope.watch() as scope:
        for _ in range(epochs):
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


def test_no_constant_answer_is_made_of_the_labels_of_a_few_such_batches() -> None:
    trace = _train(0.1, epochs=8)
    (answer,) = trace.of(ConstantAnswer)
    assert answer.apart > 0.9
    assert [finding.code for finding in check(trace)] == ["GS745"]


@pytest.mark.parametrize(
    ("differ", "told"),
    [(0.0, "the answers are the same for every sample"), (1.0, "the answers differ from sample")],
)
def test_answers_that_do_not_differ_are_told_in_words(differ: float, told: str) -> None:
    torch.manual_seed(0)
    net = nn.Linear(4, 3)
    with torch.no_grad():
        net.weight.mul_(differ)
    opt = torch.optim.SGD([net.bias], lr=0.01)
    with gradscope.watch() as scope:
        for _ in range(160):
            opt.zero_grad()
            nn.functional.cross_entropy(net(torch.randn(32, 4)), torch.randint(3, (32,))).backward()
            opt.step()
    (found,) = (finding for finding in scope.findings if finding.code == "GS784")
    assert told in " ".join(found.seen)
