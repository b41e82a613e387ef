"""What is done about a graph that one step carries into the next: cut, once in each step, or made anew."""

from __future__ import annotations

from pathlib import Path

import pytest
from edited import Program, read, run, watched

from gradscope.analysis.carried import (
    Carried,
    State,
    behind,
    carried_from_seen,
    filled_by,
    made_by,
    state_of,
    times_taken,
)
from gradscope.analysis.reach import paths
from gradscope.events import ErrorRaised
from gradscope.fixes.carried import cut_where_filled, cut_where_read, in_each_step, state_cut, without_graph
from gradscope.fixes.source import Edits

HEAD = """\
import torch
from torch import nn
torch.manual_seed(0)
w = torch.rand(3, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
x = torch.ones(3)
"""


def old(program: Program) -> tuple[ErrorRaised, list[Carried]]:
    """The pass that stopped, and what it found of an earlier step."""
    (event,) = program.trace.of(ErrorRaised)
    return event, carried_from_seen(paths(program.trace), event)


def cut_of(program: Program, names: tuple[str, ...], *, several: bool = False) -> tuple[str, Edits]:
    """The cut of the state with these names."""
    trace, known = program.trace, paths(program.trace)
    event, found = old(program)
    states = [s for one in found if (s := state_of(trace, known, event, one)) is not None]
    same: list[State] = [s for s in states if s.site.location() == states[0].site.location()]
    assert tuple(dict.fromkeys(name for s in same for name in s.names)) == names
    times = times_taken(known.graph(event.graph), same[0].carried.readers[0])
    return state_cut(trace, event, same, names, several, times)


def test_a_state_is_cut_before_the_line_that_takes_it_in(tmp_path: Path) -> None:
    program = watched(
        tmp_path,
        f"{HEAD}h = torch.zeros(3)\nfor _ in range(3):\n\th = torch.tanh(w * h + x)  # π\n"
        "\th.sum().backward()\n\topt.step()\n",
        stops=True,
    )
    fix, edits = cut_of(program, ("h",))
    text = program.after(edits)
    assert "\th = h.detach()\n\th = torch.tanh(w * h + x)  # π\n" in text and "`h = h.detach()` before" in fix
    assert run(text)["w"].grad is not None


def test_a_state_is_cut_before_the_loop_over_time_and_not_in_it(tmp_path: Path) -> None:
    program = watched(
        tmp_path,
        f"{HEAD}h = torch.zeros(3)\nfor _ in range(3):\n    for t in range(4):\n"
        "        h = torch.tanh(w * h + x)\n"
        "    h.sum().backward()\n    opt.step()\n",
        stops=True,
    )
    fix, edits = cut_of(program, ("h",))
    text = program.after(edits)
    assert "    h = h.detach()\n    for t in range(4):\n" in text and "`for t in range(4)`" in fix
    run(text)


def test_a_state_that_begins_as_none_is_cut_after_the_pass(tmp_path: Path) -> None:
    program = watched(
        tmp_path,
        f"{HEAD}h = None\nfor _ in range(3):\n    if h is None:\n        h = torch.zeros(3)\n"
        "    h = torch.tanh(w * h + x)\n    h.sum().backward()\n    opt.step()\n",
        stops=True,
    )
    _, edits = cut_of(program, ("h",))
    text = program.after(edits)
    assert "    h.sum().backward()\n    h = h.detach()\n    opt.step()\n" in text
    run(text)


def test_every_tensor_of_an_lstm_s_state_is_cut(tmp_path: Path) -> None:
    program = watched(
        tmp_path,
        f"{HEAD}net = nn.LSTM(3, 2)\nstate = (torch.zeros(1, 1, 2), torch.zeros(1, 1, 2))\n"
        "for _ in range(3):\n"
        "    out, state = net(w.view(1, 1, 3), state)\n    out.sum().backward()\n    opt.step()\n",
        stops=True,
    )
    _, edits = cut_of(program, ("state",), several=True)
    text = program.after(edits)
    assert "    state = tuple(h.detach() for h in state)\n    out, state = net(" in text
    run(text)


CELL = """\
class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.reset()
    def reset(self):
        self.h = torch.zeros(3)
    def forward(self, x):
        self.h = torch.tanh(self.fc(x) + self.h)
        return self.h
"""


def test_a_state_that_a_module_keeps_is_cut_after_the_pass_under_its_name_there(tmp_path: Path) -> None:
    program = watched(
        tmp_path,
        f"{HEAD}{CELL}net = Cell()\nfor _ in range(3):\n    for t in range(4):\n        out = net(x)\n"
        "    out.sum().backward()\n",
        stops=True,
    )
    fix, edits = cut_of(program, ("self.h",))
    text = program.after(edits)
    assert text.endswith("    out.sum().backward()\n    net.h = net.h.detach()\n")
    assert "call `reset()`" in fix and "between the time steps" in fix
    run(text)


def test_a_state_of_a_module_that_has_no_name_there_is_only_told(tmp_path: Path) -> None:
    program = watched(
        tmp_path,
        f"{HEAD}{CELL}net = Cell()\ndef train(out):\n    out.sum().backward()\nfor _ in range(3):\n"
        "    for t in range(4):\n        out = net(x)\n    train(out)\n",
        stops=True,
    )
    fix, edits = cut_of(program, ("self.h",))
    assert edits == () and "net.h = net.h.detach()" in fix


# -- made once ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    ["w * w", "w.exp()", "w.exp()[:3]", "torch.exp(\n    w)"],
    ids=["product", "method", "part", "lines"],
)
def test_what_nobody_trains_is_cut_where_it_is_made(value: str, tmp_path: Path) -> None:
    head = HEAD.replace("opt = torch.optim.SGD([w], lr=0.1)\n", "v = torch.ones(3, requires_grad=True)\n")
    program = watched(
        tmp_path,
        f"{head}opt = torch.optim.SGD([v], lr=0.1)\nscale = {value}  # once\nfor _ in range(3):\n"
        "    opt.zero_grad()\n"
        "    (scale * v).sum().backward()\n    opt.step()\n",
        stops=True,
    )
    trace, known = program.trace, paths(program.trace)
    event, found = old(program)
    made = [made_by(trace, known, event, one) for one in found]
    origin = behind(trace, known, event, made)
    assert not origin.needed and [leaf.name for leaf in origin.leaves]
    fix, edits = without_graph(trace, made, origin.leaves)
    text = program.after(edits)
    assert "`scale`" in fix and "`w`" in fix and ".detach()  # once\n" in text
    space = run(text)
    assert not space["scale"].requires_grad and space["v"].grad is not None


def test_what_is_trained_is_to_be_made_in_each_step(tmp_path: Path) -> None:
    program = watched(
        tmp_path,
        f"{HEAD}scale = w * 2\nfor _ in range(3):\n    (scale * x).sum().backward()\n    opt.step()\n",
        stops=True,
    )
    trace, known = program.trace, paths(program.trace)
    event, found = old(program)
    made = [made_by(trace, known, event, one) for one in found]
    fix, edits = in_each_step(trace, event, made, behind(trace, known, event, made).needed)
    assert edits == () and "inside the loop" in fix and "`w`, which is trained" in fix


def test_a_condition_that_leaves_it_out_lets_it_in_where_its_leaf_is_trained(tmp_path: Path) -> None:
    program = watched(
        tmp_path,
        f"{HEAD}scale = None\nfor _ in range(3):\n    if scale is None:  # once\n        scale = w * 2\n"
        "    (scale * x).sum().backward()\n    opt.step()\n",
        stops=True,
    )
    trace, known = program.trace, paths(program.trace)
    event, found = old(program)
    made = [made_by(trace, known, event, one) for one in found]
    fix, edits = in_each_step(trace, event, made, behind(trace, known, event, made).needed)
    text = program.after(edits)
    assert "    if scale is None or w.requires_grad:  # once\n" in text and "`if scale is None`" in fix
    run(text)


# -- filled and read ----------------------------------------------------------------------


def test_a_buffer_that_is_set_to_zero_is_cut_by_the_same_line(tmp_path: Path) -> None:
    program = watched(
        tmp_path,
        f"{HEAD}h = torch.zeros(3)\nfor _ in range(3):\n    h.zero_()  # new\n    h.add_((w * x).sin())\n"
        "    h.sum().backward()\n    opt.step()\n",
        stops=True,
    )
    _, found = old(program)
    filled = next(f for one in found if (f := filled_by(program.trace, one)) is not None)
    site = filled[0].site.user
    fix, edits = cut_where_filled(program.trace, site, filled[1], False)
    text = program.after(edits)
    assert "    h.zero_().detach_()  # new\n" in text and "`h.zero_().detach_()`" in fix
    run(text)
    fix, edits = cut_where_filled(program.trace, site, filled[1], True)
    assert edits == () and "detach_" not in fix


def test_a_buffer_that_is_filled_in_the_middle_of_a_line_is_only_told(tmp_path: Path) -> None:
    program = read(tmp_path, "def f(h, x):\n    y = h.copy_(x)\n")
    call = program.file.calls["copy_"][0]
    fix, edits = cut_where_filled(program.trace, program.site("h.copy_(x)"), call, False)
    assert edits == () and "h.copy_(x).detach_()" in fix


def test_a_value_is_cut_before_the_line_that_reads_it(tmp_path: Path) -> None:
    program = read(tmp_path, "def f(self, a, b, x):\n    x = 1\n    y = a * self.b\n    return y\n")
    fix, edits = cut_where_read(program.trace, program.site("a * self.b"), ("a", "self.b"))
    assert "    a = a.detach()\n    self.b = self.b.detach()\n    y = a * self.b\n" in program.after(edits)
    assert "`a = a.detach()` and `self.b = self.b.detach()`" in fix


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("y = x * x\n    return y", "y"),
        ("y = None\n    y = x * x", "y"),
        ("z = x * x", "states[0]"),
        ("z = 1; y = x * x", "x"),
    ],
    ids=["not yet there", "begins as none", "no name", "shared line"],
)
def test_a_value_is_not_cut_where_its_name_may_hold_no_tensor(text: str, name: str, tmp_path: Path) -> None:
    program = read(tmp_path, f"def f(x, states):\n    {text}\n")
    assert cut_where_read(program.trace, program.site("x * x"), (name,))[1] == ()
