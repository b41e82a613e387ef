"""`gradscope check --diff`: each patch mends its program, and the program still runs."""

from __future__ import annotations

import ast
import inspect
import random
import runpy
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch

import gradscope
from gradscope.check import Report, examine
from gradscope.config import Config
from gradscope.render.diff import render
from gradscope.rules import Rule, all_rules

# Examples whose fix needs an understanding of the program, of rules that can patch others.
BY_HAND = {
    "GS105-bad_element",
    "GS106-bad_unbind",
    "GS106-bad_view_without_gradients",
    "GS108-bad_estimate_made_before_the_epochs",
    "GS108-bad_gan_in_the_wrong_order",
    "GS108-bad_graph_kept_over_the_step",
    "GS108-bad_two_losses",
    "GS109-bad_hook_of_a_module",
    "GS109-bad_parts_by_another_name",
    "GS202-bad_by_hand",
    "GS202-bad_in_an_attack",
    "GS204-bad_backward_forgotten",
    "GS204-bad_closure",
    "GS204-bad_in_a_later_phase",
    "GS205-bad_in_a_trainer",
    "GS205-bad_with_a_schedule",
    "GS204-bad_discriminator_without_backward",
    "GS204-bad_policy_without_its_backward",
    "GS205-bad_other_optimizer_handed_over",
    "GS206-bad_adapters_put_in_later",
    "GS206-bad_head_forgotten",
    "GS206-bad_loss_that_learns",
    "GS207-bad_copied_layer_with_an_optimizer_of_its_own",
    "GS207-bad_larger_model_takes_over",
    "GS207-bad_master_copy_never_written_back",
    "GS207-bad_replaced_while_training",
    "GS207-bad_resumed_into_a_new_model",
    "GS208-bad_all_but_the_norm",
    "GS208-bad_everything",
    "GS208-bad_frozen_from_some_step_on",
    "GS210-bad_never_stepped",
    "GS212-bad",
    "GS212-bad_lost_in_rounding",
    "GS212-bad_optimizer_that_binds_a_name",
    "GS212-bad_written_back",
    "GS212-bad_written_to_a_selection",
    "GS213-bad_cast_before_the_loop",
    "GS213-bad_parameter_cast",
    "GS213-bad_rebound",
    "GS213-bad_rebound_in_a_list",
    "GS214-bad_made_in_forward",
    "GS215-bad_cleared_by_hand",
    "GS215-bad_rest_cleared_by_hand",
    "GS215-bad_rest_of_an_epoch",
    "GS301-bad_no_grad_around_trained_layers",
    "GS301-bad_numbers_in_a_list",
    "GS301-bad_sample_without_a_gradient",
    "GS301-bad_with_an_optimizer_that_never_steps",
    "GS303-bad_accuracy_as_loss",
    "GS303-bad_all_frozen",
    "GS303-bad_no_grad",
    "GS303-bad_numbers_in_a_buffer",
    "GS304-bad_item_put_back",
    "GS304-bad_loss_by_numpy",
    "GS304-bad_loss_by_way_of_numpy",
    "GS304-bad_loss_of_a_float",
    "GS304-bad_made_without_gradients",
    "GS306-bad_made_before_the_loop",
    "GS306-bad_twice",
    "GS308-bad_detach",
    "GS308-bad_detach_of_a_target",
    "GS313-bad_generator",
    "GS313-bad_phase_that_stays_off",
    "GS314-bad_advantage_over_several_steps",
    "GS314-bad_copy_in_the_optimizer",
    "GS401-bad_function_that_trains_and_tests",
    "GS401-bad_phases_of_one_loop",
    "GS401-bad_method_of_the_model",
    "GS402-bad_method_that_trains_too",
    "GS402-bad_without_eval",
    "GS403-bad_phases_of_one_loop",
    "GS404-bad_layer_made_in_forward",
    "GS501-bad_layers_in_a_list",
    "GS602-bad_list_that_is_backwarded",
    "GS602-bad_logged_by_name",
    "GS603-bad_backward_at_every_tick",
    "GS603-bad_summary_made_beside_the_loss",
    "GS603-bad_updated_by_hand",
    "GS605-bad_features_compared",
    "GS605-bad_part_of_a_loss_module",
    "GS702-bad",
    "GS702-bad_exponential",
    "GS702-bad_labels_mixed",
    "GS702-bad_labels_weighted",
    "GS703-bad_advantage",
    "GS703-bad_by_hand",
    "GS703-bad_cross_entropy_by_hand",
    "GS703-bad_weights",
    "GS706-bad_scores",
    "GS804-bad_generator_in_the_data_set",
    "GS804-bad_generator_of_torch",
}


def as_script(function: object) -> str:
    """The body of an example as a program of its own."""
    source = textwrap.dedent(inspect.getsource(function))  # type: ignore[arg-type]
    body = source[source.index("\n") + 1 :]
    return f"import torch\n\ntorch.manual_seed(0)\n{textwrap.dedent(body)}"


def patching() -> list[Rule]:
    """The rules that make edits."""
    return [
        rule
        for rule in all_rules().values()
        if "edits=" in inspect.getsource(sys.modules[rule.module])  # told by the file, not by a list
    ]


def examples() -> list[object]:
    return [
        pytest.param(rule, function, id=f"{rule.code}-{function.__name__}")
        for rule in patching()
        for function in rule.examples("bad")
        if not function.__name__.endswith("_on_cuda")
    ]


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


@pytest.mark.parametrize(("rule", "bad"), examples())
def test_patch_mends_the_program(
    rule: Rule, bad: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = f"{rule.code}-{bad.__name__}"  # type: ignore[attr-defined]
    script = tmp_path / f"train_{name.replace('-', '_')}.py"  # Python keeps the text of a file by its name
    script.write_text(as_script(bad))
    grad = torch.is_grad_enabled()
    report = run(script, stops=True)
    torch.set_grad_enabled(grad)
    own = [f for f in report.findings if f.code == rule.code]
    assert own
    assert all(f.edits for f in own) == (name not in BY_HAND), [f.fix for f in own]
    if name in BY_HAND:
        return
    for _ in range(2):  # a model put into eval mode may show that its evaluation builds graphs
        if patch := render(report):
            before = doubled(script.read_text())
            apply(patch, tmp_path)
            assert doubled(script.read_text()) == before, patch
            script = script.rename(script.with_stem(script.stem + "_"))
            report = run(script)
            (tmp_path / f"{script.stem[:-1]}.py").write_text(script.read_text())
        assert rule.code not in {f.code for f in report.findings}, script.read_text()
    assert not [f for f in report.findings if f.severity != "note"], script.read_text()


@pytest.mark.parametrize("bad", all_rules()["GS403"].examples("bad"))
def test_a_program_put_into_train_mode_goes_on_evaluating_in_eval_mode(
    bad: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    script = tmp_path / f"train_{bad.__name__}.py"  # type: ignore[attr-defined]
    script.write_text(as_script(bad))
    if patch := render(run(script)):
        apply(patch, tmp_path)
        script = script.rename(script.with_stem(script.stem + "_"))
        with gradscope.watch() as scope:
            runpy.run_path(str(script))
        for event in scope.trace.of("call"):
            wrong = event.data["eval_layers"] if event.data["grad"] else event.data["train_layers"]
            assert not wrong, script.read_text()


@pytest.mark.parametrize("unit", ["\t", "  "], ids=["tabs", "two blanks"])
@pytest.mark.parametrize("code", ["GS201", "GS202", "GS401", "GS402", "GS605"])
def test_patch_keeps_the_programs_indentation(
    code: str, unit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    script = tmp_path / f"train_{code}_{len(unit)}{ord(unit[0])}.py"
    lines = as_script(all_rules()[code].examples("bad")[0]).splitlines()
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
    names = {f"{rule.code}-{bad.__name__}" for bad in rule.examples("bad")}
    assert names - BY_HAND


def test_no_patch_is_tested_by_nobody() -> None:
    known = {f"{rule.code}-{bad.__name__}" for rule in patching() for bad in rule.examples("bad")}
    assert known >= BY_HAND


@pytest.mark.parametrize("program", ["git apply -p0", "patch -p0 -i"])
@pytest.mark.parametrize("last", ["\r\n", ""], ids=["ended", "open end"])
def test_patch_keeps_the_files_line_ends(
    program: str, last: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    script = tmp_path / f"train_crlf_{program[0]}{len(last)}.py"
    lines = ["# a\fb", *as_script(all_rules()["GS201"].examples("bad")[0]).splitlines()]  # no line ends at \f
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
