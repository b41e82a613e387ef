"""A loop over the data is left in its first turn, each time: a `return` or `break` stands in its body.

Why: `return total / len(loader)` belongs behind the loop. Indented one level too far it ends the epoch after the first
batch: an epoch is a single step, and the mean is divided by batches that never ran.

Fix: the statement one level to the left, behind the loop.

Measured: the step of an optimizer ran in that loop, several times; nothing is asked before the statement that leaves
it. Silent on: a `break` under a condition, loops without a step, a loop over an iterator that is kept, and goes on
where the last call left it.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.words import code, plural, where
from gradscope.events import KeptIterators, Step
from gradscope.fixes.source import Source
from gradscope.fixes.statements import out_of
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.source import FUNCTIONS, LOOPS, SourceFile
from gradscope.store import Trace

ENOUGH = 3  # steps

Loop = ast.For | ast.AsyncFor | ast.While


def bad() -> None:
    import torch
    from torch import nn

    def epoch(model: nn.Module, opt: torch.optim.Optimizer, batches: list[torch.Tensor]) -> float:
        total = 0.0
        for x in batches:
            opt.zero_grad()
            loss = model(x).pow(2).mean()
            loss.backward()
            opt.step()  # effect: GS243
            total += float(loss)
            return total / len(batches)  # cause: GS243
        return total

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        epoch(model, opt, list(torch.randn(4, 8, 3)))


def good() -> None:
    import torch
    from torch import nn

    def epoch(model: nn.Module, opt: torch.optim.Optimizer, batches: list[torch.Tensor]) -> float:
        total = 0.0
        for x in batches:
            opt.zero_grad()
            loss = model(x).pow(2).mean()
            loss.backward()
            opt.step()
            total += float(loss)
        return total / len(batches)

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        epoch(model, opt, list(torch.randn(4, 8, 3)))


@rule("GS243", name="left-in-its-first-turn", severity="warning")
def left_in_its_first_turn(trace: Trace) -> Iterator[Finding]:
    counts: dict[Site, int] = {}
    for event in trace.of(Step):
        counts[event.site.user] = counts.get(event.site.user, 0) + event.count
    for step, count in counts.items():
        file = trace.source_file(step.path)
        loop = next((n for n in file.around(step) if isinstance(n, (*LOOPS, *FUNCTIONS))), None)
        if not isinstance(loop, LOOPS) or count < ENOUGH:
            continue
        leaving = next((s for s in _always(loop.body) if isinstance(s, ast.Return | ast.Break)), None)
        if leaving is None or _goes_on(trace, step, loop):
            continue
        if not any(isinstance(n, ast.Continue) for n in ast.walk(loop)):
            yield _finding(trace, file, step, loop, leaving, count)


def _goes_on(trace: Trace, step: Site, loop: Loop) -> bool:
    """Whether the loop goes over an iterator that was the same object at each step: it takes the next one of that."""
    kept = {name for event in trace.of(KeptIterators) if event.site.user == step for name in event.names}
    asked = ast.walk(loop.iter) if kept and not isinstance(loop, ast.While) else ()
    return any(isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node) in kept for node in asked)


def _always(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that each turn comes to: those of a block, and of what it holds under a `with` of torch's. Another,
    such as `suppress` or the attempt of a retry, may catch what was raised and let the loop go on."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.With) and all(
            ast.unparse(item.context_expr).startswith("torch.") for item in statement.items
        ):
            yield from _always(statement.body)


def _finding(
    trace: Trace, file: SourceFile, step: Site, loop: Loop, leaving: ast.Return | ast.Break, count: int
) -> Finding:
    site = Site(-1, step.path, *file.span(leaving), step.function, "user")
    word = "return" if isinstance(leaving, ast.Return) else "break"
    ask = isinstance(loop, ast.While)
    over = " ".join(file.text(loop.test if isinstance(loop, ast.While) else loop.iter).split())
    return Finding(
        message=f"the loop {'while' if ask else 'over'} `{over}` is left in its first turn: `{word}` stands in its"
        " body, and nothing is asked before it",
        cause=site,
        cause_label="leaves the loop",
        effect=step,
        effect_label=f"runs once, {'however long the condition holds' if ask else 'whatever the loop goes over'}",
        seen=(
            f"{code(trace, step, 'the step')} ran {plural(count, 'time')}, once each time that the loop began",
        ),
        fix=f"put the `{word}` behind the loop, one level to the left ({where(site)})"
        if word == "return"
        else f"take the `break` out ({where(site)})",
        edits=out_of(Source(trace, step.path), [leaving], loop)
        if loop.body[-1] is leaving and not loop.orelse and word == "return"
        else (),
        count=count,
    )
