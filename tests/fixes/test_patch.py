"""`gradscope check --diff`: each patch mends its program, and the program still runs."""

from __future__ import annotations

import ast
import importlib
import inspect
import random
import runpy
import subprocess
from pathlib import Path

import pytest
import torch
from rule_programs import Program, programs

import gradscope
from gradscope.check import Report, examine
from gradscope.config import Config
from gradscope.events import ModuleCall
from gradscope.fixes.patch import patched as patched_files
from gradscope.model import Edit, Finding
from gradscope.render.diff import render
from gradscope.rules import Rule, all_rules


def patching() -> list[Rule]:
    """The rules that make edits; of those that compare ranks tests/ranks tries them."""
    return [
        rule
        for rule in all_rules().values()
        if rule.across is None
        and "edits="
        in inspect.getsource(importlib.import_module(rule.module))  # told by the file, not by a list
    ]


def patched() -> list[object]:
    """Their programs."""
    codes = {rule.code for rule in patching()}
    return [pytest.param(p, id=p.id) for p in programs("bad") if p.rule.code in codes and not p.needs_cuda]


def run(script: Path, *, stops: bool = False) -> Report:
    """What is found in a run of the program, which may end in torch's own error where it `stops`."""
    random.seed(0)
    with gradscope.watch() as scope:
        try:
            runpy.run_path(str(script))
        except (RuntimeError, TypeError, ValueError, AttributeError, AssertionError):
            if not stops:
                raise
    off = tuple(code for code, rule in all_rules().items() if not rule.default)
    return examine(scope.trace, Config(extend_select=off))


def doubled(text: str) -> list[str]:
    """Calls that stand twice in a row, or at the end and at the beginning of a loop."""
    found = []
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            after = [
                *body[1:],
                *(body[:1] if isinstance(node, (ast.For, ast.While)) and len(body) > 1 else []),
            ]
            pairs = zip(body, after, strict=False)
            found += [
                ast.unparse(a) for a, b in pairs if isinstance(a, ast.Expr) and ast.dump(a) == ast.dump(b)
            ]
    return found


def apply(patch: str, folder: Path) -> None:
    (folder / "fix.patch").write_text(patch)
    command = ["patch", "-p0", "-i", "fix.patch"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.drawn(0.04)
@pytest.mark.parametrize("bad", patched())
def test_patch_mends_the_program(bad: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code = bad.rule.code
    script = tmp_path / f"train_{bad.id.replace('-', '_')}.py"  # Python keeps the text of a file by its name
    script.write_text(bad.script)
    grad = torch.is_grad_enabled()
    report = run(script, stops=True)
    torch.set_grad_enabled(grad)
    own = [f for f in report.findings if f.code == code]
    assert own
    assert all(f.edits for f in own) != bad.by_hand, [f.fix for f in own]
    if bad.by_hand:
        return
    for _ in range(2):  # a model put into eval mode may show that its evaluation builds graphs
        if patch := render(report):
            before = doubled(script.read_text())
            apply(patch, tmp_path)
            assert doubled(script.read_text()) == before, patch
            script = script.rename(script.with_stem(script.stem + "_"))
            report = run(script)
            (tmp_path / f"{script.stem[:-1]}.py").write_text(script.read_text())
        assert code not in {f.code for f in report.findings}, script.read_text()
    assert not [f for f in report.findings if f.severity != "note"], script.read_text()


@pytest.mark.drawn(0.2)
@pytest.mark.parametrize("bad", programs("bad", "GS403"), ids=lambda program: program.name)
def test_a_program_put_into_train_mode_goes_on_evaluating_in_eval_mode(
    bad: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    script = tmp_path / f"train_{bad.name}.py"
    script.write_text(bad.script)
    if patch := render(run(script)):
        apply(patch, tmp_path)
        script = script.rename(script.with_stem(script.stem + "_"))
        with gradscope.watch() as scope:
            runpy.run_path(str(script))
        for event in scope.trace.of(ModuleCall):
            wrong = event.data["eval_layers"] if event.data["grad"] else event.data["train_layers"]
            assert not wrong, script.read_text()


@pytest.mark.parametrize("unit", ["\t", "  "], ids=["tabs", "two blanks"])
@pytest.mark.parametrize("code", ["GS201", "GS202", "GS401", "GS402", "GS605"])
def test_patch_keeps_the_programs_indentation(
    code: str, unit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    script = tmp_path / f"train_{code}_{len(unit)}{ord(unit[0])}.py"
    lines = programs("bad", code)[0].script.splitlines()
    depths = [(len(line) - len(line.lstrip())) // 4 for line in lines]
    script.write_text("\n".join(unit * n + line.lstrip() for n, line in zip(depths, lines, strict=True)))
    report = run(script, stops=True)
    patch = render(report)
    added = [line[1:] for line in patch.splitlines() if line.startswith("+") and not line.startswith("+++")]
    assert added
    for line in added:
        blank = line[: len(line) - len(line.lstrip())]
        assert not blank.replace(unit, ""), patch
    apply(patch, tmp_path)
    script = script.rename(script.with_stem(script.stem + "_"))
    assert code not in {f.code for f in run(script).findings}


@pytest.mark.parametrize("rule", [pytest.param(rule, id=rule.code) for rule in patching()])
def test_a_rule_that_patches_shows_it(rule: Rule) -> None:
    assert not all(program.by_hand for program in programs("bad", rule.code))


def test_only_a_rule_that_patches_leaves_a_fix_to_the_hand() -> None:
    codes = {rule.code for rule in patching()}
    assert not [
        program.id for program in programs("bad") if program.by_hand and program.rule.code not in codes
    ]


@pytest.mark.parametrize("program", ["git apply -p0", "patch -p0 -i"])
@pytest.mark.parametrize("last", ["\r\n", ""], ids=["ended", "open end"])
def test_patch_keeps_the_files_line_ends(
    program: str, last: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    script = tmp_path / f"train_crlf_{program[0]}{len(last)}.py"
    lines = ["# a\fb", *programs("bad", "GS201")[0].script.splitlines()]  # no line ends at \f
    script.write_bytes(("\r\n".join(lines) + last).encode())
    patch = render(run(script))
    (tmp_path / "fix.patch").write_bytes(patch.encode())
    done = subprocess.run([*program.split(), "fix.patch"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    text = script.read_bytes()
    assert len(text.splitlines()) > len(lines)
    assert text.count(b"\n") == text.count(b"\r\n")
    assert not text.replace(b"\r\n", b"").count(b"\r")
    script = script.rename(script.with_stem(script.stem + "_"))
    assert "GS201" not in {f.code for f in run(script).findings}


def test_patch_fits_a_file_that_begins_with_a_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "train_marked.py"
    body = "x = torch.ones(2, requires_grad=True)\ny = x * 2\ny.sum().backward()\nprint(y.grad)\n"
    script.write_bytes(b"\xef\xbb\xbf" + f"import torch\n{body}".encode())
    patch = render(run(script))
    assert "import torch" in patch
    apply(patch, tmp_path)
    assert script.read_bytes().startswith(b"\xef\xbb\xbfimport torch\n")


# -- the edits of several findings in the texts of files ----------------------------------


def finding(*edits: tuple[int, int, int, int, str], path: str = "a.py") -> Finding:
    return Finding("", edits=tuple(Edit(path, *edit) for edit in edits))


def test_edits_hit_the_places_that_the_first_text_had() -> None:
    one, two = finding((1, 1, 1, 1, "import os\n"), (3, 1, 4, 1, "")), finding((4, 5, 4, 6, "20"))
    text = "a = 1\nb = 1\nc = 1\nd = 2\n"
    for order in ([one, two], [two, one]):
        patch = patched_files({"a.py": text}, order)
        assert patch.texts == {"a.py": "import os\na = 1\nb = 1\nd = 20\n"}
        assert patch.made == order and not patch.left


def test_a_finding_whose_edits_meet_those_of_an_earlier_one_is_left_as_a_whole() -> None:
    one, two = finding((1, 5, 1, 10, "f(x)")), finding((2, 1, 2, 1, "y = 1\n"), (1, 7, 1, 8, "z"))
    patch = patched_files({"a.py": "a = x + 1\nb = a\n"}, [one, two])
    assert patch.texts == {"a.py": "a = f(x)\nb = a\n"}
    assert (patch.made, patch.left) == ([one], [two])


def test_two_lines_are_not_put_in_at_the_same_place_in_an_order_by_chance() -> None:
    one, two = finding((2, 1, 2, 1, "one()\n")), finding((2, 1, 2, 1, "two()\n"))
    patch = patched_files({"a.py": "a = 1\nb = 2\n"}, [one, two])
    assert patch.texts == {"a.py": "a = 1\none()\nb = 2\n"} and patch.left == [two]


def test_an_edit_that_two_findings_want_is_made_once() -> None:
    line = (2, 1, 2, 1, "net.eval()\n")
    one, two = finding(line), finding(line, (2, 5, 2, 6, "20"))
    patch = patched_files({"a.py": "a = 1\nb = 2\n"}, [one, two])
    assert patch.texts == {"a.py": "a = 1\nnet.eval()\nb = 20\n"} and patch.made == [one, two]


def test_edits_beside_each_other_do_not_meet() -> None:
    around, inside = finding((1, 5, 1, 5, "f("), (1, 6, 1, 6, ")")), finding((1, 5, 1, 6, "y"))
    for order in ([around, inside], [inside, around]):
        patch = patched_files({"a.py": "a = x\n"}, order)
        assert patch.texts == {"a.py": "a = f(y)\n"} and not patch.left


def test_a_finding_that_would_break_a_file_leaves_all_files_as_they_were() -> None:
    broken = Finding("", edits=(Edit("b.py", 1, 1, 1, 1, "ok()\n"), Edit("a.py", 1, 5, 1, 6, "(")))
    sources = {"a.py": "a = x\n", "b.py": "b = 1\n"}
    patch = patched_files(sources, [broken, finding((1, 5, 1, 6, "y"))])
    assert patch.texts == {"a.py": "a = y\n"} and patch.left == [broken]


def test_a_file_that_the_trace_does_not_hold_is_not_edited() -> None:
    both = Finding("", edits=(Edit("a.py", 1, 1, 1, 1, "ok()\n"), Edit("gone.py", 1, 1, 1, 1, "ok()\n")))
    patch = patched_files({"a.py": "a = 1\n"}, [both, Finding("without edits")])
    assert (patch.texts, patch.made, patch.left) == ({}, [], [both])


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False], ids=["ended", "open end"])
def test_an_edit_that_counts_columns_meets_them_in_any_text(end: str, last: bool) -> None:
    text = f"a = 'größer 🎉', x{end}b = 1  #\f not a line{end}c = 1{end if last else ''}"
    patch = patched_files(
        {"a.py": text},
        [finding((1, 17, 1, 18, "y"), (3, 1, 4, 1, "c = 2"), (2, 1, 2, 1, "if b:\n    b = 0\n"))],
    )
    assert (
        patch.texts["a.py"]
        == f"a = 'größer 🎉', y{end}if b:{end}    b = 0{end}b = 1  #\f not a line{end}c = 2"
    )
