"""Gradients that one optimizer's pass leaves in the parameters of another, whose step then uses them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from gradscope.analysis.gradients import Fill, Turn, gradients
from gradscope.analysis.looks import only_shown
from gradscope.analysis.stacks import where_parted
from gradscope.analysis.text import nodes_of_program
from gradscope.events import Backward, Step, ZeroGrad
from gradscope.model import Site
from gradscope.source import FUNCTIONS, own_name
from gradscope.store import Trace


@dataclass
class Leak:
    """Steps of an optimizer that used, with their own pass, one that was made for another's."""

    optimizer: int
    step: Site
    earlier: Site  # the pass that leaves its gradients
    own: Site  # the first pass of the step, which adds to them
    stretch: int  # of the first such step
    parameters: set[int] = field(default_factory=set)
    count: int = 0


def leaks(trace: Trace) -> list[Leak]:
    """A step that used its own passes first, and from the next round on that of another optimizer's
    step too: the other pass stands below the step in the loop, where nothing clears before the next round."""
    if len({event.optimizer for event in trace.of(Step)}) < 2 or _by_hand(trace):
        return []
    found: dict[tuple[int, Site, Site], Leak] = {}
    first: dict[tuple[int, Site], set[Site]] = {}  # the passes that a line's first step used
    made_for: dict[Fill, set[int]] = {}  # optimizers whose step used the pass as the last of all
    for turn in gradients(trace).turns:
        _used(turn, first, made_for, found)
    return list(found.values())


def _by_hand(trace: Trace) -> bool:
    """Whether the text of what ran has `.grad`, but to show it: it may clear gradients in a way that nobody
    sees."""
    return any(
        (
            isinstance(node, ast.Attribute)
            and node.attr == "grad"
            and not _is_function(node.value)
            and not only_shown(trace, node)
        )
        or (isinstance(node, ast.Constant) and node.value == "grad")
        for node in _ran(trace)
    )


def _ran(trace: Trace) -> Iterator[ast.AST]:
    """The nodes of the program's top level, of the functions that led to its steps and passes, and of
    those that they call by a name."""
    functions: dict[str, list[ast.AST | None]] = {}
    for node in nodes_of_program(trace):
        if isinstance(node, FUNCTIONS):
            functions.setdefault(node.name, []).append(node)
    todo: list[ast.AST | None] = [trace.source_file(path).tree for path in trace.sources]
    for name in {f.function for e in trace.of(Step, Backward, ZeroGrad) for f in e.site.stack}:
        todo += functions.get(name.rpartition(".")[2], ())
    seen: set[int] = set()
    for scope in todo:  # grows on the way
        for node in _own(scope) if scope is not None and id(scope) not in seen else ():
            yield node
            if isinstance(node, ast.Name | ast.Attribute):
                todo += functions.get(own_name(node), ())
        seen.add(id(scope))


def _own(scope: ast.AST) -> Iterator[ast.AST]:
    """What stands in a scope, without the functions in it."""
    todo = list(ast.iter_child_nodes(scope))
    for node in todo:  # grows on the way
        yield node
        if not isinstance(node, FUNCTIONS):
            todo += ast.iter_child_nodes(node)


def _is_function(holder: ast.expr) -> bool:
    """Whether `.grad` of this is `torch.autograd.grad` or `torch.func.grad`."""
    return own_name(holder) in ("autograd", "func")


def _used(
    turn: Turn,
    first: dict[tuple[int, Site], set[Site]],
    made_for: dict[Fill, set[int]],
    leaks: dict[tuple[int, Site, Site], Leak],
) -> None:
    number, site = turn.step.optimizer, turn.step.site.user
    fresh = turn.step.in_state("fresh")  # a stale one is told by itself
    given = {fill: ids & fresh for fill, ids in turn.fills.items() if ids & fresh}
    lines = [fill.event.site.user for fill in given]
    usual = first.setdefault((number, site), set(lines)) if given else set()
    own = next((line for line in lines if line in usual), None)
    for fill, ids in given.items():
        earlier = fill.event.site.user
        other = earlier not in usual and made_for.get(fill, set()) - {number}
        if own is not None and other and _below(fill.event.site, turn.step.site):
            leak = leaks.setdefault((number, site, earlier), Leak(number, site, earlier, own, turn.stretch))
            leak.parameters |= ids
            leak.count += turn.times
    if given:
        made_for.setdefault(list(given)[-1], set()).add(number)


def _below(late: Site, early: Site) -> bool:
    """Whether `late` stands below `early` in the function that leads to both."""
    a, b = where_parted(late, early)
    return (a.path, a.function) == (b.path, b.function) and a.line > b.line
