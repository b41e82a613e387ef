"""A loop over the data is left in its first turn, each time: a `return` or `break` stands in its body.

Why: `return total / len(loader)` belongs behind the loop. Indented one level too far it ends the epoch after the first
batch: an epoch is a single step, and the mean is divided by batches that never ran.

Fix: the statement one level to the left, behind the loop.

The same with a loop over the parts of a loss, the layers of a network or the batches of an evaluation: only the first
one counts.

Measured: the step of an optimizer ran in that loop, several times; nothing is asked before the statement that leaves
it. Without a step: operations ran in it, and what the `return` gives is a value from before the loop that each turn is
to add to or to go on with. A note where a `break` leaves a loader that draws its order: one batch, another one each
time, may be what is meant. Silent on: a `break` under a condition, a loop over an iterator that is kept, and goes on
where the last call left it; a `return` of what the turn itself has made, as of the first of several.
"""

import ast
from collections import Counter
from collections.abc import Iterator

from gradscope.analysis.counted import at_least
from gradscope.analysis.words import code, plural, user, where
from gradscope.events import KeptIterators, Loader, Step
from gradscope.fixes.source import Source
from gradscope.fixes.statements import out_of
from gradscope.model import Edit, Finding, Site
from gradscope.rules import rule
from gradscope.source import FUNCTIONS, LOOPS, SCOPES, SourceFile, arguments, method_name, names_in
from gradscope.store import Trace

ENOUGH = 3  # steps
ADDING = {"append", "extend", "add", "update"}  # methods of what gathers

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
    told = list(_with_a_step(trace))
    yield from told
    places = {found.cause.location() for found in told if found.cause is not None}
    yield from (
        found
        for found in _with_what_grows(trace)
        if found.cause is None or found.cause.location() not in places
    )


def _with_a_step(trace: Trace) -> Iterator[Finding]:
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
    ask, over = isinstance(loop, ast.While), _over(file, loop)
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
        severity="note" if word == "break" and _drawn(trace, step.path, loop) else "",
    )


def _drawn(trace: Trace, path: str, loop: Loop) -> bool:
    """Whether it goes through loaders alone that draw their order: its first batch is another one each time."""
    head = range(loop.lineno, loop.body[0].lineno)
    places = [(event.order, user(trace.site(event.loop))) for event in trace.of(Loader)]
    return {order for order, at in places if at is not None and at.path == path and at.line in head} == {
        "drawn"
    }


def _with_what_grows(trace: Trace) -> Iterator[Finding]:
    """Loops in which operations ran, and that leave their function in the first turn with what each turn adds to."""
    ran: dict[Site, int] = {}
    for graph in trace.graphs:
        times = Counter(op.site.id for op in graph.ops)
        for site in graph.sites:
            ran[site] = ran.get(site, 0) + graph.count * times[site.id]
    counts: dict[Site, int] = {}
    for site, count in ran.items():
        for frame in site.stack:
            if frame.kind == "user":
                counts[frame] = max(counts.get(frame, 0), count)
    told: set[int] = set()
    for site, count in counts.items():
        file = trace.source_file(site.path)
        loop = next((n for n in file.around(site) if isinstance(n, (*LOOPS, *SCOPES))), None)
        if not isinstance(loop, LOOPS) or id(loop) in told or site.line < loop.body[0].lineno:
            continue
        told.add(id(loop))
        leaving = next((s for s in _always(loop.body) if isinstance(s, ast.Return)), None)
        function = file.function_of(loop)
        if leaving is None or leaving.value is None or function is None or site.line > leaving.lineno:
            continue
        if any(isinstance(n, ast.Continue | ast.Yield | ast.YieldFrom) for n in ast.walk(loop)):
            continue
        if isinstance(loop, ast.While) and isinstance(loop.test, ast.Constant):
            continue  # nothing else would ever leave it
        growing = _growing(function, loop, leaving.value)
        if growing is not None:
            loops = _loops_around(file, loop, growing[0])
            yield _finding_of_growing(trace, file, site, loops, leaving, growing, count)


def _growing(
    function: ast.FunctionDef | ast.AsyncFunctionDef, loop: Loop, given: ast.expr
) -> tuple[str, ast.stmt] | None:
    """A name that has a value before the loop and is in what the `return` gives, and the statement of each turn that
    adds to it or goes on with it."""
    before = {one.arg for one in arguments(function)}
    before |= {
        n for s in ast.walk(function) if isinstance(s, ast.stmt) and s.lineno < loop.lineno for n in _bound(s)
    }
    for statement in _always(loop.body):
        for name in _continued(statement):
            if name in before & names_in(given, ast.Load):
                return name, statement
    return None


def _bound(statement: ast.stmt) -> set[str]:
    """The names that an assignment gives a value."""
    targets = (
        statement.targets
        if isinstance(statement, ast.Assign)
        else [statement.target]
        if isinstance(statement, ast.AnnAssign)
        else []
    )
    return {name for target in targets for name in names_in(target, ast.Store)}


def _continued(statement: ast.stmt) -> set[str]:
    """The names that a statement makes something else of what they were: `x += y`, `x = f(x)`, `x.append(y)`."""
    if isinstance(statement, ast.AugAssign):
        return names_in(statement.target, ast.Store)
    if isinstance(statement, ast.Assign):
        return _bound(statement) & names_in(statement.value, ast.Load)
    call = statement.value if isinstance(statement, ast.Expr) else None
    if method_name(call) in ADDING and isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        return names_in(call.func.value, ast.Load) if isinstance(call.func.value, ast.Name) else set()
    return set()


def _loops_around(file: SourceFile, loop: Loop, name: str) -> list[Loop]:
    """The loop, and those around it that it stands in, in each turn, as far as the name has its value from before
    them: all are left at once. The innermost first."""
    found = [loop]
    for above in file.above(loop):
        if not isinstance(above, LOOPS) or found[-1] not in _always(above.body):
            break
        if any(
            name in _bound(s) for s in ast.walk(above) if isinstance(s, ast.stmt) and s.lineno < loop.lineno
        ):
            break
        found.append(above)
    return found


def _over(file: SourceFile, loop: Loop) -> str:
    return " ".join(file.text(loop.test if isinstance(loop, ast.While) else loop.iter).split())


def _behind(trace: Trace, path: str, leaving: ast.Return, loops: list[Loop]) -> tuple[Edit, ...]:
    """The `return` behind the outermost of these loops, where it is the last statement of each."""
    inner: list[ast.stmt] = [leaving, *loops]
    ends = all(loop.body[-1] is one and not loop.orelse for one, loop in zip(inner, loops, strict=False))
    return out_of(Source(trace, path), [leaving], loops[-1]) if ends else ()


def _finding_of_growing(
    trace: Trace,
    file: SourceFile,
    ran: Site,
    loops: list[Loop],
    leaving: ast.Return,
    growing: tuple[str, ast.stmt],
    count: int,
) -> Finding:
    name, statement = growing
    site = Site(-1, ran.path, *file.span(leaving), ran.function, "user")
    grows = Site(-1, ran.path, *file.span(statement), ran.function, "user")
    texts = [f"`{_over(file, loop)}`" for loop in loops]
    several = len(loops) > 1
    levels = f"{len(loops)} levels" if several else "one level"
    return Finding(
        message=f"the loop{'s' if several else ''} {'while' if isinstance(loops[0], ast.While) else 'over'}"
        f" {' and '.join(texts[::-1])} {'are' if several else 'is'} left in {'their' if several else 'its'} first turn:"
        f" `return` stands in {'them' if several else 'its body'}, and nothing is asked before it",
        cause=site,
        cause_label="leaves the function in the first turn",
        effect=grows,
        effect_label=f"`{name}` gets the first turn alone",
        seen=(
            f"{code(trace, ran, 'an operation of the loop')} ran {at_least(trace, count, 'time')};"
            f" `{name}` has its value from before the loop, each turn goes on with it, and `return` gives it after one",
        ),
        why="a `return` ends the whole function wherever it stands: what the other turns would add is never computed",
        fix=f"put the `return` behind the {'outer ' if several else ''}loop, {levels} to the"
        f" left ({where(site)})",
        edits=_behind(trace, ran.path, leaving, loops),
        count=count,
    )
