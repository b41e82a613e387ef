"""What goes from device to device, on a machine that has only one: the run is real, the devices
of its values are written into the trace afterwards."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import torch
from torch import nn

import gradscope
from gradscope.check import check
from gradscope.store import Trace


def training(scale: float) -> None:
    model = nn.Linear(4, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        hidden = model(torch.randn(8, 4))
        there = hidden.detach().to("cpu", copy=True)
        ranks = there.argsort(dim=1) if scale else there.max()
        back = ranks.to("cpu", copy=True)
        (hidden * back).pow(2).mean().backward()
        opt.step()


def as_on_cuda(scope: gradscope.Scope, path: Path) -> Trace:
    """The trace as a machine with a GPU would have written it."""
    scope.save(path)
    db = sqlite3.connect(path)
    db.execute("UPDATE value SET device = 'cuda:0'")
    db.execute(
        "UPDATE value SET device = 'cpu' WHERE op IS NOT NULL AND (graph, op) IN"
        " (SELECT graph, min(idx) FROM op WHERE name = 'to' GROUP BY graph"
        "  UNION SELECT graph, idx FROM op WHERE name IN ('argsort', 'max'))"
    )
    db.commit()
    db.close()
    return Trace(path)


def codes(trace: Trace) -> list[str]:
    return [finding.code for finding in check(trace)]


def test_data_that_goes_to_the_cpu_and_back_is_told(tmp_path: Path) -> None:
    with gradscope.watch() as scope:
        training(1.0)
    trace = as_on_cuda(scope, tmp_path / "run.gradscope")
    assert codes(trace) == ["GS502"]
    finding = check(trace)[0]
    source = Path(__file__).read_text().splitlines()
    lines = [source[place.line - 1] for place in finding.locations]
    assert [line.split(" = ")[0].strip() for line in lines] == ["there", "back"]


def test_a_number_that_goes_there_and_back_is_not(tmp_path: Path) -> None:
    with gradscope.watch() as scope:
        training(0.0)
    assert codes(as_on_cuda(scope, tmp_path / "run.gradscope")) == []
    assert not scope.findings
