"""What mends a write in place: a new tensor, a copy where a call saves, or a call that does not write."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import torch
from edited import HEAD, Program, read, run, watched

from gradscope.events import ErrorRaised
from gradscope.fixes.in_place import (
    argument_written,
    call_not_in_place,
    copied_where_saved,
    is_read_later,
    layer_not_in_place,
    makes,
    mended,
    names_of_memory,
    new_statement,
    on_a_copy,
    result_not_in_place,
    root_name,
    written_name,
)
from gradscope.fixes.source import Edits

START = """\
import torch
from torch import nn
import torch.nn.functional as F
w = torch.tensor([0.5, 0.25], requires_grad=True)
"""


def fix_of(program: Program) -> tuple[str, Edits]:
    (event,) = program.trace.of(ErrorRaised)
    return mended(program.trace, event, event.writes[0])


def gradient(text: str) -> torch.Tensor:
    grad = run(text)["w"].grad
    assert isinstance(grad, torch.Tensor)
    return grad


# -- the failed pass ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("write", "mends"),
    [
        ("h += 1", "h = h + 1"),
        ("h -= w * 2", "h = h - (w * 2)"),
        ("h *= -1", "h = h * (-1)"),
        ("h **= 2", "h = h ** 2"),
        ("h.mul_(2)", "h = h.mul(2)"),
        ("h.mul_(2).add_(w)", "h = h.mul(2).add(w)"),
        ("h /= 2 if len(w) else 3", "h = h / (2 if len(w) else 3)"),
    ],
)
def test_a_write_to_a_variable_makes_a_new_tensor(write: str, mends: str, tmp_path: Path) -> None:
    program = watched(tmp_path, f"{START}h = w.exp()\n{write}  # ≥ 1\nh.sum().backward()\n", stops=True)
    fix, edits = fix_of(program)
    assert program.after(edits) == program.text.replace(write, mends) and mends in fix
    torch.testing.assert_close(
        gradient(program.after(edits)),
        gradient(program.text.replace("h = w.exp()", "h = w.exp() * 1")),
    )


def test_a_write_to_a_name_that_something_else_holds_is_mended_where_it_was_saved(tmp_path: Path) -> None:
    for also in ("kept = [h]", "other = h", "kept = []; kept.append(h)"):
        program = watched(tmp_path, f"{START}h = w.exp()\n{also}\nh += 1\nh.sum().backward()\n", stops=True)
        _, edits = fix_of(program)
        assert program.after(edits) == program.text.replace("w.exp()", "w.exp().clone()")
        torch.testing.assert_close(gradient(program.after(edits)), torch.exp(torch.tensor([0.5, 0.25])))


@pytest.mark.parametrize(
    ("target", "setup"),
    [
        ("maps[0]", "maps = [w.exp()]"),
        ("net.h", "net = nn.Module()\nnet.h = w.exp()"),
        ("d['é']", "d = {'é': w.exp()}"),
    ],
)
def test_an_item_or_attribute_is_given_a_new_tensor(target: str, setup: str, tmp_path: Path) -> None:
    program = watched(tmp_path, f"{START}{setup}\n{target} += w - 1\n{target}.sum().backward()\n", stops=True)
    fix, edits = fix_of(program)
    assert f"\n{target} = {target} + (w - 1)\n" in program.after(edits) and "make a new tensor" in fix
    torch.testing.assert_close(gradient(program.after(edits)), torch.exp(torch.tensor([0.5, 0.25])) + 1)


@pytest.mark.parametrize(
    ("saves", "copies"),
    [
        ("y = h * h.detach()[0]", None),
        ("y = h.pow(2)", "y = h.clone().pow(2)"),
        ("y = (w * h)", "y = (w * h.clone())"),
        ("y = torch.mul(w, other=h)", "y = torch.mul(w, other=h.clone())"),
        ("y = w * h.T", "y = w * h.T.clone()"),
    ],
)
def test_backward_keeps_its_own_copy_of_what_is_written_in_part(
    saves: str, copies: str | None, tmp_path: Path
) -> None:
    program = watched(
        tmp_path, f"{START}h = w * 2\n{saves}\nh[0] = 7\n(y.sum() + h.sum()).backward()\n", stops=True
    )
    fix, edits = fix_of(program)
    text = program.after(edits)
    assert ".clone()" in fix and (copies is None or f"\n{copies}\n" in text)
    wanted = gradient(program.text.replace("h[0] = 7", "h = h.clone()\nh[0] = 7"))
    torch.testing.assert_close(gradient(text), wanted)


@pytest.mark.parametrize("given", ["h", "(h)"])
def test_a_function_without_inplace_is_called_where_its_result_has_a_name(given: str, tmp_path: Path) -> None:
    call = f"F.relu({given}, inplace=True)"
    program = watched(tmp_path, f"{START}h = w.sigmoid()\ny = {call}\ny.sum().backward()\n", stops=True)
    fix, edits = fix_of(program)
    assert (
        program.after(edits) == program.text.replace(", inplace=True", "") and "without `inplace=True`" in fix
    )
    gradient(program.after(edits))


@pytest.mark.parametrize(
    ("layer", "mends"),
    [
        ("nn.ReLU(inplace=True)", "nn.ReLU()"),
        ("nn.ReLU(True)", "nn.ReLU(False)"),
        ("nn.LeakyReLU(0.1, inplace=True)", "nn.LeakyReLU(0.1)"),
    ],
)
def test_a_layer_is_made_without_inplace(layer: str, mends: str, tmp_path: Path) -> None:
    program = watched(
        tmp_path,
        f"{START}net = nn.Sequential(nn.Sigmoid(), {layer})\nout = net(w)\nout.sum().backward()\n",
        stops=True,
    )
    fix, edits = fix_of(program)
    assert program.after(edits) == program.text.replace(layer, mends) and "inplace" in fix
    gradient(program.after(edits))


def test_a_write_to_a_weight_is_to_come_after_the_pass(tmp_path: Path) -> None:
    program = watched(
        tmp_path,
        f"{START}loss = (w * w).sum()\nwith torch.no_grad():\n    w.add_(1)\nloss.backward()\n",
        stops=True,
    )
    fix, edits = fix_of(program)
    assert edits == () and fix.startswith("let `w.add_(1)`") and "come after `loss.backward()`" in fix


def test_a_write_without_gradients_makes_no_tensor_without_a_graph(tmp_path: Path) -> None:
    program = watched(
        tmp_path,
        f"{START}h = w.exp()\nwith torch.no_grad():\n    h.clamp_(max=1.5)\nh.sum().backward()\n",
        stops=True,
    )
    _, edits = fix_of(program)
    text = program.after(edits)
    assert "    h.clamp_(max=1.5)\n" in text
    torch.testing.assert_close(gradient(text), torch.exp(torch.tensor([0.5, 0.25])))


def test_a_function_that_writes_to_its_argument_is_told_with_its_copy(tmp_path: Path) -> None:
    program = watched(
        tmp_path,
        f"{START}def f(x):\n    x[0] = 1\n    return x\nh = w * 2\ny = h.pow(2)\nz = f(h)\n"
        "(y + z).sum().backward()\n",
        stops=True,
    )
    (event,) = program.trace.of(ErrorRaised)
    own = argument_written(program.trace, event, event.writes[0])
    assert own is not None and own.argument == "x"
    assert mended(program.trace, event, event.writes[0]) == (own.fix, own.edits)
    gradient(program.after(own.edits))


def test_names_lead_to_the_memory_that_they_share(tmp_path: Path) -> None:
    program = watched(
        tmp_path, f"{START}h = w * 2\nrow = h[0]\nother = h + 1\nout = row * other\nout.sum().backward()\n"
    )
    (mul,) = (op for op in program.trace.ops if program.shown(op.site.user) == "w * 2")
    assert names_of_memory(program.trace, mul.graph, mul.outputs) == {"h", "row"}
    assert names_of_memory(program.trace, -1, mul.outputs) == set()


def test_no_copy_is_made_where_one_of_the_calls_cannot_be_told(tmp_path: Path) -> None:
    program = watched(tmp_path, f"{START}h = w * 2\ny = h.pow(2)\nh[0] = 7\ny.sum().backward()\n", stops=True)
    (event,) = program.trace.of(ErrorRaised)
    assert copied_where_saved(program.trace, event.graph, event.spoilt, {"h"})[1]
    unknown = [*event.spoilt, {**event.spoilt[0], "site": None}]
    assert copied_where_saved(program.trace, event.graph, unknown, {"h"}) == ("", ())
    assert copied_where_saved(program.trace, event.graph, [], {"h"}) == ("", ())


# -- by the text --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "left"),
    [
        ("F.relu(x, inplace=True)", "F.relu(x)"),
        ("F.dropout(net(x), 0.5, inplace=True)", "F.dropout(net(x), 0.5)"),
        ("F.dropout(x, inplace=True, p=0.5)", "F.dropout(x, p=0.5)"),
        ("F.dropout(inplace=True, input=x)", "F.dropout(input=x)"),
        ("F.relu((x + 1), inplace=True)", "F.relu((x + 1))"),
        ("F.relu(F.relu(x, inplace=True), inplace=True)", "F.relu(F.relu(x, inplace=True))"),
    ],
)
def test_a_call_is_made_without_inplace(call: str, left: str, tmp_path: Path) -> None:
    program = read(tmp_path, f"def f(net, x):\n    return {call}  # inplace=True\n")
    found = call_not_in_place(program.trace, program.site(call))
    assert found is not None and program.body_after(found[1]).endswith(f"return {left}  # inplace=True\n")


@pytest.mark.parametrize(
    "call", ["F.relu(x)", "F.relu(x, inplace=False)", "F.relu(x, inplace=net)", "F.relu(x, True)"]
)
def test_a_call_that_does_not_say_inplace_is_left(call: str, tmp_path: Path) -> None:
    program = read(tmp_path, f"def f(net, x):\n    return {call}\n")
    assert call_not_in_place(program.trace, program.site(call)) is None


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        ("h.clamp_(0, 1)", "h.clamp(0, 1)"),
        ("(h * 2).relu_()", "(h * 2).relu()"),
        ("h.clamp_(\n        0, 1)", "h.clamp(\n        0, 1)"),
        ("F.relu(h, inplace=True)", "F.relu(h)"),
    ],
)
def test_a_result_in_place_that_is_used_is_a_new_one(call: str, wanted: str, tmp_path: Path) -> None:
    program = read(tmp_path, f"def f(h):\n    return 'ü', {call}\n")
    found = result_not_in_place(program.trace, program.site(call))
    if "inplace" in call:  # a line that is not ASCII keeps its keywords
        assert found is not None and found[1] == ()
        return
    assert found is not None and program.after(found[1]).endswith(f"return 'ü', {wanted}\n")


def test_a_write_for_its_own_sake_or_without_a_twin_stays(tmp_path: Path) -> None:
    program = read(
        tmp_path, "def f(h):\n    h.clamp_(0, 1)\n    y = h.requires_grad_()\n    return h.abs()\n"
    )
    for code in ("h.clamp_(0, 1)", "h.requires_grad_()", "h.abs()"):
        assert result_not_in_place(program.trace, program.site(code)) is None


def test_the_only_layer_of_a_class_that_writes_in_place_is_the_one(tmp_path: Path) -> None:
    one = read(tmp_path, "a = nn.ReLU()\nb = nn.ReLU(inplace=True)\nc = nn.ELU(inplace=True)\n")
    found = layer_not_in_place(one.trace, "ReLU")
    assert found is not None
    assert one.body_after(found[1]) == "a = nn.ReLU()\nb = nn.ReLU()\nc = nn.ELU(inplace=True)\n"
    two = read(tmp_path, "a = nn.ReLU(True)\nb = nn.ReLU(inplace=True)\n")
    assert layer_not_in_place(two.trace, "ReLU") is None
    assert layer_not_in_place(two.trace, "ELU") is None


@pytest.mark.parametrize(
    ("line", "later"),
    [("y = F.relu(x)\n    return x", True), ("x = F.relu(x)\n    return x", False),
     ("y = F.relu(x)\n    return y", False), ("y = F.relu(x)\n    return lambda x: x", False)],
)  # fmt: skip
def test_a_variable_is_read_later_unless_it_is_bound_anew(line: str, later: bool, tmp_path: Path) -> None:
    program = read(tmp_path, f"def f(x):\n    print(x)\n    {line}\n")
    call = program.node("F.relu(x)")
    assert isinstance(call, ast.Call) and is_read_later(program.source, call, "x") is later


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("h += x", "h = h + x"),
        ("h -= x - y", "h = h - (x - y)"),
        ("h //= 2", "h = h // 2"),
        ("h.mul_(x).add_(y)", "h = h.mul(x).add(y)"),
        ("h.masked_fill_(x > 0, 1)", "h = h.masked_fill(x > 0, 1)"),
        ("h[0] += x", ""),
        ("h.x += x", ""),
        ("h.zero_()", ""),
        ("h.mul(x).add_(y)", ""),
        ("net(h)", ""),
    ],
)
def test_a_write_is_told_as_one_that_makes_a_new_tensor(line: str, wanted: str, tmp_path: Path) -> None:
    program = read(tmp_path, f"def f(h, x, y, net):\n    'äö'; {line}\n")
    assert new_statement(program.trace, program.site(line)) == wanted


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("x[i] = x[i - 1] * 2", "y[i] = y[i - 1].clone() * 2"),
        ("x[i] += x.sum()", "y[i] += y.clone().sum()"),
        ("x.mul_(x.sin())", "y.mul_(y.clone().sin())"),
        ("x[0].add_(1)", "y[0].add_(1)"),
        ("x[i] = f('x', x_of(i))", "y[i] = f('x', x_of(i))"),
        ("f(x)", ""),
        ("torch.relu_(x)", ""),
    ],
)
def test_a_write_is_told_on_a_copy(line: str, wanted: str, tmp_path: Path) -> None:
    program = read(tmp_path, f"def f(x, i, x_of):\n    {line}\n")
    code = line.partition(" = ")[0] if " = " in line else line
    assert on_a_copy(program.trace, program.site(code), "x", "y") == wanted
    assert on_a_copy(program.trace, program.site(code), "", "y") == ""


def test_a_write_on_a_copy_gives_the_gradient_of_a_leaf(tmp_path: Path) -> None:
    body = (
        "x = torch.rand(3, requires_grad=True)\ny = x.clone()\nfor i in range(1, 3):\n    {line}\n"
        "y.sum().backward()\n"
    )
    program = read(tmp_path, "def f(x):\n    for i in range(1, 3):\n        x[i] = x[i] * x[i - 1]\n")
    line = on_a_copy(program.trace, program.site("x[i]"), "x", "y")
    x = run(f"{HEAD}{body.format(line=line)}")["x"]
    wanted = x.detach().clone().requires_grad_()
    wanted.cumprod(0).sum().backward()
    torch.testing.assert_close(x.grad, wanted.grad)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [("f(x)", True), ("x * 2", True), ("-x", True), ("x.relu()", True), ("x.view(2)", False),
     ("x.detach()", False), ("x", False), ("x[0]", False), ("x.T", False)],
)  # fmt: skip
def test_an_expression_makes_a_tensor_of_its_own_unless_it_is_a_view(value: str, wanted: bool) -> None:
    assert makes(ast.parse(value, mode="eval").body) is wanted


@pytest.mark.parametrize(
    ("code", "wanted"),
    [("h[t - 1]", "h"), ("h.detach()[0].T", "h"), ("self.h.data[0]", "self.h"), ("h.weight", "h.weight"),
     ("f(h)", ""), ("h + 1", "")],
)  # fmt: skip
def test_the_root_of_an_expression_is_its_variable_or_attribute(code: str, wanted: str) -> None:
    assert root_name(ast.parse(code, mode="eval").body) == wanted
    assert root_name(None) == ""


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("x[i] += 1", "x"),
        ("x.data.mul_(2)", "x"),
        ("torch.relu_(x[0])", "x"),
        ("F.relu(self.x, inplace=True)", "self.x"),
        ("torch.add(y, 1, out=x)", "x"),
        ("x[i].add_(y)", "x"),
    ],
)
def test_what_a_statement_writes_to_has_a_name(line: str, wanted: str, tmp_path: Path) -> None:
    program = read(tmp_path, f"def f(self, x, y, i):\n    {line}\n")
    assert written_name(program.trace, program.site(line)) == wanted
