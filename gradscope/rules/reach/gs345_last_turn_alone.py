"""Each turn of a loop makes a term, and the loss has that of the last turn alone.

Why: `out, kl = layer(out)` in a loop gives the name `kl` to another value in each turn. What is read behind the loop is
the last one: the others have their graph, and nothing goes back through it. The sum was meant, and the line that adds
stands one level too far to the left, or is missing.

Fix: add up within the loop.

Measured: in a pass the same line made several single numbers with a graph that leads to trained parameters; the last
one is in the loss, or is the loss, and no operation read any other.
Silent on: values that are read within the loop (a state, a list), values that are no single numbers and no sums, what
is refined turn by turn, loops that may be left early.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gradscope.analysis.ops import EXITS, REDUCTIONS
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.text import own_nodes, site_of
from gradscope.analysis.words import located, parameter_names, parameter_subjects, plural
from gradscope.events import Backward
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.source import names_in
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return torch.relu(self.linear(x)), self.linear.weight.pow(2).sum()

    layers = nn.ModuleList(Layer() for _ in range(3))
    opt = torch.optim.SGD(layers.parameters(), lr=0.01)
    for _ in range(3):
        x, penalties = torch.randn(8, 4), torch.zeros(())
        for layer in layers:
            x, penalty = layer(x)  # cause: GS345
        penalties = penalties + penalty
        opt.zero_grad()
        (x.pow(2).mean() + 0.01 * penalties).backward()  # effect: GS345
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return torch.relu(self.linear(x)), self.linear.weight.pow(2).sum()

    layers = nn.ModuleList(Layer() for _ in range(3))
    opt = torch.optim.SGD(layers.parameters(), lr=0.01)
    for _ in range(3):
        x, penalties = torch.randn(8, 4), torch.zeros(())
        for layer in layers:
            x, penalty = layer(x)
            penalties = penalties + penalty
        opt.zero_grad()
        (x.pow(2).mean() + 0.01 * penalties).backward()
        opt.step()


class Kept(NamedTuple):
    """The name that a loop's turns give their values, and what reads it behind the loop."""

    site: Site  # where it is given
    name: str
    statement: ast.Assign
    loop: ast.For | ast.While
    reads: list[ast.Name]


@rule("GS345", name="last-turn-alone", severity="warning", over=("GS302",))
def last_turn_alone(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    passed: dict[int, Backward] = {}  # the first pass of each graph
    for (number, _), events in known.roots.items():
        passed.setdefault(number, events[0])
    for number, event in passed.items():
        graph = known.graph(number)
        for op, dropped in _dropped(known, graph):
            kept = _kept(trace, op)
            # Where the pass begins at the last one behind the loop, GS331 tells it.
            if (graph.id, op.outputs[0]) in known.roots and kept is not None:
                kept = kept if kept.site.function != event.site.user.function else None
            if kept is not None and kept.site.location() not in told:
                told.add(kept.site.location())
                yield _finding(trace, known, event, kept, graph, dropped)


def _dropped(known: Paths, graph: Graph) -> Iterator[tuple[Op, list[int]]]:
    """The op that made the last value of a line, which a loss has, and the values before it, which nothing reads."""
    lines: dict[int, list[tuple[Op, int]]] = {}
    for op in graph.ops:
        for output in op.outputs:
            if graph.values[output].requires_grad and _is_term(graph, op, output):
                lines.setdefault(op.site.id, []).append((op, output))
    for made in lines.values():
        values = [output for _, output in made]
        read = [any(r.name not in EXITS for r in graph.consumers.get(value, ())) for value in values]
        last = (graph.id, values[-1])
        if any(read[:-1]) or not (read[-1] or last in known.roots) or last not in known.used.order:
            continue
        before = [(graph.id, value) for value in values[:-1]]
        if not before or any(key in known.roots or key in known.used.order for key in before):
            continue
        if not _refines(graph, made):
            yield made[-1][0], values[:-1]


def _is_term(graph: Graph, op: Op, value: int) -> bool:
    shape = graph.values[value].shape
    return shape in ((), (1,)) or (len(shape) == 1 and op.name in REDUCTIONS)


def _refines(graph: Graph, made: list[tuple[Op, int]]) -> bool:
    """Whether each turn goes on with what the one before gave, by the same module: only the last result counts then.
    What all turns share and no turn makes anew, as a trunk before the loop, is none of that."""
    if len({op.module for op, _ in made} - {None}) > 1:
        return False
    first, last = (_behind_value(graph, value) for _, value in (made[0], made[-1]))
    later = {graph.ops[op].site.id for op in last - first}
    return any(graph.ops[op].site.id in later for op in first & last)


def _behind_value(graph: Graph, value: int) -> set[int]:
    """The ops that a value was computed by."""
    ops = (graph.values[v].op for v in graph.upstream(value))
    return {op for op in ops if op is not None}


def _kept(trace: Trace, op: Op) -> Kept | None:
    for frame in reversed(op.site.stack):
        if frame.kind != "user":
            continue
        file = trace.source_file(frame.path)
        statement = file.statement(frame)
        loop = _loop(file.parent, statement)
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or loop is None:
            continue
        target = statement.targets[0]
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        found = []
        for name in names:
            if isinstance(name, ast.Name) and (reads := _behind(file.scope(frame), loop, name.id)):
                found.append((name.id, reads))
        if len(found) == 1:
            return Kept(frame, found[0][0], statement, loop, found[0][1])
    return None


def _loop(parent: Mapping[int, ast.AST], statement: ast.AST | None) -> ast.For | ast.While | None:
    """The loop that a statement is a step of, where no turn ends it early."""
    around = parent.get(id(statement))
    while isinstance(around, ast.With):
        around = parent.get(id(around))
    if not isinstance(around, ast.For | ast.While) or any(isinstance(n, ast.Break) for n in ast.walk(around)):
        return None
    return around


def _behind(scope: ast.AST, loop: ast.For | ast.While, name: str) -> list[ast.Name]:
    """What reads a name behind the loop that gives it, until it is given another value; nothing where the loop
    itself reads it."""
    if name in names_in(loop, ast.Load):
        return []
    end = loop.end_lineno or loop.lineno
    same = [n for n in own_nodes(scope) if isinstance(n, ast.Name) and n.id == name and n.lineno > end]
    same.sort(key=lambda n: (n.lineno, n.col_offset))
    again = next((n.lineno for n in same if isinstance(n.ctx, ast.Store)), None)
    return [n for n in same if isinstance(n.ctx, ast.Load) and (again is None or n.lineno <= again)]


def _finding(
    trace: Trace, known: Paths, loss: Backward, kept: Kept, graph: Graph, dropped: list[int]
) -> Finding:
    behind = known.reach([(graph.id, value) for value in dropped]).parameters
    read = site_of(kept.site.path, kept.site.function, kept.reads[0])
    names = parameter_names(trace, sorted(behind))
    fix, edits = _added_up(trace, kept)
    return Finding(
        message=f"the loss has the `{kept.name}` of the loop's last turn alone: {plural(len(dropped), 'other')}"
        f" {'goes' if len(dropped) == 1 else 'go'} nowhere",
        cause=kept.site,
        cause_label=f"each turn gives `{kept.name}` another value",
        effect=loss.site.user,
        effect_label="goes back through the last one only",
        related=((read, "behind the loop: reads the last one"),),
        seen=(
            f"this line made {len(dropped) + 1} of them for one loss; nothing read the first"
            f" {plural(len(dropped), 'value') if len(dropped) > 1 else 'one'}"
            + (f", though their graph leads to {names}" if names else ""),
        ),
        fix=fix,
        edits=edits,
        count=loss.count,
        subjects=frozenset({("term", *kept.site.location())})
        | parameter_subjects(behind - known.reach(known.roots).parameters),
    )


def _added_up(trace: Trace, kept: Kept) -> tuple[str, Edits]:
    """The line that adds, moved into the loop where it follows that; else a sum of its own."""
    here = Source(trace, kept.site.path)
    adds = here.file.parent.get(id(kept.reads[0]))
    while adds is not None and not isinstance(adds, ast.stmt):
        adds = here.file.parent.get(id(adds))
    place = located(trace, kept.site)
    if adds is not None and _is_sum(adds) and adds in here.file.siblings(kept.loop) and len(kept.reads) == 1:
        text = here.text_of(adds)
        edits = here.after(kept.loop.body[-1], text) + here.remove(adds) if text else ()
        return f"put `{here.file.text(adds)}` into the loop (line {adds.lineno})", edits
    total = f"all_{kept.name}"
    if any(isinstance(n, ast.Name) and n.id == total for n in here.file.nodes):
        return f"add up the `{kept.name}` of all turns within the loop, after {place}", ()
    edits = (
        *here.before(kept.loop, f"{total} = 0"),
        *here.after(kept.statement, f"{total} = {total} + {kept.name}"),
        *(edit for read in kept.reads for edit in here.replace(read, total)),
    )
    return (
        f"add them up, `{total} = {total} + {kept.name}` after {place}, and read `{total}` in place of `{kept.name}`"
        f" behind the loop (line {kept.reads[0].lineno})"
    ), edits


def _is_sum(statement: ast.stmt) -> bool:
    """`total += x`, `total = total + x`."""
    if isinstance(statement, ast.AugAssign):
        return isinstance(statement.op, ast.Add)
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.BinOp):
        return False
    return isinstance(statement.value.op, ast.Add) and bool(
        names_in(statement.targets[0]) & names_in(statement.value, ast.Load)
    )
