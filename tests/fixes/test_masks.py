"""A mean over what a mask lets in, and masks that are turned round: what the program computes then."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from edited import read, run

from gradscope.fixes.masks import mean_over, turned_round

# -- means --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mean", "product", "place"),
    [
        ("(x * m).mean()", "x * m", 1),
        ("torch.mean(m * x)", "m * x", 0),
        ("torch.mean((x * m))", "x * m", 1),
        ("(x * m.float()).mean()", "x * m.float()", 1),
        ("(x * m).view(-1).mean()", "x * m", 1),
    ],
)
def test_a_mean_is_taken_over_what_the_mask_lets_in(
    mean: str, product: str, place: int, tmp_path: Path
) -> None:
    program = read(tmp_path, f"def f(x, m):\n    return 'é', 2 * {mean}  # mean\n")
    mask, shown, edits = mean_over(
        program.trace, program.site(mean), program.site(product), place, direct=True
    )
    assert mask == (product.split(" * ")[place]) and f"{mask}.sum()` in place of" in shown
    x, m = torch.randn(6), torch.tensor([1.0, 1, 0, 0, 1, 0])
    torch.testing.assert_close(run(program.after(edits))["f"](x, m)[1], 2 * x[m.bool()].mean())


def test_a_mean_of_something_masked_before_is_masked_once_more(tmp_path: Path) -> None:
    program = read(
        tmp_path, "def f(x, m):\n    y = x * m\n    z = (y + 1).abs()\n    return (z - 0).mean()\n"
    )
    args = program.trace, program.site("(z - 0).mean()"), program.site("x * m"), 1
    _, _, edits = mean_over(*args, direct=False)
    x, m = torch.randn(6), torch.tensor([1.0, 1, 0, 0, 1, 0])
    wanted = (x[m.bool()] + 1).abs().mean()
    torch.testing.assert_close(run(program.after(edits))["f"](x, m), wanted)


def test_a_mask_of_another_function_or_without_a_name_is_only_told(tmp_path: Path) -> None:
    program = read(
        tmp_path, "def f(x, m):\n    return (x * (m > 0)).mean()\ndef g(x, m):\n    return (x * m).sum(1)\n"
    )
    mean, own, other = (program.site(c) for c in ("(x * (m > 0)).mean()", "x * (m > 0)", "x * m"))
    mask, shown, edits = mean_over(program.trace, mean, own, 1, direct=True)
    assert (mask, edits) == ("", ()) and "mask.sum()" in shown
    mask, shown, edits = mean_over(program.trace, mean, other, 1, direct=False)
    assert (mask, edits) == ("m", ()) and "m.sum()" in shown


@pytest.mark.parametrize(
    "mean", ["(x * m).mean(1)", "torch.mean(x * m, 1)", "(x * m).mean(dim=1)", "mean(x * m)"]
)
def test_a_mean_along_an_axis_is_left_to_its_author(mean: str, tmp_path: Path) -> None:
    program = read(tmp_path, f"from torch import mean\ndef f(x, m):\n    return {mean}\n")
    found = mean_over(program.trace, program.site(mean), program.site("x * m"), 1, direct=True)
    assert found[0] == "m" and found[2] == () and "m.sum()" in found[1]


# -- masks turned round -------------------------------------------------------------------

X = torch.tensor([1.0, 2.0, 3.0, 4.0])
KEEP = torch.tensor([True, False, True, False])


@pytest.mark.parametrize(
    ("call", "place", "boolean"),
    [
        ("x.masked_fill(m, 0.0)", 1, True),
        ("torch.masked_fill(x, m, 0.0)", 1, True),
        ("torch.where(m, x, 0.0 * x)", 0, True),
        ("torch.where(m.bool(), x, 0.0 * x)", 0, True),
        ("x.masked_fill(~m, 0.0)", 1, True),
        ("x.masked_fill(x > 2, 0.0)", 1, True),
        ("x.masked_fill((x == 2).bool(), 0.0)", 1, True),
        ("x.masked_fill(m | (x > 3), 0.0)", 1, True),
        ("x * m", 1, False),
        ("m.float() * x", 0, False),
        ("(x <= 2).float() * x", 0, False),
        ("x * (1 - m.float())", 1, False),
        ("x * ~(x < 3)", 1, True),
        ("x * (~(x < 3))", 1, True),
        ("~(x < 2) * x", 0, True),
        ("x * ((x < 2) == m)", 1, True),
        ("x[m]", 1, True),
    ],
)
def test_a_call_lets_in_what_it_kept_out(call: str, place: int, boolean: bool, tmp_path: Path) -> None:
    program = read(tmp_path, f"def f(x, m):\n    return 'ß', {call}  # ~m\n")
    found = turned_round(program.trace, program.site(call), place, boolean=boolean)
    keep = KEEP if boolean or "float" in call else KEEP.float()
    before, after = (run(text)["f"](X, keep)[1] for text in (program.text, program.after(found.edits)))
    assert sorted([*before[before != 0], *after[after != 0]]) == X.tolist()  # each place in one of them
    assert found.text in call and found.site.line == program.site(call).line


def test_a_mask_is_turned_round_where_it_is_made(tmp_path: Path) -> None:
    program = read(
        tmp_path,
        "def f(x, n):\n    m = torch.arange(4) < n  # real\n    y = x * m\n    return y.sum() / m.sum()\n",
    )
    found = turned_round(program.trace, program.site("x * m"), 1, boolean=True)
    assert (found.text, found.new) == ("m", "torch.arange(4) >= n")
    assert program.shown(found.site) == "torch.arange(4) < n"
    torch.testing.assert_close(run(program.after(found.edits))["f"](X, 3), X[3:].mean())


def test_a_mask_that_something_else_reads_is_turned_round_at_its_use_alone(tmp_path: Path) -> None:
    program = read(
        tmp_path,
        "def f(x, n):\n    m = x < n\n    y = x * m\n    return y, x[m]\ndef g(x):\n    m = 1\n"
        "    return m\n",
    )
    found = turned_round(program.trace, program.site("x * m"), 1, boolean=True)
    assert "    m = x < n\n    y = x * ~m\n    return y, x[m]\n" in program.after(found.edits)


def test_a_mask_that_is_made_twice_is_turned_round_at_its_use(tmp_path: Path) -> None:
    program = read(
        tmp_path,
        "def f(x, n):\n    m = x < n\n    if n:\n        m = x > 1\n    return x.masked_fill(m, 0)\n",
    )
    found = turned_round(program.trace, program.site("x.masked_fill(m, 0)"), 1, boolean=True)
    assert "return x.masked_fill(~m, 0)\n" in program.after(found.edits)


def test_a_mask_that_is_given_and_counted_is_turned_round_before_both(tmp_path: Path) -> None:
    for boolean, line in ((True, "m = ~m"), (False, "m = 1 - m")):
        program = read(tmp_path, "def f(x, m):\n    y = x * m\n    return y.sum() / m.sum()\n")
        found = turned_round(program.trace, program.site("x * m"), 1, boolean=boolean)
        assert f"    {line}\n    y = x * m\n" in program.after(found.edits)
        mask = KEEP if boolean else KEEP.float()
        torch.testing.assert_close(run(program.after(found.edits))["f"](X, mask), X[~KEEP].mean())


def test_a_mask_that_is_first_counted_under_a_condition_is_turned_round_before_it(tmp_path: Path) -> None:
    program = read(
        tmp_path,
        "def f(x, m, v):\n    x = x * 1\n    if v:\n        for _ in x:\n            print(m.sum())\n"
        "    return (x * m).sum() / m.sum()\n",
    )
    found = turned_round(program.trace, program.site("x * m"), 1, boolean=False)
    text = program.after(found.edits)
    assert "    x = x * 1\n    m = 1 - m\n    if v:\n" in text
    for v in (True, False):
        torch.testing.assert_close(run(text)["f"](X, KEEP.float(), v), X[~KEEP].mean())


def test_a_mask_of_an_outer_function_that_is_counted_too_is_only_told(tmp_path: Path) -> None:
    program = read(
        tmp_path, "def g(m):\n    def f(x):\n        return (x * m).sum() / m.sum()\n    return f\n"
    )
    found = turned_round(program.trace, program.site("x * m"), 1, boolean=True)
    assert (found.new, found.edits) == ("m = ~m", ())


def test_an_argument_with_a_default_of_its_own_is_turned_round_at_its_use(tmp_path: Path) -> None:
    program = read(
        tmp_path, "def f(x, m=None):\n    if m is None:\n        m = x > 2\n    return x.masked_fill(m, 0)\n"
    )
    found = turned_round(program.trace, program.site("x.masked_fill(m, 0)"), 1, boolean=True)
    assert "return x.masked_fill(~m, 0)\n" in program.after(found.edits)


def test_a_mask_over_several_lines_is_told_without_an_edit(tmp_path: Path) -> None:
    call = "x.masked_fill(n(\n        x), 0)"
    program = read(tmp_path, f"def f(x, n):\n    return {call}\n")
    found = turned_round(program.trace, program.site(call), 1, boolean=True)
    assert found.text == "n( x)" and found.edits == ()


def test_a_call_without_such_an_argument_has_no_mask(tmp_path: Path) -> None:
    for call in ("x.masked_fill(mask=n, value=0)", "x.where()", "n"):
        program = read(tmp_path, f"def f(x, n):\n    return {call}\n")
        assert turned_round(program.trace, program.site(call), 1, boolean=True).edits == ()
