"""What the fix of an in-place write says is right: applied to the program, it gives the gradients of the
same computation written without any write in place."""

from __future__ import annotations

import os
import runpy
import textwrap
from pathlib import Path
from typing import Any

import pytest
import torch

import gradscope
from gradscope.check import examine
from gradscope.render.diff import render
from tests.test_patch import apply

_HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\ntorch.manual_seed(0)\n"

# name: (what both share, with a write in place, without one)
PROGRAMS: dict[str, tuple[str, str, str]] = {
    "row_of_itself": (
        """
        w = torch.rand(4, 3, requires_grad=True)
        """,
        """
        x = w * 2
        for i in range(4):
            x[i] = x[i].sin()
        loss = x.pow(2).sum()
        """,
        """
        loss = (w * 2).sin().pow(2).sum()
        """,
    ),
    "row_of_the_row_before": (
        """
        w = torch.rand(4, 3, requires_grad=True)
        """,
        """
        x = w * 2
        for i in range(1, 4):
            x[i] = x[i] * x[i - 1]
        loss = x.sum()
        """,
        """
        rows = [w[0] * 2]
        for i in range(1, 4):
            rows.append(w[i] * 2 * rows[-1])
        loss = torch.stack(rows).sum()
        """,
    ),
    "sum_into_a_row": (
        """
        w = torch.rand(3, 3, requires_grad=True)
        """,
        """
        x = w * 2
        for i in range(3):
            x[i] += x.pow(2).sum(0)
        loss = x.sum()
        """,
        """
        x = w * 2
        for i in range(3):
            x = torch.stack([x[j] + (x.pow(2).sum(0) if i == j else 0) for j in range(3)])
        loss = x.sum()
        """,
    ),
    "columns": (
        """
        w = torch.rand(4, requires_grad=True)
        x0 = torch.rand(4, 3, requires_grad=True)
        """,
        """
        x = x0 * 2
        x[:, 0] = x[:, 1] * w
        x[:, 1] = x[:, 2] * w
        loss = x.pow(2).sum()
        """,
        """
        x = x0 * 2
        loss = torch.stack([x[:, 1] * w, x[:, 2] * w, x[:, 2]], 1).pow(2).sum()
        """,
    ),
    "product_with_a_function_of_itself": (
        """
        w = torch.rand(3, requires_grad=True)
        """,
        """
        x = w * 2
        x.mul_(x.sin())
        loss = x.sum()
        """,
        """
        x = w * 2
        loss = (x * x.sin()).sum()
        """,
    ),
    "state_of_a_cell": (
        """
        cell = nn.RNNCell(3, 3)
        steps = torch.randn(5, 2, 3)
        """,
        """
        h = torch.zeros(5, 2, 3)
        for t in range(1, 5):
            h[t] = cell(steps[t], h[t - 1])
        loss = h.pow(2).sum()
        """,
        """
        rows = [torch.zeros(2, 3)]
        for t in range(1, 5):
            rows.append(cell(steps[t], rows[-1]))
        loss = torch.stack(rows).pow(2).sum()
        """,
    ),
    "state_by_another_name": (
        """
        U = torch.rand(3, 3, requires_grad=True)
        """,
        """
        def cell(state):
            return torch.tanh(state @ U + 1)

        h = torch.zeros(4, 2, 3)
        for t in range(1, 4):
            before = h[t - 1]
            h[t] = cell(before)
        loss = h.sum()
        """,
        """
        rows = [torch.zeros(2, 3)]
        for t in range(1, 4):
            rows.append(torch.tanh(rows[-1] @ U + 1))
        loss = torch.stack(rows).sum()
        """,
    ),
    "added_to_exp": (
        """
        w = torch.rand(3, requires_grad=True)
        """,
        """
        x = w.exp()
        x += w
        loss = x.pow(2).sum()
        """,
        """
        loss = (w.exp() + w).pow(2).sum()
        """,
    ),
    "added_to_sigmoid_by_a_function": (
        """
        w = torch.rand(3, requires_grad=True)
        """,
        """
        def shift(h):
            h += 1

        x = torch.sigmoid(w)
        shift(x)
        loss = x.pow(2).sum()
        """,
        """
        loss = (torch.sigmoid(w) + 1).pow(2).sum()
        """,
    ),
    "column_of_tanh": (
        """
        fc = nn.Linear(3, 3)
        x0 = torch.rand(4, 3)
        """,
        """
        x = torch.tanh(fc(x0))
        x[:, 0] = 2
        loss = x.pow(2).sum()
        """,
        """
        x = torch.tanh(fc(x0))
        loss = torch.cat([torch.full((4, 1), 2.0), x[:, 1:]], 1).pow(2).sum()
        """,
    ),
    "column_of_a_layers_tanh": (
        """
        net = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
        x0 = torch.rand(4, 3)
        """,
        """
        x = net(x0)
        x[:, 0] = 2
        loss = x.pow(2).sum()
        """,
        """
        loss = torch.cat([torch.full((4, 1), 2.0), net(x0)[:, 1:]], 1).pow(2).sum()
        """,
    ),
    "softmax_kept_from_zero": (
        """
        w = torch.rand(4, 3, requires_grad=True)
        """,
        """
        x = F.softmax(w, -1)
        x.clamp_(min=0.3)
        loss = x.log().sum()
        """,
        """
        loss = F.softmax(w, -1).clamp(min=0.3).log().sum()
        """,
    ),
    "masked": (
        """
        w = torch.rand(4, 3, requires_grad=True)
        mask = torch.rand(4, 3) > 0.5
        """,
        """
        x = F.softmax(w, -1)
        x[mask] = 0
        loss = x.pow(2).sum()
        """,
        """
        loss = torch.where(mask, 0.0, F.softmax(w, -1)).pow(2).sum()
        """,
    ),
    "relu_on_sigmoid": (
        """
        w = torch.randn(5, requires_grad=True)
        """,
        """
        x = torch.sigmoid(w)
        x.relu_()
        loss = x.pow(2).sum()
        """,
        """
        loss = torch.sigmoid(w).pow(2).sum()
        """,
    ),
    "function_in_place": (
        """
        w = torch.randn(5, requires_grad=True)
        """,
        """
        x = torch.sigmoid(w)
        y = F.relu(x - 0, inplace=True) * F.relu(x, inplace=True)
        loss = y.sum()
        """,
        """
        loss = torch.sigmoid(w).pow(2).sum()
        """,
    ),
    "layer_in_place": (
        """
        x0 = torch.rand(4, 3)
        """,
        """
        net = nn.Sequential(nn.Linear(3, 3), nn.Sigmoid(), nn.ReLU(inplace=True))
        loss = net(x0).pow(2).sum()
        """,
        """
        net = nn.Sequential(nn.Linear(3, 3), nn.Sigmoid(), nn.ReLU())
        loss = net(x0).pow(2).sum()
        """,
    ),
    "out_of_an_operation": (
        """
        w = torch.rand(3, requires_grad=True)
        """,
        """
        kept = torch.rand(3)
        loss = 0
        for _ in range(3):
            torch.mul(kept, 2, out=kept)
            loss = loss + (w * kept).sum()
        """,
        """
        kept = torch.rand(3)
        loss = 0
        for _ in range(3):
            kept = kept * 2
            loss = loss + (w * kept).sum()
        """,
    ),
    "running_mean": (
        """
        w = torch.rand(3, requires_grad=True)
        """,
        """
        mean = torch.rand(3)
        loss = 0
        for _ in range(3):
            mean.mul_(0.9).add_(0.1)
            loss = loss + (w * mean).sum()
        """,
        """
        mean = torch.rand(3)
        loss = 0
        for _ in range(3):
            mean = mean * 0.9 + 0.1
            loss = loss + (w * mean).sum()
        """,
    ),
    "buffer_of_a_module": (
        """
        x0 = torch.rand(3)
        """,
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.ones(3))
                self.register_buffer('mean', torch.ones(3))

            def forward(self, x):
                self.mean += x
                return (self.w * self.mean).sum()

        net = Net()
        loss = net(x0) + net(x0)
        """,
        """
        net = nn.Module()
        net.w = nn.Parameter(torch.ones(3))
        loss = (net.w * (1 + x0)).sum() + (net.w * (1 + 2 * x0)).sum()
        """,
    ),
    "row_through_a_view": (
        """
        w = torch.rand(4, 3, requires_grad=True)
        """,
        """
        x = w * 1
        squares = (x * x).sum()
        row = x[0]
        row.mul_(2)
        loss = squares + x.sum()
        """,
        """
        loss = (w * w).sum() + w[0].sum() * 2 + w[1:].sum()
        """,
    ),
    "name_that_a_list_holds": (
        """
        w = torch.rand(3, requires_grad=True)
        """,
        """
        x = w * 1
        kept = [x]
        y = x.sin()
        x += 1
        loss = y.sum() + kept[0].pow(2).sum()
        """,
        """
        loss = w.sin().sum() + (w + 1).pow(2).sum()
        """,
    ),
    "saved_by_several": (
        """
        w = torch.rand(3, requires_grad=True)
        """,
        """
        class Box: pass

        box = Box()
        box.x = w * 1
        a = box.x.sin()
        b = box.x * box.x
        box.x *= 2
        loss = (a + b + box.x).sum()
        """,
        """
        loss = (w.sin() + w * w + 2 * w).sum()
        """,
    ),
    "relaxation_on_a_grid": (
        """
        w = torch.rand(4, 4, requires_grad=True)
        """,
        """
        g = w * 1
        for _ in range(2):
            g[1:-1, 1:-1] = g[:-2, 1:-1] * g[2:, 1:-1]
        loss = g.sum()
        """,
        """
        g = w * 1
        for _ in range(2):
            inner = g[:-2, 1:-1] * g[2:, 1:-1]
            middle = torch.cat([g[1:-1, :1], inner, g[1:-1, -1:]], 1)
            g = torch.cat([g[:1], middle, g[-1:]])
        loss = g.sum()
        """,
    ),
    "write_without_gradients": (
        """
        w = torch.rand(3, requires_grad=True)
        """,
        """
        x = w * 1
        y = x.pow(2)
        with torch.no_grad():
            x.mul_(2)
        loss = (y + x.sin()).sum()
        """,
        """
        loss = (w.pow(2) + (w + w.detach()).sin()).sum()
        """,
    ),
}


def gradients(text: str, path: Path) -> list[Any]:
    path.write_text(text)
    found = runpy.run_path(str(path))
    leaves = [v for v in found.values() if isinstance(v, torch.Tensor) and v.is_leaf and v.requires_grad]
    modules = [v for v in found.values() if isinstance(v, torch.nn.Module)]
    return [p.grad for p in (*leaves, *(p for m in modules for p in m.parameters()))]


@pytest.mark.parametrize("name", PROGRAMS)
def test_fix_gives_the_gradients_of_the_program_without_a_write(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shared, bad, right = (textwrap.dedent(part) for part in PROGRAMS[name])
    end = "loss.backward()\n"
    script = tmp_path / f"{name}_{os.getpid()}.py"
    script.write_text(_HEAD + shared + bad + end)
    with pytest.raises(RuntimeError, match="inplace"), gradscope.watch() as scope:
        runpy.run_path(str(script))
    report = examine(scope.trace)
    assert [f.code for f in report.findings if f.severity == "error"] == ["GS104"]
    assert report.findings[0].edits, report.findings[0].fix
    apply(render(report), tmp_path)
    mended = gradients(script.read_text(), tmp_path / f"mended_{name}_{os.getpid()}.py")
    expected = gradients(_HEAD + shared + right + end, tmp_path / f"right_{name}_{os.getpid()}.py")
    assert len(mended) == len(expected) > 0
    for got, wanted in zip(mended, expected, strict=True):
        torch.testing.assert_close(got, wanted)
