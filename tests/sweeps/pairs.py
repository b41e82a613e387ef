"""Every pair of two rules' first wrong programs, made one program: each must still be told.

    python tests/sweeps/pairs.py                 # all pairs
    python tests/sweeps/pairs.py --rule GS301 --show

Ends with 1 if a pair tells less than its two programs tell alone.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import linecache
import random
import sys
import warnings
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
import rule_programs
from weave import NAME, woven

import gradscope
from gradscope.check import examine
from gradscope.config import Config
from gradscope.model import Finding
from gradscope.rules import all_rules

FAILURES = (RuntimeError, TypeError, ValueError, AttributeError, AssertionError)
# What these do is done to the process, or ends the program, or both; GS720 needs five measured passes at the end, of
# which a short loop that is shared may have fewer; where another optimizer steps beside those of GS233 these may be
# two players.
ALONE = {"GS233", "GS313", "GS720", "GS804", "GS806", "GS901", "GS805"}
# Pairs of which one is not told, and the one.
KNOWN = {
    # GS203 says it of both: the one call that clears covers neither model.
    frozenset({"GS201", "GS203"}): {"GS201"},
    # One number stands for both losses: whether the one whose gradients are all zero is zero too, so that nothing is
    # left to learn, can't be told from the sum.
    frozenset({"GS707", "GS710"}): {"GS707"},
}
# What these do calls no module and steps no optimizer: nothing wakes sampling, where it has gone to sleep in the other
# program's loop, before they are over. `--full` looks all the time.
ASLEEP = {"GS307"}

Program = Callable[[], object]


def findings(program: Program, sample: bool = True) -> tuple[list[Finding], BaseException | None]:
    """What all rules say of one run, and the exception that ended it."""
    torch.manual_seed(0)
    random.seed(0)
    failure = None
    with contextlib.redirect_stdout(io.StringIO()), gradscope.watch(sample=sample) as scope:
        try:
            program()
        except FAILURES as error:
            failure = error
    torch.set_grad_enabled(True)
    off = tuple(code for code, rule in all_rules().items() if not rule.default)
    report = examine(scope.trace, Config(extend_select=off))
    assert not report.faults, report.faults
    return list(report.findings), failure


def of_text(text: str, path: str = "/pairs/train.py") -> Program:
    """The function `both` of a text, whose lines a traceback finds."""
    names: dict[str, Program] = {}
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    exec(compile(text, path, "exec"), names)
    return names[NAME]


def serious(found: Iterable[Finding]) -> set[str]:
    return {finding.code for finding in found if finding.severity != "note"}


@cache
def first_of(code: str) -> Program | None:
    """A rule's first wrong program that runs to its end and is told by that rule alone."""
    for bad in rule_programs.programs("bad", code):
        told, failure = findings(bad.function)
        if failure is None and serious(told) == {code} and bad.runs_here:
            return bad.function
    return None


def programs() -> list[tuple[str, Program]]:
    """The first wrong program of each rule that has one."""
    found = ((code, first_of(code)) for code in sorted(all_rules().keys() - ALONE))
    return [(code, program) for code, program in found if program is not None]


def missed(first: tuple[str, Program], second: tuple[str, Program]) -> set[str]:
    """The rules of the two that the woven program does not tell, nor by another rule that stands
    over them: where one optimizer clears its gradients, GS203 says of the other what GS201 would."""
    own = {first[0], second[0]}
    both = of_text(woven(first[1], second[1]))
    told, failure = findings(both)
    if failure is not None:
        return {f"{type(failure).__name__}: {failure}"}
    codes = serious(told)
    beside = {code for other in codes - own for code in all_rules()[other].over}
    lost = own - codes - beside - KNOWN.get(frozenset(own), set())
    return lost - serious(findings(both, sample=False)[0]) if lost and lost <= ASLEEP else lost


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rule", help="only pairs with this one")
    parser.add_argument("--show", action="store_true", help="the text of each program that misses one")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    count = bad = 0
    for first, second in itertools.combinations(programs(), 2):
        if chosen.rule and chosen.rule not in (first[0], second[0]):
            continue
        count += 1
        lost = missed(first, second)
        if lost:
            bad += 1
            print(first[0], second[0], "misses", ", ".join(sorted(lost))[:160], flush=True)
            if chosen.show:
                print(woven(first[1], second[1]))
    print(f"{count} pairs, {bad} of them miss one")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
