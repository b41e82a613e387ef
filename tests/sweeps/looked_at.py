"""Looking changes nothing: each program of the rules, with its gradients printed after every pass, and kept.

    python tests/sweeps/looked_at.py             # all programs, bad and good
    python tests/sweeps/looked_at.py --rule GS206

Ends with 1 if a program's findings are others than without the prints, or at other lines.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import random
import sys
import textwrap
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import rule_programs
from sweeps.pairs import NAME, Program, findings, of_text

SHOW = """

def _show(names):
    import torch

    for value in [*names.values(), *vars(names.get("self", object)).values()]:
        if isinstance(value, torch.nn.Module):
            parameters = list(value.parameters())
        else:
            parameters = [value] if isinstance(value, torch.nn.Parameter) else []
        if isinstance(value, torch.Tensor):
            print(value.requires_grad, value.grad_fn)
        for p in parameters:
            print(p.grad, p.requires_grad, p.grad is None)
            if p.grad is not None:
                print(f"{p.grad.norm().item():.3f}", p.grad.detach().abs().max(), p.grad.tolist())
                size = p.grad.norm().item()
                print(size)
"""

# Ways to keep what was read: the same is told of the gradients then, as a note where keeping it may be what they
# are computed for.
_KEEPS = """

_kept = []

def _show(names):
    import torch

    for value in names.values():
        if isinstance(value, torch.nn.Module):
            some = [p for p in value.parameters() if p.grad is not None]
            KEEP
"""
KEEPS = {
    "gradients": _KEEPS.replace("KEEP", "_kept[:] = [p.grad for p in some]"),
    "clones": _KEEPS.replace("KEEP", "_kept[:] = [p.grad.clone() for p in some]"),
    "means": _KEEPS.replace("KEEP", "_kept.extend(p.grad.abs().mean() for p in some)"),
    "numbers": _KEEPS.replace("KEEP", "_kept.extend(p.grad.abs().mean().item() for p in some)"),
    "arrays": _KEEPS.replace("KEEP", "_kept.append([p.grad.numpy().copy() for p in some])"),
}


def texts(program: Program, show: str = SHOW) -> tuple[str, str]:
    """The program as it is, and with a look at all gradients after each `backward()`, on the same lines."""
    text = textwrap.dedent(inspect.getsource(program))
    tree = ast.parse(text)
    tree.body[0].name = NAME  # type: ignore[attr-defined]
    text = ast.unparse(tree)
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _is_backward(node.value.func):
            assert node.end_lineno is not None
            lines[node.end_lineno - 1] += "; _show(locals())"
    return text + "\n" + show, "\n".join(lines) + "\n" + show


def _is_backward(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and function.attr == "backward"


def told(text: str, milder: bool = False) -> list[tuple[str, str, list[tuple[str, int]]]]:
    found, _ = findings(of_text(text))
    return sorted(
        (
            "" if milder else f.severity,
            f.code,
            [(place.role, place.line) for place in f.locations if place.role != "related"],
        )
        for f in found
        if milder or f.severity != "note"
    )


def lost(programs: list[tuple[str, Program]]) -> list[str]:
    """What is no longer told where the program keeps what it reads."""
    found = []
    for name, program in programs:
        for way, show in KEEPS.items():
            plain, looking = texts(program, show)
            if plain != looking:
                before = {_place(one) for one in told(plain)}
                after = {_place(one) for one in told(looking, milder=True)}
                found += [f"{name}: {one} is lost with {way} kept" for one in sorted(before - after)]
    return found


def _place(one: tuple[str, str, list[tuple[str, int]]]) -> tuple[str, tuple[tuple[str, int], ...]]:
    return one[1], tuple(one[2])


def differences(programs: list[tuple[str, Program]]) -> list[str]:
    """What the programs tell without the prints, and with them, where that is not the same."""
    found = []
    for name, program in programs:
        plain, looking = texts(program)
        if plain != looking and (before := told(plain)) != (after := told(looking)):
            found.append(f"{name}: {before} became {after}")
    return found


def programs(rule: str | None = None) -> list[tuple[str, Program]]:
    return [
        (program.id, program.function)
        for kind in ("bad", "good")
        for program in rule_programs.programs(kind, rule)
        if program.runs_here
    ]


def drawn(seed: int, count: int) -> list[tuple[str, Program]]:
    return random.Random(seed).sample(programs(), count)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rule")
    warnings.simplefilter("ignore")
    chosen = programs(parser.parse_args().rule)
    found = differences(chosen) + lost(chosen)
    print(*found, sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
