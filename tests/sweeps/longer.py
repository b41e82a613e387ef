"""The programs of the rules' files, trained for longer: is the same told, and nothing of the right ones?

    python tests/sweeps/longer.py [--steps 40] [--all] [GS2 GS31 …]

They take three steps or five where people's runs take thousands: what is recorded only while sampling looks is not
there later. `range(3)` of the outermost loop around a pass or a step becomes `range(40)`. A program that reaches
something else by more steps (a schedule that comes to its end) is told of that: read what is printed.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import random
import runpy
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import torch
from rule_programs import Program, programs

import gradscope
from gradscope.check import examine
from gradscope.config import Config
from gradscope.model import Finding
from gradscope.rules import all_rules

FEW = 12  # steps of a loop that is made longer


def longer(text: str, steps: int) -> str | None:
    """The program with more turns of its outermost training loops; None where it has none of few turns."""
    lines = text.splitlines()
    numbers = [number for node in ast.parse(text).body for number in _turns(node)]
    for number in sorted(numbers, key=lambda n: (n.lineno, n.col_offset), reverse=True):
        line = lines[number.lineno - 1]
        lines[number.lineno - 1] = f"{line[: number.col_offset]}{steps}{line[number.end_col_offset :]}"
    return "\n".join([*lines, ""]) if numbers else None


def _turns(node: ast.AST) -> list[ast.Constant]:
    if isinstance(node, ast.For) and any(mark in ast.unparse(node) for mark in (".step()", ".backward(")):
        match node.iter:
            case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int(turns)) as number]) if (
                turns <= FEW
            ):
                return [number]
    return [number for child in ast.iter_child_nodes(node) for number in _turns(child)]


def told(script: Path) -> list[Finding]:
    """What all rules say of a run. An exception of the program's own is part of it."""
    torch.manual_seed(0)
    random.seed(0)
    before = torch.is_grad_enabled(), torch.get_default_dtype()
    with (
        gradscope.watch() as scope,
        contextlib.suppress(Exception),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        runpy.run_path(str(script))
    torch.set_grad_enabled(before[0])
    torch.set_default_dtype(before[1])
    off = tuple(code for code, rule in all_rules().items() if not rule.default)
    report = examine(scope.trace, Config(extend_select=off))
    assert not report.faults, report.faults
    return list(report.findings)


def alone(program: Program) -> bool:
    """Whether its text needs no other function of its file."""
    known = program.function.__globals__
    return not any(callable(known.get(name)) for name in program.function.__code__.co_names)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--all", action="store_true", help="not the two of each rule's file alone")
    parser.add_argument("codes", nargs="*", default=["GS"])
    asked = parser.parse_args()
    counts = {"bad": 0, "good": 0, "missed": 0, "loud": 0}
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("bad", "good"):
            for program in programs(kind):
                chosen = program.rule.code.startswith(tuple(asked.codes)) and (asked.all or program.in_rule)
                if not chosen or not program.runs_here or not alone(program):
                    continue
                if (text := longer(program.script, asked.steps)) is None:
                    continue
                script = Path(folder, f"{program.id.replace('-', '_')}.py")
                script.write_text(text)
                counts[kind] += 1
                found = told(script)
                loud = {f.code: f.message for f in found if f.severity != "note"}
                if kind == "bad" and program.rule.code not in {f.code for f in found}:
                    counts["missed"] += 1
                    print(f"missed  {program.id}: {', '.join(loud) or 'nothing'}", flush=True)
                elif kind == "good" and loud:
                    counts["loud"] += 1
                    print(f"loud    {program.id}: {loud}", flush=True)
    print(
        f"{counts['missed']} of {counts['bad']} missed; "
        f"something told of {counts['loud']} of {counts['good']} right ones"
    )


if __name__ == "__main__":
    main()
