"""What the fix of an in-place write says is right: applied to the program, it gives the gradients of the
same computation written without any write in place."""

from __future__ import annotations

import os
import runpy
import textwrap
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from test_patch import apply

import gradscope
from gradscope.check import Report, examine
from gradscope.render.diff import render

_HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\ntorch.manual_seed(0)\n"
_END = "loss.backward()\n"

# name: (what both share, with a write in place, without one)
PROGRAMS: dict[str, tuple[str, str, str]] = {
    "factor_of_the_row_before": (
        """
        w = torch.rand(4, 3, requires_grad=True)
        """,
        """
        x = w * 2
        for i in range(1, 4):
            x[i] *= x[i - 1]
        loss = x.sum()
        """,
        """
        rows = [w[0] * 2]
        for i in range(1, 4):
            rows.append(w[i] * 2 * rows[-1])
        loss = torch.stack(rows).sum()
        """,
    ),
    "row_times_itself_after_tanh": (
        """
        w = torch.rand(4, requires_grad=True)
        """,
        """
        h = torch.tanh(w)
        h[0] *= h[0]
        loss = h.sum()
        """,
        """
        h = torch.tanh(w)
        loss = h[0] ** 2 + h[1:].sum()
        """,
    ),
    "method_on_a_row_by_another_name": (
        """
        w = torch.rand(4, 3, requires_grad=True)
        """,
        """
        x = w * 2
        for i in range(1, 4):
            before, row = x[i - 1], x[i]
            row.mul_(before)
        loss = x.sum()
        """,
        """
        rows = [w[0] * 2]
        for i in range(1, 4):
            rows.append(w[i] * 2 * rows[-1])
        loss = torch.stack(rows).sum()
        """,
    ),
    "factor_that_is_written_later": (
        """
        w = torch.rand(4, requires_grad=True)
        v = torch.rand(4, requires_grad=True)
        """,
        """
        h = w * 2
        k = v * 3
        h[0] *= k[0]
        k[1:] += 1
        loss = h.sum() + k.sum()
        """,
        """
        loss = w[0] * 2 * v[0] * 3 + (w[1:] * 2).sum() + (v * 3).sum() + 3
        """,
    ),
    "results_of_calls_in_place_on_rows": (
        """
        w = torch.rand(4, 3, requires_grad=True)
        """,
        """
        x = w * 2
        F.relu(x[0], inplace=True)
        torch.sigmoid_(x[1])
        for i in range(2, 4):
            x[i].exp_()
        loss = x.pow(2).sum()
        """,
        """
        x = w * 2
        rows = [x[0].relu(), x[1].sigmoid(), x[2].exp(), x[3].exp()]
        loss = torch.stack(rows).pow(2).sum()
        """,
    ),
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


# The same for writes that torch does not see: the program runs, with a wrong gradient.
UNSEEN: dict[str, tuple[str, str, str]] = {
    "through_data": (
        """
        w = torch.rand(3, requires_grad=True)
        """,
        """
        x = w * 2
        y = x * x
        x.data[0] = 7
        loss = y.sum() + x.sin().sum()
        """,
        """
        x = w * 2
        loss = (x * x).sum() + (x + (torch.tensor([7.0, 0, 0]) - x * torch.tensor([1.0, 0, 0])).detach()).sin().sum()
        """,
    ),
    "result_through_data": (
        """
        w = torch.rand(3, requires_grad=True)
        """,
        """
        x = w.exp()
        x.data.clamp_(max=1.5)
        loss = x.sum()
        """,
        """
        loss = w.exp().sum()
        """,
    ),
    "array_after_the_output": (
        """
        w = torch.rand(3, requires_grad=True)
        """,
        """
        x = torch.sigmoid(w)
        shown = x.detach().numpy()
        shown *= 255
        loss = x.sum()
        """,
        """
        loss = torch.sigmoid(w).sum()
        """,
    ),
    "buffer_filled_again": (
        """
        import numpy
        w = torch.rand(3, requires_grad=True)
        """,
        """
        array = numpy.ones(3, dtype="float32")
        batch = torch.from_numpy(array)
        loss = 0
        for i in range(3):
            array[:] = i + 1
            loss = loss + (w * batch).sum()
        """,
        """
        loss = 6 * w.sum()
        """,
    ),
}
# Fixes that leave a choice: applied by hand, as the words that the fix has to hold say.
BY_HAND: dict[str, tuple[str, str, str, str, str]] = {
    "result_of_a_call_in_place": (
        """
        w = torch.rand(4, requires_grad=True)
        """,
        """
        x = w * 2
        x.exp_()
        x[2] += 1
        loss = x.pow(2).sum()
        """,
        """
        x = w * 2
        x.exp_()
        x = x.clone()
        x[2] += 1
        loss = x.pow(2).sum()
        """,
        """
        x = (w * 2).exp()
        loss = x.pow(2).sum() + 2 * x[2] + 1
        """,
        "put `x = x.clone()` before `x[2] += 1`",
    ),
    "row_of_a_leaf": (
        """
        x = torch.rand(4, 3, requires_grad=True)
        """,
        """
        for i in range(4):
            x[i] = x[i].sin()
        loss = x.pow(2).sum()
        """,
        """
        copy = x.clone()
        for i in range(4):
            copy[i] = copy[i].clone().sin()
        loss = copy.pow(2).sum()
        """,
        """
        loss = x.sin().pow(2).sum()
        """,
        "`copy = x.clone()` before the loop, `copy[i] = copy[i].clone().sin()`, and go on with `copy`",
    ),
    "row_of_a_leaf_from_the_row_before": (
        """
        x = torch.rand(4, requires_grad=True)
        """,
        """
        for i in range(1, 4):
            x[i] = x[i] * x[i - 1]
        loss = x.sum()
        """,
        """
        copy = x.clone()
        for i in range(1, 4):
            copy[i] = copy[i].clone() * copy[i - 1].clone()
        loss = copy.sum()
        """,
        """
        loss = x.cumprod(0).sum()
        """,
        "`copy[i] = copy[i].clone() * copy[i - 1].clone()`",
    ),
    "product_of_a_leaf": (
        """
        x = torch.rand(4, requires_grad=True)
        """,
        """
        x.mul_(x.sin())
        loss = x.sum()
        """,
        """
        copy = x.clone()
        copy.mul_(copy.clone().sin())
        loss = copy.sum()
        """,
        """
        loss = (x * x.sin()).sum()
        """,
        "`copy.mul_(copy.clone().sin())`",
    ),
    "rows_gone_through": (
        """
        w = torch.rand(4, 3, requires_grad=True)
        """,
        """
        x = w * 2
        for row in x:
            row.mul_(3)
        loss = x.pow(2).sum()
        """,
        """
        x = w * 2
        for i in range(len(x)):
            row = x[i]
            row.mul_(3)
        loss = x.pow(2).sum()
        """,
        """
        loss = (w * 6).pow(2).sum()
        """,
        "go through `x` by index (`for i in range(len(x)): row = x[i]`) in place of `for row in x`",
    ),
    "chunks": (
        """
        w = torch.rand(4, 4, requires_grad=True)
        """,
        """
        x = w * 2
        a, b = x.chunk(2, 1)
        a[:, 0] = b[:, 1] * 2
        loss = (a * b).sum() + x.sum()
        """,
        """
        x = w * 2
        a, b = x[:, :2], x[:, 2:]
        a[:, 0] = b[:, 1].clone() * 2
        loss = (a * b.clone()).sum() + x.sum()
        """,
        """
        x = w * 2
        a, b = x[:, :2], x[:, 2:]
        a = torch.stack([b[:, 1] * 2, a[:, 1]], 1)
        loss = (a * b).sum() + a.sum() + b.sum()
        """,
        "take `a` as an index or slice of `x` (`x[0]`, `x[:, :2]`) in place of `x.chunk(2, 1)`",
    ),
    "part_that_is_only_for_itself": (
        """
        w = torch.rand(3, 2, requires_grad=True)
        """,
        """
        first, second, third = (w * 2).unbind()
        first += 1
        loss = (first * second * third).sum()
        """,
        """
        first, second, third = (w * 2).unbind()
        first = first + 1
        loss = (first * second * third).sum()
        """,
        """
        loss = ((w[0] * 2 + 1) * w[1] * w[2] * 4).sum()
        """,
        "make a new tensor (`first = first + 1`)",
    ),
}


def gradients(text: str, path: Path) -> list[Any]:
    path.write_text(text)
    found = runpy.run_path(str(path))
    leaves = [v for v in found.values() if isinstance(v, torch.Tensor) and v.is_leaf and v.requires_grad]
    modules = [v for v in found.values() if isinstance(v, torch.nn.Module)]
    return [p.grad for p in (*leaves, *(p for m in modules for p in m.parameters()))]


def watched(text: str, path: Path, *, stops: bool) -> Report:
    path.write_text(text)
    with pytest.raises(RuntimeError) if stops else nullcontext(), gradscope.watch() as scope:
        runpy.run_path(str(path))
    return examine(scope.trace)


def same(got: list[Any], wanted: list[Any]) -> None:
    assert len(got) == len(wanted) > 0
    for one, other in zip(got, wanted, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("name", [*PROGRAMS, *UNSEEN])
def test_fix_gives_the_gradients_of_the_program_without_a_write(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shared, bad, right = (textwrap.dedent(part) for part in (PROGRAMS | UNSEEN)[name])
    script = tmp_path / f"{name}_{os.getpid()}.py"
    report = watched(_HEAD + shared + bad + _END, script, stops=name in PROGRAMS)
    codes = {f.code for f in report.findings if f.severity == "error"}
    assert codes <= ({"GS104"} if name in PROGRAMS else {"GS101", "GS103"}) and len(codes) == 1
    assert report.findings[0].edits, report.findings[0].fix
    apply(render(report), tmp_path)
    mended = gradients(script.read_text(), tmp_path / f"mended_{name}_{os.getpid()}.py")
    same(mended, gradients(_HEAD + shared + right + _END, tmp_path / f"right_{name}_{os.getpid()}.py"))


@pytest.mark.parametrize("name", BY_HAND)
def test_fix_that_is_applied_by_hand(name: str, tmp_path: Path) -> None:
    shared, bad, mended, right = (textwrap.dedent(part) for part in BY_HAND[name][:4])
    report = watched(_HEAD + shared + bad + _END, tmp_path / f"{name}_{os.getpid()}.py", stops=True)
    assert [f for f in report.findings if BY_HAND[name][4] in f.fix], [f.fix for f in report.findings]
    wanted = gradients(_HEAD + shared + right + _END, tmp_path / f"right_{name}_{os.getpid()}.py")
    same(gradients(_HEAD + shared + mended + _END, tmp_path / f"mended_{name}_{os.getpid()}.py"), wanted)
