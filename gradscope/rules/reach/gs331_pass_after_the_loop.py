"""The backward pass stands after the loop that computes the losses: of all its turns only the last one trains.

Why: each turn of the loop computes a loss and forgets the one before. A `loss.backward()` that is not indented with it
runs once the loop is over, with the last batch alone; the others were computed for nothing. The loss falls, a hundred
times more slowly than it should.

Fix: `backward()` and `step()` into the body of the loop; where its turns are the steps of one sequence, the sum of
their losses.

Measured: what the line of the loss gave, how much of it a pass began at, and how much nothing went on with. Silent
on: losses that are added up or kept for the pass.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from gradscope.analysis.counted import at_least
from gradscope.analysis.ops import EXITS
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import code, located, parameter_subjects
from gradscope.events import Backward, Step
from gradscope.fixes.source import Edits, Source
from gradscope.fixes.statements import into_the_loop
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.source import LOOPS, method_name
from gradscope.store import Trace

OFTEN = 2  # times as many results are forgotten as are used
ENOUGH = 4


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    data = torch.randn(64, 5).split(8)
    model = nn.Linear(5, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        for x in data:
            opt.zero_grad()
            loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()  # effect: GS331
        loss.backward()  # cause: GS331
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    data = torch.randn(64, 5).split(8)
    model = nn.Linear(5, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        for x in data:
            opt.zero_grad()
            loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
            loss.backward()
            opt.step()


@dataclass
class _Line:
    """What one line has made: numbers that a pass began at, and those that nothing went on with."""

    event: Backward
    made: Site
    trained: int = 0
    forgotten: int = 0
    last: bool = True  # each pass began at the last of them: not at the best of several


@rule("GS331", name="pass-after-the-loop", severity="warning", over=("GS402",))
def pass_after_the_loop(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    if not known.roots or not known.reached.complete:
        return
    for line in _lines(known).values():
        loop = _left(trace, line.made, line.event.site.user)
        if loop is not None and line.last and line.forgotten >= max(ENOUGH, OFTEN * line.trained):
            together = _of_one_graph(known, line)
            yield _summed(trace, line, loop) if together else _finding(trace, line, loop)


def _lines(known: Paths) -> dict[tuple[str, int], _Line]:
    """Of each line that made what a pass began at."""
    found: dict[tuple[str, int], _Line] = {}
    for event in known.backwards:
        maker = known.maker((event.graph, event.roots[0])) if len(event.roots) == 1 else None
        if event.call != "backward" or maker is None or maker.graph != event.graph:
            continue
        line = found.setdefault(maker.site.user.location(), _Line(event, maker.site.user))
        line.trained += event.count
        graph = known.graph(event.graph)
        alike = [op for op in graph.ops if op.site.id == maker.site.id and op.name == maker.name and op.nodes]
        line.last &= alike[-1:] == [maker]
        line.forgotten += event.count * sum(_is_forgotten(known, graph, op) for op in alike)
    return found


def _is_forgotten(known: Paths, graph: Graph, op: Op) -> bool:
    """Whether no pass goes through what it gave, and nothing but a look at the number was made of it."""
    reached = known.reached.nodes
    if any((graph.id, node) in reached for node in op.nodes):
        return False
    readers = (reader for index in op.outputs for reader in graph.consumers.get(index, ()))
    return all(reader.name in EXITS or reader.cut == "detach" for reader in readers)


def _left(trace: Trace, computed: Site, passed: Site) -> ast.stmt | None:
    """The loop around the first that the second has left: it stands behind it, in the same function."""
    if computed.path != passed.path or computed.function != passed.function:
        return None
    file = trace.source_file(computed.path)
    here = {id(node) for node in file.around(passed)}
    for node in file.around(computed):
        if isinstance(node, LOOPS) and id(node) not in here:
            return node if passed.line > (node.end_lineno or node.lineno) else None
        if id(node) in here:
            return None
    return None


def _of_one_graph(known: Paths, line: _Line) -> bool:
    """Whether the losses of one pass are computed from one another's inputs: steps of one sequence, not batches."""
    graph = known.graph(line.event.graph)
    alike = [
        op for op in graph.ops if op.site.user.location() == line.made.location() and op.nodes and op.outputs
    ]
    behind = [set(graph.upstream(op.outputs[0])) for op in (alike[:-1][-1:] + alike[-1:])]
    if len(behind) < 2:
        return False
    makers = (graph.maker(value) for value in behind[0] & behind[1])
    return any(op is not None and op.nodes for op in makers)


def _summed(trace: Trace, line: _Line, loop: ast.stmt) -> Finding:
    """Each turn of the loop goes on from the one before: a pass in each would take its graph away from the next."""
    found = _finding(trace, line, loop)
    fix, edits = _sum(trace, line, loop)
    return replace(
        found,
        message=f"{code(trace, line.event.site.user, 'the pass')} goes back from one of the losses of the loop only,"
        " the last",
        cause_label="goes back from one number",
        seen=(f"{found.seen[0]}; each is computed from what the turn before computed",),
        why="the turns of the loop are the steps of one sequence: its loss is the sum, or the mean, of all of them",
        fix=fix,
        edits=edits,
    )


def _sum(trace: Trace, line: _Line, loop: ast.stmt) -> tuple[str, Edits]:
    """How the losses of the turns are added up: those that a list keeps, or as they come."""
    here, site = Source(trace, line.made.path), line.event.site.user
    node, passed = here.file.at(line.made), here.file.at(site)
    above = here.file.parent.get(id(node))
    begun = (
        passed.func.value if isinstance(passed, ast.Call) and isinstance(passed.func, ast.Attribute) else None
    )
    if (
        isinstance(above, ast.Call)
        and method_name(above) == "append"
        and isinstance(above.func, ast.Attribute)
    ):
        total = f"sum({here.file.text(above.func.value)})"
        edits = here.replace(begun, total) if isinstance(begun, ast.Name) else ()
        return f"begin at all of them: `{total}.backward()` in {located(trace, site)}", edits
    name = begun.id if isinstance(begun, ast.Name) else "loss"
    fix = f"add them up: `{name} = 0` before line {loop.lineno}, `{name} += …` in {located(trace, line.made)}"
    if not isinstance(above, ast.Assign) or above.value is not node or not isinstance(begun, ast.Name):
        return fix, ()
    if [ast.unparse(target) for target in above.targets] != [name]:
        return fix, ()
    return fix, here.before(loop, f"{name} = 0") + here.replace(above, f"{name} += {here.file.text(node)}")


def _finding(trace: Trace, line: _Line, loop: ast.stmt) -> Finding:
    site = line.event.site.user
    file = trace.source_file(site.path)
    inside = {id(node) for node in ast.walk(loop)}
    steps = [
        step
        for step in dict.fromkeys(event.site.user for event in trace.of(Step))
        if (step.path, step.function) == (site.path, site.function)
        and step.line >= site.line
        and id(file.statement(step)) not in inside
    ]
    return Finding(
        message=f"{code(trace, site, 'the pass')} stands after the loop: of its losses only the last one trains",
        cause=site,
        cause_label="runs once the loop is over",
        effect=line.made,
        effect_label="computed in each turn, and forgotten in all but the last",
        seen=(
            f"{at_least(trace, line.forgotten, 'loss')} of this line went through no pass, {line.trained} did",
        ),
        fix=f"indent {located(trace, site)}"
        + (f" and {located(trace, steps[0])}" if steps else "")
        + f", so that they belong to the body of the loop (line {loop.lineno})",
        edits=into_the_loop(trace, loop, [site, *steps[:1]][-1]),
        count=line.forgotten,
        subjects=parameter_subjects(line.event.filled),
    )
