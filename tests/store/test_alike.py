"""What is written short is read as it was."""

from __future__ import annotations

import math
import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import gradscope
from gradscope.store import Trace, pack_norms, read_norms
from gradscope.store.alike import folded, parameters_of

MANY = 300


def numbers(seed: int) -> dict[int, float]:
    draw = random.Random(seed)
    found = {id: draw.lognormvariate(-3, 2) for id in range(MANY)}
    return {**found, 0: 0.0, 7: math.nan, 9: math.inf, 11: 1e-30}


@pytest.mark.parametrize(("exact", "noise"), [(True, 1e-7), (False, 2e-4)])
def test_norms(exact: bool, noise: float) -> None:
    given = numbers(1)
    packed = pack_norms(given, exact)
    assert isinstance(packed, bytes) and len(packed) < (4 if exact else 3.2) * MANY
    for id, number in read_norms(packed).items():
        assert number == pytest.approx(given[id], rel=noise, nan_ok=True)
    assert set(read_norms(packed)) == set(given)
    beyond = {**given, 3: 1e-300}
    assert read_norms(pack_norms(beyond, exact))[3] == 1e-300


@pytest.mark.parametrize("place", range(0, 900, 37))
def test_damaged_norms_are_no_other_numbers(place: int) -> None:
    packed = pack_norms(numbers(2))
    assert isinstance(packed, bytes)
    place %= len(packed)
    broken = packed[:place] + bytes([packed[place] ^ 0x5A]) + packed[place + 1 :]
    with pytest.raises(ValueError):
        read_norms(broken)
    with pytest.raises(ValueError):
        read_norms(packed[:place])


def test_parameters_that_share_little_stay_as_they_are() -> None:
    alike = [(id, {"name": f"{id}.weight", "module": id, "grad_norm": 0.5, "shape": [2]}) for id in range(9)]
    shared, rows = folded(alike)
    assert len(shared) == 1 and len(rows) == 9
    assert folded([(id, {**fields, "passes": id}) for id, fields in alike]) == ([], [])


def test_the_trace_of_a_rank_says_the_same_in_less(tmp_path: Path) -> None:
    import torch
    from torch import nn

    net = nn.Sequential(*(nn.Linear(4, 4) for _ in range(40)))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    with gradscope.watch(path=tmp_path / "alone.gradscope"):
        for _ in range(3):
            opt.zero_grad()
            net(torch.randn(4, 4)).pow(2).mean().backward()
            opt.step()
    before = Trace(tmp_path / "alone.gradscope")
    from gradscope.store.writer import TraceWriter

    writer = TraceWriter(tmp_path / "small.gradscope")
    with closing(sqlite3.connect(before.path)) as whole:
        for table in ("file", "site", "module", "parameter", "optimizer", "graph", "op", "value", "node"):
            writer.add_all(table, whole.execute(f"SELECT * FROM {table}").fetchall())
    writer.close(one_of={})
    small = Trace(tmp_path / "small.gradscope")
    assert len(small.rows("SELECT * FROM alike")) == 2  # weights and biases
    assert [p.name for p in small.parameters] == [p.name for p in before.parameters]
    for one, two in zip(small.parameters, before.parameters, strict=True):
        assert one.grad_norm == pytest.approx(two.grad_norm, rel=1e-5)
        assert (one.shape, one.passes, one.steps, one.site, one.module) == (
            two.shape, two.passes, two.steps, two.site, two.module
        )  # fmt: skip
    values = [value for graph in small.graphs for value in graph.values]
    assert {(v.kind, v.dtype, v.device) for v in values} >= {("intermediate", "float32", "cpu")}
    assert all(v.kind and v.dtype and v.device for v in values)
    assert len(parameters_of(small.rows)) == 80
