"""A result loses its name to another one before anything has used it.

Why: a loss of which only the number was printed reaches `backward()` by its name alone. A statement that binds the name
anew, with something that does not contain it, drops the loss with all of its terms: their numbers go on being printed,
and what they were to train gets no gradient from them. The same happens to a state of which a copy of another one takes
the name.

Fix: take the second statement out, or let it contain the first result.

Measured: no operation and no pass of the run takes the first result, but for its number.
The first may stand under a condition that the second does not.
Silent on: results that are bound anew under a condition (but for a sum that a term was added to by `+=`), values
without a graph, a second call of the same expression.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from gradscope.analysis.loop import settled
from gradscope.analysis.never_read import read_later
from gradscope.analysis.ops import ADDITIONS, EXITS
from gradscope.analysis.reach import paths
from gradscope.analysis.text import site_of
from gradscope.analysis.words import code, located, parameter_names, parameter_subjects, where
from gradscope.events import Backward
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.source import names_in, terms_of
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    body, left, right = nn.Linear(3, 8), nn.Linear(8, 1), nn.Linear(8, 1)
    opt = torch.optim.SGD([*body.parameters(), *left.parameters(), *right.parameters()], lr=0.1)
    for _ in range(4):
        hidden = body(torch.randn(16, 3)).relu()
        one, other = left(hidden).pow(2).mean(), (right(hidden) - 1).pow(2).mean()
        total = one + other  # cause: GS324
        print(total.item())
        total = one  # effect: GS324
        opt.zero_grad()
        total.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    body, left, right = nn.Linear(3, 8), nn.Linear(8, 1), nn.Linear(8, 1)
    opt = torch.optim.SGD([*body.parameters(), *left.parameters(), *right.parameters()], lr=0.1)
    for _ in range(4):
        hidden = body(torch.randn(16, 3)).relu()
        one, other = left(hidden).pow(2).mean(), (right(hidden) - 1).pow(2).mean()
        total = one + other
        print(total.item())
        opt.zero_grad()
        total.backward()
        opt.step()


@rule("GS324", name="bound-anew-unread", severity="warning", over=("GS439", "GS302", "GS321"), needs=Backward)
def bound_anew_unread(trace: Trace) -> Iterator[Finding]:
    if not settled(trace):
        return
    found: dict[tuple[str, int], Finding | None] = {}
    times: Counter[tuple[str, int]] = Counter()
    passed_over: set[int] = set()  # sites that give nothing to a name which is bound anew
    for number in paths(trace).graph_ids:
        graph = paths(trace).graph(number)
        for op in graph.ops:
            if not op.nodes or not op.outputs or op.site.id in passed_over:
                continue
            place = op.site.user.location()
            if place in found and found[place] is None:
                continue
            told = _lost(trace, graph, op)
            if told is None:
                passed_over.add(op.site.id)
                continue
            found[place] = told[0]
            times[place] += graph.count
    for place, one in found.items():
        if one is not None:
            yield replace(one, count=times[place])


def _lost(trace: Trace, graph: Graph, op: Op) -> tuple[Finding | None] | None:
    """What is told of the result that this op gives to a name; (None,) where something reads it, None where it gives
    none to a name that is bound anew."""
    place = op.site.user
    file = trace.source_file(place.path)
    statement = file.statement(place)
    if isinstance(statement, ast.AugAssign):
        return _sum(trace, graph, op, statement)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    if isinstance(statement.targets[0], ast.Tuple):
        return _state(trace, graph, op, statement)
    value = op.outputs[0]
    if not isinstance(statement.targets[0], ast.Name) or graph.values[value].shape:
        return None
    if file.at(place) is not statement.value and not _gives(trace, op, statement):
        return None
    here, name = Source(trace, place.path), statement.targets[0].id
    anew = _bound_anew(here, statement, name) or _bound_anew_behind(here, statement, name)
    if anew is None:
        return None
    return (None,) if _is_read(trace, graph, value) else (_loss(trace, graph, op, statement, anew),)


def _is_read(trace: Trace, graph: Graph, value: int) -> bool:
    """Whether an operation or a pass takes a value, for more than its number."""
    readers = [one for one in graph.consumers.get(value, ()) if one.name not in EXITS]
    return bool(readers) or (graph.id, value) in paths(trace).roots or (graph.id, value) in read_later(trace)


def _sum(trace: Trace, graph: Graph, op: Op, statement: ast.AugAssign) -> tuple[Finding | None] | None:
    """The same for the sum that `loss += term` gives to its name."""
    place, value = op.site.user, op.outputs[0]
    whole = (place.line, place.column) == (statement.lineno, statement.col_offset + 1)
    if not isinstance(statement.target, ast.Name) or op.name not in ADDITIONS or not whole:
        return None
    anew = _sum_bound_anew(Source(trace, place.path), statement, statement.target.id)
    if graph.values[value].shape or anew is None:
        return None
    return (None,) if _is_read(trace, graph, value) else (_loss(trace, graph, op, statement, anew),)


def _sum_bound_anew(here: Source, statement: ast.stmt, name: str) -> ast.Assign | None:
    """The next statement that gives the name a value which is not made of it, where nothing between reads the name:
    conditions around either are no matter."""
    while True:
        for later in _flat(here.file.behind(statement)):
            if isinstance(later, ast.Assign) and [ast.unparse(t) for t in later.targets] == [name]:
                plain = isinstance(later.value, ast.Constant) or name in names_in(later.value, ast.Load)
                return None if plain else later
            if name in names_in(later):
                return None
        above = here.file.parent.get(id(statement))
        if not isinstance(above, ast.If):
            return None
        statement = above


def _flat(block: list[ast.stmt]) -> Iterator[ast.AST]:
    """The statements of a block, and in place of an `if` without an `else` its test and those of its own."""
    for statement in block:
        if isinstance(statement, ast.If) and not statement.orelse:
            yield statement.test
            yield from _flat(statement.body)
        else:
            yield statement


def _gives(trace: Trace, op: Op, statement: ast.Assign) -> bool:
    """Whether the statement's whole value is a call of the program's own in which this op comes last."""
    file = trace.source_file(op.site.user.path)
    return any(file.at(frame) is statement.value for frame in op.site.stack if frame.kind == "user")


def _bound_anew(here: Source, statement: ast.Assign, name: str) -> ast.Assign | None:
    """The next statement of the same block that gives the name another value, which is not made of it."""
    for later in here.file.behind(statement):
        if isinstance(later, ast.Assign) and [ast.unparse(t) for t in later.targets] == [name]:
            same = ast.unparse(later.value) == ast.unparse(statement.value)
            return None if same or name in names_in(later.value, ast.Load) else later
        if name in names_in(later, ast.Store):
            return None
    return None


def _bound_anew_behind(here: Source, statement: ast.Assign, name: str) -> ast.Assign | None:
    """The same behind the conditions that the statement stands under, where nothing between reads the name for more
    than its number."""
    inner: ast.stmt = statement
    while True:
        for later in here.file.behind(inner):
            plain = isinstance(later, ast.Assign) and [ast.unparse(t) for t in later.targets] == [name]
            if plain and inner is not statement and isinstance(later, ast.Assign):
                same = ast.unparse(later.value) == ast.unparse(statement.value)
                return None if same or name in names_in(later.value, ast.Load) else later
            if name in names_in(later, ast.Store) or _takes(here, later, name):
                return None
        above = here.file.parent.get(id(inner))
        if not isinstance(above, (ast.If, ast.With)):
            return None
        inner = above


def _takes(here: Source, later: ast.AST, name: str) -> bool:
    """Whether it reads the name, but as `name.item()`."""
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        for node in ast.walk(later)
        if getattr(here.file.parent.get(id(node)), "attr", "") != "item"
    )


def _before_its_condition(here: Source, first: ast.Assign, anew: ast.Assign, name: str) -> ast.stmt | None:
    """The outermost condition around the first statement that does not hold the second: where it is not met, the
    second is the only one that gives the name a value. None where the first stands under none, or each of its branches
    gives the name a value."""
    siblings = here.file.siblings(anew)
    found: ast.stmt = first
    while not any(found is one for one in siblings):
        above = here.file.parent.get(id(found))
        if not isinstance(above, ast.stmt):
            return None
        found = above
    return found if found is not first and not _always_binds([found], name) else None


def _always_binds(block: list[ast.stmt], name: str) -> bool:
    for one in block:
        if isinstance(one, ast.If):
            if _always_binds(one.body, name) and _always_binds(one.orelse, name):
                return True
        elif isinstance(one, ast.With):
            if _always_binds(one.body, name):
                return True
        elif not isinstance(one, (ast.For, ast.While, ast.Try)) and name in names_in(one, ast.Store):
            return True
    return False


def _loss(
    trace: Trace, graph: Graph, op: Op, first: ast.Assign | ast.AugAssign, anew: ast.Assign
) -> Finding | None:
    known, here = paths(trace), Source(trace, op.site.user.path)
    name = ast.unparse(anew.targets[0])
    behind = known.behind((graph.id, op.outputs[0])) & {p.id for p in trace.parameters if p.optimizers}
    if not behind or not _returned_or_run(here, anew, name):
        return None
    lost = sorted(behind - known.reached.parameters)
    second = site_of(op.site.user.path, op.site.user.function, anew)
    contains = bool(names_in(anew.value) & names_in(first.value)) and isinstance(anew.value, ast.Name)
    text = here.text_of(anew)
    beside = _terms_beside(here, anew, name)
    edits: Edits = ()
    condition = _before_its_condition(here, first, anew, name) if isinstance(first, ast.Assign) else None
    if condition is not None and isinstance(first, ast.Assign):
        fix, edits = _moved(trace, here, first, anew, condition, contains=contains)
    elif contains:
        edits = here.remove(anew)
        fix = f"take `{text}` ({where(second)}) out, so that the first `{name}` is what `backward()` is called on"
    elif ast.unparse(anew.value) in map(ast.unparse, beside):
        edits = here.remove(anew)
        fix = (
            f"take `{text}` ({where(second)}) out: the sum behind it adds `{name}` to"
            f" `{ast.unparse(anew.value)}`, which counts twice as it is"
        )
    elif names_in(anew.value).isdisjoint(one for term in beside for one in names_in(term)):
        edits = here.replace(anew.value, f"{name} + {here.file.operand(anew.value)}")
        fix = f"add the two in {located(trace, second)}: `{name} = {name} + …`"
    else:
        fix = f"give one of the two another name, and add it to the sum behind `{text}` ({where(second)})"
    without = f"; {parameter_names(trace, lost)} get no gradient" if lost else ""
    return Finding(
        message=f"`{name}` is bound anew before anything uses it: no term of {code(trace, op.site.user, 'it')} reaches"
        " `backward()` by it",
        cause=op.site.user,
        cause_label=f"this `{name}` is in no loss",
        effect=second,
        effect_label="takes its name",
        seen=(f"in no step that was looked at anything took the first `{name}` but for its number{without}",),
        why="`backward()` is called on what has the name last: what the first one was made of goes on being printed,"
        " and teaches nothing by it",
        fix=fix,
        edits=edits,
        subjects=parameter_subjects(lost or behind) | {("term", *op.site.user.location())},
    )


def _moved(
    trace: Trace,
    here: Source,
    first: ast.Assign,
    anew: ast.Assign,
    condition: ast.stmt,
    *,
    contains: bool,
) -> tuple[str, Edits]:
    """The second statement before the condition: the first one then has the last word where it runs."""
    name, text = ast.unparse(anew.targets[0]), here.text_of(anew)
    at, around = where(site_of(here.path, "", anew)), where(site_of(here.path, "", condition))
    edits = (
        here.move(anew, condition) if names_in(anew.value).isdisjoint(names_in(condition, ast.Store)) else ()
    )
    if contains:
        told = f"put `{text}` ({at}) before the condition ({around}), or under an `else` of it"
        return f"{told}: behind it the first `{name}` is gone wherever it was made", edits
    added = f"{name} + {here.file.operand(first.value)}"
    return (
        f"put `{text}` ({at}) before the condition ({around}), and add to it there: `{name} = {name} + …` in"
        f" {located(trace, site_of(here.path, '', first))}",
        (*edits, *here.replace(first.value, added)) if edits else (),
    )


def _terms_beside(here: Source, anew: ast.Assign, name: str) -> list[ast.expr]:
    """What the sums behind a statement add to the name that it binds."""
    found: list[ast.expr] = []
    for later in here.file.behind(anew):
        for node in ast.walk(later):
            if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
                terms = [node.target, *terms_of(node.value, ast.Add)]
            else:
                terms = terms_of(node, ast.Add) if isinstance(node, ast.expr) else []
            others = [term for term in terms if ast.unparse(term) != name]
            found += others if len(others) < len(terms) else []
    return found


def _returned_or_run(here: Source, anew: ast.Assign, name: str) -> bool:
    """Whether the name is read after it was bound anew."""
    scope = here.file.scope_of(anew)
    last = anew.end_lineno or anew.lineno
    return scope is not None and any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) and n.lineno > last
        for n in ast.walk(scope)
    )


def _state(trace: Trace, graph: Graph, op: Op, statement: ast.Assign) -> tuple[Finding | None] | None:
    """One of several results that nothing reads, whose name is given to a second copy of another of them."""
    here, path = Source(trace, op.site.user.path), op.site.user.path
    names = [n.id for n in ast.walk(statement.targets[0]) if isinstance(n, ast.Name)]
    twice = next((one for name in names if (one := _copied(here, statement, name, names)) is not None), None)
    results = [v for v in op.outputs if graph.values[v].requires_grad]
    if twice is None or len(results) < 2 or len(results) != len(names):
        return None
    value = results[names.index(twice[0])]
    read = graph.consumers.get(value) or (graph.id, value) in read_later(trace)
    if read or (graph.id, value) in paths(trace).roots:
        return (None,)
    name, source, node, anew = twice
    second = site_of(path, op.site.user.function, node)
    right = here.file.text(node).replace(source, name, 1)
    edits = tuple(
        edit
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and part.id == source
        for edit in here.replace(part, name)
    )
    whole = located(trace, site_of(path, op.site.user.function, anew.value))
    return (
        Finding(
            message=f"`{name}` becomes a second copy of `{source}`: nothing uses the `{name}` of"
            f" {code(trace, op.site.user, 'the call')}",
            cause=second,
            cause_label=f"the same as for `{source}`, and given to `{name}`",
            effect=op.site.user,
            effect_label=f"gave `{name}`, which nothing reads",
            seen=(
                f"of the {len(op.outputs)} results of {code(trace, op.site.user, 'the call')} one was read by nothing,"
                " in all steps that were looked at",
            ),
            why=f"both names hold the same numbers from here on; what the call gave as `{name}` is lost, and no"
            " gradient goes through it",
            fix=f"take `{right}` for the second one in {whole}",
            edits=edits,
            subjects=frozenset({("term", *second.location())}),
        ),
    )


def _copied(
    here: Source, first: ast.Assign, name: str, names: list[str]
) -> tuple[str, str, ast.expr, ast.Assign] | None:
    """(`c`, `h`, the second `h[i]`, the statement) of `h, c = h[i], h[i]`, where `first` has given both names and `c`
    is read nowhere between."""
    for later in here.file.behind(first):
        if name in names_in(later, ast.Load):
            return None
        if name not in names_in(later, ast.Store):
            continue
        targets = later.targets[0] if isinstance(later, ast.Assign) and len(later.targets) == 1 else None
        if not isinstance(later, ast.Assign) or not isinstance(targets, ast.Tuple):
            return None
        values = later.value.elts if isinstance(later.value, ast.Tuple) else []
        for target, value in zip(targets.elts, values, strict=False):
            others = [v for v in values if v is not value and ast.dump(v) == ast.dump(value)]
            sources = [n for n in names if n != name and n in names_in(value, ast.Load)]
            if ast.unparse(target) == name and others and len(sources) == 1:
                return name, sources[0], value, later
        return None
    return None
