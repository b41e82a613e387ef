"""The copy with which a function leaves the tensor of its caller alone."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from edited import Program, run, watched

from gradscope.events import ErrorRaised
from gradscope.fixes.own_copy import OwnCopy, own_copy

HEAD = "import torch\nw = torch.tensor([1.0, 2.0], requires_grad=True)\n"
CALL = "h = w * 2\ny = h.pow(2)\nz = f(h)\n(y.sum() + z.sum()).backward()\n"


def copy_of(program: Program, name: str) -> OwnCopy | None:
    """The copy for the function that changed what the failed pass needs."""
    (event,) = program.trace.of(ErrorRaised)
    write = program.trace.site(event.writes[0]["site"])
    saved = [site for one in event.spoilt if (site := program.trace.site(one["site"])) is not None]
    assert write is not None and saved
    return own_copy(program.trace, write, name, saved)


def right(text: str) -> None:
    """The program runs, and its gradient is that of the same without a write to `h`."""
    wanted = run(text.replace("z = f(h)", "z = f(h.clone())"))["w"].grad
    torch.testing.assert_close(run(text)["w"].grad, wanted)


@pytest.mark.parametrize(
    ("function", "line"),
    [
        ("def f(x):\n    x += 1\n    return x\n", "    x = x.clone()\n    x += 1\n"),
        ("def f(x):\n\tx[0] = 0  # ß\n\treturn x * 1\n", "\tx = x.clone()\n\tx[0] = 0  # ß\n"),
        ("def f(x, *, n=2):\n    for i in range(n):\n        x[i] *= 2\n    return x.exp()\n",
         "    x = x.clone()\n    for i in range(n):\n"),
        ("def f(x):\n    if len(x):\n        x.mul_(2)\n    y = x\n    return y\n",
         "    x = x.clone()\n    if len(x):\n"),
    ],
)  # fmt: skip
def test_a_function_copies_its_argument_before_it_writes(function: str, line: str, tmp_path: Path) -> None:
    program = watched(tmp_path, HEAD + function + CALL, stops=True)
    found = copy_of(program, "x")
    assert found is not None and (found.alias, found.argument) == (None, "x")
    text = program.after(found.edits)
    assert line in text and "`x = x.clone()` before" in found.fix
    right(text)


def test_a_name_that_was_given_the_argument_is_given_a_copy(tmp_path: Path) -> None:
    program = watched(
        tmp_path,
        f"{HEAD}def f(x):\n    out = x  # to be changed\n    out[0] = 0\n    return out\n{CALL}",
        stops=True,
    )
    found = copy_of(program, "out")
    assert found is not None and found.alias is not None and found.argument == "x"
    assert program.shown(found.alias) in ("", "out = x")
    text = program.after(found.edits)
    assert "    out = x.clone()  # to be changed\n" in text and "`out = x.clone()`" in found.fix
    right(text)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("def f_(x):\n    x += 1\n    return x\nf = f_\n", "x"),
        ("def f(x):\n    x += 1\n    return h\n", "x"),
        ("def f(x):\n    out = x\n    out = out.view(-1)\n    out += 1\n    return out\n", "out"),
        ("def f(x):\n    out = x.view(-1)\n    out += 1\n    return out\n", "out"),
        ("def f(x):\n    for i in range(1):\n        out = x\n        out += 1\n    return out\n", "out"),
        ("def f(x):\n    y = x.pow(2)\n    x += 1\n    z = x.pow(3)\n    x += 1\n    return y + z\n", "x"),
    ],
    ids=["named in place", "not read", "bound twice", "a view", "in the loop", "its own call saved it"],
)  # fmt: skip
def test_no_copy_is_made_where_the_write_may_be_meant_or_would_not_mend(
    function: str, name: str, tmp_path: Path
) -> None:
    program = watched(tmp_path, HEAD + function + CALL, stops=True)
    assert copy_of(program, name) is None


def test_a_function_that_is_called_for_what_it_writes_makes_no_copy(tmp_path: Path) -> None:
    call = "h = w * 2\ny = h.pow(2)\nf(h)\n(y.sum() + h.sum()).backward()\n"
    program = watched(tmp_path, f"{HEAD}def f(x):\n    x += 1\n    return x\n{call}", stops=True)
    assert copy_of(program, "x") is None


def test_a_write_outside_of_any_function_has_no_argument_to_copy(tmp_path: Path) -> None:
    program = watched(
        tmp_path, f"{HEAD}h = w * 2\ny = h.pow(2)\nh += 1\n(y + h).sum().backward()\n", stops=True
    )
    assert copy_of(program, "h") is None
