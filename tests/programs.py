"""Random autograd programs, run plain and under `gradscope.watch()`, which must make no difference.

A program is source text over a few variables. A `Witness` takes down, after every statement, all that a
program could notice: values, gradients, versions, random state, errors with their tracebacks, warnings, and
which tensors and which memory are gone. `python tests/programs.py --seed 7 --count 1000` runs a long sweep
and prints what fails, made small.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import linecache
import random
import re
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from random_statements import BLOCKS, KINDS
from witness import Check, Record, TooLarge, Witness, same_graph

import gradscope

NAMES = ("v0", "v1", "v2", "v3", "v4")
FILE = "/random/program.py"
POOL = ", ".join(NAMES)

Choose = Callable[[int], int]


@dataclass
class Line:
    """One statement; `guarded`: in a try block of its own."""

    text: str
    guarded: bool = True


@dataclass
class Block:
    """A compound statement."""

    head: str
    body: list[Line | Block]
    function: bool = False


@dataclass
class Program:
    steps: list[Line | Block]
    in_function: bool = True
    sample: bool = False
    seed: int = 0

    def source(self) -> str:
        """The text that is run: a function `main`, or statements of a module."""
        head = [
            "net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.3), nn.Linear(4, 3))",
            "rnn = nn.LSTM(3, 3)", "opt = torch.optim.SGD(net.parameters(), lr=0.1)", "h = None", "keep = []",
            "v0 = torch.rand(3, 3, dtype=torch.float64, requires_grad=True)",
            "v1 = torch.rand(3, 3, requires_grad=True)",
            "v2 = torch.rand(3, 3, dtype=torch.float64)", "v3 = v0 * 2", "v4 = net(v1).double()", f"T.step({POOL})",
        ]  # fmt: skip
        lines = head + list(_emit(self.steps, 0))
        lines += [f"T.truth({name})" for name in NAMES]
        if self.in_function:
            lines = ["def main():", *("    " + line for line in lines), "main()"]
        return "\n".join(lines) + "\n"


def _emit(steps: list[Line | Block], depth: int) -> Iterator[str]:
    pad = "    " * depth
    for step in steps:
        if isinstance(step, Block):
            yield f"{pad}try:"
            if step.function:
                yield f"{pad}    def inner({POOL}):"
                yield from _emit(step.body, depth + 2)
                yield f"{pad}        return {step.head}"
                yield f"{pad}    {step.head} = inner({POOL})"
            else:
                yield f"{pad}    {step.head}"
                yield from _emit(step.body, depth + 2)
                yield f"{pad}        pass"
            yield f"{pad}except Exception as error: T.error(error)"
        elif step.guarded:
            yield f"{pad}try: {step.text}"
            yield f"{pad}except Exception as error: T.error(error)"
        else:
            yield f"{pad}{step.text}"
        yield f"{pad}T.step({POOL})"


def generate(choose: Choose) -> Program:
    """A program from choices: `choose(n)` gives a number below n."""
    steps = [_statement(choose, 0) for _ in range(2 + choose(16))]
    return Program(steps, choose(3) > 0, choose(4) == 0, choose(1000))


def _statement(choose: Choose, depth: int) -> Line | Block:
    if depth < 3 and choose(7) == 0:
        body = [_statement(choose, depth + 1) for _ in range(1 + choose(4))]
        if choose(5) == 0:
            return Block(NAMES[choose(len(NAMES))], body, function=True)
        return Block(_fill(choose, _pick(choose, BLOCKS)), body)
    at = choose(sum(weight for weight, _ in KINDS))
    kind = next(kind for weight, kind in KINDS if (at := at - weight) < 0)
    return Line(_fill(choose, _pick(choose, kind)), choose(40) > 0)


def _pick(choose: Choose, text: str) -> str:
    lines = text.strip().splitlines()
    return lines[choose(len(lines))]


def _fill(choose: Choose, text: str) -> str:
    x, y, z = (NAMES[choose(len(NAMES))] for _ in range(3))
    return text.format(x=x, y=y, z=z, k=choose(3))


# -- running -----------------------------------------------------------------------------


def run(program: Program, watched: bool) -> Record:
    """Runs the program once and returns what could be seen of it."""
    source = program.source()
    linecache.cache[FILE] = (len(source), None, source.splitlines(True), FILE)
    witness = Witness(watched)
    space: dict[str, Any] = {"__name__": "program", "T": witness}
    exec(
        "import copy, gc, pickle, torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
        "from torch.utils.checkpoint import checkpoint, checkpoint_sequential",
        space,
    )
    code = compile(source, FILE, "exec")
    torch.manual_seed(program.seed)
    torch.set_warn_always(True)  # what torch says once, both runs are told
    torch.set_grad_enabled(True)
    gc.freeze()  # what is older than the program need not be looked through
    gc.disable()
    scope = gradscope.watch(sample=program.sample) if watched else None
    printed = io.StringIO()
    try:
        with warnings.catch_warnings(record=True) as told, contextlib.redirect_stdout(printed):
            warnings.simplefilter("always")
            with scope or contextlib.nullcontext():
                _execute(code, space, witness)
                space.clear()
                witness.step()
                gc.collect()
                witness.step()
    finally:
        gc.enable()
        gc.unfreeze()
        torch.set_warn_always(False)
        torch.set_grad_enabled(True)
    record = witness.record
    vars(witness).clear()
    said = [(_own_part(str(w.message)), w.category.__name__, w.filename, w.lineno) for w in told]
    record.notes += [("printed", printed.getvalue()), ("warned", said)]
    if scope is not None:
        record.faults = scope.faults
        record.mismatch = record.mismatch or compare_graphs(record.checks, scope)
    return record


def _own_part(text: str) -> str:
    """A warning without addresses, and without the lines of a stack that lie outside the program."""
    head, stack, rest = text.partition('  File "')
    if stack and FILE in rest:
        text = head + rest[rest.index(FILE) :]
    return re.sub(r"0x[0-9a-f]+", "0x", text)


def _execute(code: Any, space: dict[str, Any], witness: Witness) -> None:
    try:
        exec(code, space)
    except TooLarge:
        pass
    except Exception as error:
        witness.error(error)


def compare_graphs(checks: list[Check], scope: Any) -> str:
    """What differs between the true graphs and those in the trace, "" where nothing does."""
    session = scope._session
    for check in checks:
        number = session.recorder.store.graph_of.get(check.serial)
        if number is None:
            return f"{check.text}: its segment is not stored"
        graph = next(g for g in scope.trace.graphs if g.id == number)
        node = graph.values[check.index].node
        if node is None:
            return f"{check.text}: the value has no node, but {check.rows[0][0]}"
        different = same_graph(check.rows, graph, node)
        if different:
            return f"{check.text}: {different}"
    return ""


def _sort(a: Any, b: Any) -> str:
    """What kind of difference it is."""
    if isinstance(a[0], str) or isinstance(b[0], str):
        return f"{a[0]}/{b[0]}" if isinstance(a[0], str) and isinstance(b[0], str) else "steps"
    return next((name for name, p, w in zip(("values", "gone", "modes"), a, b, strict=True) if p != w), "")


def difference(program: Program) -> str:
    """Runs the program both ways. Returns what differs, "" where nothing does."""
    return _differs(program) and _differs(program)  # not what torch does once in a process


def _differs(program: Program) -> str:
    plain, watched = run(program, False), run(program, True)
    for number, (a, b) in enumerate(zip(plain.notes, watched.notes, strict=False)):
        if a != b:
            return f"{_sort(a, b)}: note {number}:\n plain   {a}\n watched {b}"
    if len(plain.notes) != len(watched.notes):
        return f"{len(plain.notes)} notes plain, {len(watched.notes)} watched"
    if watched.faults:
        return f"faults: {watched.faults}"
    return watched.mismatch


# -- sweeps ------------------------------------------------------------------------------


def shrink(program: Program, kind: str) -> Program:
    """A smaller program that still differs in the same way."""
    best = program
    shrunk = True
    while shrunk:
        shrunk = False
        for smaller in _smaller(best.steps):
            candidate = replace(best, steps=smaller)
            if _kind(_attempt(candidate)) == kind:
                best, shrunk = candidate, True
                break
    return best


def _smaller(steps: list[Line | Block]) -> Iterator[list[Line | Block]]:
    for i, step in enumerate(steps):
        yield steps[:i] + steps[i + 1 :]
        if isinstance(step, Block):
            yield [*steps[:i], *step.body, *steps[i + 1 :]]
            for body in _smaller(step.body):
                yield [*steps[:i], replace(step, body=body), *steps[i + 1 :]]


def _kind(text: str) -> str:
    return re.sub(r"\d+", "", text)[:30] if text.startswith("line") else text.split(":")[0]


def _attempt(program: Program) -> str:
    try:
        return difference(program)
    except Exception as error:
        return f"harness: {''.join(traceback.format_exception(error))}"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--stop-after", type=int, default=5, help="this many failures")
    parser.add_argument("--show", action="store_true", help="print each program")
    options = parser.parse_args()
    failures = 0
    for seed in range(options.seed, options.seed + options.count):
        program = generate(random.Random(seed).randrange)
        if options.show:
            print(program.source())
        found = _attempt(program)
        if found:
            small = shrink(program, _kind(found))
            failures += 1
            print(
                f"seed {seed}: {_attempt(small)[:1500]}\nsample={small.sample} seed={small.seed}\n{small.source()}",
                flush=True,
            )
            if failures >= options.stop_after:
                break
    print(f"{seed - options.seed + 1} programs, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
