"""A sum takes the variable of a loop behind that loop: of all that the loop went through only the last is added.

Why: `for loss in losses: …` leaves the name `loss` on the last of them. A `total += loss` that stands one level too far
to the left runs once for the whole loop. Each of the others was computed, perhaps logged, and trains nothing.

Fix: put the line that adds into the body of the loop.

Measured: numbers with a graph that the loop's body looked at (`item()`, `float()`) and no loss depends on, beside the
one that the line behind the loop added. Silent on: loops that may be left early, numbers that go into some loss, and
such as nothing trained is behind.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.ops import ADDITIONS, EXITS
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import located, parameter_names, parameter_subjects, plural, source
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.source import SourceFile, names_in
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    trunk, near, far = nn.Linear(4, 8), nn.Linear(8, 2), nn.Linear(8, 3)
    opt = torch.optim.SGD([*trunk.parameters(), *near.parameters(), *far.parameters()], lr=0.1)
    for _ in range(4):
        x = torch.randn(16, 4)
        hidden = torch.relu(trunk(x))
        losses = {
            "near": nn.functional.mse_loss(near(hidden), x[:, :2]),
            "far": nn.functional.mse_loss(far(hidden), x[:, 1:]),
        }
        total = torch.zeros(())
        for name, loss in losses.items():
            print(name, loss.item())  # effect: GS358
        total = total + loss  # cause: GS358
        opt.zero_grad()
        total.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    trunk, near, far = nn.Linear(4, 8), nn.Linear(8, 2), nn.Linear(8, 3)
    opt = torch.optim.SGD([*trunk.parameters(), *near.parameters(), *far.parameters()], lr=0.1)
    for _ in range(4):
        x = torch.randn(16, 4)
        hidden = torch.relu(trunk(x))
        losses = {
            "near": nn.functional.mse_loss(near(hidden), x[:, :2]),
            "far": nn.functional.mse_loss(far(hidden), x[:, 1:]),
        }
        total = torch.zeros(())
        for name, loss in losses.items():
            print(name, loss.item())
            total = total + loss
        opt.zero_grad()
        total.backward()
        opt.step()


class _Behind(NamedTuple):
    """A statement that adds what a loop's variable is, and the loop, which stands right before it."""

    statement: ast.stmt
    loop: ast.For
    name: str


@rule("GS358", name="added-behind-its-loop", severity="warning", over=("GS302", "GS402"))
def added_behind_its_loop(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for _, op in known.used_calls(ADDITIONS):
        place = op.site.user
        behind = _behind(trace.source_file(place.path), place) if place.location() not in told else None
        if behind is None:
            continue
        left = _left_out(known, known.graph(op.graph), op, behind)
        if left:
            told.add(place.location())
            yield _finding(trace, known, op, behind, left)


def _behind(file: SourceFile, place: Site) -> _Behind | None:
    statement = file.statement(place)
    loop = (
        next((s for s in reversed(file.siblings(statement)) if s.lineno < place.line), None)
        if statement
        else None
    )
    if not isinstance(loop, ast.For) or not isinstance(statement, ast.Assign | ast.AugAssign):
        return None
    if any(isinstance(node, ast.Break | ast.Return) for node in ast.walk(loop)):
        return None
    names = names_in(loop.target, ast.Store) & names_in(statement.value, ast.Load)
    given = names_in(ast.Module(loop.body, []), ast.Store)
    return _Behind(statement, loop, names.pop()) if len(names) == 1 and not names & given else None


def _left_out(known: Paths, graph: Graph, added: Op, behind: _Behind) -> list[tuple[int, Op]]:
    """(number, the call that looked at it): those that the loop's body saw before this addition and no loss has."""
    path, lines = added.site.user.path, range(behind.loop.lineno, (behind.loop.end_lineno or 0) + 1)
    looks = [
        op
        for op in graph.called(EXITS)
        if op.index < added.index and any(f.path == path and f.line in lines for f in op.site.stack)
    ]
    seen = {op.inputs[0]: op for op in looks if op.inputs}
    if seen.keys().isdisjoint(added.inputs):
        return []
    return [
        (value, op)
        for value, op in seen.items()
        if graph.values[value].requires_grad
        and not graph.values[value].shape
        and (graph.id, value) not in known.used.order
        and any(known.stepped(known.parameters[id]) for id in known.reach([(graph.id, value)]).parameters)
    ]


def _finding(trace: Trace, known: Paths, added: Op, behind: _Behind, left: list[tuple[int, Op]]) -> Finding:
    place, file = added.site.user, trace.source_file(added.site.user.path)
    body = {id(node) for node in ast.walk(behind.loop)}
    frames = (f for f in left[0][1].site.stack if f.path == place.path and id(file.at(f)) in body)
    look = next(frames, left[0][1].site.user)
    ids = known.reach([(added.graph, value) for value, _ in left]).parameters
    names = parameter_names(trace, sorted(ids))
    text = source(trace, place)
    return Finding(
        message=f"`{text}` stands behind the loop: only the last `{behind.name}` is added, {plural(len(left), 'other')}"
        f" {'trains' if len(left) == 1 else 'train'} nothing",
        cause=place,
        cause_label="runs once, when the loop is over",
        effect=look,
        effect_label="sees each of them",
        seen=(
            f"in one pass {plural(len(left), 'number')} that {located(trace, look)} looked at"
            f" {'is' if len(left) == 1 else 'are'} in no loss, though the graph leads to {names}",
        ),
        fix=f"put {located(trace, place)} into the loop",
        edits=_inside(trace, place, behind),
        count=known.graph(added.graph).count,
        subjects=frozenset({("term", *place.location())})
        | parameter_subjects(ids - known.reach(known.roots).parameters),
    )


def _inside(trace: Trace, place: Site, behind: _Behind) -> Edits:
    here = Source(trace, place.path)
    text = here.text_of(behind.statement)
    return here.after(behind.loop.body[-1], text) + here.remove(behind.statement) if text else ()
