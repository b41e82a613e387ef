"""A running sum or list of losses keeps the graph of every step alive.

Why: `total += loss` is itself an operation of the graph: its result leads back to every loss
that was added, and each loss to its own step. Nothing of it can be freed while the total
lives, so memory grows with every step.

Fix: add it without its graph, `total += loss.detach()`, or the number: `total += loss.item()`.

Values that no pass ever goes through, as actions in a memory of episodes, are told where their graphs hold much more
memory than they do themselves.

A note for other values of several elements (predictions), which hold memory of their own anyway, and for a list of a
fixed length, whose memory grows no further.

Silent on: losses that are summed and then have their pass.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from gradscope.analysis.keeping import assigned, kept_by_append, lists_with_a_pass, stored_at
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.since import since_step
from gradscope.analysis.text import own_nodes
from gradscope.analysis.unread import duration
from gradscope.analysis.words import code, holds, listed, located, plural, user
from gradscope.events import Backward, KeepsGraph, PassTime
from gradscope.fixes.source import Source, holds_several, without_its_graph
from gradscope.model import Edit, Finding, Op, Site, Value
from gradscope.rules import rule
from gradscope.source import arguments, method_name, names_in
from gradscope.store import Trace

HOW = {
    "list": "a list of losses",
    "values": "a list of values computed in training",
    "window": "a list of losses",
}
_LIST = (
    "what the list holds leads back to everything that it was computed from. Nothing of that can be freed while it is "
    "in the list, so memory grows with every step."
)
_WINDOW = (
    "what the list holds leads back to everything that it was computed from. Nothing of that can be freed while it is "
    "in the list; as one goes for each that comes, memory grows no further."
)
_COPY = (
    "`copy_` of a value with a graph is an operation of the graph too: its node leads to the value and to what the "
    "tensor held before, and so to every step's graph. Nothing of it can be freed while the tensor lives, so memory "
    "grows with every step."
)


def bad_running_sum() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    total = torch.zeros(())
    for _ in range(12):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward()
        opt.step()
        total = total + loss  # cause: GS602


def good_item() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    total = 0.0
    for _ in range(12):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward()
        opt.step()
        total += loss.item()


@rule("GS602", name="loss-keeps-graph", severity="warning")
def loss_keeps_graph(trace: Trace) -> Iterator[Finding]:
    longest: dict[tuple[str, int], KeepsGraph] = {}
    for event in trace.of(KeepsGraph):
        if event.how == "state":
            continue  # GS603 tells it
        if event.unused and _is_gone_through(trace, event):
            continue
        place = _kept_at(trace, event).location()
        if place not in longest or event.how == "window" or event.length > longest[place].length:
            longest[place] = event
    told: set[Any] = set()
    losses = {
        place
        for e in longest.values()
        if e.how in ("list", "window")
        for place in _lines_of_loss(trace, e.site.user)
    }
    for event in sorted(longest.values(), key=lambda e: e.how == "values"):
        if event.how == "values" and _kept_at(trace, event).location() in losses:
            continue  # what is kept is the loss
        finding = _finding(trace, event, {place for _, place in told})
        if not finding.subjects <= told:
            yield finding
            told |= finding.subjects
    if not any(event.how in ("list", "window") for event in longest.values()):
        yield from meeting(trace, paths(trace))


def _kept_at(trace: Trace, event: KeepsGraph) -> Site:
    """Where what is kept was made, as far as that is known; else the pass that it was seen at."""
    return user(trace.site(event.kept_at)) or event.site.user


def _finding(trace: Trace, event: KeepsGraph, told: set[tuple[str, int]]) -> Finding:
    made = _kept_at(trace, event)
    but = told if event.how == "values" else ()
    stored = stored_at(trace, made, but) if event.how in HOW else _handed_in(trace, made)
    if stored is None and event.how in ("list", "window"):
        made = _computed_at(trace, made) or made
    cause = stored or made
    fix, edits = _without_graph(
        trace,
        cause,
        handed=stored is not None,
        whole=event.how == "values",
        stored=stored is not None or event.how not in HOW,
    )
    others = _kept_beside(trace, cause) if stored is not None else []
    if others:
        fix += f"; the same in {listed([located(trace, other) for other in others])}"
        edits = (
            (*edits, *(edit for other in others for edit in without_its_graph(trace, other))) if edits else ()
        )
    length, nodes, held = event.length, event.nodes, event.bytes
    holds_now = f"after {plural(length, 'step')} it holds" if event.how in HOW else "it held up to"
    seen = f"{holds_now} {plural(nodes, 'node')} of their graphs"  # a sum may begin anew, as in each epoch
    if held:
        seen += f" and {held:,} bytes saved for backward"
    if event.unused:
        seen = (
            f"{length:,} of them, of {plural(event.unused, 'step')}, hold {plural(nodes, 'node')} of their graphs and"
            f" {held:,} bytes saved for backward, though no pass goes through them"
        )
    first = list(event.first)
    if len(first) == 3 and first[0] < length and first[1] < nodes:
        after = f"; after {plural(first[0], 'step')} it held {first[1]}"
        seen += after + (f" and {first[2]:,} bytes" if first[2] else "")
    how, why = HOW.get(str(event.how), "a running sum or mean"), _LIST if event.how in HOW else ""
    if event.how == "add" and method_name(trace.source_file(made.path).at(made)) == "copy_":
        how, why = "a tensor that each step copies a value into", _COPY
    kept = "the graph of every step"
    if event.how == "window":
        kept, why = f"the graphs of the last {length} steps", _WINDOW
    return Finding(
        message=f"{how} keeps {kept} alive: {code(trace, cause, 'the loss')}",
        cause=cause,
        cause_label="each value brings its graph along",
        related=(
            *(((made, "a value that is kept"),) if stored is not None else ()),
            *((other, "keeps a graph in each step, too") for other in others),
        ),
        seen=tuple(filter(None, (seen, "" if event.unused else _slower(trace)))),
        why=why,
        fix=fix,
        edits=edits,
        count=max(length, event.count),
        severity=""
        if (event.numbers or event.unused) and event.how != "window"
        else "note",  # predictions hold memory of their own
        subjects=frozenset({("keeps", cause.location())}),
        since=since_step(trace, event.step, always=event.how == "list") if event.how != "window" else None,
    )


def _is_gone_through(trace: Trace, event: KeepsGraph) -> bool:
    """Whether a pass goes through what that line makes: then it may be kept for one."""
    known = paths(trace)
    for number in known.graph_ids:
        graph = known.graph(number)
        for op in graph.ops:
            if op.site.id == event.site.id:
                nodes = (graph.values[value].node for value in op.outputs)
                if any(node is not None and (number, node) in known.reached.nodes for node in nodes):
                    return True
    return False


def _handed_in(trace: Trace, made: Site) -> Site | None:
    """The call that hands a running sum what it adds: others may hand the same function numbers, which have no
    graph to be taken from."""
    file = trace.source_file(made.path)
    scope, node = file.scope(made), file.at(made)
    if node is None or not isinstance(scope, ast.FunctionDef):
        return None
    added = names_in(node, ast.Load) & {a.arg for a in arguments(scope)} - {"self"}
    callers = [f for f in made.stack[:-1] if f.kind == "user"]
    return callers[-1] if added and callers and without_its_graph(trace, callers[-1], handed=True) else None


def _loss_of(trace: Trace, line: Site) -> Site | None:
    """The call that makes the loss with which the passes of a line begin."""
    for event in trace.of(Backward):
        if event.site.user.location() == line.location() and event.graph >= 0 and len(event.roots) == 1:
            made = trace.graph(event.graph).maker(event.roots[0])
            return made.site if made is not None else None
    return None


def _lines_of_loss(trace: Trace, line: Site) -> set[tuple[str, int]]:
    made = _loss_of(trace, line)
    return {frame.location() for frame in made.stack if frame.kind == "user"} if made is not None else set()


def _computed_at(trace: Trace, line: Site) -> Site | None:
    """Where the function that makes the pass has its loss from."""
    made = _loss_of(trace, line)
    return next((f for f in made.frames_in(line) if f.kind == "user"), None) if made is not None else None


SLOWER = 1.2  # a pass of late by one of the beginning: less than this is the machine's


def _slower(trace: Trace) -> str:
    """What a pass of the line with the most of them took in the beginning and at the end; "" where it is no longer."""
    times = [(e.passes, e.early, e.late) for e in trace.of(PassTime) if e.early and e.late]
    told = [(count, early, late) for count, early, late in times if late > SLOWER * early]
    if not told:
        return ""
    _, early, late = max(told)
    return f"a pass took {duration(early)} in the beginning and {duration(late)} at the end"


MANY = 4  # losses kept that are no accident


def meeting(trace: Trace, known: Paths) -> Iterator[Finding]:
    """Backwarded losses of many steps that meet again, each still with its graph."""
    told: set[tuple[str, int]] = set()
    for number in known.graph_ids:
        graph = known.graph(number)
        kept: dict[tuple[str, int], list[tuple[Value, Op]]] = {}
        for value in graph.values:
            if value.kind == "carried" and value.origin in known.roots and value.site is not None:
                for op in graph.consumers.get(value.index, ())[:1]:
                    if graph.values[op.outputs[0]].requires_grad if op.outputs else False:
                        kept.setdefault(value.site.user.location(), []).append((value, op))
        for place, found in kept.items():
            value, op = found[0]
            if len(found) < MANY or place in told or (number, found[-1][1].outputs[0]) in known.used.order:
                continue
            told.add(place)
            assert value.site is not None
            stored = stored_at(trace, value.site)
            cause = stored or value.site.user
            fix, edits = _without_graph(trace, cause, handed=stored is not None, stored=stored is not None)
            nodes = sum(len(known.reach([v.origin]).nodes) for v, _ in found if v.origin is not None)
            held = f"{len(found)} losses hold {plural(nodes, 'node')} of their graphs"
            yield Finding(
                message=f"a list of losses keeps the graph of every step alive: {code(trace, cause)}",
                cause=cause,
                cause_label="each value brings its graph along",
                related=((op.site.user, f"{len(found)} losses meet here"),),
                seen=tuple(filter(None, (held, _slower(trace)))),
                why=_LIST,
                fix=fix,
                count=len(found),
                edits=edits,
                subjects=frozenset({("keeps", place)}),
            )


def _without_graph(
    trace: Trace, cause: Site, *, handed: bool = False, whole: bool = False, stored: bool = True
) -> tuple[str, tuple[Edit, ...]]:
    """The fix, and its edits, where there are any: a loss, or a `whole` tensor, without its graph. The line
    that makes a value which another one has `stored` is no place for it: a pass may need the graph of what
    it makes."""
    place = located(trace, cause, "this line")
    if not stored:
        return f"keep only its number, with `.item()` or `.detach()`, where what {place} makes is kept", ()
    if _has_a_pass_here(trace, cause):
        return (
            f"give the loss a name and call its `backward()`; keep only its number, with `.item()`, in {place}",
            (),
        )
    if _is_read_again(trace, cause):
        call = trace.source_file(cause.path).at(cause)
        given = call.args[0] if isinstance(call, ast.Call) and len(call.args) == 1 else None
        if holds_several(trace.source_file(cause.path), cause, given):
            return (
                f"keep `.detach()` of each of the values in {place}, or take it where they are computed",
                (),
            )
        return (
            f"keep `.detach()` of it in {place}, and compute the loss from the value itself, not from the list",
            (),
        )
    if _goes_into_a_pass(trace, cause):
        return f"keep only its number, with `.item()`, in {place}, where no pass is to go through it", ()
    edits = tuple(without_its_graph(trace, cause, handed=handed))
    if not edits:
        return f"keep the numbers alone in {place}: `.item()` of a loss, `.detach()` of a tensor of many", ()
    kept = edits[0].text.removesuffix(".detach()")
    whole |= method_name(trace.source_file(cause.path).at(cause)).endswith(
        "_"
    )  # tensors of any size have one
    aside = "" if whole else f", or `{kept}.item()` where a number will do"
    return f"write `{kept}.detach()` in place of `{kept}` in {place}{aside}", edits


def _has_a_pass_here(trace: Trace, cause: Site) -> bool:
    """Whether the program's backward takes the loss from the very list that keeps it."""
    file = trace.source_file(cause.path)
    held = _list_of(file.at(cause))
    return any(held == name for scope in _scopes_of(trace, cause, held) for name in lists_with_a_pass(scope))


def _goes_into_a_pass(trace: Trace, cause: Site) -> bool:
    """Whether the program's text has a `backward()` of the sum or list, or of what is made of it: in a part of
    the program that this run has not come to."""
    here = Source(trace, cause.path)
    node, statement = here.file.at(cause), here.file.statement(cause)
    names = assigned(statement) | ({_list_of(node)} - {""})
    nodes = [n for scope in _scopes_of(trace, cause, next(iter(names), "")) for n in own_nodes(scope)]
    for _ in range(2):
        for other in nodes:
            if (
                isinstance(other, ast.Assign)
                and other is not statement
                and names & names_in(other.value, ast.Load)
            ):
                names |= assigned(other)
    return any(
        isinstance(n, ast.Call) and method_name(n) == "backward" and names & names_in(n.func, ast.Load)
        for n in nodes
    )


def _list_of(node: ast.AST | None) -> str:
    """`losses` of `losses.append(loss)` and of `losses += [loss]`."""
    if isinstance(node, ast.AugAssign):
        return getattr(node.target, "id", "")
    name: str = getattr(getattr(getattr(node, "func", None), "value", None), "id", "")
    return name


def _scopes_of(trace: Trace, cause: Site, name: str) -> list[ast.AST]:
    """The function around `cause`, where it makes `name` itself; otherwise all of the file."""
    here = Source(trace, cause.path)
    scope = here.file.scope(cause)
    if any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) for n in own_nodes(scope)
    ):
        return [scope]
    tree = here.file.tree or ast.Module([], [])
    return [tree, *(node for node in here.file.nodes if isinstance(node, ast.FunctionDef))]


def _is_read_again(trace: Trace, cause: Site) -> bool:
    """Whether the loop that fills a list takes something out of it that it computes with, which may need its graph."""
    file = trace.source_file(cause.path)
    held = _list_of(file.at(cause))
    loop = file.outermost_loop(cause)
    return bool(held) and any(
        isinstance(node, ast.Subscript)
        and getattr(node.value, "id", "") == held
        and isinstance(file.statement_of(node), (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return))
        for node in (ast.walk(loop) if loop is not None else ())
    )


def _kept_beside(trace: Trace, cause: Site) -> list[Site]:
    """The other lines of the same loop that put something into a list as it is computed there, with a graph that no
    pass goes through."""
    file = trace.source_file(cause.path)
    loop = file.outermost_loop(cause)
    found = []
    for node in ast.walk(loop) if loop is not None else ():
        kept = kept_by_append(node) if isinstance(node, ast.Call) else []
        if not isinstance(node, ast.Call) or len(kept) != 1 or file.span(node)[0] == cause.line:
            continue
        if not isinstance(kept[0], ast.Call | ast.BinOp):
            continue
        site = Site(-1, cause.path, *file.span(kept[0]), cause.function, "user")
        if _gives_a_graph(trace, site):
            found.append(Site(-1, cause.path, *file.span(node), cause.function, "user"))
    return found


def _gives_a_graph(trace: Trace, expression: Site) -> bool:
    """Whether the last that was computed at an expression has a graph, and nothing is computed from it."""
    known, last = paths(trace), None
    for number in known.graph_ids:
        graph = known.graph(number)
        for op in graph.ops:
            if op.outputs and any(
                holds(expression, frame) for frame in op.site.stack if frame.kind == "user"
            ):
                last = graph, op.outputs[0]
    if last is None:
        return False
    graph, value = last
    used = (graph.id, value) in known.used.order or bool(graph.consumers.get(value))
    return graph.values[value].requires_grad and not used
