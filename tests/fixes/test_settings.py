"""Where the number of a setting is written, and that no other number of the program is changed for it."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest
from edited import Program, read, run

import gradscope
from gradscope.fixes.settings import elsewhere, with_setting, written
from gradscope.session import Session

CALL = "make(net, lr={})"
OPTIONS = "import argparse\nA = argparse.ArgumentParser()\n"


@pytest.mark.parametrize(
    ("given", "wanted"),
    [("make(net, lr=0.1)", "make(net, lr=0.5)"), ("make(net, 0.1)", "make(net, 0.5)"),
     ("make(net)", "make(net, lr=0.5)"), ("make(net, True)", "make(net, 0.5)")],
)  # fmt: skip
def test_a_number_at_the_call_is_changed_there(given: str, wanted: str, tmp_path: Path) -> None:
    program = read(tmp_path, f"def f(make, net):\n    return {given}  # lr=0.1\n")
    site = program.site(given)
    edits = with_setting(program.trace, site, "lr", "0.5", 1)
    assert program.after(edits).endswith(f"    return {wanted}  # lr=0.1\n")
    assert elsewhere(site, edits) == ""


@pytest.mark.parametrize(
    ("before", "given"),
    [
        ("RATE = 0.1\n", "RATE"),
        ("RATE: float = 0.1\n", "RATE"),
        ("class Config:\n    lr = 0.1\n", "Config.lr"),
        ("class Config:\n    def __init__(self):\n        self.lr = 0.1\n", "config.lr"),
        ("C = {'n': 3, 'lr': 0.1}\n", "C['lr']"),
        ("C = dict(lr=0.1)\n", "C['lr']"),
        ("C = {}\nC['lr'] = 0.1\n", "C['lr']"),
        (OPTIONS + "A.add_argument('-r', '--lr', type=float, default=0.1)\n", "A.lr"),
        (OPTIONS + "A.add_argument('--rate', dest='lr', default=0.1)\n", "A.lr"),
        (OPTIONS + "A.add_argument('--l-r', default=0.1)\n", "A.l_r"),
    ],
)  # fmt: skip
def test_a_number_that_the_file_gives_once_is_changed_where_it_stands(
    before: str, given: str, tmp_path: Path
) -> None:
    program = read(tmp_path, f"{before}def f(make, net, config):\n    return {CALL.format(given)}\n")
    site = program.site(CALL.format(given))
    edits = with_setting(program.trace, site, "lr", "0.5", 1)
    assert program.after(edits) == program.text.replace("0.1", "0.5")
    line = program.text[: program.text.index("0.1")].count("\n") + 1
    assert elsewhere(site, edits).endswith(f".py:{line}")


@pytest.mark.parametrize(
    "text",
    [
        "def g(net, lr=0.1):\n    return make(net, lr=lr)\ng(1)\n",
        "def g(net, *, lr=0.1):\n    return make(net, lr=lr)\ng(1)\n",
        "def g(net, lr):\n    return make(net, lr=lr)\ng(1, 0.1)\n",
        "def g(net, lr=3):\n    return make(net, lr=lr)\ng(1, lr=0.1)\n",
        "class A:\n    def __init__(self, net, lr=3):\n        make(net, lr=lr)\nA(1, 0.1)\n",
        "class A:\n    def g(self, net, lr):\n        make(net, lr=lr)\nA().g(1, 0.1)\n",
    ],
)
def test_a_number_that_a_function_is_given_is_changed_at_its_call_or_default(
    text: str, tmp_path: Path
) -> None:
    program = read(tmp_path, f"make = dict\n{text.replace('make(net, ', 'make(a=net, ')}")
    edits = with_setting(program.trace, program.site("make(a=net, lr=lr)"), "lr", "0.5")
    assert program.after(edits) == program.text.replace("0.1", "0.5")


@pytest.mark.parametrize(
    ("before", "given"),
    [
        ("lr = 0.1\nlr = 0.2\n", "lr"),
        ("lr = 0.1\nlr *= 0.5\n", "lr"),
        ("lr = 0.1 * 3\n", "lr"),
        ("lr, epochs = 0.1, 3\nlr *= 0.5\n", "lr"),
        ("lr = 0.1\nfor lr in (0.01, 0.2):\n    pass\n", "lr"),
        ("lr = 0.1\n[lr, n] = 1, 2\n", "lr"),
        ("lr = 0.1\nprint(lr := 3)\n", "lr"),
        ("lr = 0.1\nwith torch.no_grad() as lr:\n    pass\n", "lr"),
        ("class A:\n    lr = 0.1\nA.lr, n = 0.2, 1\n", "A.lr"),
        ("class A:\n    lr, n = 0.1, 3\nA.lr /= 4\n", "A.lr"),
        ("C = {'lr': 0.1}\nC['lr'], n = 0.2, 1\n", "C['lr']"),
        ("C = dict([('lr', 1)])\nC['lr'] *= 0.5\n", "C['lr']"),
        ("lr = '0.1'\n", "lr"),
        ("lr = True\n", "lr"),
        ("C = {'lr': 0.1}\nC['lr'] = 0.2\n", "C['lr']"),
        ("class A:\n    lr = 0.1\nA.lr = 0.2\n", "A.lr"),
        ("", "lr"),
        ("", "a[b]"),
        ("", "float('0.1')"),
    ],
)
def test_a_number_that_is_given_twice_or_computed_stays(before: str, given: str, tmp_path: Path) -> None:
    program = read(tmp_path, f"{before}def f(make, net, a, b):\n    return {CALL.format(given)}\n")
    site = program.site(CALL.format(given))
    assert with_setting(program.trace, site, "lr", "0.5", 1) == ()
    assert written(program.trace, program.file, program.node(given)) is None


def test_a_default_that_some_call_leaves_and_another_does_not_stays(tmp_path: Path) -> None:
    program = read(
        tmp_path,
        "def g(make, lr=0.1):\n    return make(1, lr=lr)\ng(lambda n, lr: n)\ng(lambda n, lr: n, lr=0.2)\n",
    )
    assert with_setting(program.trace, program.site("make(1, lr=lr)"), "lr", "0.5") == ()


@pytest.mark.parametrize(
    "text",
    [
        "def g(make, lr=0.1):\n    lr *= 0.5\n    return make(1, lr=lr)\n",
        "def g(make, lr=0.1):\n    for lr in (1, 2):\n        make(1, lr=lr)\n",
        "lr = 0.1\ndef g(make, lr):\n    def h():\n        make(1, lr=lr)\n",
        "lr = 0.1\ng = lambda make, lr: make(1, lr=lr)\n",
    ],
)
def test_a_number_that_is_not_what_the_function_gets_stays(text: str, tmp_path: Path) -> None:
    program = read(tmp_path, text)
    assert with_setting(program.trace, program.site("make(1, lr=lr)"), "lr", "0.5") == ()


def test_a_variable_of_another_function_makes_no_difference_to_an_argument(tmp_path: Path) -> None:
    program = read(tmp_path, "def g(make, lr=0.1):\n    return make(1, lr=lr)\ndef h():\n    lr = 3\n")
    edits = with_setting(program.trace, program.site("make(1, lr=lr)"), "lr", "0.5")
    assert program.after(edits) == program.text.replace("0.1", "0.5")


@pytest.mark.parametrize("given", [["--lr=0.2"], ["--lr", "0.2"], ["--l", "0.2"], []])
def test_a_default_that_the_command_line_replaces_stays(given: list[str], tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        "import argparse\nimport torch\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--lr', type=float, default=0.1)\n"
        f"args = parser.parse_args({given})\ntorch.ones(1)\nn = dict(lr=args.lr)\n"
    )
    session = Session(
        ["train.py", *given], tmp_path / "run.gradscope"
    )  # as `gradscope run train.py …` has it
    session.start(sys._getframe())
    run(path.read_text(), str(path))
    session.stop()
    program = Program(gradscope.open(session.path), str(path))
    edits = with_setting(program.trace, program.site("dict(lr=args.lr)"), "lr", "0.5")
    assert [edit.text for edit in edits] == ([] if given else ["0.5"])
    assert given or program.after(edits) == program.text.replace("0.1", "0.5")


@pytest.mark.parametrize("given", [["--rate", "0.2"], ["-r0.2"], []])
def test_a_default_that_the_command_line_replaces_stays_where_the_program_watches_itself(
    given: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        "import argparse\nimport gradscope\nimport torch\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('-r', '--rate', type=float, default=0.1)\n"
        "with gradscope.watch() as scope:\n    args = parser.parse_args()\n    torch.ones(1)\n"
        "    n = dict(lr=args.rate)\n"
    )
    monkeypatch.setattr("sys.argv", ["train.py", *given])
    program = Program(runpy.run_path(str(path), run_name="__main__")["scope"].trace, str(path))
    edits = with_setting(program.trace, program.site("dict(lr=args.rate)"), "lr", "0.5")
    assert [edit.text for edit in edits] == ([] if given else ["0.5"])


def test_nothing_is_changed_where_no_call_stands(tmp_path: Path) -> None:
    program = read(tmp_path, "x = 1\n")
    assert with_setting(program.trace, program.site("1", 1), "lr", "0.5") == ()
    assert with_setting(program.trace, None, "lr", "0.5") == ()
    assert elsewhere(None, ()) == elsewhere(program.site("1"), ()) == ""
