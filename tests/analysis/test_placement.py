"""Where a program keeps its tensors, and at which end of a loop it clears gradients, changes no finding.

What a function made is gone when the watch ends: nothing may depend on looking at it then.
"""

from __future__ import annotations

import ast
import random
import textwrap
from pathlib import Path
from typing import Any

import pytest
import torch
from rule_programs import Program, parameters

import gradscope
from gradscope.check import examine
from gradscope.config import Config
from gradscope.rules import all_rules

EXAMPLES = [
    path
    for path in sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.py"))
    if "__main__" not in path.read_text(encoding="utf-8")  # their children look for its functions
]
STOPPED = (
    RuntimeError,
    TypeError,
    ValueError,
    AttributeError,
    AssertionError,
)  # by torch, as some examples are

# Where another place of `zero_grad()` is right, or another mistake.
CLEARED_ELSEWHERE = {
    "GS110-bad": "each of its two passes needs its own clearing",
    "GS201-bad_cleared_before_the_other_pass": "cleared after both steps, nothing is left for the other",
    "GS201-bad_other_pass_left_behind_though_weights_are_clamped": "cleared last, nothing is left for the next step",
    "GS202-bad": "cleared after the step is right",
    "GS202-bad_by_module": "cleared after the step is right",
    "GS202-bad_in_a_later_phase": "cleared after the step is right",
    "GS305-bad_prediction_rounded_for_both": "cleared last, the critic's step takes the other loss too",
    "GS209-bad_optimizers_hold_each_others_modules": "cleared last, what was clipped is added to, and used",
    "GS209-bad_clips_stand_in_each_others_place": "cleared last, what was clipped is added to, and used",
    "GS232-bad_one_loop_for_both": "cleared first, what the other's pass has left is gone",
    "GS237-bad_turn_left_out_by_continue": "cleared first, what the turn left out has filled is gone",
    "GS206-bad_both_optimizers_of_the_discriminator": "cleared last, the second step takes the first loss too",
    "GS243-bad": "cleared last, the `return` leaves it out",
    "GS243-bad_break": "cleared last, the `break` leaves it out",
    "GS243-bad_while_rows_are_left": "cleared last, the `return` leaves it out",
    "GS243-bad_a_stream_that_each_call_begins_anew": "cleared last, the `return` leaves it out",
    "GS243-bad_break_of_a_loader": "cleared last, the `break` leaves it out",
    "GS215-bad_cleared_between_two_losses": "cleared after the step is right",
    "GS215-bad_both_of_a_gan_cleared_at_each_pass": "cleared last, the other step takes this loss too",
    "GS332-bad": "cleared last, the judge's step takes the other loss too",
    "GS461-bad": "cleared first, what the evaluation has left is gone",
    "GS707-bad_actor_at_its_bound_behind_a_critic": "cleared last, the critic's step takes the other loss too",
    "GS743-bad_label_of_a_loss_that_is_given_both_networks": "cleared last, the judge's step takes the other loss too",
}


@pytest.mark.drawn(0.02)
@pytest.mark.parametrize("bad", parameters("bad"))
def test_what_lives_on_is_told_as_what_is_gone(bad: Program, tmp_path: Path) -> None:
    text = body(bad)
    assert watched(text, tmp_path) == in_a_function(bad, tmp_path)


@pytest.mark.drawn(0.02)
@pytest.mark.parametrize("bad", parameters("bad"))
def test_cleared_at_the_other_end_of_the_loop(bad: Program, tmp_path: Path) -> None:
    text = cleared_elsewhere(body(bad))
    if text is None:
        pytest.skip("no loop that clears gradients")
    if bad.id in CLEARED_ELSEWHERE:
        pytest.skip(CLEARED_ELSEWHERE[bad.id])
    assert watched(in_function(text), tmp_path) == in_a_function(bad, tmp_path)


@pytest.mark.drawn(0.3)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_in_a_function(path: Path, tmp_path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert watched(in_function(text), tmp_path) == watched(text, tmp_path)


Told = set[tuple[str, ...]]
_known: dict[str, Told] = {}


def in_a_function(bad: Program, folder: Path) -> Told:
    """What is told of the example as it stands, run once for all tests."""
    if bad.id not in _known:
        _known[bad.id] = watched(in_function(body(bad)), folder)
    return _known[bad.id]


def watched(text: str, folder: Path) -> Told:
    """What all rules say, at warning or above, of a program whose module lives until the watch has ended:
    code, severity and the text of the lines."""
    path = folder / f"program{len(list(folder.iterdir()))}.py"  # a new one: Python keeps the text of files
    path.write_text(text, encoding="utf-8")
    torch.manual_seed(0)
    random.seed(0)
    names: dict[str, Any] = {"__name__": "__main__", "__file__": str(path)}
    with gradscope.watch() as scope:
        try:
            exec(compile(text, str(path), "exec"), names)
        except STOPPED:
            pass
    off = tuple(code for code, rule in all_rules().items() if not rule.default)
    report = examine(scope.trace, Config(extend_select=off))
    assert not report.faults
    lines = text.splitlines()
    return {
        (
            f.code,
            f.severity,
            *(f"{p.role}: {lines[p.line - 1].strip()}" for p in f.locations if p.role != "related"),
        )
        for f in report.findings
        if f.severity != "note"
    }


def body(program: Program) -> str:
    """The program that a function without arguments is."""
    text = textwrap.dedent(program.source)
    head = ast.parse(text).body[0]
    assert isinstance(head, ast.FunctionDef) and not any(isinstance(n, ast.Return) for n in head.body)
    return textwrap.dedent("\n".join(text.splitlines()[head.lineno :])) + "\n"


def in_function(text: str) -> str:
    text = text.replace("globals()", "locals()")
    return f"def main():\n{textwrap.indent(text, '    ')}\n\nmain()\n"


def cleared_elsewhere(text: str) -> str | None:
    """With the `zero_grad()` of each loop as the last of its statements, or as the first if it was the
    last; None where no loop has one."""
    lines = text.splitlines()
    loops = [n for n in ast.walk(ast.parse(text)) if isinstance(n, (ast.For, ast.While)) and _clearing(n)]
    for loop in sorted(loops, key=lambda loop: loop.lineno, reverse=True):
        mine, end = _clearing(loop), loop.end_lineno or loop.lineno
        first = loop.body[0].lineno - 1
        taken = [line for n in mine for line in lines[n.lineno - 1 : n.end_lineno]]
        kept = list(lines[first:end])
        for n in reversed(mine):
            del kept[n.lineno - 1 - first : (n.end_lineno or n.lineno) - first]
        was_last = loop.body[-len(mine) :] == mine
        lines[first:end] = taken + kept if was_last else kept + taken
    return "\n".join(lines) + "\n" if loops else None


def _clearing(loop: ast.For | ast.While) -> list[ast.stmt]:
    found = [
        n
        for n in loop.body
        if isinstance(n, ast.Expr)
        and isinstance(n.value, ast.Call)
        and isinstance(n.value.func, ast.Attribute)
        and n.value.func.attr == "zero_grad"
    ]
    return found if len(found) < len(loop.body) else []
