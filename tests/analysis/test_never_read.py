"""What a program makes and never reads: tensors, and writes after the last use."""

from __future__ import annotations

from pathlib import Path

import pytest
from observed import Observed, written

from gradscope.analysis.never_read import late_writes, read_again, read_later, unread_at, unread_value

PROGRAM = """
def work(a):
    {before}
    x = torch.ones(2, 3)
    {after}
    return a * 2

out = []
a = torch.ones(1, requires_grad=True)
for _ in range({turns}):
    work(a).backward()
"""


def program(folder: Path, after: str = "pass", before: str = "pass", turns: int = 2) -> Observed:
    return written(folder, PROGRAM.format(after=after, before=before, turns=turns))


def test_a_tensor_that_no_operation_takes_is_told_with_its_name_and_size(tmp_path: Path) -> None:
    run = program(tmp_path)
    found = unread_at(run.trace, run.op("torch.ones(2, 3)").site)
    assert found is not None
    assert (found.name, found.shape, found.dtype) == ("x", (2, 3), "float32")
    assert found.site.line == found.statement.lineno == run.line("x = torch.ones(2, 3)")


@pytest.mark.parametrize(
    "form", ["x.view(6)", "x.double().t()", "x.float()", "x.detach()", "x.to(torch.float64)"]
)
def test_another_form_of_it_is_no_use_of_it(form: str, tmp_path: Path) -> None:
    """In its last form it has another shape, and that is told."""
    run = program(tmp_path, after=f"y = {form}")
    site = run.op("torch.ones(2, 3)").site
    found = unread_value(run.trace, site)
    last = run.op(form)
    assert found is not None and found[0] == run.trace.graph(last.graph).values[last.outputs[0]].shape
    assert unread_at(run.trace, site) is None, "its name is read again"


@pytest.mark.parametrize(
    "after",
    [
        "x.sum()",
        "x.view(6).exp()",
        "x.add_(1)",
        "torch.cat([x, x])",
        "x.tolist()",
        "(x > 0).any()",
        "x[0] = 1",
    ],
)
def test_a_tensor_that_an_operation_reads_is_silent(after: str, tmp_path: Path) -> None:
    run = program(tmp_path, after=after)
    site = run.op("torch.ones(2, 3)").site
    assert unread_value(run.trace, site) is None and unread_at(run.trace, site) is None


@pytest.mark.parametrize(
    "after",
    [
        "print(x.shape)",
        "out.append(x)",
        "kept = locals()",
        "inner = lambda: x",
        "if a is None:\n        return x",
    ],
)
def test_a_tensor_whose_name_is_asked_for_again_is_silent(after: str, tmp_path: Path) -> None:
    """Though no operation takes it: who knows what is done with it."""
    run = program(tmp_path, after=after)
    site = run.op("torch.ones(2, 3)").site
    assert unread_value(run.trace, site) is not None
    assert unread_at(run.trace, site) is None


def test_what_an_operation_of_a_later_step_reads_is_read(tmp_path: Path) -> None:
    text = """
    a = torch.ones(1, requires_grad=True)
    opt = torch.optim.SGD([a], lr=0.1)
    kept, other = torch.ones(2), torch.zeros(2)
    (a * 3).backward()
    opt.step()
    opt.zero_grad()
    (a * kept).sum().backward()
    """
    run = written(tmp_path, text)
    assert run.key("torch.ones(2)") in read_later(run.trace)
    assert run.key("torch.zeros(2)") not in read_later(run.trace)
    assert unread_value(run.trace, run.op("torch.ones(2)").site) is None
    assert unread_value(run.trace, run.op("torch.zeros(2)").site) == ((2,), "float32")


def test_of_a_function_called_twice_whose_result_is_read_once_it_is_read(tmp_path: Path) -> None:
    text = """
    def make():
        return torch.ones(2)

    def work(a):
        x = make()
        y = make()
        return (a * y).sum()

    work(torch.ones(1, requires_grad=True)).backward()
    """
    run = written(tmp_path, text)
    sites = [op.site for op in run.ops("torch.ones(2)")]
    assert [unread_value(run.trace, site) is None for site in sites] == [False, True], (
        "the calls are told apart"
    )


def test_a_name_is_read_again_in_a_loop_around_it_or_after_it(tmp_path: Path) -> None:
    text = """
    def loop(a):
        x = 0
        for i in range(2):
            print(x)
            x = i
            y = i
            y = x
        w = 0
        for i in range(2):
            print(w)
            w = i + 1
        z = 1
        print(a, y)
        z = 2
        a = 3
    """
    run = written(tmp_path, text)

    def asked(code: str) -> bool:
        statement = run.file.statement(run.site(code))
        assert statement is not None
        return read_again(run.file, statement, code.split(" ")[0])

    assert asked("x = i") and asked("y = x") and asked("w = i + 1"), "in the next turn, and after the loop"
    assert not asked("z = 1") and not asked("a = 3")


# -- writes after the last use ---------------------------------------------------------------

WRITES = """
def work(a):
    x = torch.zeros(3)
    y = x.clone()
    {write}
    {after}
    return (a * y).sum()

def look(t):
    return t

a = torch.ones(1, requires_grad=True)
for _ in range(2):
    work(a).backward()
"""


@pytest.mark.parametrize("write", ["x += 1", "x.fill_(2)", "x[0] = 1", "x[1:] = 2"])
def test_a_write_after_the_last_use_is_told_once(write: str, tmp_path: Path) -> None:
    run = written(tmp_path, WRITES.format(write=write, after="pass"))
    (found,) = late_writes(run.trace)
    assert (found.name, found.statement.lineno) == ("x", run.line(write))
    assert run.text(found.reader) == "x.clone()"


@pytest.mark.parametrize(
    ("write", "after"),
    [
        ("x += 1", "y = y + x.sum()"),
        ("x += 1", "print(x)"),
        ("x += 1", "out = look(x)"),
        ("z = x + 1", "pass"),
        ("x = x + 1", "pass"),
        ("z = x\n    x += 1", "y = y + z.sum()"),
        ("z = x.view(3)\n    x += 1", "y = y + z.sum()"),
    ],
)
def test_a_write_that_something_may_read_is_silent(write: str, after: str, tmp_path: Path) -> None:
    assert not list(late_writes(written(tmp_path, WRITES.format(write=write, after=after)).trace))


def test_a_write_into_what_another_function_made_or_what_lives_on_is_silent(tmp_path: Path) -> None:
    text = """
    class State:
        x = torch.zeros(3)

    def work(a, buffer):
        loss = (a * buffer.clone()).sum() + (a * State.x.clone()).sum()
        buffer += 1
        State.x += 1
        return loss

    a, given = torch.ones(1, requires_grad=True), torch.zeros(3)
    work(a, given).backward()
    """
    assert not list(late_writes(written(tmp_path, text).trace))
