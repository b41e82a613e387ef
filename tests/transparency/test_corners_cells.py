"""Code without a file of its own: notebook cells, exec, an interactive console."""

from __future__ import annotations

import code
import linecache
from typing import Any

import pytest
import torch
from corners import alike

import gradscope

CELLS = [
    "import torch, gradscope\nfrom torch import nn",
    "net = nn.Linear(3, 1)\noptimizer = torch.optim.SGD(net.parameters(), lr=0.1)",
    "scope = gradscope.watch(sample=False)\nscope.__enter__()",
    "def step():\n    loss = net(torch.ones(2, 3)).sum()\n    loss.backward()\n    optimizer.step()",
    "for _ in range(4):\n    step()",
    "scope.__exit__(None, None, None)",
]


def run_cells(cells: list[str]) -> dict[str, Any]:
    """Runs cells as a notebook's kernel does: each compiled under a name of its own, its
    source in linecache."""
    space: dict[str, Any] = {"__name__": "__main__"}
    for number, source in enumerate(cells):
        name = f"<ipython-input-{number}-0123abcd>"
        lines = [line + "\n" for line in source.split("\n")]
        linecache.cache[name] = (len(source), None, lines, name)
        exec(compile(source, name, "exec"), space)
    return space


def test_a_watch_over_several_cells_shows_their_source() -> None:
    space = run_cells(CELLS)
    scope = space["scope"]
    assert scope.faults == []
    assert [finding.code for finding in scope.findings if finding.severity == "error"] == ["GS201"]
    report = scope.report()
    assert "loss.backward()" in report
    assert "<ipython-input-3-0123abcd>:4" in report


def test_cells_that_are_right_are_silent() -> None:
    def program() -> Any:
        cells = [
            CELLS[0],
            CELLS[1],
            CELLS[3].replace("loss =", "optimizer.zero_grad()\n    loss ="),
            CELLS[4],
        ]
        return list(run_cells(cells)["net"].parameters())

    scope = alike(program)
    assert any(op.site.user.path.startswith("<ipython") for op in scope.trace.ops)


def test_a_cell_run_again_with_other_source() -> None:
    def program() -> Any:
        results = []
        for factor in (2, 3):
            source = f"w = torch.ones(2, requires_grad=True)\n(w * {factor}).sum().backward()\n"
            linecache.cache["<ipython-input-again>"] = (len(source), None, source.splitlines(True), "again")
            space: dict[str, Any] = {"torch": torch}
            exec(compile(source, "<ipython-input-again>", "exec"), space)
            results.append(space["w"].grad)
        return results

    alike(program)


def test_exec_without_any_source() -> None:
    def program() -> Any:
        space: dict[str, Any] = {"torch": torch}
        exec("w = torch.ones(2, requires_grad=True)\nloss = (w * 3).sum()\nloss.backward()", space)
        return space["w"].grad

    scope = alike(program)
    assert scope.report()
    assert [op.name for op in scope.trace.ops][:3] == ["ones", "mul", "sum"]


def test_a_console(capsys: pytest.CaptureFixture[str]) -> None:
    def program() -> Any:
        console = code.InteractiveConsole({"torch": torch})
        for line in ("w = torch.ones(2, requires_grad=True)", "(w * 3).sum().backward()", "w.grad"):
            assert not console.push(line)
        return capsys.readouterr().out

    alike(program)


def test_an_interactive_shell() -> None:
    shell_module = pytest.importorskip("IPython.core.interactiveshell")
    shell = shell_module.InteractiveShell.instance()
    for source in CELLS:
        assert shell.run_cell(source).success
    scope = shell.user_ns["scope"]
    assert scope.faults == []
    assert "loss.backward()" in scope.report()


def test_a_watch_as_a_decorated_functions_body() -> None:
    @torch.no_grad()
    def evaluate(model: torch.nn.Module) -> gradscope.scope.Scope:
        with gradscope.watch(sample=False) as scope:
            model(torch.ones(2, 3))
        return scope

    scope = evaluate(torch.nn.Linear(3, 1))
    assert scope.faults == []
    assert [op.name for op in scope.trace.ops][-1] == "linear"
