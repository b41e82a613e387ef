"""A gate chooses some of several parts, and the weights that it gives the chosen are read by nothing.

Why: in a mixture of experts the router's largest scores say which experts work on a sample, and how much each counts.
The choice alone has no gradient: only the weights lead back to the router. Where they are computed and left out, all
that was chosen counts alike, and the router never learns which choice was a good one; a term that evens out the load
trains it for even loads only.

Fix: multiply what each of the chosen parts gives by its weight before it is added up.

Measured: numbers that were made of the largest scores (their `topk` or `max`, or what was gathered at these places),
with their graph, in one call more at least, and which no call reads; the places of these scores choose what goes into
a loss; and the scores have parameters of their own, to which no gradient comes from what was chosen.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.dead_ends import taken_along, unread_name
from gradscope.analysis.ops import (
    EXPONENTIALS,
    MULTIPLICATIONS,
    PASSING,
    SCALES,
    SIGMOIDS,
    SOFTMAXES,
    SUMS,
    SUMS_OF_GROUPS,
    TAKING,
)
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located, parameter_names, parameter_subjects
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.source import called_name
from gradscope.store import Trace

CHOOSING = {"topk", "max", "sort"}
GATHERED = {"gather", "take_along_dim"}
MADE_BY = SCALES | SUMS | SOFTMAXES | SIGMOIDS | EXPONENTIALS | PASSING | {"sum", "relu", "tanh", "normalize"}
PUTTING = SUMS_OF_GROUPS | {"__setitem__", "index_copy", "index_copy_", "index_put_"}
WEIGHING = MULTIPLICATIONS | {"where"}
DEEP, MOST = 8, 200  # calls


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    experts, router = nn.ModuleList([nn.Linear(8, 8) for _ in range(4)]), nn.Linear(8, 4)
    head = nn.Linear(8, 1)
    opt = torch.optim.Adam([*experts.parameters(), *router.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        x = torch.randn(32, 8)
        share = router(x).softmax(-1)
        weight, index = share.topk(2, dim=-1)
        weight = weight / weight.sum(-1, keepdim=True)  # effect: GS453
        out = torch.zeros(32, 8)
        for number, expert in enumerate(experts):
            row, _place = (index == number).nonzero(as_tuple=True)
            out = out.index_add(0, row, expert(x[row]) / 2)  # cause: GS453
        even = 4 * share.mean(0).pow(2).sum()
        loss = (head(x + out) - x[:, :1].sin()).pow(2).mean() + 0.01 * even
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    experts, router = nn.ModuleList([nn.Linear(8, 8) for _ in range(4)]), nn.Linear(8, 4)
    head = nn.Linear(8, 1)
    opt = torch.optim.Adam([*experts.parameters(), *router.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        x = torch.randn(32, 8)
        share = router(x).softmax(-1)
        weight, index = share.topk(2, dim=-1)
        weight = weight / weight.sum(-1, keepdim=True)
        out = torch.zeros(32, 8)
        for number, expert in enumerate(experts):
            row, place = (index == number).nonzero(as_tuple=True)
            out = out.index_add(0, row, expert(x[row]) * weight[row, place, None])
        even = 4 * share.mean(0).pow(2).sum()
        loss = (head(x + out) - x[:, :1].sin()).pow(2).mean() + 0.01 * even
        opt.zero_grad()
        loss.backward()
        opt.step()


class Choice(NamedTuple):
    op: Op  # that took the largest scores
    scores: Key
    places: Key  # which ones these are


@rule("GS453", name="weights-of-the-chosen-unread", severity="warning", over=("GS305", "GS302"))
def weights_of_the_chosen_unread(trace: Trace) -> Iterator[Finding]:
    if trace.op_names.isdisjoint(CHOOSING | GATHERED):
        return
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for number in dict.fromkeys(event.graph for event in known.backwards):
        graph = known.graph(number)
        for value in graph.values:
            if not value.requires_grad or value.op is None or graph.consumers.get(value.index):
                continue
            if (number, value.index) in taken_along(trace) or (number, value.index) in known.used.order:
                continue
            choice = _choice(known, graph, value.index)
            unread = unread_name(trace, value) if choice is not None else None
            if choice is None or unread is None or unread[0].location() in told:
                continue
            chosen = _chosen(known, choice)
            own = _own(known, choice, chosen)
            if chosen and own:
                told.add(unread[0].location())
                yield _finding(trace, known, choice, chosen, own, unread, value.shape)


def _choice(known: Paths, graph: Graph, value: int) -> Choice | None:
    """What the value was made of, where that is the largest of some scores, in one call more at least."""
    first = True
    for index in (value, *_before(graph, value)):
        op = graph.maker(index)
        if op is None:
            continue
        if op.name in CHOOSING and len(op.outputs) == 2 and index == op.outputs[0] and not first:
            return Choice(op, (graph.id, op.inputs[0]), (graph.id, op.outputs[1]))
        if op.name in GATHERED and len(op.inputs) == 2 and index in op.outputs:
            scores, places = ((graph.id, given) for given in op.inputs)
            chosen = known.flow([places]).order
            if scores in chosen or _same_scores(known, scores, chosen):
                return Choice(op, scores, places)
        first = False
    return None


def _same_scores(known: Paths, scores: Key, chosen: dict[Key, None]) -> bool:
    """Whether the places were found among what these scores were made of, as of logits before their softmax."""
    maker = known.maker(scores)
    return (
        maker is not None and maker.name in MADE_BY and any((maker.graph, i) in chosen for i in maker.inputs)
    )


def _before(graph: Graph, value: int) -> Iterator[int]:
    """What a value was made of by scaling, adding up and normalising, nearest first."""
    todo, seen = [value], {value}
    for index in todo:  # grows while it is walked
        op = graph.maker(index)
        if op is None or op.name not in MADE_BY or len(todo) > DEEP:
            continue
        for given in op.inputs:
            if given not in seen and graph.values[given].requires_grad:
                seen.add(given)
                todo.append(given)
                yield given


def _chosen(known: Paths, choice: Choice) -> list[tuple[Key, Op]]:
    """The calls, of those that a loss was computed from, in which the places choose what has a graph."""
    found: list[tuple[Key, Op]] = []
    todo, seen = [choice.places], {choice.places}
    for key in todo:  # grows while it is walked
        for made, op in known.used.feeds.get(key, ()):
            if made in seen or len(seen) > MOST:
                continue
            seen.add(made)
            if not known.value(made).requires_grad:
                todo.append(made)
            elif op is not None and op.name in PUTTING | WEIGHING | TAKING:
                found.append((made, op))
    return found


def _own(known: Paths, choice: Choice, chosen: list[tuple[Key, Op]]) -> frozenset[int]:
    """The parameters of the scores that a step changes, where no gradient comes to them from what was chosen; what
    only evens out the load is weighed with the scores themselves."""
    behind, samples = known.behind(choice.scores), known.value(choice.places).shape[:1]
    for made, _ in chosen:  # a policy's loss weighs the logarithms of the very scores that were chosen
        if known.behind(made) >= behind and known.value(made).shape[:1] == samples:
            return frozenset()
    others = [known.behind(made) for made, _ in chosen]
    apart = [some for some in others if some and not behind <= some]
    if not apart:
        return frozenset()
    own = behind - frozenset().union(*apart)
    return frozenset(number for number in own if known.stepped(known.parameters[number]))


def _finding(
    trace: Trace,
    known: Paths,
    choice: Choice,
    chosen: list[tuple[Key, Op]],
    own: frozenset[int],
    unread: tuple[Site, str],
    shape: tuple[int, ...],
) -> Finding:
    for names in (PUTTING, WEIGHING, TAKING):
        ops = [op for made, op in chosen if op.name in names and own.isdisjoint(known.behind(made))]
        if ops:
            break
    op, (site, name) = ops[0], unread
    cause, gate = op.site.user, parameter_names(trace, sorted(own))
    text, edits = _weighed(trace, choice, op, name, shape)
    return Finding(
        message=f"{code(trace, choice.op.site.user, f'`{choice.op.name}`')} chooses, and `{name}`, what the chosen"
        f" ones count for, is read by nothing: they all count alike, and {gate} can't learn which choice is a good one",
        cause=cause,
        cause_label=f"takes what was chosen without `{name}`",
        effect=site,
        effect_label="computed with its graph, and read by nothing",
        related=((choice.op.site.user, "chooses"),)
        if choice.op.site.user.location() not in (cause.location(), site.location())
        else (),
        seen=(
            f"no call of the run reads `{name}` of shape {shape}, and from what {code(trace, cause, f'`{op.name}`')}"
            f" gives no gradient comes to {gate}: the places that were chosen have none",
        ),
        fix=(
            f"multiply what each of the chosen gives by its `{name}`: {text} in {located(trace, cause)}"
            if text
            else f"multiply what each of the chosen gives by its `{name}` before it goes on from"
            f" {located(trace, cause)}"
        ),
        edits=edits,
        subjects=parameter_subjects(own),
    )


def _weighed(trace: Trace, choice: Choice, op: Op, name: str, shape: tuple[int, ...]) -> tuple[str, Edits]:
    """`expert(x[row]) * weight[row, place, None]`, where the rows and the places among the chosen ones were found by
    `row, place = (index == number).nonzero(as_tuple=True)`."""
    here = Source(trace, op.site.user.path)
    added, rows = _added(here, op)
    if added is None or len(shape) != 2 or not rows:
        return "", ()
    statement = here.file.statement(op.site.user)
    scope = here.file.scope_of(statement) if statement is not None else None
    given = here.file.statement(choice.op.site.user)
    same = given is not None and here.file.scope_of(given) is scope
    names = _names(given) if same and choice.op.site.user.path == here.path else []
    place = _place(scope, rows, names[1]) if len(names) == 2 and scope is not None else ""
    if not place:
        return "", ()
    weight, whole = f"{name}[{rows}, {place}, None]", added
    if isinstance(added, ast.BinOp) and isinstance(added.op, (ast.Div, ast.Mult)):
        if not isinstance(added.op, ast.Div) or _count(given) != ast.dump(added.right):
            return "", ()
        added = added.left
    text = f"{here.file.operand(added)} * {weight}"
    return f"`{text}`", here.replace(whole, text)


def _added(here: Source, op: Op) -> tuple[ast.expr | None, str]:
    """What is added to some rows, and what these are called."""
    node, statement = here.file.at(op.site.user), here.file.statement(op.site.user)
    if (
        isinstance(node, ast.Call)
        and called_name(node) in ("index_add", "index_add_")
        and len(node.args) == 3
    ):
        rows = node.args[1]
        return (node.args[2], rows.id) if isinstance(rows, ast.Name) else (None, "")
    target = statement.target if isinstance(statement, ast.AugAssign) else None
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Name):
            return statement.value, target.slice.id
    return None, ""


def _names(statement: ast.stmt | None) -> list[str]:
    """Those of `weight, index = …`."""
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    parts = target.elts if isinstance(target, ast.Tuple) else []
    return [part.id for part in parts if isinstance(part, ast.Name)]


def _place(scope: ast.AST, rows: str, index: str) -> str:
    """What the places among the chosen ones are called, in `rows, place = (index == …).nonzero(as_tuple=True)`."""
    found = []
    for node in ast.walk(scope):
        names = _names(node) if isinstance(node, ast.Assign) else []
        if len(names) != 2 or names[0] != rows or not isinstance(node, ast.Assign):
            continue
        call = node.value
        whole = called_name(call) == "where" or "as_tuple=True" in ast.unparse(call)
        compared = [n for n in ast.walk(call) if isinstance(n, ast.Compare) and isinstance(n.ops[0], ast.Eq)]
        sides = [side for one in compared for side in (one.left, *one.comparators)]
        if whole and any(isinstance(side, ast.Name) and side.id == index for side in sides):
            found.append(names[1])
    return found[0] if len(found) == 1 else ""


def _count(statement: ast.stmt | None) -> str:
    """How many `x.topk(k)` chooses, as it is written."""
    for call in ast.walk(statement) if statement is not None else ():
        if isinstance(call, ast.Call) and called_name(call) == "topk":
            named = [keyword.value for keyword in call.keywords if keyword.arg == "k"]
            module = isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "torch"
            given = [*named, *call.args[int(module) :]]
            return ast.dump(given[0]) if given else ""
    return ""
