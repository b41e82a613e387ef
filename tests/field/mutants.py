"""Puts one bug at a time into the programs of the field test, and asks whether it is named.

    python tests/field/mutants.py CLONES [--seed 1] [--number 100] [--only mnist]

CLONES is the folder of tests/field/run.py, which has to have run there once. A line each: FOUND where
a finding has one of the codes that fit, MISSED otherwise. What is missed is for a person to read: a line
that never runs, a loop of one epoch and a pass that ends in Python's own error make mutants without a bug.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from programs import PROGRAMS, Program
from run import surroundings

MOST_SECONDS = 150
SLOW = {"cifar", "imagenet", "dcgan", "mnist_hogwild"}
OPTIMIZER = re.compile(r"\b(Adam|AdamW|SGD|RMSprop|Adadelta|Adagrad)\(")


@dataclass(frozen=True)
class Mutant:
    kind: str
    codes: tuple[str, ...]  # that name the bug
    line: int
    text: str  # of the whole file


@dataclass(frozen=True)
class Source:
    """A file, and ways to change one place of it."""

    text: str

    def of(self, node: ast.AST) -> str:
        return ast.get_source_segment(self.text, node) or ""

    def statement(self, node: ast.stmt, *lines: str) -> str:
        """Other lines in place of a statement."""
        all_lines = self.text.split("\n")
        first, last = node.lineno - 1, node.end_lineno or node.lineno
        indent = all_lines[first][: len(all_lines[first]) - len(all_lines[first].lstrip())]
        return "\n".join([*all_lines[:first], *(indent + line for line in lines), *all_lines[last:]])

    def expression(self, node: ast.expr, new: str) -> str:
        """Another expression in place of one that stands on one line."""
        lines = [line.encode() for line in self.text.split("\n")]
        if node.lineno == node.end_lineno:
            line = lines[node.lineno - 1]
            lines[node.lineno - 1] = line[: node.col_offset] + new.encode() + line[node.end_col_offset :]
        return b"\n".join(lines).decode()


Change = Callable[[Source, ast.AST], Iterator[tuple[int, str]]]
CHANGES: list[tuple[str, tuple[str, ...], Change]] = []


def change(*codes: str) -> Callable[[Change], Change]:
    """A function of a file and a node that yields (line, new text); `codes` name the bug."""

    def add(function: Change) -> Change:
        CHANGES.append((function.__name__.replace("_", " "), codes, function))
        return function

    return add


def called(node: ast.AST, name: str) -> ast.expr | None:
    """What `name` is called on, where `node` is the statement `….name(…)`."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        function = node.value.func
        if isinstance(function, ast.Attribute) and function.attr == name:
            return function.value
    return None


def of_optimizer(source: Source, node: ast.AST) -> str:
    """The name of an optimizer that this statement steps, or ""."""
    made = called(node, "step")
    name = source.of(made) if made is not None else ""
    return "" if "sched" in name or "trainer" in name else name


def layer_called(source: Source, node: ast.AST) -> tuple[str, str]:
    """("x", "self.layer(x)") of `x = self.layer(x)`."""
    target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
    call = node.value if isinstance(node, ast.Assign) else None
    if not isinstance(target, ast.Name) or not isinstance(call, ast.Call):
        return "", ""
    layer = re.fullmatch(r"self\.\w+", source.of(call.func))
    return (target.id, " ".join(source.of(call).split())) if layer else ("", "")


@change("GS201", "GS203", "GS216")
def gradients_not_cleared(source: Source, node: ast.AST) -> Iterator[tuple[int, str]]:
    if called(node, "zero_grad") is not None and isinstance(node, ast.stmt):
        yield node.lineno, source.statement(node, "pass")


@change("GS205", "GS215")
def no_step(source: Source, node: ast.AST) -> Iterator[tuple[int, str]]:
    if of_optimizer(source, node) and isinstance(node, ast.stmt):
        yield node.lineno, source.statement(node, "pass")


@change("GS202")
def cleared_before_the_step(source: Source, node: ast.AST) -> Iterator[tuple[int, str]]:
    if (name := of_optimizer(source, node)) and isinstance(node, ast.stmt):
        yield node.lineno, source.statement(node, f"{name}.zero_grad()", source.of(node))


@change("GS209")
def clipped_after_the_step(source: Source, node: ast.AST) -> Iterator[tuple[int, str]]:
    if (name := of_optimizer(source, node)) and isinstance(node, ast.stmt):
        held = f'[p for g in {name}.param_groups for p in g["params"]]'
        yield (
            node.lineno + 1,
            source.statement(node, source.of(node), f"torch.nn.utils.clip_grad_norm_({held}, 1.0)"),
        )


@change("GS204", "GS205")
def no_backward(source: Source, node: ast.AST) -> Iterator[tuple[int, str]]:
    if called(node, "backward") is not None and isinstance(node, ast.stmt):
        yield node.lineno, source.statement(node, "pass")


@change("GS304", "GS301", "GS303")
def loss_made_a_leaf(source: Source, node: ast.AST) -> Iterator[tuple[int, str]]:
    if (loss := called(node, "backward")) is not None and isinstance(node, ast.stmt):
        yield node.lineno, source.statement(node, f"{source.of(loss)}.detach().requires_grad_().backward()")


@change("GS604", "GS602", "GS603")
def graph_kept(source: Source, node: ast.AST) -> Iterator[tuple[int, str]]:
    if (loss := called(node, "backward")) is not None and isinstance(node, ast.stmt):
        yield node.lineno, source.statement(node, f"{source.of(loss)}.backward(retain_graph=True)")


@change("GS306")
def backward_twice(source: Source, node: ast.AST) -> Iterator[tuple[int, str]]:
    if called(node, "backward") is not None and isinstance(node, ast.stmt):
        yield node.lineno + 1, source.statement(node, source.of(node), source.of(node))


@change("GS701")
def root_at_zero(source: Source, node: ast.AST) -> Iterator[tuple[int, str]]:
    if (made := called(node, "backward")) is not None and isinstance(node, ast.stmt):
        loss = source.of(made)
        yield node.lineno, source.statement(node, f"({loss} + 0 * ({loss} - {loss}).sqrt()).backward()")


@change("GS401")
def no_eval(source: Source, node: ast.AST) -> Iterator[tuple[int, str]]:
    if called(node, "eval") is not None and isinstance(node, ast.stmt):
        yield node.lineno, source.statement(node, "pass")


@change("GS402")
def no_no_grad(source: Source, node: ast.AST) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.With) and "no_grad" in source.of(node.items[0].context_expr):
        lines = source.text.split("\n")
        lines[node.lineno - 1] = re.sub(r"with .*:", "if True:", lines[node.lineno - 1])
        yield node.lineno, "\n".join(lines)


@change("GS301", "GS302", "GS303")
def activation_detached(source: Source, node: ast.AST) -> Iterator[tuple[int, str]]:
    name, call = layer_called(source, node)
    if name and isinstance(node, ast.stmt):
        yield node.lineno, source.statement(node, f"{name} = {call}.detach()")


@change("GS304", "GS301", "GS303")
def activation_wrapped(source: Source, node: ast.AST) -> Iterator[tuple[int, str]]:
    name, call = layer_called(source, node)
    if name and isinstance(node, ast.stmt):
        yield node.lineno, source.statement(node, f"{name} = torch.tensor({call})")


@change("GS305", "GS301", "GS303")
def activation_rounded(source: Source, node: ast.AST) -> Iterator[tuple[int, str]]:
    name, call = layer_called(source, node)
    if name and isinstance(node, ast.stmt):
        yield node.lineno, source.statement(node, f"{name} = {call}.round()")


@change("GS104", "GS106")
def activation_written(source: Source, node: ast.AST) -> Iterator[tuple[int, str]]:
    name, call = layer_called(source, node)
    if name and isinstance(node, ast.stmt):
        yield node.lineno, source.statement(node, f"{name} = {call}.exp()", f"{name}.mul_(2.0)")


@change("GS206")
def parameters_missed(source: Source, node: ast.AST) -> Iterator[tuple[int, str]]:
    if held := _held(source, node):
        yield held.lineno, source.expression(held, f"list({source.of(held)})[:-2]")


@change("GS204", "GS206", "GS207")
def optimizer_of_a_copy(source: Source, node: ast.AST) -> Iterator[tuple[int, str]]:
    if held := _held(source, node):
        model = source.of(held).removesuffix(".parameters()")
        yield held.lineno, source.expression(held, f'__import__("copy").deepcopy({model}).parameters()')


def _held(source: Source, node: ast.AST) -> ast.Call | None:
    """`model.parameters()`, as an optimizer is given it."""
    if not isinstance(node, ast.Call) or not source.of(node).endswith(".parameters()"):
        return None
    return node if OPTIMIZER.search(source.text.split("\n")[node.lineno - 1]) else None


@change("GS702")
def softmax_twice(source: Source, node: ast.AST) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.Call) and source.of(node.func).endswith(".cross_entropy") and node.args:
        yield (
            node.lineno,
            source.expression(node.args[0], f"torch.softmax({source.of(node.args[0])}, -1)"),
        )
    elif isinstance(node, ast.Call) and source.of(node.func).endswith("nn.CrossEntropyLoss"):
        loss = f"(lambda f: lambda x, *y: f(torch.softmax(x, -1), *y))({source.of(node)})"
        yield node.lineno, source.expression(node, loss)


def mutants(text: str) -> Iterator[Mutant]:
    """Every bug that one change of this file makes, as far as it still parses."""
    source = Source(text)
    for node in ast.walk(ast.parse(text)):
        for kind, codes, function in CHANGES:
            for line, new in function(source, node):
                if new != text and _parses(new):
                    yield Mutant(kind, codes, line, new)


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def findings(program: Program, clones: Path, text: str) -> tuple[int, list[tuple[str, str, int]]]:
    """Exit code, and (code, severity, line of the cause) of what is found in a copy with this script."""
    with tempfile.TemporaryDirectory() as temporary:
        copy, report = Path(temporary) / "program", Path(temporary) / "report.json"
        ignored = shutil.ignore_patterns(".git", ".gradscope", "data")
        shutil.copytree(clones / program.folder, copy, symlinks=True, ignore=ignored)
        for data in (clones / program.folder / "data", clones / program.folder / ".." / "data"):
            if data.exists():
                (copy / os.path.relpath(data, clones / program.folder)).symlink_to(data.resolve())
        (copy / program.script).write_text(text)
        folder = clones / "gradscope-field"
        watch = ["-m", "gradscope", "run", "--trace", f"{temporary}/t.gradscope", "--report", str(report)]
        given = shlex.split(program.arguments.format(folder=folder))
        try:
            code = subprocess.run(
                [sys.executable, *watch, program.script, *given], cwd=copy, check=False,
                env=surroundings(program, clones, folder), stdin=subprocess.DEVNULL, capture_output=True,
                timeout=MOST_SECONDS,
            ).returncode  # fmt: skip
        except subprocess.TimeoutExpired:
            return -1, []
        told = json.loads(report.read_text())["findings"] if report.exists() else []
    return code, [
        (f["code"], f["severity"], next((place["line"] for place in f["locations"]), 0)) for f in told
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("clones", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, default=100, help="how many are drawn")
    parser.add_argument("--only", default="", help="programs whose name begins so")
    given = parser.parse_args()
    clones = given.clones.resolve()
    drawn = random.Random(given.seed)
    by_kind: dict[str, list[tuple[Program, Mutant]]] = {}
    for program in PROGRAMS:
        if program.name in SLOW or not program.name.startswith(given.only):
            continue
        script = clones / program.folder / program.script
        text = script.read_text().replace(*program.repair) if program.repair else script.read_text()
        for mutant in mutants(text):
            by_kind.setdefault(mutant.kind, []).append((replace(program, repair=None), mutant))
    for found in by_kind.values():
        drawn.shuffle(found)
    most = max(map(len, by_kind.values()), default=0)
    jobs = [found[i] for i in range(most) for found in by_kind.values() if i < len(found)]
    hits = 0
    for program, mutant in jobs[: given.number]:
        code, told = findings(program, clones, mutant.text)
        hit = any(one[0] in mutant.codes for one in told)
        hits += hit
        shown = "; ".join(" ".join(map(str, one)) for one in told) or f"nothing (exit code {code})"
        print(
            f"{'FOUND' if hit else 'MISSED':6} {program.name}:{mutant.line} {mutant.kind}: {shown}",
            flush=True,
        )
    print(f"{hits} of {len(jobs[: given.number])} named")


if __name__ == "__main__":
    main()
