"""What reads a trace works where torch is not installed, and loads nothing it doesn't need."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import gradscope.rules
from gradscope.store import TraceWriter

# Makes `import X` fail, as on a machine without X, then runs what follows.
WITHOUT = "import sys\nfor name in {names!r}: sys.modules[name] = None\n"
COMMAND = """
import runpy
sys.argv = {argv!r}
runpy.run_module("gradscope", run_name="__main__", alter_sys=True)
"""


def python(code: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Runs `code` in a fresh interpreter in `cwd`."""
    return subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, encoding="utf-8", timeout=120
    )


@cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


@cache
def imports_of(file: Path) -> list[ast.Import | ast.ImportFrom]:
    return [node for node in ast.walk(tree_of(file)) if isinstance(node, (ast.Import, ast.ImportFrom))]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """An empty trace, written without torch too."""
    path = tmp_path / "empty.gradscope"
    writer = TraceWriter(path)
    writer.set_meta(
        "program", {"argv": ["train.py"], "cwd": str(tmp_path), "exit_code": 0, "exception": None}
    )
    writer.close()
    return path


def test_open_does_not_load_torch(trace: Path, tmp_path: Path) -> None:
    ran = python(
        "import sys, gradscope\n"
        f"t = gradscope.open({str(trace)!r})\n"
        "assert not list(t.nodes) and not t.parameters and not t.events\n"
        "print(*sorted({'torch', 'numpy', 'rich', 'click', 'networkx', 'graphviz'} & set(sys.modules)))",
        tmp_path,
    )
    assert (ran.stdout.strip(), ran.stderr, ran.returncode) == ("", "", 0)


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("gradscope.graph", ["torch", "graphviz", "networkx"]),
        ("gradscope.answers", ["torch", "graphviz", "networkx"]),
        ("gradscope.check", ["torch", "graphviz", "networkx"]),
        ("gradscope.render.text", ["torch"]),
        ("gradscope.tui.app", ["torch", "graphviz"]),
        ("gradscope.tui", ["torch", "textual"]),
    ],
)
def test_module_loads_without(module: str, absent: list[str], tmp_path: Path) -> None:
    ran = python(WITHOUT.format(names=absent) + f"import {module}", tmp_path)
    assert ran.returncode == 0, ran.stderr


def test_no_rule_imports_a_rule() -> None:
    rules = Path(gradscope.rules.__file__).parent
    for file in rules.rglob("gs*.py"):
        modules = [n.module or "" for n in imports_of(file) if isinstance(n, ast.ImportFrom)]
        assert not [name for name in modules if name.rpartition(".")[2].startswith("gs")], file


def test_a_helper_among_rules_has_several_users_of_its_family() -> None:
    """What one rule alone uses stands in its file, or in analysis/; what two families use, in analysis/."""
    rules = Path(gradscope.rules.__file__).parent
    users: dict[str, set[Path]] = {}
    for file in rules.parent.rglob("*.py"):
        for node in imports_of(file):
            if isinstance(node, ast.ImportFrom):
                module = node.module or ""
                for name in (module, *(f"{module}.{alias.name}" for alias in node.names)):
                    users.setdefault(name, set()).add(file)
            else:
                for alias in node.names:
                    users.setdefault(alias.name, set()).add(file)
    for helper in rules.rglob("_[!_]*.py"):
        its = users.get(f"gradscope.rules.{helper.parent.name}.{helper.stem}", set())
        assert len(its) >= 2, f"{helper} has the users {sorted(map(str, its))}"
        assert {file.parent for file in its} == {helper.parent}, f"{helper} is used outside its family"


def test_no_function_of_a_rule_stands_anywhere_else_too() -> None:
    """What two rules work out alike belongs to analysis/, fixes/ or the family's own helpers."""
    package = Path(gradscope.rules.__file__).parents[1]
    places: dict[str, list[str]] = {}
    for part in ("analysis", "fixes", "rules", "answers", "crashes", "graph"):
        for file in (package / part).rglob("*.py"):
            for node in tree_of(file).body:
                if isinstance(node, ast.FunctionDef) and not node.name.startswith(("bad", "good")):
                    text = node.body[1:] if ast.get_docstring(node) else node.body
                    if len(body := "\n".join(map(ast.unparse, text))) > 60:
                        places.setdefault(body, []).append(f"{file.relative_to(package)}: {node.name}")
    twice = [names for names in places.values() if len(names) > 1]
    assert not [names for names in twice if any(name.startswith("rules") for name in names)]


def test_no_set_of_operators_stands_twice() -> None:
    """What two rules ask alike of an operator's name stands in analysis/ops.py."""
    package = Path(gradscope.rules.__file__).parents[1]
    places: dict[frozenset[str], list[str]] = {}
    for part in ("analysis", "fixes", "rules", "answers", "crashes"):
        for file in (package / part).rglob("*.py"):
            for node in tree_of(file).body:
                if isinstance(node, ast.Assign) and isinstance(node.value, (ast.Set, ast.Tuple)):
                    names = [n.value for n in node.value.elts if isinstance(n, ast.Constant)]
                    if len(names) > 1 and len(names) == len(node.value.elts) and type(names[0]) is str:
                        places.setdefault(frozenset(names), []).append(
                            f"{file.relative_to(package)}: {ast.unparse(node.targets[0])}"
                        )
    assert not [names for names in places.values() if len(names) > 1]


def test_a_rule_needs_torch_in_its_examples_alone() -> None:
    for file in Path(gradscope.rules.__file__).parent.rglob("*.py"):
        examples = [
            n
            for n in tree_of(file).body
            if isinstance(n, ast.FunctionDef) and n.name.startswith(("bad", "good"))
        ]
        within = {node for example in examples for node in ast.walk(example)}
        for node in imports_of(file):
            modules = [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
            assert node in within or not [name for name in modules if name.partition(".")[0] == "torch"], file


def test_every_rule_loads_without_torch(tmp_path: Path) -> None:
    code = (
        "import importlib\nfrom gradscope.rules import all_rules\n"
        "print(len([importlib.import_module(rule.module) for rule in all_rules().values()]))"
    )
    ran = python(WITHOUT.format(names=["torch", "graphviz"]) + code, tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) > 0


@pytest.mark.parametrize(
    "command",
    [
        ["check", "{trace}"],
        ["check", "{trace}", "--output-format", "json"],
        ["rules"],
        ["explain", "GS101"],
        ["--help"],
    ],
    ids=" ".join,
)
def test_command_works_without_torch(command: list[str], trace: Path, tmp_path: Path) -> None:
    argv = ["gradscope", *(part.format(trace=trace) for part in command)]
    ran = python(WITHOUT.format(names=["torch"]) + COMMAND.format(argv=argv), tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "Traceback" not in ran.stderr


def test_run_without_torch_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("print('hello')\n")
    argv = ["gradscope", "run", "script.py"]
    ran = python(WITHOUT.format(names=["torch"]) + COMMAND.format(argv=argv), tmp_path)
    assert ran.returncode == 2
    assert "torch" in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1


def test_view_without_textual_is_one_clear_line(trace: Path, tmp_path: Path) -> None:
    code = WITHOUT.format(names=["textual"]) + (
        f"from pathlib import Path\nfrom gradscope.tui import inspector\ninspector(Path({str(trace)!r}))"
    )
    assert "textual is not installed: `pip install textual`" in python(code, tmp_path).stderr.splitlines()[-1]
