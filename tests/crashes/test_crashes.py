"""Errors that torch stops a program with are explained, and stay the program's own."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import crashing
import pytest
import torch
from needs import indexing_seen, skip_where_lacking
from warm import python

import gradscope
from gradscope.model import Finding

Program = Callable[[], None]
_MARK = re.compile(r"\b(cause|effect|related): ([a-z][\w-]+)$")
PROGRAMS = [
    f for name, f in vars(crashing).items() if inspect.isfunction(f) and f.__module__ == crashing.__name__
]


def explained(program: Program) -> list[Finding]:
    """What is said of the exception that leaves a watched block."""
    with pytest.raises(Exception), gradscope.watch() as scope:  # noqa: B017
        program()
    assert not scope.faults
    return [finding for finding in scope.findings if not finding.code]


def marks(program: Program, name: str) -> set[tuple[str, int]]:
    """The marked lines of a program, and those of classes that stand outside of all."""
    others = {line for other in PROGRAMS if other is not program for line in lines_of(other)}
    lines = enumerate(inspect.getsource(crashing).splitlines(), 1)
    found = [(m, number) for number, line in lines if number not in others and (m := _MARK.search(line))]
    return {(m[1], number) for m, number in found if m[2] == name}


def lines_of(program: Program) -> range:
    lines, start = inspect.getsourcelines(program)
    return range(start, start + len(lines))


@pytest.mark.drawn(0.4)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore")
def test_error_is_explained_at_its_lines(program: Program) -> None:
    skip_where_lacking(program)
    torch.manual_seed(0)
    name = re.findall(r"effect: ([a-z][\w-]+)", inspect.getsource(program))[0]
    (finding,) = explained(program)
    with indexing_seen(program):
        assert finding.name == name and finding.severity == "error"
        assert {(place.role, place.line) for place in finding.locations} == marks(program, name)
    assert finding.why and finding.fix and "{" not in finding.message + finding.why + finding.fix


def test_facts_are_those_of_the_failing_tensor() -> None:
    (finding,) = explained(crashing.numpy_taken)
    assert finding.seen == ("`shown`: float32, shape 4×1, requires a gradient, no leaf (`AddmmBackward0`)",)


def test_of_several_inputs_only_the_one_that_torch_names_is_named() -> None:
    def program() -> None:
        x = torch.ones(3, requires_grad=True)
        copy = x.clone()
        torch.autograd.grad((x * 2).sum(), [x, copy])

    with pytest.raises(RuntimeError) as raised, gradscope.watch() as scope:
        program()
    (finding,) = scope.findings
    assert "not from `x`" not in finding.message
    assert ("not from `copy`" in finding.message) == ("at index 1" in str(raised.value))


def test_handled_error_is_not_explained() -> None:
    x = torch.ones(3, requires_grad=True)
    with gradscope.watch() as scope:
        try:
            x.numpy()
        except RuntimeError:
            x.detach().numpy()
    assert not scope.findings


def test_error_with_a_rule_is_told_once() -> None:
    def program() -> None:
        with torch.inference_mode():
            kept = torch.zeros(3)
        kept.add_(1)

    with pytest.raises(RuntimeError), gradscope.watch() as scope:
        program()
    assert [finding.code for finding in scope.findings] == ["GS310"]


def test_dtypes_that_a_recurrent_network_compares_itself() -> None:
    def program() -> None:
        x = torch.zeros(2, 5, 4, dtype=torch.float64)
        torch.nn.LSTM(4, 3)(x)

    with pytest.raises((ValueError, RuntimeError)), gradscope.watch() as scope:  # which, by version
        program()
    (finding,) = scope.findings
    first = inspect.getsourcelines(program)[1]
    assert finding.code == "GS503" and "`x` is float64" in finding.message
    assert [(place.role, place.line - first) for place in finding.locations] == [("cause", 1), ("effect", 2)]


def test_graph_kept_for_a_pass_that_the_error_forestalls_is_not_told() -> None:
    def program() -> None:
        model = torch.nn.Linear(4, 1)
        x = torch.randn(8, 4, requires_grad=True)
        slopes = torch.autograd.grad(model(x).sum(), x, create_graph=True)[0]
        loss = model(x).mean() + (slopes.norm(dim=1) - 1) @ torch.zeros(3)
        loss.backward()

    with pytest.raises(RuntimeError), gradscope.watch() as scope:
        program()
    assert "GS604" not in [finding.code for finding in scope.findings]


def test_graphs_kept_for_an_outer_pass_that_the_error_forestalls_are_not_told() -> None:
    def program() -> None:
        model = torch.nn.Linear(4, 1)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        losses = [torch.zeros(()), torch.zeros(())]
        for _ in range(4):
            x = torch.randn(8, 4)
            weights = list(model.parameters())
            slopes = torch.autograd.grad(model(x).pow(2).mean(), weights, create_graph=True)
            w, b = (p - 0.1 * g for p, g in zip(weights, slopes, strict=True))
            with torch.no_grad():
                losses[1] = losses[1] + torch.nn.functional.linear(x, w, b).pow(2).mean()
        losses[-1].backward()
        opt.step()

    with pytest.raises(RuntimeError), gradscope.watch() as scope:
        program()
    codes = [finding.code for finding in scope.findings]
    assert "GS303" in codes and "GS604" not in codes


def test_error_while_sampling_sleeps_is_explained() -> None:
    model = torch.nn.Sequential(*[torch.nn.Linear(4, 4) for _ in range(12)])
    opt = torch.optim.SGD(model.parameters(), lr=1e-3)

    def program() -> None:
        for step in range(300):
            opt.zero_grad()
            model(torch.ones(2, 4)).pow(2).mean().backward()
            opt.step()
            if step == 290:
                model[0].bias.fill_(0.0)

    with pytest.raises(RuntimeError), gradscope.watch() as scope:
        program()
    (finding,) = scope.findings
    assert finding.code == "GS105" and "model[0].bias" in finding.message


def test_error_of_the_programs_own_is_not_explained() -> None:
    def program() -> None:
        settings: dict[str, str] | None = None
        settings.copy()  # type: ignore[union-attr]

    assert not explained(program)


def test_error_without_an_explanation_is_told_with_what_is_known_of_its_line() -> None:
    def program() -> None:
        rows = torch.ones(2, 3, requires_grad=True) * 2
        rows.permute(0, 1, 2)

    (finding,) = explained(program)
    first = inspect.getsourcelines(program)[1]
    assert finding.name == "error-of-torch" and "rows.permute(0, 1, 2)" in finding.message
    assert [(place.role, place.line - first) for place in finding.locations] == [
        ("effect", 2),
        ("related", 1),
    ]
    assert finding.seen == ("`rows`: float32, shape 2×3, requires a gradient, no leaf (`MulBackward0`)",)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("{}['label']", "KeyError"),
        ("open('/there/is/no/such/file')", "FileNotFoundError"),
        ("raise RuntimeError('no configuration')", "RuntimeError"),
        ("assert torch.ones(2).sum() == 3", "AssertionError"),
    ],
)
def test_error_that_is_not_torchs_is_told_as_where_the_program_ended(
    line: str, kind: str, tmp_path: Path
) -> None:
    script = tmp_path / "train.py"
    script.write_text(f"import torch\nx = torch.ones(2)\n{line}\n")
    watched = _run(["-m", "gradscope", "run", str(script)], tmp_path)
    below = " ".join(watched.stderr.partition("found: ")[2].split())
    assert below.startswith(
        f"nothing to report of its gradients; the program ended with {kind} at train.py:3 "
    )


PARALLEL = """\
import os
import torch
import torch.distributed as dist
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head, self.spare = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)
    def forward(self, x):
        features = self.body(x).detach()
        return self.head(features)
os.environ["GLOO_SOCKET_IFNAME"] = "lo"
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
model = nn.parallel.DistributedDataParallel(Net())
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    opt.zero_grad()
    loss = model(torch.randn(8, 4)).pow(2).mean()
    loss.backward()
    opt.step()
"""


def test_parameters_that_ddp_waits_for_are_named_with_the_line_that_lost_them(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(PARALLEL)
    watched = _run(["-m", "gradscope", "run", str(script)], tmp_path)
    below = watched.stderr.partition("error: parameters of")[2]
    assert "had no part in the loss of the pass before" in below
    assert all(f"module.{name}" in below for name in ("body.weight", "body.bias", "spare.weight"))
    assert "their gradient is lost here" in below and "train.py:10" in below


def test_traceback_is_the_programs_own_and_the_explanation_stands_below(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import torch\n"
        "w = torch.ones(3, requires_grad=True)\n"
        "loss = w * 2\n"
        "loss.backward()\n"
    )  # fmt: skip
    # Not from a warm Python: there torch 2.15 tells at the end of what it leaked.
    plain, watched = (
        subprocess.run(
            [sys.executable, *arguments, str(script)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
        )
        for arguments in ([], ["-m", "gradscope", "run"])
    )
    assert (watched.returncode, watched.stdout) == (plain.returncode, plain.stdout)
    assert plain.returncode == 1 and watched.stderr.startswith(plain.stderr)
    below = watched.stderr.removeprefix(plain.stderr)
    assert "error: `loss` has more than one element" in below
    assert "train.py:3" in below and "`loss`: float32, shape 3" in below


def _run(arguments: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*python(), *arguments], cwd=cwd, capture_output=True, text=True, encoding="utf-8", timeout=120
    )


def test_of_several_nodes_of_one_name_that_is_told_of_which_anomaly_mode_speaks() -> None:
    def quotient(above: torch.Tensor, below: torch.Tensor) -> torch.Tensor:
        return above / below

    def program() -> None:
        x = torch.zeros(3, requires_grad=True)
        with torch.autograd.detect_anomaly(check_nan=True):
            shares = quotient(x, x)
            halves = x / 2
            (torch.where(x > 0, shares, x).sum() + halves.sum()).backward()

    with pytest.warns(UserWarning, match="Error detected in DivBackward0"):
        (finding,) = explained(program)
    (cause,) = (place for place in finding.locations if place.role == "cause")
    assert cause.line == inspect.getsourcelines(quotient)[1] + 1


class LaidFlat(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Any) -> Any:
        return a[:, 0] * a[:, 1]

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return torch.cat((g, -g), 0)


def test_parts_of_a_gradient_that_were_laid_one_behind_the_other_are_to_be_stacked() -> None:
    (finding,) = explained(lambda: LaidFlat.apply(torch.ones(3, 2, requires_grad=True)).sum().backward())
    assert "`torch.stack((g, -g), 1)` in place of `torch.cat((g, -g), 0)`" in finding.fix
    assert "return torch.cat" in inspect.getsource(LaidFlat.backward)
    first = inspect.getsourcelines(LaidFlat.backward)[1]
    assert [place.line for place in finding.locations if place.role == "related"] == [first + 2]
