"""Lines are followed through an edit."""

from __future__ import annotations

from gradscope.trying.compare import Lines

BEFORE = "a\nb\nopt.step()\nloss.backward()\nc\n"


def now(after: str, line: int) -> set[int]:
    return {number for _, number in Lines({"f.py": BEFORE}, {"f.py": after}).now(("f.py", line))}


def test_a_line_that_is_put_in_moves_those_below() -> None:
    after = BEFORE.replace("opt.step()\n", "opt.step()\nopt.zero_grad()\n")
    assert [now(after, line) for line in (1, 3, 4, 5)] == [{1}, {3}, {5}, {6}]


def test_a_line_that_is_changed_stays_itself() -> None:
    assert now(BEFORE.replace("loss.backward()", "(loss / 2).backward()"), 4) == {4}


def test_a_line_that_is_moved_is_found_where_it_stands_now() -> None:
    assert 4 in now("a\nb\nloss.backward()\nopt.step()\nc\n", 3) | now(
        "a\nb\nloss.backward()\nopt.step()\nc\n", 4
    )
    assert now("b\nopt.step()\nloss.backward()\nc\na  # moved\n", 1) == {5}


def test_a_file_that_is_not_edited_is_as_it_was() -> None:
    assert Lines({}, {}).now(("g.py", 7)) == {("g.py", 7)}
