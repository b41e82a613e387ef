"""The fixes that change one call or statement: what it reads like then, and where it is left as it is."""

from __future__ import annotations

import ast
import itertools
from pathlib import Path

import pytest
import torch
from edited import Program, read, run, watched

from gradscope.fixes.calls import (
    along,
    argument_as,
    assigned_back,
    assigned_value,
    copied,
    factor_moved,
    first_argument,
    in_method,
    in_place_of,
    kept_inside,
    kept_positive,
    method_added,
    receiver_in_place_of,
    receiver_replaced,
    renamed,
    result_kept,
    scaled_by,
    stepped_by,
    taken_out,
    unwrapped,
    with_argument,
    without_argument,
    without_inference,
    without_last_layer,
    wrapped_value,
)
from gradscope.fixes.given import also_given, listed_once
from gradscope.fixes.statements import (
    behind_their_loop,
    beside,
    into_the_loop,
    line_after,
    line_before,
    moved,
    moved_behind,
    taken_away,
    under_no_grad,
)
from gradscope.source import method_name


def body(tmp_path: Path, line: str) -> Program:
    """A function of one line, with names that are nowhere else."""
    return read(tmp_path, f"def f(self, x, y, z, a, b, net, opt, d):\n    {line}\n")


# -- lines and their places ---------------------------------------------------------------


def test_a_line_goes_before_or_after_the_statement_of_a_call(tmp_path: Path) -> None:
    program = read(tmp_path, "def f(net, x):\n    y = net(\n        x,\n    )\n    return y\n")
    site = program.site("net(\n        x,\n    )")
    assert program.body_after(line_before(program.trace, site, "x = x * 1")) == (
        "def f(net, x):\n    x = x * 1\n    y = net(\n        x,\n    )\n    return y\n"
    )
    assert program.body_after(line_after(program.trace, site, "y = y * 1")) == (
        "def f(net, x):\n    y = net(\n        x,\n    )\n    y = y * 1\n    return y\n"
    )
    assert line_before(program.trace, None, "y = 1") == line_after(program.trace, None, "y = 1") == ()


def test_no_line_goes_before_a_call_in_a_block_of_one_line(tmp_path: Path) -> None:
    program = read(tmp_path, "def f(net, xs):\n    for x in xs: net(x)\n    with net: net(xs)\n")
    for code in ("net(x)", "net(xs)"):
        assert line_before(program.trace, program.site(code), "y = 1") == ()


def test_only_places_of_the_same_function_are_beside_each_other(tmp_path: Path) -> None:
    program = read(
        tmp_path,
        "def f(x):\n    x.one()\n    x.two()\n    def inner():\n        x.three()\n"
        "    return lambda: x.four()\n"
        "class A:\n    x = len('five')\n\nlast = len('six')\n",
    )
    sites = {name: program.site(f"x.{name}()") for name in ("one", "two", "three", "four")}
    assert beside(program.trace, sites["one"], sites["two"])
    for one, other in itertools.combinations(("one", "three", "four"), 2):
        assert not beside(program.trace, sites[one], sites[other])
    assert not beside(program.trace, program.site("len('five')"), program.site("len('six')"))
    assert not beside(program.trace, None, sites["one"])


def test_a_statement_goes_under_no_grad_only_where_torch_is_known_by_that_name(tmp_path: Path) -> None:
    text = "def f(w, g):\n    w -= 0.1 * g  # by hand\n    return w\n"
    program = read(tmp_path, text)
    edits = under_no_grad(program.trace, program.site("w -= 0.1 * g"))
    assert program.body_after(edits) == (
        "def f(w, g):\n    with torch.no_grad():\n        w -= 0.1 * g  # by hand\n    return w\n"
    )
    other = read(tmp_path, text, head="import torch as th\nth.ones(1)\n")
    assert under_no_grad(other.trace, other.site("w -= 0.1 * g")) == ()
    assert under_no_grad(program.trace, program.site("w", 1)) == ()  # a return
    assert under_no_grad(program.trace, None) == ()


def test_a_call_moves_beside_another_of_its_loop(tmp_path: Path) -> None:
    program = read(
        tmp_path,
        "def f(opt, loss):\n    for _ in range(3):\n        loss.backward()\n"
        "        opt.zero_grad()\n"
        "        opt.step()\n",
    )  # fmt: skip
    zero, step = program.site("opt.zero_grad()"), program.site("opt.step()")
    back = program.site("loss.backward()")
    text = program.after(moved(program.trace, zero, step, after=True))
    assert "backward()\n        opt.step()\n        opt.zero_grad()\n" in text
    text = program.after(moved(program.trace, zero, back))
    assert "opt.zero_grad()\n        loss.backward()\n        opt.step()\n" in text


def test_a_call_moves_neither_into_a_loop_nor_out_of_one(tmp_path: Path) -> None:
    program = read(
        tmp_path, "def f(opt, loss):\n    opt.zero_grad()\n    for _ in range(3):\n        loss.backward()\n"
        "        y = opt.step()\n",
    )  # fmt: skip
    zero, back = program.site("opt.zero_grad()"), program.site("loss.backward()")
    assert moved(program.trace, zero, back) == moved(program.trace, back, zero) == ()
    assert moved(program.trace, program.site("opt.step()"), back) == ()  # its result has a name
    assert moved(program.trace, None, back) == ()


def test_a_conditional_call_moves_with_its_condition(tmp_path: Path) -> None:
    program = read(
        tmp_path,
        "def f(opt, loss, i):\n    if i % 2:\n        opt.zero_grad()\n    loss.backward()\n    i += 1\n",
    )
    zero, back = program.site("opt.zero_grad()"), program.site("loss.backward()")
    text = program.body_after(moved(program.trace, zero, back, after=True, conditional=True))
    assert text == (
        "def f(opt, loss, i):\n    loss.backward()\n    if i % 2:\n        opt.zero_grad()\n    i += 1\n"
    )


def test_a_call_moves_behind_the_loop_that_its_target_stands_in(tmp_path: Path) -> None:
    program = read(
        tmp_path, "def f(sched, opt, n):\n    for _ in n:\n        sched.step()\n        for _ in n:\n"
        "            opt.step()\n        print(n)\n",
    )  # fmt: skip
    sched, step = program.site("sched.step()"), program.site("opt.step()")
    assert program.body_after(moved_behind(program.trace, sched, step)) == (
        "def f(sched, opt, n):\n    for _ in n:\n        for _ in n:\n            opt.step()\n"
        "        sched.step()\n        print(n)\n"
    )
    assert moved_behind(program.trace, step, sched) == moved_behind(program.trace, sched, None) == ()


def test_the_last_calls_of_an_inner_loop_come_behind_it(tmp_path: Path) -> None:
    program = read(
        tmp_path,
        "def f(a, b, c, n):\n\tfor _ in n:\n\t\tfor _ in n:\n\t\t\tc.step()\n\t\t\ta.step()\n\t\t\tb.step(\n"
        "\t\t\t\t1)\n",
    )
    sites = [program.site("b.step(\n\t\t\t\t1)"), program.site("a.step()")]
    line, edits = behind_their_loop(program.trace, sites)
    assert line == program.statement("for _").lineno + 1
    assert program.body_after(edits) == (
        "def f(a, b, c, n):\n\tfor _ in n:\n\t\tfor _ in n:\n\t\t\tc.step()\n\t\ta.step()\n"
        "\t\tb.step(\n\t\t\t1)\n"
    )


def test_calls_stay_in_a_loop_that_nothing_stands_around_or_that_would_be_empty(tmp_path: Path) -> None:
    single = read(tmp_path, "def f(a, n):\n    for _ in n:\n        n.go()\n        a.step()\n")
    assert behind_their_loop(single.trace, [single.site("a.step()")]) == (0, ())
    line, edits = behind_their_loop(single.trace, [single.site("a.step()")], around=1)
    assert line and single.after(edits).endswith("        n.go()\n    a.step()\n")
    empty = read(tmp_path, "def f(a, n):\n    for _ in n:\n        for _ in n:\n            a.step()\n")
    assert behind_their_loop(empty.trace, [empty.site("a.step()")])[1] == ()


def test_calls_behind_a_loop_go_to_the_end_of_its_body(tmp_path: Path) -> None:
    text = (
        "def f(loss, opt, n):\n  for _ in n:\n    loss += 1\n  loss.backward()\n  opt.step(\n    1)\n"
        "  return loss\n"
    )
    program = read(tmp_path, text)
    edits = into_the_loop(program.trace, program.statement("for _"), program.site("opt.step(\n    1)"))
    assert program.body_after(edits) == (
        "def f(loss, opt, n):\n  for _ in n:\n    loss += 1\n    loss.backward()\n    opt.step(\n"
        "      1)\n  return loss\n"
    )


def test_a_text_over_several_lines_goes_neither_into_a_loop_nor_out_of_one(tmp_path: Path) -> None:
    text = "print('''a\n  b''')"
    program = read(tmp_path, f"def f(a, n):\n    for _ in n:\n        a.go()\n        {text}\n    {text}\n")
    inner, outer = program.site(text), program.site(text, 1)
    assert into_the_loop(program.trace, program.statement("for _"), outer) == ()
    assert behind_their_loop(program.trace, [inner], around=1)[1] == ()


@pytest.mark.parametrize(
    "text",
    [
        "for _ in n:\n        loss += 1\n    else:\n        n.go()\n    loss.backward()\n",
        "for _ in n:\n        loss += 1\n    n = 1\n    loss.backward()\n",
        "loss.backward()\n    for _ in n:\n        loss += 1\n",
    ],
    ids=["else", "assignment between", "before the loop"],
)
def test_what_is_not_plainly_behind_a_loop_does_not_go_into_it(text: str, tmp_path: Path) -> None:
    program = read(tmp_path, f"def f(loss, n):\n    {text}")
    loop = program.statement("for _")
    assert into_the_loop(program.trace, loop, program.site("loss.backward()")) == ()


def test_a_call_is_taken_away_only_where_it_is_a_statement(tmp_path: Path) -> None:
    program = read(tmp_path, "def f(opt, x):\n    opt.step()  # done\n    y = opt.undo()\n    return y\n")
    assert "step" not in program.after(taken_away(program.trace, program.site("opt.step()")))
    assert taken_away(program.trace, program.site("opt.undo()")) == ()


# -- arguments ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "position", "wanted"),
    [
        ("F.softmax(x)", 1, "F.softmax(x, dim=1)"),
        ("F.softmax(x, 0)", 1, "F.softmax(x, 1)"),
        ("F.softmax(x, dim=0)", 1, "F.softmax(x, dim=1)"),
        ("F.softmax(dim=0, input=x)", 1, "F.softmax(dim=1, input=x)"),
        ("F.softmax(x, dtype=y)", 1, "F.softmax(x, dtype=y, dim=1)"),
        ("x.softmax()", 0, "x.softmax(dim=1)"),
        ("x.softmax(-1)", 0, "x.softmax(1)"),
        ("F.softmax(net(x, dim=3), 0)", 1, "F.softmax(net(x, dim=3), 1)"),
        ("F.softmax(net(x))", 1, "F.softmax(net(x), dim=1)"),
        ("net(x, 7)", -1, "net(x, 7, dim=1)"),
        ("F.softmax(x,)", 1, "F.softmax(x, dim=1,)"),
        (
            "F.softmax(\n        x,  # the scores\n    )",
            1,
            "F.softmax(\n        x, dim=1,  # the scores\n    )",
        ),
        ("F.softmax('é', x[0])", 1, "F.softmax('é', 1)"),
        ("F.softmax((a + b))", 1, "F.softmax((a + b), dim=1)"),
        ("F.softmax(dtype=(y))", 1, "F.softmax(dtype=(y), dim=1)"),
    ],
)
def test_an_argument_takes_the_place_of_the_one_given(
    call: str, position: int, wanted: str, tmp_path: Path
) -> None:
    program = body(tmp_path, f"return {call}")
    edits = with_argument(program.trace, program.site(call), "dim", "1", position)
    assert f"    return {wanted}\n" in program.after(edits)


@pytest.mark.parametrize("call", ["net(*x)", "net(x, **d)", "net(i for i in x)"])
def test_no_argument_is_added_where_what_is_given_cannot_be_told(call: str, tmp_path: Path) -> None:
    program = body(tmp_path, f"return {call}")
    assert with_argument(program.trace, program.site(call), "dim", "1", 1) == ()
    assert with_argument(program.trace, None, "dim", "1") == ()


def test_an_argument_is_left_out_of_the_outer_call_alone(tmp_path: Path) -> None:
    call = "net(net(x, out=y), out=z)"
    program = body(tmp_path, f"return {call}")
    assert "net(net(x, out=y))" in program.after(without_argument(program.trace, program.site(call), "out"))
    assert without_argument(program.trace, program.site(call), "dim") == ()
    assert without_argument(program.trace, program.site("net"), "out") == ()


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        ("net(x, y)", "net(x, (y + 1) / 2)"),
        ("net(x, y * z)", "net(x, ((y * z) + 1) / 2)"),
        ("net(target=y.T, input=x)", "net(target=(y.T + 1) / 2, input=x)"),
        ("net(x, target=-y)", "net(x, target=((-y) + 1) / 2)"),
        ("net(x, (y - z))", "net(x, (((y - z) + 1) / 2))"),
    ],
)
def test_an_argument_is_put_into_an_expression_as_a_whole(call: str, wanted: str, tmp_path: Path) -> None:
    program = body(tmp_path, f"return {call}")
    edits = argument_as(program.trace, program.site(call), "target", 1, "({} + 1) / 2")
    assert f"return {wanted}\n" in program.after(edits)


def test_an_argument_that_a_star_may_give_is_not_changed(tmp_path: Path) -> None:
    for line in ("net(*x, y)", "net(x)", "net(x, *y)"):
        program = body(tmp_path, line)
        assert argument_as(program.trace, program.site(line), "target", 1, "-{}") == ()


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        ("torch.softmax(x, 0)", "torch.softmax(x, 1)"),
        ("F.softmax(x, dim=0)", "F.softmax(x, dim=1)"),
        ("x.softmax(0)", "x.softmax(1)"),
        ("nn.Softmax(0)", "nn.Softmax(1)"),
        ("nn.Softmax(dim=0)", "nn.Softmax(dim=1)"),
    ],
)
def test_a_softmax_goes_along_another_axis(call: str, wanted: str, tmp_path: Path) -> None:
    program = body(tmp_path, f"return {call}")
    assert f"return {wanted}\n" in program.after(along(program.trace, program.site(call), "softmax", 1))


def test_only_the_call_that_is_meant_goes_along_another_axis(tmp_path: Path) -> None:
    for call in ("torch.log_softmax(x, 0)", "nn.LogSoftmax(0)", "net(x)", "nn.Softmax()"):
        program = body(tmp_path, f"return {call}")
        assert along(program.trace, program.site(call), "softmax", 1) == ()


LAYERS = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.softmax = nn.Softmax(1)
    def forward(self, x):
        return self.softmax(x)
net = Net()
class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = Net()
    def forward(self, x):
        return self.net.softmax(x)
outer = Outer()
both = net(torch.ones(2, 2, requires_grad=True)), outer(torch.ones(2, 2, requires_grad=True))
last = net.softmax(torch.ones(2, 2, requires_grad=True))
"""


@pytest.mark.parametrize("call", ["self.softmax(x)", "self.net.softmax(x)",
                                  "net.softmax(torch.ones(2, 2, requires_grad=True))"])  # fmt: skip
def test_a_layer_that_is_called_like_a_function_of_torch_keeps_its_input_and_name(
    call: str, tmp_path: Path
) -> None:
    program = read(tmp_path, LAYERS)
    assert along(program.trace, program.site(call), "softmax", 1) == ()
    assert renamed(program.trace, program.site(call), "softmax", "log_softmax") == ()


def test_a_function_of_the_programs_own_module_is_not_renamed(tmp_path: Path) -> None:
    program = read(tmp_path, "import math as mine\ndef f(x):\n    return mine.softmax(x, 0)\n")
    site = program.site("mine.softmax(x, 0)")
    assert renamed(program.trace, site, "softmax", "log_softmax") == ()
    assert along(program.trace, site, "softmax", 1) == ()


def test_the_first_argument_is_known_where_its_names_are(tmp_path: Path) -> None:
    program = read(
        tmp_path,
        "class A:\n    def one(self, p):\n        g(self.net.parameters(), p)\n        g(p)\n        g(*p)\n"
        "        h()\n    def two(self):\n        return 2\n"
        "class B:\n    def two(self):\n        return 3\n",
    )
    (of_self, of_one, starred) = (program.site(c) for c in ("g(self.net.parameters(), p)", "g(p)", "g(*p)"))
    here, two, other = program.site("h()"), program.site("2"), program.site("3")
    assert first_argument(program.trace, of_self, two) == "self.net.parameters()"
    assert first_argument(program.trace, of_self, other) == first_argument(program.trace, of_one, two) == ""
    assert first_argument(program.trace, of_one, here) == "p"
    assert first_argument(program.trace, starred, here) == first_argument(program.trace, None, here) == ""
    assert in_method(program.trace, here) and not in_method(program.trace, program.site("torch.ones(1)"))


# -- names and receivers ------------------------------------------------------------------


def test_a_function_of_torch_gets_another_name(tmp_path: Path) -> None:
    for call in ("F.softmax(x, 1)", "torch.nn.functional.softmax(x, 1)", "x.softmax(1)"):
        program = body(tmp_path, f"return 'π', {call}")
        edits = renamed(program.trace, program.site(call), "softmax", "log_softmax")
        assert f"'π', {call.replace('.softmax', '.log_softmax')}\n" in program.after(edits)


def test_a_function_by_a_bare_name_is_not_renamed(tmp_path: Path) -> None:
    program = read(
        tmp_path, "from torch.nn.functional import softmax\ndef f(x):\n    return softmax(x, 1), F.relu(x)\n"
    )
    assert renamed(program.trace, program.site("softmax(x, 1)"), "softmax", "log_softmax") == ()
    assert renamed(program.trace, program.site("F.relu(x)"), "softmax", "log_softmax") == ()


@pytest.mark.parametrize("line", ["x.detach()", "self.x.detach()", "d['x'].detach()"])
def test_a_result_that_is_dropped_is_assigned_back(line: str, tmp_path: Path) -> None:
    program = body(tmp_path, line)
    edits = assigned_back(program.trace, program.site(line))
    assert f"    {line.removesuffix('.detach()')} = {line}\n" in program.after(edits)


def test_a_result_that_is_used_or_has_no_name_is_not_assigned_back(tmp_path: Path) -> None:
    for line, code in (("y = x.detach()", "x.detach()"), ("net(x).detach()", "net(x).detach()")):
        program = body(tmp_path, line)
        assert assigned_back(program.trace, program.site(code)) == ()


@pytest.mark.parametrize(
    ("line", "method", "wanted"),
    [
        ("y = x.item()", "item", "y = x"),
        ("y = net(x.item() + 1)", "item", "y = net(x + 1)"),
        ("y = net.forward(x, y)", "forward", "y = net(x, y)"),
        ("y = net.forward(x).detach()", "detach", "y = net.forward(x)"),
        ("y = 2 * (a + b).item()", "item", "y = 2 * (a + b)"),
        ("y = 2 * (a.mean() + b.pow(2)).item()", "item", "y = 2 * (a.mean() + b.pow(2))"),
        ("y = (a + b).item()", "item", "y = a + b"),
        ("y = (a\n         + b).item()", "item", "y = (a\n         + b)"),
        ("y = -(a ** b).item() - 1", "item", "y = -a ** b - 1"),
        ("y = (a or b).forward(x)", "forward", "y = (a or b)(x)"),
    ],
)
def test_a_call_gives_way_to_what_it_is_called_on(
    line: str, method: str, wanted: str, tmp_path: Path
) -> None:
    program = body(tmp_path, line)
    (call,) = (n for n in program.file.nodes if isinstance(n, ast.Call) and method_name(n) == method)
    edits = receiver_in_place_of(program.trace, program.site(program.file.text(call)), method)
    assert program.after(edits).endswith(f"    {wanted}\n")


def test_a_line_that_only_made_the_call_goes_with_it(tmp_path: Path) -> None:
    for line in ("x = x.detach()", "x.detach()"):
        program = body(tmp_path, f"{line}\n    return x")
        edits = receiver_in_place_of(program.trace, program.site("x.detach()"), "detach")
        assert program.body_after(edits).partition("\n")[2] == "    return x\n"
    assert receiver_in_place_of(program.trace, program.site("x.detach()"), "item") == ()


def test_gradients_are_cleared_by_an_optimizer_that_is_known_there(tmp_path: Path) -> None:
    program = read(
        tmp_path,
        "def f(net):\n    opt = make(net)\n    net.zero_grad(True)\ndef g(net):\n    net.zero_grad(False)\n",
    )
    made, site = program.site("make(net)"), program.site("net.zero_grad(True)")
    edits = receiver_replaced(program.trace, site, "zero_grad", "opt", made)
    assert "    opt.zero_grad(True)\n" in program.after(edits)
    other = program.site("net.zero_grad(False)")
    assert receiver_replaced(program.trace, other, "zero_grad", "opt", made) == ()
    assert receiver_replaced(program.trace, site, "zero_grad", "self.opt", made) == ()
    assert receiver_replaced(program.trace, site, "step", "opt", made) == ()


def test_inference_mode_becomes_no_grad_also_beside_another_context(tmp_path: Path) -> None:
    program = body(tmp_path, "with net, torch.inference_mode() as m:\n        net(x)")
    text = program.after(without_inference(program.trace, program.site("torch.inference_mode()")))
    assert "    with net, torch.no_grad() as m:\n" in text
    other = body(tmp_path, "with torch.inference_mode(y):\n        net(x)")
    assert without_inference(other.trace, other.site("torch.inference_mode(y)")) == ()


def test_the_result_of_a_move_is_kept_in_the_function_of_its_use(tmp_path: Path) -> None:
    program = read(
        tmp_path,
        "def f(x, net, d):\n    x.to(d)\n    return net(x)\ndef g(x, d):\n    x.to(d)\n    return 2\n",
    )
    edits = result_kept(program.trace, program.site("net(x)"), "x", ("to", "cuda"))
    assert program.body_after(edits) == (
        "def f(x, net, d):\n    x = x.to(d)\n    return net(x)\ndef g(x, d):\n    x.to(d)\n    return 2\n"
    )
    assert result_kept(program.trace, program.site("net(x)"), "y", ("to",)) == ()
    assert result_kept(program.trace, program.site("net(x)"), "x", ("cuda",)) == ()


# -- what something is made of ------------------------------------------------------------

CLASS = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = {value}
"""


@pytest.mark.parametrize(
    ("value", "wrapper"),
    [
        ("[nn.Linear(2, 2), nn.Linear(2, 1)]", "nn.ModuleList"),
        ("[nn.Linear(2, 2) for _ in range(3)]", "nn.ModuleList"),
        ("nn.Linear(2, 2), nn.Linear(2, 1)", "nn.ModuleList"),
        ("([nn.Linear(2, 2)])", "nn.ModuleList"),
        ("{'a': nn.Linear(2, 2)}", "nn.ModuleDict"),
        (
            "(\n            nn.Linear(2, 2),  # first\n            nn.Linear(2, 1),\n        )",
            "nn.ModuleList",
        ),
    ],
)
def test_a_collection_of_layers_becomes_part_of_its_module(value: str, wrapper: str, tmp_path: Path) -> None:
    text = CLASS.format(value=value)
    program = read(tmp_path, text)
    call = program.site("super().__init__()")
    assert wrapped_value(program.trace, call, "self.parts", wrapper) == ()
    code = value if value[0] in "[{" else "nn.Linear(2, 1)" if "2, 1" in value else "nn.Linear(2, 2)"
    edits = wrapped_value(program.trace, program.site(code), "self.parts", wrapper)
    assert not list(run(program.text)["Net"]().parameters())
    assert list(run(program.after(edits))["Net"]().parameters())


def test_a_collection_is_wrapped_by_the_name_that_the_file_has_for_it(tmp_path: Path) -> None:
    value = "[len('a')]"
    for head, prefix in (
        ("import torch\ntorch.ones(1)\n", "torch."),
        ("import torch as t\nt.ones(1)\n", None),
    ):
        program = read(tmp_path, f"def f(self):\n    self.parts: list = {value}\n", head=head)
        edits = wrapped_value(program.trace, program.site(value), "self.parts", "nn.ModuleList")
        if prefix is None:
            assert edits == ()
        else:
            assert f"self.parts: list = {prefix}nn.ModuleList({value})\n" in program.after(edits)


def test_only_a_dict_with_text_for_keys_and_the_attribute_itself_are_wrapped(tmp_path: Path) -> None:
    for line, code in (
        ("self.parts = {1: x}", "{1: x}"),
        ("self.parts = dict(a=x)", "dict(a=x)"),
        ("self.other = {'a': x}", "{'a': x}"),
        ("self.parts = self.more = {'a': x}", "{'a': x}"),
    ):
        program = body(tmp_path, line)
        assert wrapped_value(program.trace, program.site(code), "self.parts", "nn.ModuleDict") == ()
    assert wrapped_value(program.trace, None, "self.parts", "nn.ModuleList") == ()


def test_what_is_assigned_is_told_on_one_line(tmp_path: Path) -> None:
    program = body(tmp_path, "self.x = net(\n        x,\n        y,\n    )\n    return z")
    site = program.site("net(\n        x,\n        y,\n    )")
    assert assigned_value(program.trace, site, "self.x") == "net( x, y, )"
    assert assigned_value(program.trace, site, "self.y") == assigned_value(program.trace, None, "x") == "…"


def test_what_can_be_gone_through_once_is_made_a_list(tmp_path: Path) -> None:
    program = body(tmp_path, "both = net.parameters()\n    net(both, 1)\n    net(x)\n    return both")
    name, value, edits = listed_once(program.trace, program.site("net(both, 1)"))
    assert (name, value) == ("both", "net.parameters()")
    assert "    both = list(net.parameters())\n" in program.after(edits)
    assert listed_once(program.trace, program.site("net(x)")) == ("", "", ())


def test_what_is_made_twice_is_not_made_a_list(tmp_path: Path) -> None:
    program = body(tmp_path, "p = net.parameters()\n    if x:\n        p = y\n    net(p)")
    assert listed_once(program.trace, program.site("net(p)")) == ("", "", ())


def test_an_optimizer_is_given_another_model_that_is_known_there(tmp_path: Path) -> None:
    program = read(
        tmp_path,
        "def f(make, sgd):\n    a, b = make(), make()\n    o = sgd(a.parameters())\n"
        "    o = sgd(a.parameters(), a)\n"
        "    late = make()\n",
    )
    site = program.site("sgd(a.parameters())")
    assert "o = sgd(b.parameters())" in program.after(in_place_of(program.trace, site, "a", "b"))
    assert in_place_of(program.trace, site, "a", "late") == ()
    assert in_place_of(program.trace, program.site("sgd(a.parameters(), a)"), "a", "b") == ()
    assert in_place_of(program.trace, None, "a", "b") == ()


@pytest.mark.parametrize(
    ("missing", "how", "wanted"),
    [
        (["b"], {}, "[*a.parameters(), *b.parameters()]"),
        (["b.head", "w"], {}, "[*a.parameters(), *b.head.parameters(), *w.parameters()]"),
        (["w"], {"single": True}, "[*a.parameters(), w]"),
        (["b"], {"instead": True}, "b.parameters()"),
    ],
)
def test_an_optimizer_is_given_what_is_missing(
    missing: list[str], how: dict[str, bool], wanted: str, tmp_path: Path
) -> None:
    program = read(
        tmp_path,
        "def f(make, sgd):\n    a, b, w = make()\n    o = sgd(a.parameters(), lr=0.1)\n    late = 1\n",
    )
    site = program.site("sgd(a.parameters(), lr=0.1)")
    assert f"sgd({wanted}, lr=0.1)" in program.after(also_given(program.trace, site, missing, **how))
    assert also_given(program.trace, site, ["late"]) == also_given(program.trace, None, missing) == ()
    assert also_given(program.trace, site, ["b", "w"], instead=True) == ()
    assert also_given(program.trace, site, ["b[0]"]) == ()


def test_an_optimizer_of_anything_but_parameters_is_left_as_it_is(tmp_path: Path) -> None:
    for given in (
        "[a.weight]",
        "a.named_parameters()",
        "a.parameters(True)",
        "groups",
        "params=a.parameters()",
    ):
        program = read(tmp_path, f"def f(sgd, groups, a):\n    b = 1\n    o = sgd({given})\n")
        assert also_given(program.trace, program.site(f"sgd({given})"), ["b"]) == ()


# -- expressions in place of others -------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "call", "wanted"),
    [
        ("return d(torch.sigmoid(x + 1), y)", "torch.sigmoid(x + 1)", "return d(x + 1, y)"),
        ("return d(x.sigmoid(), y)", "x.sigmoid()", "return d(x, y)"),
        (
            "p = F.softmax(net(x), 1)\n    return d(p, y)",
            "F.softmax(net(x), 1)",
            "p = net(x)\n    return d(p, y)",
        ),
    ],
)
def test_a_squash_before_a_loss_is_taken_out(text: str, call: str, wanted: str, tmp_path: Path) -> None:
    program = body(tmp_path, text)
    reader = text.rpartition("return ")[2]
    edits = taken_out(program.trace, program.site(call), program.site(reader))
    assert program.after(edits).endswith(f"    {wanted}\n")


@pytest.mark.parametrize(
    "text",
    [
        "p = torch.sigmoid(x)\n    y = p\n    return d(p, y)",
        "p = torch.sigmoid(x)\n    return d(y, weight=p)",
        "return d(1 - torch.sigmoid(x), y)",
    ],
    ids=["read elsewhere", "another argument", "part of an argument"],
)
def test_a_squash_that_something_else_reads_stays(text: str, tmp_path: Path) -> None:
    program = body(tmp_path, text)
    reader = text.rpartition("return ")[2]
    assert taken_out(program.trace, program.site("torch.sigmoid(x)"), program.site(reader)) == ()


@pytest.mark.parametrize(
    ("line", "call", "wanted"),
    [
        ("return 2 * torch.log(x + y)", "torch.log(x + y)", "return 2 * (x + y)"),
        ("return 2 * (x + y).log()", "(x + y).log()", "return 2 * (x + y)"),
        ("z = x.log()", "x.log()", "z = x"),
        ("z = torch.log(x + y)", "torch.log(x + y)", "z = x + y"),
        (
            "return -torch.log(x\n                      + y)",
            "torch.log(x\n                      + y)",
            "return -(x\n                      + y)",
        ),
    ],
)
def test_an_unwrapped_value_keeps_its_parentheses(line: str, call: str, wanted: str, tmp_path: Path) -> None:
    program = body(tmp_path, line)
    assert program.after(unwrapped(program.trace, program.site(call))).endswith(f"    {wanted}\n")


def test_a_call_with_more_arguments_or_no_reader_is_not_unwrapped(tmp_path: Path) -> None:
    for line in ("x.log()", "torch.log(x)", "torch.log(x, y)", "x.log(y)", "torch.log(x, out=y)", "net(x)"):
        program = body(tmp_path, line if "y" not in line else f"z = {line}")
        assert unwrapped(program.trace, program.site(line)) == ()


@pytest.mark.parametrize(
    ("line", "code", "wanted"),
    [
        ("return d(x, y)", "d(x, y)", "return d(x.squeeze(1), y)"),
        ("return y - x", "y - x", "return y - x.squeeze(1)"),
        ("return d( net(x,  y), y)", "d( net(x,  y), y)", "return d( net(x,  y).squeeze(1), y)"),
        ("return d(1 - x, y)", "d(1 - x, y)", "return d((1 - x).squeeze(1), y)"),
        ("return (1 - x) * y", "(1 - x) * y", "return (1 - x).squeeze(1) * y"),
    ],
)
def test_a_method_is_called_on_the_one_argument_that_reads_so(
    line: str, code: str, wanted: str, tmp_path: Path
) -> None:
    program = body(tmp_path, line)
    text = next(
        text for text in ("net(x, y)", "1 - x", "x") if text.replace(" ", "") in code.replace(" ", "")
    )
    edits = method_added(program.trace, program.site(code), text, ".squeeze(1)")
    assert program.after(edits).endswith(f"    {wanted}\n")


def test_no_method_is_called_where_two_arguments_read_the_same_or_none_does(tmp_path: Path) -> None:
    for code, text in (("x - x", "x"), ("d(x, x)", "x"), ("d(*x, z)", "*x"), ("d(-x, z)", "x")):
        program = body(tmp_path, f"return {code}")
        assert method_added(program.trace, program.site(code), text, ".squeeze(1)") == ()


@pytest.mark.parametrize("code", ["torch.log(x)", "x.log()", "(x * y).log2()", "torch.sqrt(x)", "x.sqrt()",
                                  "torch.sqrt(x * y)", "(x - 0).sqrt()", "torch.log10(-(-x))",
                                  "torch.sqrt(x if len(y) else y)", "torch.sqrt((x))"])  # fmt: skip
def test_a_logarithm_or_root_of_zero_has_finite_gradients_then(code: str, tmp_path: Path) -> None:
    program = read(tmp_path, f"def f(x, y):\n    return {code}\n")
    text = program.after(kept_positive(program.trace, program.site(code)))
    one = torch.ones(2)
    for source, finite in ((program.text, False), (text, True)):
        x = torch.tensor([0.0, 4.0], requires_grad=True)
        (gradient,) = torch.autograd.grad(run(source)["f"](x, one).sum(), x, allow_unused=True)
        value = run(source)["f"](x, one)
        assert (gradient.isfinite().all() and value.isfinite().all()).item() is finite


def test_a_bound_is_put_around_the_only_argument(tmp_path: Path) -> None:
    for code, wanted in (
        ("torch.acos(x + y)", "torch.acos((x + y).clamp(-1, 1))"),
        ("x.acos()", "x.clamp(-1, 1).acos()"),
        ("F.normalize(x).acos()", "F.normalize(x).clamp(-1, 1).acos()"),
    ):
        program = body(tmp_path, f"return {code}")
        edits = kept_inside(program.trace, program.site(code), "-1", "1")
        assert f"    return {wanted}\n" in program.after(edits)


def test_no_bound_is_put_where_the_call_has_more_arguments(tmp_path: Path) -> None:
    for code in ("torch.log(x, out=y)", "x.log(y)", "torch.log(*x)", "net(x)"):
        program = body(tmp_path, f"return {code}")
        site = program.site(code)
        assert kept_positive(program.trace, site) == kept_inside(program.trace, site, "0", "1") == ()
    assert kept_positive(program.trace, None) == ()


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("x.detach().numpy()", "x.detach().numpy().copy()"),
        ("torch.from_numpy(y)", "torch.tensor(y)"),
        ("torch.asarray(y)", "torch.asarray(y).clone()"),
        ("x.untyped_storage()", "x.untyped_storage().clone()"),
    ],
)
def test_shared_memory_becomes_a_copy(code: str, wanted: str, tmp_path: Path) -> None:
    program = read(tmp_path, f"def f(x, y):\n    return {code}\n")
    text = program.after(copied(program.trace, program.site(code)))
    assert f"    return {wanted}\n" in text
    x = torch.zeros(3)
    kept = run(text)["f"](x, x.numpy())
    x.fill_(1)
    assert not any(kept) and any(run(program.text)["f"](x, x.numpy()))


def test_a_factor_is_given_to_the_other_side_of_a_sum(tmp_path: Path) -> None:
    program = read(tmp_path, "def f(x, y):\n    a = x.mean()\n    return 0.1 * a + y.mean()\n")
    total, product = program.site("0.1 * a + y.mean()"), program.site("0.1 * a")
    factor, edits = factor_moved(program.trace, product, program.site("x.mean()"), product, total)
    assert factor == "0.1" and "return a + 0.1 * y.mean()\n" in program.after(edits)
    x, y = torch.tensor([1.0, 3.0]), torch.tensor([10.0])
    torch.testing.assert_close(run(program.after(edits))["f"](x, y), x.mean() + 0.1 * y.mean())


def test_a_factor_that_moves_leaves_a_difference_as_it_is(tmp_path: Path) -> None:
    program = read(tmp_path, "def f(ce, p, q):\n    return ce - 0.1 * (p - q)\n")
    product, ce = program.site("0.1 * (p - q)"), program.site("ce")
    _, edits = factor_moved(program.trace, product, program.site("p - q"), ce, product)
    assert program.after(edits).endswith("    return 0.1 * ce - (p - q)\n")


def test_a_factor_stays_where_the_product_is_of_something_else(tmp_path: Path) -> None:
    program = read(tmp_path, "def f(x, y, b):\n    a = x.mean()\n    return 0.1 * b + y\n")
    total, product = program.site("0.1 * b + y"), program.site("0.1 * b")
    assert factor_moved(program.trace, product, program.site("x.mean()"), product, total) == ("", ())
    assert factor_moved(program.trace, total, program.site("x.mean()"), product, total) == ("", ())


# -- scalers and layers -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("x.backward()", "scaler.scale(x).backward()"),
        ("(x + y).backward()", "(scaler.scale(x + y)).backward()"),
        ("d(x, y).backward(retain_graph=True)", "scaler.scale(d(x, y)).backward(retain_graph=True)"),
    ],
)
def test_a_loss_is_scaled_before_its_pass(line: str, wanted: str, tmp_path: Path) -> None:
    program = body(tmp_path, f"{line}\n    opt.step()")
    edits = scaled_by(program.trace, program.site(line), program.site("opt.step()"), "scaler")
    assert f"    {wanted}\n" in program.after(edits)


def test_a_pass_of_another_function_is_not_scaled(tmp_path: Path) -> None:
    program = read(
        tmp_path, "def f(x):\n    x.backward()\n    torch.autograd.backward(x)\ndef g(opt):\n    opt.step()\n"
    )
    step = program.site("opt.step()")
    assert scaled_by(program.trace, program.site("x.backward()"), step, "scaler") == ()
    here = program.site("x.backward()")
    assert scaled_by(program.trace, program.site("torch.autograd.backward(x)"), here, "scaler") == ()


SCALED = """\
import torch
w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
for _ in range(2):
    opt.zero_grad()
    scaler.scale(w.sum()).backward()
    {step}
"""


def test_a_step_past_its_scaler_goes_through_it(tmp_path: Path) -> None:
    program = watched(tmp_path, SCALED.format(step="opt.step()"))
    scaled, step = program.site("scaler.scale(w.sum()).backward()"), program.site("opt.step()")
    text = program.after(stepped_by(program.trace, scaled, step, "scaler", "opt"))
    assert text.endswith("    scaler.step(opt)\n    scaler.update()\n")
    torch.testing.assert_close(run(text)["w"], torch.full((2,), 0.8, requires_grad=True))
    assert stepped_by(program.trace, scaled, step, "scaler", "other") == ()


def test_a_scaler_that_is_updated_already_is_not_updated_twice(tmp_path: Path) -> None:
    program = watched(tmp_path, SCALED.format(step="opt.step()\n    scaler.update(8.0)"))
    scaled, step = program.site("scaler.scale(w.sum()).backward()"), program.site("opt.step()")
    text = program.after(stepped_by(program.trace, scaled, step, "scaler", "opt"))
    assert text.count("scaler.update(") == 1 and "scaler.step(opt)" in text


def test_the_last_layer_is_taken_out_of_its_sequential(tmp_path: Path) -> None:
    program = watched(
        tmp_path,
        "import torch\nfrom torch import nn\nnet = nn.Sequential(\n    nn.Linear(3, 2),  # scores\n"
        "    nn.Softmax(1),\n"
        ")\nout = net(torch.ones(1, 3, requires_grad=True))\n",
    )
    ops = {op.name: op for op in program.trace.ops}
    text = program.after(without_last_layer(program.trace, ops["softmax"]))
    assert "nn.Linear(3, 2)" in text and "nn.Softmax" not in text
    assert [type(layer).__name__ for layer in run(text)["net"]] == ["Linear"]
    assert without_last_layer(program.trace, ops["linear"]) == ()


def test_a_layer_that_is_the_only_one_or_given_by_a_star_stays(tmp_path: Path) -> None:
    for given in ("nn.Softmax(1)", "*[nn.Linear(3, 3), nn.Softmax(1)]"):
        program = watched(
            tmp_path,
            f"import torch\nfrom torch import nn\nnet = nn.Sequential({given})\n"
            "net(torch.ones(1, 3).requires_grad_())\n",
        )
        op = next(op for op in program.trace.ops if op.name == "softmax")
        assert op.module is not None and without_last_layer(program.trace, op) == ()
