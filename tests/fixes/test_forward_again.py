"""A forward that is computed again after its weights have changed: the second pass is at the new ones."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from edited import Program, read, run, watched

from gradscope.fixes.forward_again import forward_again

TWICE = """\
import torch
w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.5)
out = w * 3
loss = out.pow(2).sum()
loss.backward()
opt.step()
opt.zero_grad()
{second}
"""


def again(program: Program, *calls: str, update: str = "opt.step()", effect: str) -> tuple[str, str]:
    """The new code, and the whole program with it; "" where there is no edit."""
    sites = [program.site(call) for call in calls]
    new, edits = forward_again(program.trace, sites, program.site(update), program.site(effect))
    return new, program.after(edits) if edits else ""


def test_a_result_that_is_read_once_takes_its_call_in_its_place(tmp_path: Path) -> None:
    program = watched(tmp_path, TWICE.format(second="torch.mean(out).backward()"), stops=True)
    new, text = again(program, "w * 3", effect="torch.mean(out).backward()")
    assert new == "torch.mean(w * 3).backward()"
    w = run(text)["w"]
    torch.testing.assert_close(w.grad, torch.full((2,), 1.5))


def test_results_that_are_read_again_are_assigned_anew_after_the_update(tmp_path: Path) -> None:
    program = watched(tmp_path, TWICE.format(second="loss.backward()  # again"), stops=True)
    sites = [program.site(call) for call in ("out.pow(2).sum()", "w * 3")]
    effect = program.site("loss.backward()", 1)
    new, edits = forward_again(program.trace, sites, program.site("opt.step()"), effect)
    text = program.after(edits)
    assert new == "out = w * 3; loss = out.pow(2).sum()"
    assert text.endswith("opt.zero_grad()\nout = w * 3\nloss = out.pow(2).sum()\nloss.backward()  # again\n")
    w = run(text)["w"]
    torch.testing.assert_close(w.grad, 18 * w.detach())


def test_what_is_computed_again_keeps_the_indentation_of_its_reader(tmp_path: Path) -> None:
    program = read(
        tmp_path,
        "def f(net, opt, x):\n\tfor _ in x:\n\t\ta, b = net(x)\n\t\topt.step()\n\t\tc = a + b\n"
        "\t\tc.backward()\n",
    )
    new, text = again(program, "net(x)", effect="c.backward()")
    assert new == "a, b = net(x)"
    assert "\t\topt.step()\n\t\ta, b = net(x)\n\t\tc = a + b\n\t\tc.backward()\n" in text


@pytest.mark.parametrize(
    "text",
    [
        "opt.step()\n    out = net(x)\n    out.backward()\n",
        "out = net(x)\n    opt.step()\n    x = 1\n    out.backward()\n",
        "out = net(x)\n    opt.step()\n    for _ in x:\n        out.backward()\n",
        "for _ in x:\n        out = net(x)\n    opt.step()\n    out.backward()\n",
        "out.more = net(x)\n    opt.step()\n    out.backward()\n",
        "if x:\n        out = net(x)\n        z = 1\n    opt.step()\n    out += net(x)\n    out.backward()\n",
        "out = net(x)\n    opt.step()\n    net.other(1).sum()\n    opt.backward()\n",
    ],
    ids=[
        "update before",
        "input given anew",
        "pass in a loop",
        "call in a loop",
        "attribute",
        "added to",
        "not read",
    ],
)
def test_nothing_is_computed_again_where_it_would_be_something_else(text: str, tmp_path: Path) -> None:
    program = read(tmp_path, f"def f(net, opt, x, out):\n    {text}")
    effect = "opt.backward()" if "opt.backward()" in text else "out.backward()"
    assert again(program, "net(x)", effect=effect) == ("", "")


def test_a_call_over_several_lines_is_not_computed_again(tmp_path: Path) -> None:
    program = read(
        tmp_path, "def f(net, opt, x):\n    out = net(\n        x)\n    opt.step()\n    out.backward()\n"
    )
    assert again(program, "net(\n        x)", effect="out.backward()") == ("", "")


def test_without_a_call_nothing_is_computed_again(tmp_path: Path) -> None:
    program = read(tmp_path, "def f(opt, out):\n    opt.step()\n    out.backward()\n")
    assert again(program, effect="out.backward()") == ("", "")
