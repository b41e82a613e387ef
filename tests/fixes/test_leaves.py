"""The fixes of leaves: which tensor gets the gradient once the line is changed."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from edited import HEAD, read, run, watched
from torch import nn

from gradscope.fixes.leaves import (
    asked_last,
    asks,
    changed_here,
    inside_out,
    joined,
    leaf_fix,
    made_in_init,
    without_request,
)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("torch.ones(2, requires_grad=True)", True),
        ("x.requires_grad_()", True),
        ("nn.Parameter(x)", True),
        ("torch.ones(2)", False),
        ("Parameters", False),
    ],
)
def test_a_value_asks_for_a_gradient_by_its_text(value: str, wanted: bool) -> None:
    assert asks(value) is wanted


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("w -= 0.1 * w.grad", True),
        ("w.data -= 0.1 * g", True),
        ("w.sub_(0.1 * g)", True),
        ("w.data.copy_(g)", True),
        ("w = w - 0.1 * g", True),
        ("w = w - 0.1 * w.grad", True),
        ("w = w * 2", False),
        ("w.detach_()", False),
        ("w.requires_grad_()", False),
        ("v -= 0.1 * w.grad", False),
        ("print(w - g)", False),
    ],
)
def test_a_function_that_goes_on_to_change_what_it_read_trains_it(
    line: str, wanted: bool, tmp_path: Path
) -> None:
    program = read(tmp_path, f"def f(w, v):\n    g = w.grad\n    {line}\ndef h(w):\n    w -= 1\n")
    assert changed_here(program.trace, program.site("w.grad")) is wanted


def test_a_gradient_of_what_has_no_name_may_be_of_anything(tmp_path: Path) -> None:
    program = read(tmp_path, "def f(w):\n    g = w().grad\n    return g\n")
    assert changed_here(program.trace, program.site("w().grad"))


@pytest.mark.parametrize(
    "value",
    [
        "torch.randn(3, requires_grad=True) * 0.1",
        "torch.randn(3, requires_grad=True).abs()",
        "nn.Parameter(torch.randn(3))[:2]",
        "-torch.randn(3, requires_grad=True)",
        "torch.randn(\n    3, requires_grad=True,  # trained\n) / 10",
    ],
)
def test_a_gradient_is_asked_for_last(value: str, tmp_path: Path) -> None:
    program = read(tmp_path, f"w = {value}  # requires_grad\n")
    assert not run(program.text)["w"].is_leaf
    text = program.after(asked_last(program.trace, program.site(value), "`w`"))
    w = run(text)["w"]
    assert w.is_leaf and w.requires_grad and text.endswith("  # requires_grad\n")


def test_no_gradient_is_asked_for_by_a_line_that_asked_for_none(tmp_path: Path) -> None:
    program = read(tmp_path, "w = torch.ones(2)\nv = u = w.clone().requires_grad_()\nw += 1\n")
    for code, name in (("torch.ones(2)", "w"), ("w.clone().requires_grad_()", "v"), ("w += 1", "w")):
        assert asked_last(program.trace, program.site(code), name) == ()


@pytest.mark.parametrize(
    "value",
    [
        "nn.Parameter(torch.randn(3)).to(torch.float64)",
        "nn.Parameter(torch.zeros(3))\\\n    .add(1)",
        "nn.Parameter(torch.randn(3, 3) * 0.1).to(torch.float64)",
        "nn.Parameter(-torch.ones(3)).to(torch.float64)",
        "(nn.Parameter((torch.ones(3) + 1))).to(torch.float64)",
    ],
)
def test_a_parameter_is_made_of_what_was_done_to_it(value: str, tmp_path: Path) -> None:
    program = read(tmp_path, f"torch.manual_seed(0)\nw = {value}\n")
    before = run(program.text)["w"]
    shown, edits = inside_out(program.trace, program.site(value), "w")
    w = run(program.after(edits))["w"]
    assert isinstance(w, nn.Parameter) and not isinstance(before, nn.Parameter)
    torch.testing.assert_close(w.detach(), before.detach())
    assert shown in program.after(edits)


@pytest.mark.parametrize(
    ("target", "value"),
    [
        ("w", "nn.Parameter(x, False).to(y)"),
        ("v", "nn.Parameter(x).to(y)"),
        ("w", "make(x).to(y)"),
        ("w", "nn.Parameter(x)"),
        ("w", "nn.Parameter(data=x).to(y)"),
        ("w", "nn.Parameter(x).to(y).abs()"),
        ("w", "nn.Parameter(*x).to(y)"),
    ],
)
def test_only_a_plain_parameter_of_that_name_is_turned_inside_out(
    target: str, value: str, tmp_path: Path
) -> None:
    program = read(tmp_path, f"def f(x, y, make):\n    {target} = {value}\n")
    assert inside_out(program.trace, program.site(value), "w") == ("", ())
    assert inside_out(program.trace, None, "w") == ("", ())


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("w = w - 0.1 * w.sum()", "`w -= 0.1 * w.sum()` in place of `w = w - 0.1 * w.sum()`"),
        ("w = w + 1  # up", "`w += 1` in place of `w = w + 1`"),
        ("w = w.clone()", "change `w` in place under `with torch.no_grad():`"),
        ("w = torch.ones(2, requires_grad=True) * 2",
         "`w = (torch.ones(2, requires_grad=True) * 2).detach().requires_grad_()`"),
        ("w = torch.ones(2, requires_grad=True).abs()",
         "`w = torch.ones(2, requires_grad=True).abs().detach().requires_grad_()`"),
    ],
)  # fmt: skip
def test_what_to_write_for_a_line_that_made_a_leaf_into_something_computed(
    line: str, words: str, tmp_path: Path
) -> None:
    program = read(tmp_path, f"w = torch.ones(2, requires_grad=True)\n{line}\n")
    site = program.file.statement(program.site("w", 1))
    assert site is not None
    made = program.site(program.file.text(site).partition("= ")[2])
    assert words in leaf_fix(program.trace, "`w`", made, True)


@pytest.mark.parametrize(
    ("line", "code", "wanted"),
    [
        ("w = torch.ones(2, requires_grad=True)", "torch.ones(2, requires_grad=True)", "w = torch.ones(2)\n"),
        ("w = torch.ones(2).requires_grad_()", "torch.ones(2).requires_grad_()", "w = torch.ones(2)\n"),
        ("w = torch.ones(2)\nw.requires_grad_()  # why", "w.requires_grad_()", "w = torch.ones(2)\n"),
        ("w = torch.ones(2)\nw.requires_grad = True", "w.requires_grad", "w = torch.ones(2)\n"),
    ],
)
def test_a_request_for_a_gradient_is_taken_out(line: str, code: str, wanted: str, tmp_path: Path) -> None:
    program = read(tmp_path, f"{line}\n")
    text = program.after(without_request(program.trace, program.site(code)))
    assert text == HEAD + wanted
    assert run(program.text)["w"].requires_grad and not run(text)["w"].requires_grad


@pytest.mark.parametrize(
    ("line", "code", "wanted"),
    [
        ("(a + b).requires_grad_() * 2", "(a + b).requires_grad_()", "(a + b) * 2"),
        ("2 + (a * b).requires_grad_()", "(a * b).requires_grad_()", "2 + a * b"),
        ("g((a * b), requires_grad=True)", "g((a * b), requires_grad=True)", "g((a * b))"),
        ("g(requires_grad=True, a=b)", "g(requires_grad=True, a=b)", "g(a=b)"),
    ],
)
def test_what_is_left_without_a_request_is_computed_as_before(
    line: str, code: str, wanted: str, tmp_path: Path
) -> None:
    program = read(tmp_path, f"def f(a, b, g):\n    return {line}\n")
    text = program.after(without_request(program.trace, program.site(code)))
    assert text.endswith(f"    return {wanted}\n")


def test_nothing_is_taken_out_where_nothing_is_asked_for(tmp_path: Path) -> None:
    program = read(tmp_path, "w = torch.ones(2)\nv = 'requires_grad=True'\n")
    assert without_request(program.trace, program.site("torch.ones(2)")) == ()
    assert without_request(program.trace, program.site("'requires_grad=True'")) == ()
    assert without_request(program.trace, None) == ()


LISTED = "import torch\nw = torch.ones(3, requires_grad=True)\nparts = [{parts}]\nout = torch.tensor(parts)\n"


@pytest.mark.parametrize(
    ("parts", "function"),
    [("w[i] * i for i in range(3)", "stack"), ("(w * i).sum() for i in range(2)", "stack"),
     ("w[i:i + 1] for i in range(3)", "cat")],
)  # fmt: skip
def test_a_tensor_made_of_tensors_is_joined_with_their_graphs(
    parts: str, function: str, tmp_path: Path
) -> None:
    program = watched(tmp_path, LISTED.format(parts=parts))
    cut = next(op for op in program.trace.ops if program.shown(op.site.user) == "torch.tensor(parts)")
    graph = program.trace.graph(cut.graph)
    new, edits = joined(program.trace, cut.site.user, graph, cut, cut.outputs[0])
    assert new == f"torch.{function}(parts)"
    mended = run(program.after(edits))["out"]
    assert mended.requires_grad
    torch.testing.assert_close(mended.detach(), run(program.text)["out"])


CLASS = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(2, 2){more}
    def forward(self, x):
        {line}
        return self.body(x) * self.s
"""


def test_a_parameter_that_forward_makes_is_made_once(tmp_path: Path) -> None:
    program = read(tmp_path, CLASS.format(more="", line="self.s = nn.Parameter(x.abs().mean())  # scale"))
    site = program.site("nn.Parameter(x.abs().mean())")
    target, edits = made_in_init(program.trace, site, {()})
    assert target == "self.s"
    net = run(program.after(edits))["Net"]()
    first = dict(net.named_parameters())["s"]
    net(torch.full((1, 2), 3.0)).sum().backward()
    assert net.s is first and first.item() == 3 and first.grad is not None


@pytest.mark.parametrize(
    ("more", "line", "shapes"),
    [
        ("", "self.s = nn.Parameter(x.abs().mean())", {(2,)}),
        ("\n        self.s = None", "self.s = nn.Parameter(x.abs().mean())", {()}),
        ("", "if not hasattr(self, 's'): self.s = nn.Parameter(x.abs().mean())", {()}),
        ("\n        return", "self.s = nn.Parameter(x.abs().mean())", {()}),
    ],
    ids=["no number", "made in `__init__` too", "asked about", "`__init__` returns"],
)
def test_a_parameter_that_is_made_otherwise_is_only_named(
    more: str, line: str, shapes: set[tuple[int, ...]], tmp_path: Path
) -> None:
    program = read(tmp_path, CLASS.format(more=more, line=line))
    site = program.site("nn.Parameter(x.abs().mean())")
    assert made_in_init(program.trace, site, shapes) == ("self.s", ())


def test_a_parameter_that_no_attribute_keeps_is_not_moved(tmp_path: Path) -> None:
    for line in ("s = nn.Parameter(x.abs().mean())", "self.s = 2 * nn.Parameter(x.abs().mean())"):
        program = read(tmp_path, CLASS.format(more="", line=line))
        assert made_in_init(program.trace, program.site("nn.Parameter(x.abs().mean())"), {()}) == ("", ())
