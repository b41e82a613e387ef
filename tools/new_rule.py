"""Writes the skeleton of a rule and the file of its programs: `make new-rule CODE=GS317 NAME=what-it-catches`, of a
rule that compares the processes of a run `make new-rule CODE=GS811 NAME=what-it-catches RANKS=1`."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FAMILIES = {
    "1": "memory",
    "2": "step",
    "3": "reach",
    "4": "mode",
    "5": "device",
    "6": "cost",
    "7": "numbers",
    "8": "runtime",
    "9": "runtime",
}

RULE = '''"""One sentence: what is wrong, for the person whose program it is.

Why: what torch does here, and what it leads to.

Fix: what to write instead.
"""

from collections.abc import Iterator

from gradscope.analysis.words import located
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch

    x = torch.ones(3, requires_grad=True)
    x.sum().backward()
    print(x.sum().item())  # cause: {code}


def good() -> None:
    import torch

    x = torch.ones(3, requires_grad=True)
    x.sum().backward()


@rule("{code}", name="{name}", severity="warning")
def {function}(trace: Trace) -> Iterator[Finding]:
    for op in trace.ops:
        if op.name == "item":
            yield Finding(
                message="`item()` takes a value out of the graph",
                cause=op.site.user,
                seen=(f"{{len(op.inputs)}} tensor became a number",),
                fix=f"use the tensor itself in place of {{located(trace, op.site.user)}}",
            )
'''

RULE_ACROSS = '''"""One sentence: what is wrong between the processes, for the person whose program it is.

Why: what torch does here, and what it leads to.

Fix: what to write instead.
"""

from collections.abc import Iterator

from gradscope.analysis.words import located
from gradscope.model import Finding
from gradscope.rules import rule_across
from gradscope.store import Member, Run


def bad() -> None:
    import torch
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    model = DistributedDataParallel(nn.Linear(4, 1))
    loss = model(torch.randn(8, 4)).pow(2).mean()
    loss.backward()
    print(loss.item())  # cause: {code}


def good() -> None:
    import torch
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    model = DistributedDataParallel(nn.Linear(4, 1))
    model(torch.randn(8, 4)).pow(2).mean().backward()


@rule_across("{code}", name="{name}", severity="warning")
def {function}(run: Run) -> Iterator[tuple[Member, Finding]]:
    for members in run.alike:  # the ranks of a group did the same: the first one's trace stands for all
        trace = members[0].trace
        for op in trace.ops:
            if op.name == "item":
                finding = Finding(
                    message="`item()` takes a value out of the graph on these ranks",
                    cause=op.site.user,
                    seen=(f"{{len(members)}} ranks did so",),
                    fix=f"use the tensor itself in place of {{located(trace, op.site.user)}}",
                )
                yield from ((member, finding) for member in members)
'''

PROGRAMS = '''"""More programs of {code}: each bad one is reported at its marks, each good one by no rule."""


def good_that_looks_alike() -> None:
    import torch

    x = torch.ones(3, requires_grad=True)
    (2 * x).sum().backward()
'''


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("code", help="a free code, as GS317")
    parser.add_argument("name", help="what it catches, as needless-retain-graph")
    parser.add_argument("--ranks", action="store_true", help="a rule that compares the processes of a run")
    options = parser.parse_args()
    code, name = options.code.upper(), options.name.lower()
    if not re.fullmatch(r"GS[1-9]\d\d", code) or not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        parser.error("a code looks like GS317, a name like needless-retain-graph")
    if taken := sorted((ROOT / "gradscope" / "rules").rglob(f"{code.lower()}_*.py")):
        parser.error(f"{code} is taken: {taken[0].relative_to(ROOT)}")
    family, function = "ranks" if options.ranks else FAMILIES[code[2]], name.replace("-", "_")
    texts = {
        ROOT / "gradscope" / "rules" / family / f"{code.lower()}_{function}.py": RULE_ACROSS
        if options.ranks
        else RULE,
        ROOT / "tests" / "rules" / family / f"{code.lower()}_programs.py": PROGRAMS,
    }
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.format(code=code, name=name, function=function), encoding="utf-8")
        print(path.relative_to(ROOT))
    print(f"next: write the programs, then the rule; `make test-rule RULE={code}` (CONTRIBUTING.md)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
