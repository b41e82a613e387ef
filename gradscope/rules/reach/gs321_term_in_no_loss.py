"""A term was computed of gradients that have a graph of their own, and is in no loss.

Why: gradients are computed with `create_graph=True` so that a loss can be made of them: a gradient penalty, an equation
with derivatives. A term that is never added to what `backward()` is called on costs its time and trains nothing. It
can still be printed, and looks as if it took part.

Fix: add the term to the loss.

Measured: single numbers with a graph that leads through such gradients to parameters which other passes train; no
pass of the run goes through them, and nothing but printing reads them.
Silent on: terms that are added, or have a pass of their own; gradients without a graph, which only measure something.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.dead_ends import taken_along
from gradscope.analysis.loop import settled
from gradscope.analysis.ops import EXITS
from gradscope.analysis.reach import Key, Paths, Upstream, paths
from gradscope.analysis.words import code, located, parameter_names, parameter_subjects, plural
from gradscope.events import Backward
from gradscope.fixes.source import receiver
from gradscope.fixes.statements import line_before
from gradscope.model import Edit, Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.rules.reach._with_graph import keeps_graph, passes_with_graph
from gradscope.source import SourceFile
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    critic = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(4):
        real, made = torch.randn(16, 3) + 1, torch.randn(16, 3)
        between = (0.5 * real + 0.5 * made).requires_grad_()
        slope = torch.autograd.grad(critic(between).sum(), between, create_graph=True)[0]
        penalty = (slope.norm(dim=1) - 1).pow(2).mean()  # cause: GS321
        loss = critic(made).mean() - critic(real).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS321
        opt.step()
        print(penalty.item())


def good() -> None:
    import torch
    from torch import nn

    critic = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(4):
        real, made = torch.randn(16, 3) + 1, torch.randn(16, 3)
        between = (0.5 * real + 0.5 * made).requires_grad_()
        slope = torch.autograd.grad(critic(between).sum(), between, create_graph=True)[0]
        penalty = (slope.norm(dim=1) - 1).pow(2).mean()
        loss = critic(made).mean() - critic(real).mean() + 10 * penalty
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(penalty.item())


@rule("GS321", name="term-in-no-loss", severity="warning", over=("GS604", "GS402"))
def term_in_no_loss(trace: Trace) -> Iterator[Finding]:
    if not any(event.create_graph for event in trace.of(Backward)) or not settled(trace):
        return
    known = paths(trace)
    if known.unseen:
        return  # a pass that was never looked at may go through the term
    asked = _losses(known)
    unknown = _unknown(known, asked)
    ends: dict[tuple[str, int], tuple[Op, Op]] = {}
    used: set[tuple[str, int]] = set()  # lines whose gradients a loss has a part of, at least in some steps
    for number in known.graph_ids:
        graph = known.graph(number)
        for op in graph.called({"grad"}):
            if keeps_graph(op):
                end = _end(known, asked, unknown, graph, op)
                if end is None:
                    used.add(_line(op))
                elif end is not op:
                    ends.setdefault(_line(op), (op, end))
    for line, (op, end) in ends.items():
        over = line in used or _behind_the_training(trace, line)
        found = None if over else _finding(trace, known, op, end)
        if found is not None:
            yield found


def _behind_the_training(trace: Trace, line: tuple[str, int]) -> bool:
    """Whether these gradients were first asked for when the last `backward()` was over: to look at the result."""
    places = list(enumerate(trace.of(Backward)))
    first = min((n for n, event in places if event.site.user.location() == line), default=-1)
    return first > max((n for n, event in places if event.call == "backward"), default=len(places))


def _end(known: Paths, asked: Upstream, unknown: set[tuple[int, ...]], graph: Graph, op: Op) -> Op | None:
    """The op that made the one number that all use of these gradients ends in; None where a loss may have a part of it,
    `op` itself where nothing is known of its end, but that it is in no loss."""
    ends: list[Op] = []
    todo: list[Key] = [(graph.id, output) for output in op.outputs if graph.values[output].requires_grad]
    seen = set(todo)
    for key in todo:  # grows while it is walked
        if key in asked.order:
            return None
        here = known.graph(key[0])
        readers = [r for r in here.consumers.get(key[1], ()) if r.name not in EXITS and r.outputs]
        if any(reader.writes for reader in readers):
            return None
        later = taken_along(known.trace).get(key, [])
        made = [(here.id, v) for r in readers for v in r.outputs if here.values[v].requires_grad]
        maker, shape = known.maker(key), here.values[key[1]].shape
        if not readers and not later and maker is not None and not shape:
            ends.append(maker)
        elif not made and not later and shape and (here.consumers.get(key[1]) or shape in unknown):
            return None  # what became of it is not known here
        todo += [one for one in dict.fromkeys((*made, *later)) if one not in seen]
        seen.update(made, later)
    return ends[-1] if ends else op


def _unknown(known: Paths, asked: Upstream) -> set[tuple[int, ...]]:
    """The shapes of what losses take from earlier stretches of the run where it is not known from which."""
    return {
        value.shape
        for number in known.graph_ids
        for value in known.graph(number).values
        if value.kind == "carried" and value.origin is None and (number, value.index) in asked.order
    }


def _losses(known: Paths) -> Upstream:
    """All that passes go back from, but for those whose gradients go on with their graph: a derivative of the second
    order is asked of one of the first, and that may end in the same term."""
    roots = (key for key, events in known.roots.items() if not all(map(_goes_on, events)))
    return known.flow(roots)


def _goes_on(event: Backward) -> bool:
    return event.create_graph and event.call == "grad"


def _finding(trace: Trace, known: Paths, op: Op, end: Op) -> Finding | None:
    behind = known.reach([(end.graph, end.outputs[0])])
    ids = {p for p in behind.parameters if trace.parameter(p).steps}
    loss = next((e for e in trace.of(Backward) if e.call == "backward" and ids & set(e.filled)), None)
    if not ids or not behind.complete or loss is None:
        return None
    term, name = _kept(trace, end, loss.site.user)
    times = passes_with_graph(trace, _line(op))
    text = f"`{name}`" if name else code(trace, term, "a term")
    names, to = parameter_names(trace, sorted(ids)), receiver(trace, loss.site.user, "backward")
    edits: tuple[Edit, ...] = ()
    if name and to and term.line < loss.site.user.line:
        edits = line_before(trace, loss.site.user, f"{to} = {to} + {name}")
    return Finding(
        message=f"{text} is in no loss: it was made of gradients with a graph, and trains nothing",
        cause=term,
        cause_label="computed, and added to nothing",
        effect=loss.site.user,
        effect_label="goes through other terms only",
        related=((op.site.user, "makes a graph of the gradients for it"),) if op.site.user != term else (),
        seen=(
            f"it has a graph that leads to {names}, over gradients of {plural(times, 'pass')} with"
            " `create_graph=True`; no pass of the run went through it",
        ),
        fix=f"add {text} to the loss before {located(trace, loss.site.user)}"
        f"{f': `{to} + {name}`' if to and name else ''}; where it is meant for printing only, leave"
        " `create_graph=True` out",
        edits=edits,
        count=times,
        subjects=parameter_subjects(ids) | {("retain", _line(op)), ("term", *term.location())},
    )


def _line(op: Op) -> tuple[str, int]:
    return op.site.user.location()


def _kept(trace: Trace, end: Op, loss: Site) -> tuple[Site, str]:
    """Where the function that calls `backward()` gets the term, and its name there; else where it was made."""
    for frame in reversed(end.site.stack):
        if frame.kind != "user":
            continue
        file = trace.source_file(frame.path)
        if (frame.path, frame.function) == (loss.path, loss.function):
            return frame, file.variable(frame) or ""
        if not _returned(file, frame):
            break  # it is handed on as a part of something
    return end.site.user, ""


def _returned(file: SourceFile, place: Site) -> bool:
    """Whether a function returns what the expression at `place` gives, and nothing beside it."""
    statement, node = file.statement(place), file.at(place)
    if isinstance(statement, ast.Return):
        return statement.value is node
    name = file.variable(place)
    returns = (one.value for one in ast.walk(file.scope(place)) if isinstance(one, ast.Return))
    return bool(name) and any(isinstance(one, ast.Name) and one.id == name for one in returns)
