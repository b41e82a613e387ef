"""The fixes that change a block, a loop or where an optimizer is made."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from edited import read, run, watched
from torch import nn

from gradscope.fixes.blocks import (
    buffers_copied,
    detached_before,
    divided,
    made_later,
    made_of_all,
    moved_out,
    only_trained,
    rest_without_grad,
    spectral_norm_renewed,
    switched_off,
    written_in_place,
)

# -- without gradients --------------------------------------------------------------------


def test_what_uses_a_result_goes_without_gradients_with_it(tmp_path: Path) -> None:
    program = read(
        tmp_path,
        "def f(net, x):\n    y = net(x)\n\n    z = y.argmax(1)  # best\n    print(z)\n    other = net(x)\n"
        "    return other\n",
    )
    text = program.body_after(rest_without_grad(program.trace, program.site("net(x)")))
    assert text == (
        "def f(net, x):\n    with torch.no_grad():\n        y = net(x)\n\n        z = y.argmax(1)  # best\n"
        "        print(z)\n    other = net(x)\n    return other\n"
    )
    got = run(program.after(rest_without_grad(program.trace, program.site("net(x)"))))["f"](
        nn.Linear(2, 2), torch.ones(1, 2)
    )
    assert got.requires_grad


def test_a_switch_that_stays_becomes_a_block_of_all_behind_it(tmp_path: Path) -> None:
    program = read(
        tmp_path,
        "def f(net, x):\n\ttorch.set_grad_enabled(False)  # off\n\ty = net(x)\n\tif x is y:\n"
        "\t\tprint(y)\n\treturn y\n",
    )
    site = program.site("torch.set_grad_enabled(False)")
    text = program.after(rest_without_grad(program.trace, site, in_place_of_it=True))
    got = run(text)["f"](nn.Linear(2, 2), torch.ones(1, 2))
    assert not got.requires_grad and torch.is_grad_enabled()
    assert (
        "\twith torch.no_grad():  # off\n\t\ty = net(x)\n\t\tif x is y:\n\t\t\tprint(y)\n\t\treturn y\n"
        in text
    )


@pytest.mark.parametrize(
    "rest",
    ["y.sum().backward()", "opt.step()", "yield y", "train(y)", "print('''y\n  ''', y)", "print(y); y = 1"],
)
def test_nothing_that_trains_or_stops_in_the_middle_goes_without_gradients(rest: str, tmp_path: Path) -> None:
    program = read(
        tmp_path,
        f"def train(y):\n    y.sum().backward()\ndef f(net, x, opt):\n    y = net(x)\n    {rest}\n"
        "    print(y)\n",
    )
    assert rest_without_grad(program.trace, program.site("net(x)")) == ()


def test_no_block_is_made_with_a_name_for_torch_that_the_file_does_not_know(tmp_path: Path) -> None:
    program = read(
        tmp_path, "def f(net, x):\n    return net(x)\n", head="from torch import nn, ones\nones(1)\n"
    )
    assert rest_without_grad(program.trace, program.site("net(x)")) == ()


def test_a_switch_that_shares_its_line_stays(tmp_path: Path) -> None:
    program = read(tmp_path, "def f(x):\n    y = 1; torch.set_grad_enabled(False)\n    return x + y\n")
    site = program.site("torch.set_grad_enabled(False)")
    assert rest_without_grad(program.trace, site, in_place_of_it=True) == ()


def test_a_function_behind_a_switch_goes_into_the_block_with_its_decorators(tmp_path: Path) -> None:
    program = read(
        tmp_path,
        "def f(x, c):\n    torch.set_grad_enabled(False)\n    @c\n    def g():\n        return x * 2\n"
        "    return g()\n",
    )
    site = program.site("torch.set_grad_enabled(False)")
    text = program.body_after(rest_without_grad(program.trace, site, in_place_of_it=True))
    assert text == (
        "def f(x, c):\n    with torch.no_grad():\n        @c\n        def g():\n            return x * 2\n"
        "        return g()\n"
    )


def test_a_switch_at_the_end_of_its_block_has_nothing_to_switch(tmp_path: Path) -> None:
    program = read(tmp_path, "def f(x):\n    if x:\n        torch.set_grad_enabled(False)\n    return x\n")
    site = program.site("torch.set_grad_enabled(False)")
    assert rest_without_grad(program.trace, site, in_place_of_it=True) == ()


# -- optimizers made anew -----------------------------------------------------------------

LATER = """\
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(2, 2)
        self.head = nn.Linear(2, 1)
    def forward(self, x):
        return self.head(self.body(x))
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
{between}
for _ in range(2):
    opt.zero_grad()
    loss = net(torch.ones(4, 2)).pow(2).sum()
    loss.backward()
    opt.step()
"""


def test_an_optimizer_is_made_after_the_layer_that_was_replaced(tmp_path: Path) -> None:
    program = watched(tmp_path, LATER.format(between="net.head = nn.Linear(2, 1)"))
    trace = program.trace
    (optimizer,) = trace.optimizers.values()
    left = [p for p in trace.parameters if not p.optimizers and p.module is not None]
    assert left
    edits = made_of_all(trace, optimizer, program.site("loss.backward()"), left)
    space = run(program.after(edits))
    held = {id(p) for group in space["opt"].param_groups for p in group["params"]}
    assert held == {id(p) for p in space["net"].parameters()}


def test_an_optimizer_of_another_list_is_not_made_anew(tmp_path: Path) -> None:
    text = LATER.format(between="net.head = nn.Linear(2, 1)")
    program = watched(tmp_path, text.replace("SGD(net.parameters()", "SGD(list(net.body.parameters())"))
    trace = program.trace
    (optimizer,) = trace.optimizers.values()
    left = [p for p in trace.parameters if not p.optimizers and p.module is not None]
    assert made_of_all(trace, optimizer, program.site("loss.backward()"), left) == ()


def test_an_optimizer_moves_to_the_line_before_the_loop_that_trains(tmp_path: Path) -> None:
    program = watched(tmp_path, LATER.format(between="net = Net()"))
    made, used = program.site("torch.optim.SGD(net.parameters(), lr=0.1)"), program.site("loss.backward()")
    text = program.after(made_later(program.trace, made, used, []))
    assert "net = Net()\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\nfor _" in text
    space = run(text)
    held = {id(p) for group in space["opt"].param_groups for p in group["params"]}
    assert held == {id(p) for p in space["net"].parameters()}


@pytest.mark.parametrize("between", ["print(len('nothing'))", "net = Net()\nopt.zero_grad()"])
def test_an_optimizer_that_is_used_before_or_right_stays(between: str, tmp_path: Path) -> None:
    program = watched(tmp_path, LATER.format(between=between))
    made, used = program.site("torch.optim.SGD(net.parameters(), lr=0.1)"), program.site("loss.backward()")
    assert made_later(program.trace, made, used, []) == ()
    assert made_later(program.trace, None, used, []) == made_later(program.trace, made, None, []) == ()


def test_only_parameters_that_are_trained_are_given_behind_the_line_that_froze_some(tmp_path: Path) -> None:
    program = read(
        tmp_path,
        "def f(net, sgd):\n    net[0].requires_grad_(False)\n    a = sgd(net.parameters(), lr=0.1)\n"
        "    b = sgd([{'params': net[0].parameters()}, {'lr': 0.2, 'params': net[1].parameters()}])\n"
        "    c = sgd(list(net))\n",
    )
    trace, froze = program.trace, program.site("net[0].requires_grad_(False)")
    one = program.site("sgd(net.parameters(), lr=0.1)")
    text = program.after(only_trained(trace, one, froze, None))
    assert "sgd([p for p in net.parameters() if p.requires_grad], lr=0.1)" in text
    groups = program.site(
        "sgd([{'params': net[0].parameters()}, {'lr': 0.2, 'params': net[1].parameters()}])"
    )
    text = program.after(only_trained(trace, groups, froze, 1))
    assert "{'lr': 0.2, 'params': [p for p in net[1].parameters() if p.requires_grad]}" in text
    assert only_trained(trace, program.site("sgd(list(net))"), froze, None) == ()
    assert only_trained(trace, froze, one, None) == only_trained(trace, one, None, None) == ()


# -- lines of a loop ----------------------------------------------------------------------


def test_a_call_that_needs_nothing_of_its_loop_comes_before_it(tmp_path: Path) -> None:
    program = read(tmp_path, "def f(net, xs):\n    for x in xs:\n        net.reset()\n        net(x)\n")
    assert program.body_after(moved_out(program.trace, program.site("net.reset()"))) == (
        "def f(net, xs):\n    net.reset()\n    for x in xs:\n        net(x)\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "for x in xs:\n        net.load(x)\n        print(xs)\n",
        "while xs:\n        y = xs.pop()\n        net.load(y)\n",
        "for x in xs:\n        if x:\n            net.load(xs)\n",
        "for x in xs: net.load(xs)\n",
        "for x in xs:\n        y = net.load(xs)\n",
    ],
    ids=["its variable", "made in it", "conditional", "one line", "assigned"],
)
def test_a_call_that_its_loop_decides_on_stays_in_it(text: str, tmp_path: Path) -> None:
    program = read(tmp_path, f"def f(net, xs):\n    {text}")
    code = next(c for c in ("net.load(x)", "net.load(y)", "net.load(xs)") if c in text)
    assert moved_out(program.trace, program.site(code)) == ()
    assert moved_out(program.trace, None) == ()


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("loss.backward()", "(loss / 4).backward()"),
        ("(loss + extra).backward()", "((loss + extra) / 4).backward()"),
        ("loss.mean().backward(retain_graph=True)", "(loss.mean() / 4).backward(retain_graph=True)"),
        ("scaler.scale(loss).backward()", "scaler.scale(loss / 4).backward()"),
        ("scaler.scale(loss + extra).backward()", "scaler.scale((loss + extra) / 4).backward()"),
        ("scaler.scale(l).backward()", "scaler.scale(l / 4).backward()"),
        ("l.l(l).backward()", "(l.l(l) / 4).backward()"),
        ("(loss * extra).backward()", "((loss * extra) / 4).backward()"),
    ],
)
def test_a_loss_is_divided_before_its_pass(line: str, wanted: str, tmp_path: Path) -> None:
    program = read(tmp_path, f"def f(scaler, loss, extra, l):\n    {line}  # k\n")
    shown, edits = divided(program.trace, program.site(line), " / 4")
    assert program.after(edits).endswith(f"    {wanted}  # k\n")
    assert shown == wanted


def test_a_call_without_a_receiver_is_not_divided(tmp_path: Path) -> None:
    program = read(tmp_path, "def f(backward, loss):\n    backward(loss)\n")
    assert divided(program.trace, program.site("backward(loss)"), " / 4") == ("", ())


def test_buffers_are_copied_behind_the_loop_that_averages(tmp_path: Path) -> None:
    program = read(
        tmp_path,
        "def f(avg, net):\n  for a, p in zip(avg.parameters(), net.parameters()):\n    if a is not p:\n"
        "      a.data.mul_(0.5).add_(p.data, alpha=0.5)\n  return avg\n",
    )
    shown, edits = buffers_copied(program.trace, program.site("a.data.mul_(0.5)"))
    assert shown == "for a, p in zip(avg.buffers(), net.buffers()): a.copy_(p)"
    nets = [nn.BatchNorm1d(2), nn.BatchNorm1d(2)]
    nets[1](torch.randn(8, 2))
    averaged = run(program.after(edits))["f"](*nets)
    torch.testing.assert_close(averaged.running_mean, nets[1].running_mean)


@pytest.mark.parametrize(
    "loop",
    [
        "for a in avg.parameters():\n        a.mul_(0.9)\n",
        "for n, a in avg.named_parameters():\n        a.mul_(0.9)\n",
        "for a, p, q in zip(avg.parameters(), net.parameters(), net):\n        a.mul_(0.9)\n",
        "if net:\n        a.mul_(0.9)\n",
    ],
)
def test_buffers_are_copied_only_where_two_models_are_gone_through(loop: str, tmp_path: Path) -> None:
    program = read(tmp_path, f"def f(avg, net, a):\n    {loop}")
    assert buffers_copied(program.trace, program.site("a.mul_(0.9)")) == ("", ())
    assert buffers_copied(program.trace, None) == ("", ())


@pytest.mark.parametrize(
    "text",
    [
        "def f(layer):\n    return nn.utils.spectral_norm(layer)\n",
        "def f(layer):\n    return torch.nn.utils.spectral_norm(layer, n_power_iterations=2)\n",
        "from torch.nn import utils\ndef f(layer):\n    return utils.spectral_norm(layer)\n",
        "import torch.nn.utils as my\ndef f(layer):\n    return my.spectral_norm(layer)\n",
        "from torch.nn.utils import spectral_norm\ndef f(layer):\n    return spectral_norm(layer)\n",
        "from torch.nn.utils import spectral_norm as sn\ndef f(layer):\n    return sn(layer)\n",
    ],
)
def test_spectral_norm_is_the_one_of_parametrizations(text: str, tmp_path: Path) -> None:
    program = read(tmp_path, text)
    layer = run(program.after(spectral_norm_renewed(program.trace, program.path)))["f"](nn.Linear(2, 2))
    assert torch.nn.utils.parametrize.is_parametrized(layer)
    assert not torch.nn.utils.parametrize.is_parametrized(run(program.text)["f"](nn.Linear(2, 2)))


def test_spectral_norm_is_left_where_an_import_gives_more_or_it_is_another_one(tmp_path: Path) -> None:
    several = read(tmp_path, "from torch.nn.utils import spectral_norm, weight_norm\nx = spectral_norm\n")
    assert spectral_norm_renewed(several.trace, several.path) == ()
    own = read(tmp_path, "import math as my_utils\ndef f(x):\n    return my_utils.spectral_norm(x)\n")
    assert spectral_norm_renewed(own.trace, own.path) == ()
    renewed = read(tmp_path, "x = nn.utils.parametrizations.spectral_norm  # not utils.spectral_norm\n")
    assert spectral_norm_renewed(renewed.trace, renewed.path) == ()


def test_a_setting_that_is_true_is_switched_off(tmp_path: Path) -> None:
    program = read(
        tmp_path, "def f(c):\n    c.benchmark = True  # = True\n    c.other = 1\n    c.last = bool(c)\n"
    )
    edits = switched_off(program.trace, program.site("c.benchmark"))
    assert "c.benchmark = False  # = True\n" in program.after(edits)
    assert switched_off(program.trace, program.site("c.other")) == ()
    assert switched_off(program.trace, program.site("bool(c)")) == ()


def test_a_state_that_is_a_tensor_from_the_start_is_detached_before_its_use(tmp_path: Path) -> None:
    program = read(
        tmp_path,
        "def f(cell, xs, make):\n    h = make()\n    c = make()\n    for x in xs:\n        h = cell(x, h)\n"
        "        c = cell(h, c)\n    return h\n",
    )
    site = program.site("cell(x, h)")
    text = program.after(detached_before(program.trace, site, ["h", "c"]))
    assert "    for x in xs:\n        h, c = h.detach(), c.detach()\n        h = cell(x, h)\n" in text
    assert "        h = h.detach()\n" in program.after(detached_before(program.trace, site, ["h"]))


@pytest.mark.parametrize("begin", ["h = None", "h = 0", "self.h = make()", "h, c = make()"])
def test_a_state_that_may_be_no_tensor_is_not_detached(begin: str, tmp_path: Path) -> None:
    program = read(
        tmp_path, f"def f(self, cell, xs, make):\n    {begin}\n    for x in xs:\n        h, d = cell(x, h)\n"
    )
    name = "self.h" if "self.h" in begin else "h"
    assert detached_before(program.trace, program.site("cell(x, h)"), [name]) == ()


def test_an_update_that_makes_a_new_tensor_writes_in_place_instead(tmp_path: Path) -> None:
    program = read(
        tmp_path,
        "def f(params, lr):\n    with torch.no_grad():\n        for p in params:\n"
        "            p = p - lr * (p.grad + 1)\n",
    )
    shown, edits = written_in_place(program.trace, program.site("p - lr * (p.grad + 1)"))
    assert shown == "p -= lr * (p.grad + 1)"
    p = torch.ones(2, requires_grad=True)
    p.grad = torch.ones(2)
    run(program.after(edits))["f"]([p], 0.25)
    torch.testing.assert_close(p.detach(), torch.full((2,), 0.5))


def test_a_write_in_place_is_only_told_where_gradients_are_on(tmp_path: Path) -> None:
    program = read(tmp_path, "def f(p, g):\n    p = p + (\n        g)\n    with g:\n        p = p - g\n")
    assert written_in_place(program.trace, program.site("p + (\n        g)")) == ("p += g", ())
    assert written_in_place(program.trace, program.site("p - g")) == ("p -= g", ())


@pytest.mark.parametrize("made", ["g - p", "p * g", "p - g + 1"])
def test_what_is_more_than_a_sum_is_copied(made: str, tmp_path: Path) -> None:
    program = read(tmp_path, f"def f(p, g):\n    with torch.no_grad():\n        p = {made}\n")
    shown, edits = written_in_place(program.trace, program.site(made))
    assert shown == f"p.copy_({made})"
    p, g = torch.full((2,), 3.0), torch.full((2,), 2.0)
    expected = eval(made, {"p": p.clone(), "g": g})
    run(program.after(edits))["f"](p, g)
    torch.testing.assert_close(p, expected)


@pytest.mark.parametrize("line", ["p.x = p.x - g", "q = p - g", "p = q = p - g"])
def test_what_is_no_update_of_its_own_name_is_not_written_in_place(line: str, tmp_path: Path) -> None:
    program = read(tmp_path, f"def f(p, g):\n    with torch.no_grad():\n        {line}\n")
    assert written_in_place(program.trace, program.site(line.rpartition("= ")[2])) == ("", ())
