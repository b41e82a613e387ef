"""The program's text as syntax: what it calls, what of it has run."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from observed import Observed, written

from gradscope.analysis.text import (
    called_in_source,
    calls_in_source,
    has_run,
    head_of,
    may_step,
    mentions,
    named_subject,
    nodes_of_functions,
    nodes_of_program,
    nodes_that_ran,
    not_called,
    own_nodes,
    parentheses,
    ran_in,
    runs_in,
    site_of,
    uncalled,
)
from gradscope.source import FUNCTIONS, Function

MODEL = """
model = nn.Linear(2, 1)
"""


def function(run: Observed, name: str) -> Function:
    (found,) = (node for node in run.file.nodes if isinstance(node, FUNCTIONS) and node.name == name)
    return found


def stepped(run: Observed, nth: int = 0) -> bool | None:
    """Whether the text steps the `nth` optimizer of the run."""
    made = sorted(run.trace.optimizers.values(), key=lambda optimizer: optimizer.id)[nth].site
    return called_in_source(run.trace, made, "step")


@pytest.mark.parametrize(
    ("after", "answer"),
    [
        ("model(torch.ones(1, 2)).sum().backward()", False),
        ("if False:\n    opt.step()", True),
        ("stepper = opt.step", False),
        ("others = [opt]", None),
        ("def later(opt):\n    pass\nlater(opt)", None),
        ("torch.optim.lr_scheduler.StepLR(opt, 1)", False),
        ("other = nn.Linear(1, 1)\nopt.zero_grad()", False),
    ],
)
def test_whether_the_text_steps_an_optimizer(after: str, answer: bool | None, tmp_path: Path) -> None:
    """None where it is handed on to who may: a schedule does not step it."""
    run = written(tmp_path, f"{MODEL}opt = torch.optim.SGD(model.parameters(), lr=0.1)\n{after}\n")
    assert stepped(run) is answer
    assert may_step(run.trace, run.trace.optimizers) is (answer is not False)


def test_an_attribute_is_known_by_its_last_name_wherever_it_is_called(tmp_path: Path) -> None:
    run = written(
        tmp_path,
        """
        class Trainer:
            def __init__(self):
                self.model = nn.Linear(2, 1)
                self.opt = torch.optim.SGD(self.model.parameters(), lr=0.1)
                self.idle = torch.optim.SGD(self.model.parameters(), lr=0.1)

        def train(trainer):
            trainer.model(torch.ones(1, 2)).sum().backward()
            trainer.opt.step()

        train(Trainer())
        """,
    )
    assert [stepped(run, 0), stepped(run, 1)] == [True, False]
    assert called_in_source(run.trace, None, "step") is None


def test_a_local_name_of_another_function_is_another_thing(tmp_path: Path) -> None:
    run = written(
        tmp_path,
        """
        def one():
            model = nn.Linear(2, 1)
            opt = torch.optim.SGD(model.parameters(), lr=0.1)
            model(torch.ones(1, 2)).sum().backward()

        def two(opt):
            opt.step()

        one()
        """,
    )
    assert stepped(run) is False


def test_calls_are_found_by_the_method_whether_they_ran_or_not(tmp_path: Path) -> None:
    run = written(
        tmp_path,
        """
        a = torch.ones(1, requires_grad=True)
        (a * 2).backward()
        if False:
            a.backward()
        backward = 1
        """,
    )
    assert list(calls_in_source(run.trace, "backward")) == [
        (run.path, run.line("(a * 2).backward()")),
        (run.path, run.line("    a.backward()")),
    ]


NAMED = """
def train(opt, loss):
    loss.backward
    opt.step()
    opt.zero_grad

def never(opt):
    opt.zero_grad

a = torch.ones(1, requires_grad=True)
opt = torch.optim.SGD([a], lr=0.1)
train(opt, a * 2)
step = opt.step
"""


def test_a_method_that_is_only_named_is_told_where_its_function_ran(tmp_path: Path) -> None:
    run = written(tmp_path, NAMED)
    found = list(uncalled(run.trace, {"backward", "zero_grad", "step"}))
    assert {(where, ast.unparse(node)) for _, where, node in found} == {
        ("train", "loss.backward"),
        ("train", "opt.zero_grad"),
    }
    site = not_called(run.trace, "zero_grad")
    assert site is not None and (site.line, run.text(site)) == (run.line("opt.zero_grad"), "opt.zero_grad")
    assert not_called(run.trace, "step") is None, "it is kept under a name"
    (edit,) = parentheses(site)
    line = run.trace.lines(run.path)[edit.line - 1]
    assert line[: edit.column - 1] + edit.text + line[edit.end_column - 1 :] == "    opt.zero_grad()"
    assert named_subject(site) == ("named", (run.path, site.line))


def test_only_functions_that_ran_are_looked_through(tmp_path: Path) -> None:
    run = written(tmp_path, NAMED)
    ran = {(where, ast.unparse(node)) for _, where, node in nodes_that_ran(run.trace, ast.Attribute)}
    everything = {
        (where, ast.unparse(node)) for _, where, node in nodes_of_functions(run.trace, ast.Attribute)
    }
    assert ("never", "opt.zero_grad") in everything - ran
    assert ("train", "opt.zero_grad") in ran
    assert any(
        isinstance(node, ast.FunctionDef) and node.name == "never" for node in nodes_of_program(run.trace)
    )
    assert has_run(run.trace, run.path, function(run, "train"))
    assert not has_run(run.trace, run.path, function(run, "never"))


def test_a_function_whose_def_line_alone_was_reached_has_not_run(tmp_path: Path) -> None:
    """A default that is a tensor is made where the function is defined."""
    run = written(
        tmp_path,
        """
        def late(x=torch.ones(1)):
            y = x * 2
            return y

        z = torch.ones(1) + 1
        """,
    )
    late = function(run, "late")
    assert ran_in(run.trace, run.path, late.lineno, None)
    assert not has_run(run.trace, run.path, late)
    assert ran_in(run.trace, run.path, run.line("z ="), run.line("z ="))
    assert not ran_in(run.trace, "elsewhere.py", 1, 100)


def test_a_place_made_of_syntax_is_that_of_the_text(tmp_path: Path) -> None:
    run = written(tmp_path, "class Net:\n    def train(self, x):\n        return self.train\n")
    node = next(n for n in run.file.nodes if isinstance(n, ast.Attribute) and n.attr == "train")
    assert run.text(site_of(run.path, "train", node)) == "self.train"
    head = head_of(run.path, function(run, "train"))
    line = run.trace.lines(run.path)[head.line - 1]
    assert line[head.column - 1 : head.end_column - 1] == "def train"


def test_a_name_is_mentioned_where_it_stands_alone_or_as_an_attribute(tmp_path: Path) -> None:
    run = written(
        tmp_path, "class A:\n    step = 1\n\ndef f(rate):\n    return A.rate + rate\n\nx = 'rate'\n"
    )
    places = [(ast.unparse(node), node.lineno) for _, node in mentions(run.trace, "rate")]
    assert sorted(places) == [("A.rate", run.line("return")), ("rate", run.line("return"))]


def test_the_nodes_of_a_function_are_not_those_of_the_functions_in_it() -> None:
    tree = ast.parse(
        "def f():\n    a = 1\n    def g():\n        b = 2\n    c = lambda: d\n    e = [x for x in y]\n"
    )
    names = {node.id for node in own_nodes(tree.body[0]) if isinstance(node, ast.Name)}
    assert names == {"a", "c", "e", "x", "y"}


def test_a_call_runs_in_a_loop_also_by_the_functions_that_it_calls(tmp_path: Path) -> None:
    run = written(
        tmp_path,
        """
        def inner(x):
            return x.exp()

        def outer(x):
            for i in range(2):
                x = inner(x)
            y = [inner(x * 3) for _ in range(2)]
            return inner(x + 1) + y[0]

        a = torch.ones(1, requires_grad=True)
        outer(a).backward()
        """,
    )
    loop = run.site("for i in range(2):\n        x = inner(x)")
    comprehension = run.site("[inner(x * 3) for _ in range(2)]")
    exponentials = [op.site for op in run.ops("x.exp()")]
    assert [runs_in(run.trace, site, loop) for site in exponentials] == [True, True, False, False, False]
    assert [runs_in(run.trace, site, comprehension) for site in exponentials] == [
        False,
        False,
        True,
        True,
        False,
    ]
    assert not runs_in(run.trace, exponentials[0], run.site("a = torch.ones(1, requires_grad=True)"))
