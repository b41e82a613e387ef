"""Which names, comments and lines count as what was meant, and which alike do not."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import torch
from observed import Observed, written
from torch import nn

import gradscope
from gradscope.analysis.intent import (
    milder,
    says_dropped,
    says_fixed_divisor,
    says_head_of_loaded,
    says_residual,
    says_scaled_by_size,
    says_stop,
    says_unfreeze,
    says_unused,
    skipped_by_name,
)
from gradscope.events import Flipped
from gradscope.model import Finding, Site


def test_what_was_said_makes_a_note_and_is_seen_and_silence_changes_nothing() -> None:
    finding = Finding("it is so", severity="error", seen=("5 passes",))
    assert milder(finding, "") is finding
    told = milder(finding, "its name says so")
    assert (told.severity, told.seen, told.message) == ("note", ("5 passes", "its name says so"), "it is so")


@pytest.mark.parametrize(
    ("path", "function", "said"),
    [
        ("train.py", "residual_gradient", "function"),
        ("train.py", "BellmanResidual.loss", "function"),
        ("agents/residual.py", "loss", "file"),
        ("residual/train.py", "loss", ""),
        ("train.py", "loss", ""),
        ("train.py", "resid", ""),
    ],
)
def test_a_residual_is_meant_where_the_function_or_its_file_is_called_so(
    path: str, function: str, said: str
) -> None:
    found = says_residual(Site(1, path, 1, 1, 1, 1, function, "user"))
    assert found.startswith(f"the {said} is called") if said else not found


FUNCTION = """
class {name}(torch.autograd.Function):
    {first}
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        {comment}
        return None

{name}.apply(torch.ones(1, requires_grad=True)).sum().backward()
"""


@pytest.mark.parametrize(
    ("name", "first", "comment", "said"),
    [
        ("StopGradient", "", "", "its name, `StopGradient`"),
        ("GradBlock", "", "", "its name, `GradBlock`"),
        ("Scale", "", "# we block the gradient here", "we block the gradient here"),
        ("Scale", "# detach what comes back", "", "detach what comes back"),
        ("Scale", "", "# no grad to pass on", "no grad to pass on"),
        ("Scale", "", "# the gradient of the scale", ""),
        ("Scale", "stop = 1", "", ""),
    ],
)
def test_a_function_is_to_stop_the_gradient_by_its_name_or_a_comment(
    name: str, first: str, comment: str, said: str, tmp_path: Path
) -> None:
    """A comment counts, a name of something else does not."""
    run = written(tmp_path, FUNCTION.format(name=name, first=first or "pass", comment=comment or "pass"))
    definition = _class(run)
    found = says_stop(run.trace, name, definition)
    assert said in found and bool(said) == bool(found)
    if comment and said:
        assert f"line {run.line(comment)} " in found
    assert bool(says_stop(run.trace, name, None)) == ("its name" in said)


def _class(run: Observed) -> Site:
    (node,) = (node for node in run.file.nodes if isinstance(node, ast.ClassDef))
    return Site(-1, run.path, *run.file.span(node), "", "user")


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("# divide by the maximum length for all", True),
        ("# fixed denominator", True),
        ("# Dr. GRPO", True),
        ("# a constant normalizer", True),
        ("# mean over tokens", False),
        ("# fixed seed", False),
        ("# divide by the number of tokens", False),
        ("fixed_length = 1", False),
    ],
)
def test_a_fixed_divisor_is_meant_where_a_comment_beside_it_says_so(
    line: str, meant: bool, tmp_path: Path
) -> None:
    text = "x = torch.ones(4, requires_grad=True)\n{}\nloss = (x * x).sum() / 4\nloss.backward()\n"
    run = written(tmp_path, text.format(line))
    found = says_fixed_divisor(run.trace, run.op("(x * x).sum() / 4").site)
    assert bool(found) == meant
    if meant:
        assert found.startswith(f"the comment in line {run.line(line)} ") and line.strip("# ") in found


def test_a_comment_far_above_or_below_speaks_of_something_else(tmp_path: Path) -> None:
    far = "# fixed denominator\na = 1\nb = 2\nc = 3\n"
    body = "x = torch.ones(4, requires_grad=True)\nloss = (x * x).sum() / 4\n"
    for text in (far + body, body + "# fixed denominator\n"):
        run = written(tmp_path, text)
        assert not says_fixed_divisor(run.trace, run.op("(x * x).sum() / 4").site)
    run = written(tmp_path, body.replace("/ 4", "/ 4  # fixed denominator"))
    assert says_fixed_divisor(run.trace, run.op("(x * x).sum() / 4").site)


@pytest.mark.parametrize(
    ("statement", "meant"),
    [
        ("_ = a * 2", True),
        ("_unused = a * 2", True),
        ("unused_ = a * 2", False),
        ("a * 2", False),
        ("_, b = a * 2, 1", False),
    ],
)
def test_a_result_is_dropped_on_purpose_where_its_name_begins_so(
    statement: str, meant: bool, tmp_path: Path
) -> None:
    run = written(tmp_path, f"a = torch.ones(1, requires_grad=True)\n{statement}\n")
    assert bool(says_dropped(run.trace, run.op("a * 2").site.user)) == meant


def test_an_argument_is_unused_on_purpose_by_its_first_letter() -> None:
    assert [says_unused(name) for name in ("_x", "__x", "x", "x_", "unused")] == [
        True,
        True,
        False,
        False,
        False,
    ]


UNFREEZE = """
model = nn.Linear(2, 1)
for p in model.parameters():
    p.requires_grad = False
epoch = 0

def unfreeze(model):
    pass

def work():
    if epoch > 5:
        {}
work()
"""


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("model.requires_grad_()", True),
        ("model.requires_grad_(True)", True),
        ("model.weight.requires_grad = True", True),
        ("unfreeze(model)", True),
        ("model.requires_grad_(False)", False),
        ("model.requires_grad_(requires_grad=False)", False),
        ("model.weight.requires_grad = False", False),
        ("x = model.weight.requires_grad", False),
        ("freeze = 1", False),
    ],
)
def test_a_line_that_the_run_has_not_come_to_may_ask_for_gradients_again(
    line: str, meant: bool, tmp_path: Path
) -> None:
    run = written(tmp_path, UNFREEZE.format(line))
    found = says_unfreeze(run.trace)
    assert bool(found) == meant
    if meant:
        assert f":{run.line('        ' + line)} would make" in found


def test_a_line_that_has_run_is_no_promise(tmp_path: Path) -> None:
    run = written(tmp_path, "w = torch.ones(1)\nw.requires_grad_()\n(w * 2).backward()\n")
    assert not says_unfreeze(run.trace)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("x.mean() * x.size(0)", "x.size(0)"),
        ("x.mean() * x.shape[0]", "x.shape[0]"),
        ("x.mean() * len(x)", "len(x)"),
        ("x.mean() * num_classes", "num_classes"),
        ("x.mean() * 4", ""),
        ("x.mean() * factor", ""),
    ],
)
def test_a_mean_is_scaled_by_a_size_where_the_text_says_so(text: str, size: str, tmp_path: Path) -> None:
    run = written(
        tmp_path,
        f"num_classes = factor = 4\nx = torch.ones(4, requires_grad=True)\nloss = {text}\nloss.backward()\n",
    )
    found = says_scaled_by_size(run.trace, [run.op(text).site.user])
    assert (f"`{size}`" in found) if size else not found
    assert not says_scaled_by_size(run.trace, []), "nothing is asked of other lines"


NAMES = """
model = nn.ModuleDict({"body": nn.Linear(2, 2), "head": nn.Linear(2, 1)})
"""


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('kept = [p for n, p in model.named_parameters() if "head" not in n]', True),
        ('for n, p in model.named_parameters():\n    if "head" in n:\n        continue', True),
        ('kept = [p for n, p in model.named_parameters() if "head" in n]', False),
        ('for n, p in model.named_parameters():\n    if "head" not in n:\n        continue', False),
        ('for n, p in model.named_parameters():\n    if "head" in n:\n        print(n)', False),
        ('kept = [p for n, p in model.named_parameters() if "" not in n]', False),
        ('# leave out "head"', False),
    ],
)
def test_names_that_the_program_tests_in_order_to_leave_them_out(
    text: str, meant: bool, tmp_path: Path
) -> None:
    run = written(tmp_path, NAMES + text + "\n")
    found = skipped_by_name(run.trace, ["head.weight", "head.bias"])
    assert bool(found) == meant
    if meant:
        assert f'`"head"` (line {run.line(chr(34) + "head" + chr(34), 1)})' in found
    assert not skipped_by_name(run.trace, ["head.weight", "body.weight"]), "one of them is not left out so"
    assert not skipped_by_name(run.trace, [])


def test_a_line_that_ran_while_nobody_looked_is_no_promise() -> None:
    with gradscope.watch() as scope:
        body, head = nn.Linear(3, 8), nn.Linear(8, 1)
        body.requires_grad_(False)
        opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
        for step in range(120):
            if step == 70:
                body.weight.requires_grad = True
            opt.zero_grad()
            head(body(torch.randn(8, 3))).pow(2).mean().backward()
            opt.step()
    assert any(event.to for event in scope.trace.of(Flipped))
    assert not says_unfreeze(scope.trace)


HEAD = """
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
{load}
optimizer = torch.optim.SGD(model[2].parameters(), lr=0.1)
for _ in range(5):
    optimizer.zero_grad()
    model(torch.randn(8, 4)).pow(2).mean().backward()
    optimizer.step()
"""


@pytest.mark.parametrize("loaded", [True, False])
def test_a_head_of_a_loaded_model_may_be_trained_alone(loaded: bool, tmp_path: Path) -> None:
    load = (
        "model.load_state_dict({k: v + 1 for k, v in model.state_dict().items()})"
        if loaded
        else "model.train()"
    )
    run = written(tmp_path, HEAD.format(load=load))
    (optimizer,) = run.trace.optimizers.values()
    said = says_head_of_loaded(run.trace, optimizer.site)
    assert bool(said) == loaded
    if loaded:
        assert f"(line {run.line('load_state_dict')})" in said
    assert not says_head_of_loaded(run.trace, None)
