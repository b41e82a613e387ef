"""Settings that a program hands over and nothing reads."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from observed import Observed, written

from gradscope.analysis.unread_settings import handed_over, unread_arguments, unread_attributes
from gradscope.rules import all_rules
from gradscope.source import FUNCTIONS, Function

ARGUMENT = """
{extra}
def scale(x, by{default}):
    {first}
    return x * {used}

rate = 3
y = scale(torch.ones(1, requires_grad=True), {given})
y.sum().backward()
"""


def argument(folder: Path, **parts: str) -> Observed:
    filled = {"extra": "", "default": "", "first": "pass", "used": "2", "given": "rate"} | parts
    return written(folder, ARGUMENT.format(**filled))


def unread(run: Observed) -> list[str]:
    return [found.name for found in unread_arguments(run.trace)]


def test_what_a_function_has_to_accept_from_a_mapping_is_no_mistake(tmp_path: Path) -> None:
    check = all_rules()["GS786"].check
    assert len(list(check(argument(tmp_path).trace))) == 1
    unpacked = argument(tmp_path, given="rate) + scale(**dict(x=torch.ones(1), by=rate)")
    assert [found.unpacked for found in unread_arguments(unpacked.trace)] == [True]
    assert not list(check(unpacked.trace))


def test_an_argument_that_nothing_reads_is_told_with_the_call_that_hands_it_over(tmp_path: Path) -> None:
    run = argument(tmp_path)
    (found,) = unread_arguments(run.trace)
    assert (found.name, found.function.name, found.own, found.overwritten) == ("by", "scale", (), None)
    assert found.given.line == run.line("scale(torch.ones")
    assert found.argument.lineno == run.line("def scale")


@pytest.mark.parametrize(
    "parts",
    [
        {"used": "by"},
        {"first": "print(by)"},
        {"first": "inner = lambda: by"},
        {"first": "kept = locals()"},
        {"first": "del by"},
        {"given": "3"},
        {"given": "None"},
        {"extra": "import functools\n@functools.lru_cache\ndef other():\n    pass", "given": "*[rate]"},
        {"default": "=1", "given": "**{'by': rate}"},
        {"extra": "class Other:\n    def scale(self, x, by):\n        return by"},
    ],
    ids=lambda parts: " ".join(parts.values()).replace("\n", " "),
)
def test_an_argument_that_is_read_or_may_be_is_silent(parts: dict[str, str], tmp_path: Path) -> None:
    """So is one that gets a constant, and a function of a name that another one has."""
    assert not unread(argument(tmp_path, **parts))


def test_an_argument_whose_name_says_that_it_is_unused_is_silent(tmp_path: Path) -> None:
    text = "def scale(x, {name}):\n    return x * 2\n"
    text += "rate = 3\nscale(torch.ones(1, requires_grad=True), rate).backward()\n"
    assert not unread(written(tmp_path, text.format(name="_by")))
    assert unread(written(tmp_path, text.format(name="by"))) == ["by"]


PARTS = """
class Cnn:
    def encode(self, x, lengths):
        return x * 2
class Rnn:
    def hidden(self, x, lengths):
        return x[:lengths]
class Words:
    def __init__(self, kind):
        if kind == "cnn":
            self.part = Cnn()
        else:
            self.part = {other}()
    def __call__(self, x, lengths):
        return self.part.encode(x, lengths)
lengths = 3
Words("cnn")(torch.ones(1, requires_grad=True), lengths).sum().backward()
"""


def test_a_part_that_may_be_of_another_class_is_called_as_that_one_is(tmp_path: Path) -> None:
    assert not unread(written(tmp_path, PARTS.format(other="Rnn")))
    assert unread(written(tmp_path, PARTS.format(other="Cnn"))) == ["lengths"]


def test_a_function_that_did_not_run_is_silent(tmp_path: Path) -> None:
    text = "def scale(x, by):\n    return x * 2\nrate = 3\nif {}:\n    scale(torch.ones(1), rate)\n"
    assert not unread(written(tmp_path, text.format("rate == 4")))
    assert unread(written(tmp_path, text.format("rate == 3"))) == ["by"]


def test_an_argument_that_is_given_another_value_first_is_told_with_that_statement(tmp_path: Path) -> None:
    run = argument(tmp_path, first="by = 5", used="by")
    (found,) = unread_arguments(run.trace)
    assert found.overwritten is not None and found.overwritten.lineno == run.line("by = 5")
    assert not unread(argument(tmp_path, first="by = by or 5", used="by"))
    assert not unread(argument(tmp_path, first="if x is None:\n        by = 5", used="by"))


def test_a_method_that_reads_the_attribute_of_that_name_instead_is_told(tmp_path: Path) -> None:
    text = """
    class Agent:
        def __init__(self):
            self.tau = 0.5

        def blend(self, x, tau=None):
            {}
            return x * {}

    agent = Agent()
    agent.blend(torch.ones(1, requires_grad=True), {}).backward()
    """
    run = written(tmp_path, text.format("pass", "self.tau", "tau=0.1"))
    (found,) = unread_arguments(run.trace)
    assert (found.name, [node.lineno for node in found.own]) == ("tau", [run.line("self.tau", 1)])
    assert unread(
        written(tmp_path, text.format("tau = self.tau if tau is None else tau", "self.tau", "0.1"))
    ) == ["tau"]
    assert not unread(written(tmp_path, text.format("tau = self.tau if tau is None else tau", "tau", "0.1")))
    assert not unread(written(tmp_path, text.format("pass", "self.tau", "None")))


MODEL = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x, mask=None):
        return self.layer({})

model, mask = Net(), torch.ones(2, 3)
model(torch.ones(2, 3), {}).sum().backward()
"""


@pytest.mark.parametrize(
    ("used", "given", "told"),
    [("x", "mask", True), ("x", "mask=mask", True), ("x * mask", "mask", False), ("x", "None", False)],
)
def test_what_forward_never_reads_is_told_where_the_model_is_called_with_it(
    used: str, given: str, told: bool, tmp_path: Path
) -> None:
    assert unread(written(tmp_path, MODEL.format(used, given))) == (["mask"] if told else [])


def test_the_call_that_hands_more_than_a_constant_over_is_found(tmp_path: Path) -> None:
    def function(run: Observed, name: str) -> Function:
        return next(node for node in run.file.nodes if isinstance(node, FUNCTIONS) and node.name == name)

    run = argument(tmp_path, used="by")
    found = handed_over(run.trace, run.path, function(run, "scale"), "by")
    assert found is not None and found.line == run.line("scale(torch.ones")
    assert handed_over(run.trace, run.path, function(run, "scale"), "other") is None
    run = argument(tmp_path, used="by", given="3")
    assert handed_over(run.trace, run.path, function(run, "scale"), "by") is None
    run = written(tmp_path, MODEL.format("x * mask", "mask"))
    found = handed_over(run.trace, run.path, function(run, "forward"), "mask")
    assert found is not None and found.line == run.line("model(torch.ones")


ATTRIBUTE = """
class Net(nn.Module):
    def __init__(self, slope=0.2):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        {kept}

    def forward(self, x):
        return F.leaky_relu(self.layer(x), {used})

model = Net({given})
model(torch.ones(2, 3)).sum().backward()
"""


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({}, True),
        ({"given": "slope=0.5"}, True),
        ({"given": ""}, False),
        ({"given": "0.2"}, False),
        ({"used": "self.slope"}, False),
        ({"used": "0.3"}, False),
        ({"used": "getattr(self, 'slope')"}, False),
        ({"kept": "self.slope = slope * 2"}, False),
        ({"kept": "self.slope = slope; print(slope)"}, False),
        ({"used": "0.2 if x is not None else 0.2"}, False),
    ],
    ids=[
        "position",
        "name",
        "not given",
        "the default",
        "read",
        "another",
        "by its text",
        "changed",
        "used",
        "twice",
    ],
)
def test_an_attribute_whose_default_is_written_into_a_method(
    parts: dict[str, str], told: bool, tmp_path: Path
) -> None:
    filled = {"kept": "self.slope = slope", "used": "0.2", "given": "0.5"} | parts
    run = written(tmp_path, ATTRIBUTE.format(**filled))
    found = list(unread_attributes(run.trace))
    assert bool(found) == told
    for one in found:
        assert (one.name, one.constant.value, one.constant.lineno) == ("slope", 0.2, run.line("leaky_relu"))
        assert one.made.line == run.line("model = Net(")


@pytest.mark.parametrize(
    ("how", "names"), [("import one", ["extra"]), ("one = importlib.import_module('one')", [])]
)
def test_what_is_chosen_by_its_name_may_leave_what_others_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, names: list[str]
) -> None:
    (tmp_path / "one.py").write_text(
        "from torch import nn\n\nclass Loss(nn.Module):\n"
        "    def forward(self, out, y, extra):\n        return (out - y).pow(2).mean()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "one", raising=False)
    run = written(
        tmp_path,
        f"import importlib\n{how}\ncriterion, net = one.Loss(), torch.nn.Linear(2, 1)\nx = torch.ones(3, 2)\n"
        "extra = x * 2\nfor _ in range(2):\n    criterion(net(x), x[:, :1], extra).backward()\n",
    )
    assert unread(run) == names
