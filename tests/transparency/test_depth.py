"""Graphs far deeper than Python's stack: captured, gone through backward, dropped and looked at without a crash."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from warm import python

SCRIPT = """
import torch, gradscope

def chain(length):
    x = torch.ones(3, requires_grad=True)
    y = x
    for _ in range(length):
        y = y * 1.00001
    total = y.sum()
    total.backward(retain_graph=True)
    total.backward()
    return x.grad

def saved(length):
    x = torch.ones(3, requires_grad=True)
    y = x
    for _ in range(length):
        y = y * x  # saves y itself
    y.sum().backward()
    return x.grad

def cell(length):
    torch.manual_seed(0)
    cell = torch.nn.LSTMCell(2, 2)
    h = c = torch.zeros(1, 2)
    for _ in range(length):
        h, c = cell(torch.ones(1, 2), (h, c))
    h.sum().backward()
    return cell.weight_hh.grad

def writes(length):
    x = torch.ones(3, requires_grad=True)
    y = x * 1
    part = y[:2]
    for _ in range(length):
        y.mul_(1.00001)
    (y.sum() + part.sum()).backward()
    return x.grad

plain = {name}({length})
with gradscope.watch(sample=False) as scope:
    watched = {name}({length})
assert torch.equal(plain, watched)
assert not scope.faults, scope.faults
for level in ("line", "module"):
    scope.graph(level)
scope.report()
print("ok")
"""


@pytest.mark.drawn(0.4)
@pytest.mark.parametrize(
    ("name", "length"),
    [
        ("chain", 50_000),
        pytest.param("saved", 50_000, marks=pytest.mark.nightly),
        ("cell", 1_500),
        ("writes", 4_000),
        pytest.param("chain", 300_000, marks=pytest.mark.nightly),
        pytest.param("cell", 20_000, marks=pytest.mark.nightly),
        pytest.param("writes", 100_000, marks=pytest.mark.nightly),
    ],
)
def test_deep_graphs(name: str, length: int, tmp_path: Path) -> None:
    script = tmp_path / "deep.py"
    script.write_text(SCRIPT.replace("{name}", name).replace("{length}", str(length)))
    done = subprocess.run([*python(), str(script)], capture_output=True, text=True, timeout=900)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
