"""The user's own `autograd.Function`s in the text: their methods, and what a backward returns."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from observed import Observed, written

from gradscope.analysis.own_functions import arguments, definition_of, gradient_at, methods, results, returned

FUNCTION = """
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, by):
        ctx.save_for_backward(by)
        return x * by

    @staticmethod
    def backward(ctx, grad):
        by, = ctx.saved_tensors
{}

a = torch.ones(1, requires_grad=True)
b = torch.ones(1, requires_grad=True)
Scale.apply(a, b).sum().backward()
"""


def run_of(folder: Path, body: str) -> Observed:
    return written(folder, FUNCTION.format("\n".join(f"        {line}" for line in body.splitlines())))


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("return grad * by, grad * 3", ["grad * by", "grad * 3"]),
        ("return (grad * by,\n        None)", ["grad * by", "None"]),
        ("both = grad * by, None\nreturn both", ["return both", "return both"]),
        ("return *[grad * by], None", ["return *[grad * by], None", "return *[grad * by], None"]),
        ("if grad is None:\n    return None, None\nreturn grad * by, None", None),
    ],
    ids=["two", "in parentheses", "by a name", "starred", "at two places"],
)
def test_what_backward_returns_for_an_argument(body: str, shown: list[str] | None, tmp_path: Path) -> None:
    """Where it returns at several places, or that is not plain, it is the statement or where backward begins."""
    run = run_of(tmp_path, body)
    line = run.line("def backward")
    sites = [returned(run.trace, "Scale", line, position) for position in (0, 1)]
    assert [run.text(site) for site in sites if site is not None] == (shown or [])
    ends = [gradient_at(run.trace, "Scale", line, position) for position in (0, 1)]
    assert all(site is not None for site in ends)
    if shown is None:
        assert {site.line for site in ends if site is not None} == {line}


def test_the_definition_is_the_line_of_backward(tmp_path: Path) -> None:
    run = run_of(tmp_path, "return grad * by, None")
    for line in (run.line("class Scale"), run.line("def forward"), run.line("return grad")):
        site = definition_of(run.trace, "Scale", line)
        assert site is not None and site.line == run.line("def backward")
        text = run.trace.lines(run.path)[site.line - 1]
        assert text[site.column - 1 : site.end_column - 1] == "def backward"
    assert definition_of(run.trace, "Scale", run.line("Scale.apply")) is None, "outside the class"
    assert definition_of(run.trace, "Other", run.line("def backward")) is None


def test_of_two_classes_of_one_name_it_is_the_one_that_the_line_lies_in(tmp_path: Path) -> None:
    def of(factor: int) -> str:
        forward = "    @staticmethod\n    def forward(ctx, x):\n        return x * 2\n"
        backward = f"    @staticmethod\n    def backward(ctx, grad):\n        return grad * {factor}\n"
        return f"class Twice(torch.autograd.Function):\n{forward}{backward}"

    use = "Twice.apply(torch.ones(1, requires_grad=True)).sum().backward()\n"
    run = written(tmp_path, of(2) + use + of(3) + use)
    for nth, text in enumerate(("grad * 2", "grad * 3")):
        line = run.line("class Twice", nth)
        ((_, method),) = methods(run.trace, "Twice", line)
        assert [ast.unparse(value) for value in results(method)] == [text]
        assert arguments(method) == ["grad"]
        assert [m.name for _, m in methods(run.trace, "Twice", line, ("forward", "backward"))] == [
            "forward",
            "backward",
        ]


def test_the_arguments_are_those_of_the_call_and_all_returns_give_results(tmp_path: Path) -> None:
    run = run_of(tmp_path, "if grad is None:\n    return\nreturn grad * by, None")
    line = run.line("def backward")
    ((_, forward),) = methods(run.trace, "Scale", line, ("forward",))
    ((_, backward),) = methods(run.trace, "Scale", line)
    assert arguments(forward) == ["x", "by"]
    assert [ast.unparse(value) for value in results(backward)] == ["(grad * by, None)"]
    site = returned(run.trace, "Scale", line, 1)
    assert site is not None and run.text(site) == "None", "a bare return gives nothing"
