"""A network is compared with a reference that is the same network: the difference is zero whatever it learns.

Why: `reference = model` gives the model a second name. What the two answer is always the same, so that a term which is
to keep the one near the other, or to tell how far it has come, is a constant.

Fix: a copy that stays behind, `copy.deepcopy(model)`, frozen.

Measured: both sides of the difference were computed by the same parameters, one of them without a graph; the difference
was exactly zero in all calls that were looked at, and steps were made between them.
Silent on: a value less itself, detached, whose gradient is wanted and not its number; differences whose exponential is
taken: in the first step on a batch a ratio is 1; divergences that are differentiated twice, as a trust region's: at
the network itself number and gradient are zero, and the second derivative is not.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from gradscope.analysis.ops import (
    ALIASES,
    CASTS,
    COMPARING_LOSSES,
    EXPONENTIALS,
    PASSING,
    SCALES,
    SOFTMAXES,
    SUBTRACTIONS,
)
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.text import nodes_that_ran
from gradscope.analysis.words import code, parameter_names, parameter_subjects, plural
from gradscope.events import NoDifference
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.rules.reach._with_graph import keeps_graph
from gradscope.store import Trace

ENOUGH = 2  # steps between the calls
LOSSES = COMPARING_LOSSES | {"kl_div"}  # they take a difference of their two sides
FORMS = PASSING | CASTS | ALIASES | {"detach"}


def bad() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    reference = policy
    best = copy.deepcopy(policy)
    opt = torch.optim.SGD(policy.parameters(), lr=0.1)
    for _ in range(5):
        x, rows = torch.randn(16, 4), torch.arange(16)
        logs = policy(x).log_softmax(1)
        with torch.no_grad():
            before = reference(x).log_softmax(1)
        far = logs - before  # cause: GS367
        loss = nn.functional.softplus(-far[rows, 0] + far[rows, 1] + logs[rows, 2]).mean()  # effect: GS367
        opt.zero_grad()
        loss.backward()
        opt.step()
    best.load_state_dict(policy.state_dict())


def good() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    reference = copy.deepcopy(policy).requires_grad_(False)
    opt = torch.optim.SGD(policy.parameters(), lr=0.1)
    for _ in range(5):
        x, rows = torch.randn(16, 4), torch.arange(16)
        logs = policy(x).log_softmax(1)
        with torch.no_grad():
            before = reference(x).log_softmax(1)
        far = logs - before
        loss = nn.functional.softplus(-far[rows, 0] + far[rows, 1] + logs[rows, 2]).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS367", name="reference-is-itself", severity="warning", needs=NoDifference)
def reference_is_itself(trace: Trace) -> Iterator[Finding]:
    events = {e.site.user.span(): e for e in trace.of(NoDifference) if e.steps >= ENOUGH}
    if not events:
        return
    known = paths(trace)
    compared = [
        (key, op) for key, op in known.used_calls(SUBTRACTIONS | LOSSES) if op.site.user.span() in events
    ]
    told = {op.site.user.location() for key, op in compared if _differentiated_twice(known, key)}
    for _, op in compared:
        place = op.site.user.location()
        shared = _shared(known, op) if place not in told else frozenset()
        if shared:
            told.add(place)
            yield _finding(trace, known, op, events[op.site.user.span()], shared)


def _differentiated_twice(known: Paths, key: Key) -> bool:
    """Whether a pass goes through a gradient of what this became."""
    return any(
        op is not None and keeps_graph(op) and (result[0], known.value(result).node) in known.reached.nodes
        for _, result, op in known.onward(key, lambda *_: True)
    )


def _shared(known: Paths, op: Op) -> frozenset[int]:
    """The parameters that both sides were computed by, where they were computed apart from each other."""
    graph = known.graph(op.graph)
    sides = [(graph.id, index) for index in op.inputs]
    if len(sides) != 2 or any(reader.name in EXPONENTIALS for reader in _readers(known, op)):
        return frozenset()
    one, other = (graph.values[index] for index in op.inputs)
    if one.requires_grad == other.requires_grad:
        return frozenset()  # another difference in the same call of the program's
    trained, fixed = sides if one.requires_grad else sides[::-1]
    through = FORMS | SOFTMAXES if op.name in LOSSES else FORMS
    if _origin(known, fixed, through) == _origin(known, trained, through):
        return frozenset()
    if op.name in LOSSES and _asks_for_an_input(known, op):
        return frozenset()
    return known.behind(trained) & known.fed_by(fixed)


def _asks_for_an_input(known: Paths, op: Op) -> bool:
    """Whether the pass fills something that no optimizer holds: a tiny change of the input, as for an adversarial one,
    makes a difference that can't be seen."""
    event = known.loss_of((op.graph, op.outputs[0]))
    if event is None:
        return True
    filled = [known.parameters.get(number) for number in known.filled_by(event)]
    return not filled or any(one is None or not one.optimizers for one in filled)


def _origin(known: Paths, key: Key, through: Collection[str]) -> tuple[int, int] | Key:
    """The call that gave these numbers, whatever form they have now, and whether with their graph or without."""
    maker = known.maker_behind(key, through)
    return (maker.graph, maker.index) if maker is not None else known.made(key)


def _readers(known: Paths, op: Op) -> Iterator[Op]:
    graph = known.graph(op.graph)
    return (
        one for _, one in graph.readers_behind(op.outputs, lambda reader: reader.name in PASSING | {"sum"})
    )


def _finding(trace: Trace, known: Paths, op: Op, event: NoDifference, shared: frozenset[int]) -> Finding:
    site = op.site.user
    loss = known.loss_of((op.graph, op.outputs[0]))
    reader = next(_readers(known, op), None)
    effect = reader.site.user if reader is not None else loss.site.user if loss is not None else None
    text, edits = _copied(trace, _asked(known, op))
    return Finding(
        message=f"{code(trace, site, 'the difference')} is always zero: both sides come from the same parameters",
        cause=site,
        cause_label="compares a network's answer with its own",
        effect=effect if effect is not None and effect.location() != site.location() else None,
        effect_label="goes on with zeros",
        seen=(
            f"in {plural(event.calls, 'call')} looked at each difference was exactly 0, with"
            f" {plural(event.steps, 'step')} between the first and the last",
            f"both sides were computed by {parameter_names(trace, sorted(shared))}, one of them without a graph",
        ),
        fix=f"compare with a copy that stays behind: {text}",
        edits=edits,
        count=event.calls,
        subjects=parameter_subjects(shared) | {("difference", *site.location())},
    )


def _asked(known: Paths, op: Op) -> str:
    """The call that gave the side without a graph, as the program writes it: `self.teacher(x)`."""
    sides = [(op.graph, index) for index in op.inputs]
    fixed = next((side for side in sides if not known.value(side).requires_grad), None)
    made = known.maker_behind(fixed, FORMS | SOFTMAXES | SCALES) if fixed is not None else None
    node = known.trace.source_file(made.site.user.path).at(made.site.user) if made is not None else None
    return ast.unparse(node) if isinstance(node, ast.Call) else ""


def _copied(trace: Trace, asked: str) -> tuple[str, Edits]:
    """`reference = copy.deepcopy(model)` for the one `reference = model` of the program, of several the one that was
    asked, and the edit."""
    roots = {
        module.variable for module in trace.modules.values() if module.parent is None and module.variable
    }
    found = [
        (path, function, node)
        for path, function, node in nodes_that_ran(trace, ast.Assign)
        if isinstance(node.value, (ast.Name, ast.Attribute)) and ast.unparse(node.value) in roots
    ]
    if len(found) > 1:
        found = [one for one in found if asked.startswith(f"{ast.unparse(one[2].targets[0])}(")]
    if len(found) != 1:
        return "`copy.deepcopy(model)` where the reference is made, with `requires_grad_(False)`", ()
    path, _, node = found[0]
    here = Source(trace, path)
    new = f"copy.deepcopy({ast.unparse(node.value)}).requires_grad_(False)"
    text = f"`{ast.unparse(node.targets[0])} = {new}`"
    return text, here.replace(node.value, new) if "copy" in here.file.imported else ()
