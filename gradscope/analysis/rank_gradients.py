"""Gradients that differ between the ranks when a step uses them, though the program averages them: what came between,
or came too late."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import isclose
from typing import NamedTuple

from gradscope.analysis.loop import in_order
from gradscope.analysis.parting import Parting, paired, same_shapes
from gradscope.analysis.text import nodes_that_ran, own_nodes, site_of
from gradscope.analysis.wrappers import wrapped
from gradscope.events import Backward, Step
from gradscope.model import Parameter, Site
from gradscope.source import SourceFile, called_name
from gradscope.store import Member, Run, Trace
from gradscope.store.outline import outline_of_prints

_NOISE = 1e-5  # relative
_LEAST = 2  # steps


class Changed(NamedTuple):
    """What made averaged gradients differ. `again`: a layer's forward and backward that a reentrant checkpoint runs
    within the pass; else a line of the program that writes to them."""

    site: Site
    again: bool


class TooLate(NamedTuple):
    """Gradients that the program averages once a step has used them (`how` is "late") or before the last pass adds to
    them ("early"), reduces to one rank where all make steps ("one"), or of which it averages copies that go nowhere
    ("copy"). `values`: norms of that of the first parameter, when its first step used it."""

    site: Site  # of the `all_reduce`, or of the `reduce`
    step: Site | None
    parameters: list[int]  # ids in the first member's trace
    values: list[tuple[Member, float]]
    steps: int  # that were compared
    how: str
    adds: Site | None = None  # the pass that adds to what was averaged


def reductions(trace: Trace, call: str = "all_reduce") -> Iterator[Site]:
    """Where the program gives gradients to this call."""
    for path, function, node in nodes_that_ran(trace, ast.Call):
        if called_name(node) == call and node.args:
            file = trace.source_file(path)
            scope = file.scope_of(node) or file.tree
            if scope is not None and _of_gradients(file, scope, node.args[0]):
                yield site_of(path, function, node)


def parameters_averaged(trace: Trace) -> bool:
    """Whether the program averages parameters themselves over the ranks: `dist.all_reduce(p)`, an averager of torch's.
    Between two such times they are meant to part (local SGD)."""
    for path, _, node in nodes_that_ran(trace, ast.Call):
        called = called_name(node)
        if called == "average_parameters":
            return True
        if called == "all_reduce" and node.args:
            file = trace.source_file(path)
            scope = file.scope_of(node) or file.tree
            if scope is not None and _of_gradients(file, scope, node.args[0]):
                continue
            if scope is not None and _holds(file, scope, node.args[0], _is_parameters):
                return True
    return False


def _of_gradients(file: SourceFile, scope: ast.AST, node: ast.AST) -> bool:
    """Whether an expression holds `.grad` of something, or a name of a function that stands for such."""
    return _holds(file, scope, node, _is_grad)


def _holds(
    file: SourceFile, scope: ast.AST, node: ast.AST, wanted: Callable[[ast.AST], bool], far: int = 3
) -> bool:
    """Whether an expression holds such a node, or a name that is given one in the function."""
    if any(map(wanted, ast.walk(node))):
        return True
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return far > 0 and any(
        _holds(file, scope, value, wanted, far - 1)
        for other in ast.walk(scope)
        for target, value in _given(other)
        if isinstance(target, ast.Name) and target.id in names and value is not node
    )


def _given(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """What gets a value there, and which: an assignment, a loop."""
    if isinstance(node, ast.Assign):
        yield from ((target, node.value) for target in node.targets)
    elif isinstance(node, (ast.For, ast.comprehension)):
        yield node.target, node.iter


def changed_after_average(parting: Parting) -> Changed | None:
    """Of wrapped parameters that part: None where their gradients were the same, or were not looked at."""
    members = [member for member, _ in parting.values]
    trace = members[0].trace
    if not parting.known or parting.after_pass or not _gradients_differ(members, parting):
        return None
    written = {site.location(): site for site in _writes(trace, trace.parameter(parting.parameters[0]))}
    if len(written) == 1:
        return Changed(next(iter(written.values())), again=False)
    calls = [op.site for graph in trace.graphs for op in graph.ops if op.name == "CheckpointFunction"]
    if not written and len(calls) > 1:
        return Changed(calls[-1].user, again=True)
    return None


class Followed(NamedTuple):
    """One parameter on all ranks: its ids, norms before the first step and after the last that was printed, and of its
    gradient at each of the first steps."""

    ids: list[str]
    begun: list[float]
    ended: list[float]
    gradients: list[list[float | None]]  # by step


class Steps(NamedTuple):
    """The parameters of one optimizer without a wrapper, rank beside rank."""

    first: Site | None
    last: int
    last_site: Site | None
    numbers: list[int]  # of the steps whose gradients were printed
    parameters: list[Followed]

    @property
    def compared(self) -> int:
        return len(self.numbers)


def followed(members: list[Member], numbers: list[int]) -> Steps | None:
    """Of an optimizer of each rank (see `parting.paired`). None where too little was printed, or ranks hold other
    parameters."""
    owners = list(zip(members, numbers, strict=True))
    weights = [member.trace.prints("parameters").get(number, {}) for member, number in owners]
    gradients = [member.trace.prints("gradients").get(number, {}) for member, number in owners]
    steps = sorted(set.intersection(*(set(table) for table in gradients)))
    last = max(set.intersection(*(set(table) for table in weights)), default=0)
    if len(steps) < _LEAST or not last or any(0 not in table for table in weights):
        return None
    ids = [sorted(table[0][1], key=int) for table in weights]
    if len({len(own) for own in ids}) != 1 or not same_shapes(members, ids):
        return None
    found = []
    for own in map(list, zip(*ids, strict=True)):
        begun, ended = (
            [table[step][1].get(id, 0.0) for table, id in zip(weights, own, strict=True)]
            for step in (0, last)
        )
        rows = [[table[step][1].get(id) for table, id in zip(gradients, own, strict=True)] for step in steps]
        found.append(Followed(own, begun, ended, rows))
    trace = members[0].trace
    sites = [trace.site(table[step][0]) for table, step in ((gradients[0], steps[0]), (weights[0], last))]
    first_site, last_site = (site.user if site is not None else None for site in sites)
    return Steps(first_site, last, last_site, steps, found)


def averaged_too_late(run: Run) -> TooLate | None:
    """The first optimizer of a run without a wrapper of which that is so; None where traces are missing."""
    if not 1 < run.world == len(run.ranks) or any(wrapped(group[0].trace) for group in run.alike):
        return None
    if len({outline_of_prints(member.trace) for member in run.ranks}) < run.world:
        return None  # some of them average, if not all
    members = run.ranks[:COMPARED]
    for numbers in paired(members, "gradients"):
        if (found := _too_late(members, numbers)) is not None:
            return found
    return None


COMPARED = 32  # ranks


def _too_late(members: list[Member], numbers: list[int]) -> TooLate | None:
    steps = followed(members, numbers)
    if steps is None:
        return None
    trace = members[0].trace
    adds = next(filter(None, map(partial(_pass_behind, trace), reductions(trace))), None)
    found = []
    for parameter in steps.parameters:
        if all(not value for row in parameter.gradients for value in row):
            continue
        same = any(map(alike, parameter.gradients))
        if not alike(parameter.begun) or (same and adds is None):
            return None
        if not alike(parameter.ended) and not same:  # what the last pass adds may be the same on all ranks
            found.append(parameter)
    for call in ("all_reduce", "reduce") if found else ():
        for site in reductions(trace, call):
            at = (site.path, site.line)
            given = [p for p in found if at in {r[:2] for r in trace.parameter(int(p.ids[0])).read_at}]
            if not given or (call == "reduce" and _sends(trace)):
                continue
            norms = [norm or 0.0 for norm in given[0].gradients[0]]
            if call == "reduce":
                adds = None
            return TooLate(
                site, steps.first, [int(p.ids[0]) for p in given], list(zip(members, norms, strict=True)),
                steps.compared, "one" if call == "reduce" else "early" if adds is not None else "late", adds,
            )  # fmt: skip
    copy = next(_copies(trace), None) if found else None
    if copy is None:
        return None
    norms = [norm or 0.0 for norm in found[0].gradients[0]]
    ids = [int(one.ids[0]) for one in found]
    return TooLate(copy, steps.first, ids, list(zip(members, norms, strict=True)), steps.compared, "copy")


def _pass_behind(trace: Trace, reduction: Site) -> Site | None:
    """The last of several passes before the first step, where the program's text has it behind the reduction, or
    behind the call of the function that reduces."""
    passes: list[Site] = []
    for _, event in in_order(trace):
        if isinstance(event, Backward) and event.filled:
            passes.append(event.site.user)
        elif isinstance(event, Step) and passes:
            break
    if len(passes) < 2:
        return None
    last = passes[-1]
    file = trace.source_file(last.path)
    named = reduction.function.rpartition(".")[2]
    calls = [
        node
        for node in own_nodes(file.scope(last))
        if isinstance(node, ast.Call)
        and ((last.path, node.lineno) == reduction.location() or called_name(node) == named)
    ]
    return last if calls and all(node.lineno < last.line for node in calls) else None


def _copies(trace: Trace) -> Iterator[Site]:
    """Where a name is averaged that stands for something computed from gradients, and is read no more."""
    for path, function, node in nodes_that_ran(trace, ast.Call):
        if called_name(node) != "all_reduce" or not node.args:
            continue
        file, given = trace.source_file(path), node.args[0]
        scope = file.scope_of(node)
        if scope is None or not isinstance(given, ast.Name):
            continue
        made = [
            value
            for other in ast.walk(scope)
            for target, value in _given(other)
            if _is_named(target, given.id)
        ]
        reads = [n for n in ast.walk(scope) if _is_named(n, given.id) and isinstance(n, ast.Name)]
        alone = sum(isinstance(n.ctx, ast.Load) for n in reads) == 1
        if (
            alone
            and len(made) == 1
            and isinstance(made[0], (ast.BinOp, ast.Call))
            and _of_gradients(file, scope, made[0])
        ):
            yield site_of(path, function, node)


def _is_named(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _sends(trace: Trace) -> bool:
    """Whether what one rank has may go to the others: the steps of these do not matter then."""
    names = {called_name(node) for _, _, node in nodes_that_ran(trace, ast.Call)}
    return any(name.startswith(("broadcast", "scatter", "send")) for name in names)


def _gradients_differ(members: list[Member], parting: Parting) -> bool:
    """Whether the gradient of the first parameter that parts differed when that step used it."""
    tables = [m.trace.prints("gradients") for m in members]
    id = str(parting.parameters[0])
    for number in set.intersection(*(set(table) for table in tables)):
        printed = [table[number].get(parting.step) for table in tables]
        if printed[0] is None or id not in printed[0][1]:
            continue
        place = list(printed[0][1]).index(id)
        rows = [list(one[1].values()) if one is not None else [] for one in printed]
        if len({len(row) for row in rows}) == 1:
            return not alike([row[place] for row in rows])
    return False


def _writes(trace: Trace, parameter: Parameter) -> Iterator[Site]:
    """Lines of the program that read this parameter's gradient and write to it, clearing aside."""
    read = {place[:2] for place in parameter.read_at}
    for path, function, node in nodes_that_ran(trace, ast.Call, ast.Assign, ast.AugAssign):
        if not isinstance(node, (ast.Call, ast.Assign, ast.AugAssign)) or (path, node.lineno) not in read:
            continue
        if isinstance(node, ast.Call):
            called = node.func
            if (
                not isinstance(called, ast.Attribute)
                or not called.attr.endswith("_")
                or called.attr == "zero_"
            ):
                continue
            target: ast.AST = called.value
        else:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if any(map(_is_grad, ast.walk(target))):
            yield site_of(path, function, node)


def _is_parameters(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in ("parameters", "named_parameters")


def _is_grad(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "grad"


def alike(values: Sequence[float | None]) -> bool:
    """Whether norms are the same on all ranks, but for what the machines make of it."""
    first = values[0] or 0.0
    return all(isclose(value or 0.0, first, rel_tol=_NOISE) for value in values)


def losses(member: Member) -> Iterator[float]:
    """Of the backward passes of a rank, as far as they were looked at."""
    sites = {event.site.id for event in member.trace.of(Backward)}
    return (value for _, value in member.trace.numbers("loss", sites=sites))


def common_loss(members: list[Member]) -> float | None:
    """The loss of the first pass, where it is one number on all of these ranks and not 0."""
    first = [next(losses(member), None) for member in members]
    return first[0] if first and first[0] and None not in first and alike(first) else None


def all_without_wrapper(run: Run) -> list[Member]:
    """All ranks of a run; none where traces are missing, a wrapper averages, or there are too many to compare."""
    whole = 1 < run.world == len(run.ranks) <= COMPARED
    return list(run.ranks) if whole and not any(wrapped(m.trace) for m in run.ranks) else []
