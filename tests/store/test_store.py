"""A trace that is damaged, cut off, newer or foreign is refused in one line."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

import gradscope
from gradscope.answers import why
from gradscope.api import picture
from gradscope.check import examine
from gradscope.events import Backward
from gradscope.model import GradscopeError
from gradscope.store import Trace, TraceWriter


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    with gradscope.watch() as scope:
        net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            net(torch.ones(2, 3)).sum().backward()
            optimizer.step()
    return scope.save(tmp_path_factory.mktemp("trace") / "t.gradscope").read_bytes()


def read_everything(path: Path) -> None:
    trace = gradscope.open(path)
    examine(trace)
    picture(trace, "op")
    why(trace, "0.weight")


def test_whole_trace_reads(whole: bytes, tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(whole)
    read_everything(tmp_path / "t")


def test_a_trace_whose_end_is_missing_is_called_truncated(whole: bytes, tmp_path: Path) -> None:
    for left in (50, 200, len(whole) // 2, len(whole) - 4096):
        (tmp_path / "t").write_bytes(whole[:left])
        with pytest.raises(GradscopeError, match="truncated"):
            gradscope.open(tmp_path / "t")


@pytest.mark.parametrize("seed", range(60))
def test_damage_is_told_in_one_line(whole: bytes, seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    data = bytearray(whole)
    for _ in range(chance.choice([3, 20, 100])):
        data[chance.randrange(100, len(data))] = chance.choice(b'0123456789[]{}",x\x00')
    if seed % 4 == 0:
        del data[chance.randrange(len(data)) :]
    (tmp_path / "t").write_bytes(data)
    try:
        read_everything(tmp_path / "t")
    except GradscopeError as error:
        assert "\n" not in str(error)


def newer(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")


def foreign(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE t (a)")


def text(path: Path) -> None:
    path.write_text("no trace")


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("change", "said"),
    [(newer, "newer"), (foreign, "not a gradscope"), (text, "not a"), (folder, "directory")],
)
def test_what_is_no_trace_of_ours(
    change: Callable[[Path], None], said: str, whole: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    path.write_bytes(whole)
    change(path)
    with pytest.raises(GradscopeError, match=said):
        gradscope.open(path)


def test_a_run_overwrites_nothing_but_traces(tmp_path: Path) -> None:

    mine = tmp_path / "results.db"
    mine.write_text("precious")
    with pytest.raises(GradscopeError, match="not overwritten"):
        TraceWriter(mine)
    assert mine.read_text() == "precious"


def test_a_run_that_is_killed_early_has_its_parameters_in_its_trace(tmp_path: Path) -> None:
    path = tmp_path / "early.gradscope"
    net = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with gradscope.watch(path=path):
        for _ in range(2):
            net(torch.ones(1, 2)).sum().backward()
            optimizer.step()
        early = Trace(path)
        passes = early.of(Backward)
        assert passes and {id for p in passes for id in p.filled} <= {p.id for p in early.parameters}


def test_a_trace_that_grows_is_read_as_it_was_when_opened(tmp_path: Path) -> None:
    path = tmp_path / "grows.gradscope"
    weight = torch.ones(3, requires_grad=True)
    with gradscope.watch(path=path):
        (weight * 2).sum().backward()
        time.sleep(TraceWriter.COMMIT_SECONDS + 0.1)
        (weight * 3).sum().backward()
        early = Trace(path)
        sites = early.sites
        for _ in range(2):
            weight.exp().sum().backward()
            time.sleep(TraceWriter.COMMIT_SECONDS + 0.1)
        later = Trace(path)
        assert early.grown() and not later.grown()
        assert "exp" in later.op_names, "what was written meanwhile is there for who opens it now"
        assert sites and {op.site for op in early.ops} <= set(sites) and "exp" not in early.op_names


def test_of_a_run_that_was_killed_the_passes_are_those_of_its_events(whole: bytes, tmp_path: Path) -> None:
    """The summary and the parameters are written anew now and then; what came after is known from the passes alone."""
    path = tmp_path / "t"
    path.write_bytes(whole)
    with sqlite3.connect(path) as db:
        db.execute("UPDATE parameter SET data = json_set(data, '$.passes', 0)")
        db.execute("UPDATE meta SET value = json_set(value, '$.passes', 1) WHERE key = 'summary'")
        db.execute("UPDATE meta SET value = json_set(value, '$.ended', json('false')) WHERE key = 'program'")
    killed = Trace(path)
    assert killed.summary["passes"] == killed.summary["steps"] == 3
    assert (
        [p.passes for p in killed.parameters]
        == [3] * 4
        == [sum(e.count for e in killed.of(Backward) if p.id in e.filled) for p in killed.parameters]
    )
