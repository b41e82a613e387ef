"""What is said to keep a computation finite, and that the program with the edits stays so."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from edited import Program, run, watched
from torch import nn

import gradscope
from gradscope.events import NonFinite
from gradscope.fixes.finite import Made, Repair, kept_finite, of_several


def test_no_bound_is_offered_for_a_logarithm_of_what_should_never_be_negative() -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        action = torch.tanh(model(4 * torch.randn(32, 4))) * 2.0
        (-torch.log(1 - action.pow(2) + 1e-6).mean()).backward()
        opt.step()
    (found,) = (finding for finding in scope.findings if finding.code == "GS701")
    assert "clamp" not in found.fix and "takes a `tanh` out of -1 to 1" in found.fix


HEAD = """\
import torch
from torch import nn
import torch.nn.functional as F
x = torch.tensor({x}, requires_grad=True)
opt = torch.optim.SGD([x], lr=0.0)
m = torch.tensor([False, False])
n = 0
"""


def program_of(folder: Path, x: str, body: str) -> Program:
    return watched(folder, f"{HEAD.format(x=x)}{body}\nloss.sum().backward()\nopt.step()\n")


def repair_of(program: Program, *, looked_at: bool = True) -> Repair:
    """What is to be done about the first number that was not finite."""
    event = program.trace.of(NonFinite)[0]
    site = program.trace.site(event.origin)
    origin = site.user if site is not None else None
    made = Made(str(event.name), origin, event.where, "`x`", tuple(event.inputs), looked_at)
    return kept_finite(program.trace, event, made)


@pytest.mark.parametrize(
    ("x", "body", "wanted"),
    [
        ("[0.0, 4.0]", "loss = torch.sqrt(x * x)  # length", "torch.sqrt(x * x + 1e-8)"),
        ("[0.0, 4.0]", "loss = 'ß' and x.sqrt()", "(x + 1e-8).sqrt()"),
        ("[0.0, 4.0]", "loss = torch.log(x)", "torch.log(x.clamp(min=1e-8))"),
        ("[0.0, 4.0]", "loss = (x * 2).log()", "(x * 2).clamp(min=1e-8)"),
        ("[1.0, 0.5]", "loss = torch.acos(x)", "torch.acos(x.clamp(-1 + 1e-6, 1 - 1e-6))"),
        ("[0.0, 1000.0]", "loss = torch.log(torch.softmax(x, dim=0))", "torch.log_softmax(x, dim=0)"),
        ("[0.0, 1000.0]", "p = F.softmax(x, 0)\nloss = p.log()", "loss = p\n"),
        ("[-200.0, -300.0]", "loss = torch.exp(x).sum(0).log()", "torch.logsumexp(x, 0)"),
        (
            "[-2.0, 4.0]",
            "y = F.linear(x, torch.eye(2))\nloss = y[:2].sqrt()",
            "y[:2].clamp(min=1e-8).sqrt()",
        ),
        ("[1.0, 2.0]", "loss = x / n", "x / max(n, 1)"),
        ("[1.0, 2.0]", "loss = x.sum() / m.sum()", "m.sum().clamp(min=1)"),
        ("[0.0, 2.0]", "loss = torch.where(x == 0, 1.0, x.sin() / x)", "/ torch.where(x == 0, 1.0, x)"),
        ("[0.0, 2.0]", "loss = torch.where(x == 0, x, 1 / x)", "1 / torch.where(x == 0, 1.0, x)"),
        ("[1.0, 2.0]", "s = x.masked_fill(~m, float('-inf'))\nloss = s.softmax(0)", "(~m, -1e9)"),
        ("[0.0, 100.0]", "z = x * 2  # é\na = (0.4 * z).exp()\nloss = a + torch.exp(z)", "(x * 2).clamp(max=10)"),
        ("[1.0]", "loss = x.std()", "x.std(unbiased=False)"),
        ("[1.0]", "loss = x / (x.std(0, correction=1) + 1e-5)", "x.std(0, correction=0) + 1e-5"),
        ("[1.0]", "loss = torch.var_mean(x, dim=0)[0]", "torch.var_mean(x, dim=0, unbiased=False)"),
        ("[1.0]", "loss = torch.sqrt(torch.var(x, (0,), keepdim=True) + 1e-5)", "keepdim=True, unbiased=False)"),
        ("[0.0, 2.0]", "loss = x / (x + 1e-3 * torch.sign(x))", "1e-3 * torch.where(x >= 0, 1.0, -1.0)"),
    ],
)  # fmt: skip
def test_the_program_stays_finite_with_the_edits(x: str, body: str, wanted: str, tmp_path: Path) -> None:
    program = program_of(tmp_path, x, body)
    found = repair_of(program)
    text = program.after(found.edits)
    assert wanted in text
    before, after = run(program.text)["x"].grad, run(text)["x"].grad
    values = run(program.text)["loss"], run(text)["loss"]
    assert not (before.isfinite().all() and values[0].isfinite().all())
    assert after.isfinite().all() and values[1].isfinite().all()


@pytest.mark.parametrize(
    ("x", "body", "words"),
    [
        ("[3.0, 0.5]", "loss = torch.acos(x)", "is far outside, not by rounding"),
        ("[-3.0, 0.5]", "loss = torch.log(x)", "should never be negative"),
        ("[-3.0, 0.5]", "loss = torch.sqrt(x)", "should never be negative"),
        ("[-3.0, 0.0]", "loss = 1 / x", "which is never above it"),
        ("[-3.0, 0.0, 3.0]", "loss = 1 / x", "on both sides"),
        ("[0.0, 3.0]", "loss = 1 / x", "add a small constant"),
        (
            "[0.0, 3.0]",
            "loss = torch.where(x == 0, x, x.reciprocal())",
            "keep the divisor of `x.reciprocal()`",
        ),
        ("[-3.0, 0.0]", "loss = torch.where(x == 0, x, x.reciprocal())", "which is never above it"),
        ("[-3.0, 0.0, 3.0]", "loss = torch.where(x == 0, x, x.reciprocal())", "on both sides"),
        ("[1.0, 2.0]", "loss = x[m].mean()", "leave `x[m].mean()`"),
        ("[1.0]", "loss = x / x.std()", "needs a small constant added to that 0"),
        ("[1.0]", "loss = (x.var() * 2).sqrt()", "needs a small constant added to that 0"),
        ("[1.0]", "loss = torch.var(x, 0, True)", "taken of one element"),
        ("[1000.0, 1.0]", "loss = torch.exp(x)", "with `clamp(max=…)`"),
        ("[float('nan'), 1.0]", "loss = x * 2", ""),
    ],
)
def test_no_edit_hides_what_is_wrong_or_chooses_a_bound(
    x: str, body: str, words: str, tmp_path: Path
) -> None:
    found = repair_of(program_of(tmp_path, x, body))
    assert words in found.text and found.text and found.edits == ()


def test_who_else_reads_a_softmax_gets_the_exponential_of_its_logarithm(tmp_path: Path) -> None:
    program = program_of(tmp_path, "[0.0, 1000.0]", "p = x.softmax(0)\nloss = p.log() + p.sum()")
    found = repair_of(program)
    assert "log_softmax" in found.text and "as `p.exp()`" in found.text
    assert "p = x.log_softmax(0)\nloss = p + p.exp().sum()\n" in program.after(found.edits)


def test_a_logarithm_of_a_softmax_with_two_names_is_bounded(tmp_path: Path) -> None:
    body = "p = x.softmax(0)\nif len(x) > 9:\n    p = p * 2\nloss = p.log() + p.sum()"
    program = program_of(tmp_path, "[0.0, 1000.0]", body)
    found = repair_of(program)
    assert "log_softmax" in found.text and "clamp(min=1e-8)" in found.text


def test_an_exponential_that_a_where_leaves_out_is_to_be_bounded_before_it(tmp_path: Path) -> None:
    body = "z = x * 2\nloss = torch.where(z > 20, z, torch.log(1 + torch.exp(z)))"
    found = repair_of(program_of(tmp_path, "[0.0, 100.0]", body))
    assert "before `torch.exp(z)`" in found.text and "`torch.where` must choose before" in found.text
    assert found.edits == ()


def test_a_half_precision_is_kept_further_from_the_ends(tmp_path: Path) -> None:
    program = program_of(tmp_path, "[1.0, 0.5]", "loss = torch.acos(x.half())")
    assert "torch.acos(x.half().clamp(-0.99, 0.99))" in program.after(repair_of(program).edits)


def test_of_several_calls_each_is_named_with_the_guard_that_fits(tmp_path: Path) -> None:
    program = watched(
        tmp_path, "import torch\nx = torch.ones(2, requires_grad=True)\ny = 1 / x\nz = x.log()\n"
    )
    quotients = of_several(
        program.trace, [op for op in program.trace.ops if program.shown(op.site.user) == "1 / x"]
    )
    assert "keep its divisor away from 0" in quotients.text and "`1 / x`" in quotients.text
    both = of_several(program.trace, list(program.trace.ops))
    assert "bound what goes into it" in both.text and "`x.log()`" in both.text and both.edits == ()
