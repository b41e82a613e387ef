"""A `watch()` inside a watch, or under `gradscope run`: each shows its own block, and nothing ends."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch
from torch import nn
from warm import python

import gradscope


def train(model: nn.Module, steps: int, clear: bool = True) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        if clear:
            optimizer.zero_grad()
        model(torch.ones(2, 3)).sum().backward()
        optimizer.step()


def codes(scope: gradscope.scope.Scope) -> list[str]:
    return [finding.code for finding in scope.findings]


def counts(scope: gradscope.scope.Scope) -> tuple[int, int]:
    return scope.trace.summary["passes"], scope.trace.summary["steps"]


def test_each_block_shows_what_ran_in_it_and_the_outer_one_all() -> None:
    model, other = nn.Linear(3, 1), nn.Linear(3, 2)
    with gradscope.watch() as outer:
        train(model, 30, clear=False)
        model.zero_grad()
        with gradscope.watch() as good:
            train(other, 4)
        with gradscope.watch(sample=False) as bad:
            train(model, 3)
            with gradscope.watch() as innermost:
                train(model, 2, clear=False)
        train(other, 1)
    assert (codes(good), counts(good)) == ([], (4, 4))
    assert {p.shape for p in good.trace.parameters} == {(2, 3), (2,)}
    assert [p.passes for p in good.trace.parameters] == [4, 4]
    assert [step for step, _ in good.trace.numbers("loss")]
    assert (set(codes(innermost)), counts(innermost)) == ({"GS201"}, (2, 2))
    assert (set(codes(bad)), counts(bad)) == ({"GS201"}, (5, 5))
    assert (set(codes(outer)), counts(outer)) == ({"GS201"}, (40, 40))
    for scope in (good, bad, innermost, outer):
        assert scope.faults == []
        assert scope.graph("op").graph and "backward pass" in scope.report()


def test_a_layer_that_stays_unused_is_told_of_the_block_and_of_no_block_without_its_model() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.spare = nn.Linear(3, 1), nn.Linear(3, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.used(x)

    net, other = Net(), nn.Linear(3, 1)
    with gradscope.watch():
        train(net, 2)
        with gradscope.watch() as with_it:
            train(net, 2)
        with gradscope.watch() as without:
            train(other, 2)
    assert codes(with_it) == ["GS302"] and codes(without) == []


def test_the_block_may_raise_and_outlive_the_outer_watch(tmp_path: Path) -> None:
    model = nn.Linear(3, 1)
    outer, inner = gradscope.watch(), gradscope.watch()
    outer.__enter__()
    with pytest.raises(ZeroDivisionError), inner:
        train(model, 2, clear=False)
        outer.__exit__(None, None, None)
        raise ZeroDivisionError
    assert codes(inner) == codes(outer) == ["GS201"]
    assert inner.trace.program["exception"]["type"] == "ZeroDivisionError"
    assert inner.save(tmp_path / "kept.gradscope").exists()


def test_in_another_thread_the_scope_says_that_it_was_not_watched() -> None:
    model = nn.Linear(3, 1)
    scopes = []

    def work() -> None:
        with gradscope.watch() as scope:
            train(nn.Linear(3, 1), 2, clear=False)
        scopes.append(scope)

    with gradscope.watch() as outer:
        train(model, 2)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        train(model, 2)
    (scope,) = scopes
    assert scope.faults == ["the block was not watched: another thread is, one at a time"]
    assert (scope.findings, counts(scope), scope.trace.parameters) == ([], (0, 0), [])
    assert (codes(outer), counts(outer)) == ([], (4, 4))


PROGRAM = """
import threading
import torch, gradscope

def block(clear, steps=3):
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(steps):
            if clear:
                optimizer.zero_grad()
            model(torch.ones(2, 3)).sum().backward()
            optimizer.step()
    print([f.code for f in scope.findings], scope.trace.summary["passes"], scope.faults)
    print(sorted({op.name for op in scope.trace.ops}), len(scope.graph("module").graph) > 0)

block(True)
block(False)
block(True, 40)
with gradscope.watch() as around:
    block(False)
print([f.code for f in around.findings])
with gradscope.watch() as scope:
    pass
print(scope.findings)
torch.ones(3, requires_grad=True).sum().backward()
"""


def test_a_program_that_watches_is_the_same_under_run(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "OMP_NUM_THREADS": "1"}
    plain, watched = (
        subprocess.run(
            [*python(), *how, "program.py"], cwd=tmp_path, env=env, text=True, capture_output=True,
            timeout=120,
        )
        for how in ([], ["-m", "gradscope", "run"])
    )  # fmt: skip
    assert (plain.returncode, watched.returncode) == (0, 0), watched.stderr
    assert watched.stdout == plain.stdout and plain.stdout.count("GS201") >= 2
    assert "GS201" in watched.stderr and "50 backward passes" in watched.stderr
    assert "fault" not in watched.stderr


SHOWS = """
import torch, gradscope

weight, other = (torch.nn.Parameter(torch.ones(3)) for _ in range(2))
with gradscope.watch() as scope:
    loss = ((weight * 2).detach() * other).sum()
    loss.backward()
    print(gradscope.why(weight), gradscope.why(other), gradscope.why(loss))
for shown in (gradscope.why(weight), scope.why("weight"), scope, scope.trace, scope.graph()):
    print(shown, sorted(shown._repr_mimebundle_()))
print(scope.report(), scope.without_gradient, gradscope.saved(loss), gradscope.table({"weight": weight}))
"""


def test_what_a_program_shows_under_run_is_drawn_with_one_library(tmp_path: Path) -> None:
    """`run` keeps the libraries that it has loaded itself from the program; what draws is of both."""
    (tmp_path / "program.py").write_text(SHOWS)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "OMP_NUM_THREADS": "1"}
    shown = subprocess.run(
        [sys.executable, "-m", "gradscope", "run", "program.py"], cwd=tmp_path, env=env, text=True,
        capture_output=True, timeout=120,
    )  # fmt: skip
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.count("`weight` has no gradient: on its way to the loss it is cut off") == 3
    assert "Traceback" not in shown.stderr
