"""A loss compares one prediction for each sample with each of several targets of it.

Why: torch's losses repeat a prediction of (N, 1) for a target of (N, k), with no more than a warning. All k targets of
a sample are compared with one number, and what comes of that is their mean.

Fix: let the last layer give k numbers, `nn.Linear(features, k)`.

Measured: in a loss of torch's, the prediction has size 1 where the target is larger and the same sizes elsewhere, in
every pass. Silent on: losses written by hand, where one may mean it, and predictions or targets that the program gave
that size itself (`unsqueeze`, `expand`, `keepdim`), for pairs or quantiles.

Where the target itself was made of one number for each sample and several (log-probabilities of the parts of an action,
which are to be added up), that is told instead.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.names import names_of
from gradscope.analysis.ops import POINTWISE_LOSSES
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.rules.numbers._features import layer_before, with_features
from gradscope.rules.numbers._losses import shape_of
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1))  # cause: GS748
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        inputs, targets = torch.randn(16, 5), torch.randn(16, 3)
        opt.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()  # effect: GS748
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        inputs, targets = torch.randn(16, 5), torch.randn(16, 3)
        opt.zero_grad()
        nn.functional.mse_loss(net(inputs), targets).backward()
        opt.step()


@rule("GS748", name="one-prediction-for-several", severity="warning")
def one_prediction_for_several(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    found: dict[tuple[str, int], list[Op]] = {}
    otherwise: set[tuple[str, int]] = set()
    for _, op in known.used_calls(POINTWISE_LOSSES):
        place = op.site.user.location()
        if _repeated(known.graph(op.graph), op) is None:
            otherwise.add(place)
        else:
            found.setdefault(place, []).append(op)
    for place, ops in found.items():
        if (widened := _widened(known, ops[-1])) is not None:
            yield _of_target(trace, known, ops, *widened)
            continue
        given = [(op.graph, op.inputs[0]) for op in ops if place not in otherwise]
        layers = [layer for key in given if (layer := layer_before(known, key)) is not None]
        if len(layers) == len(ops):  # else the program gave a prediction its size itself
            yield _finding(trace, known, ops, layers[-1])


def _repeated(graph: Graph, op: Op) -> int | None:
    """The one axis along which a prediction of size 1 is repeated for a target; None where it is another case."""
    if len(op.inputs) < 2:
        return None
    prediction, target = (graph.values[i] for i in op.inputs[:2])
    if not prediction.requires_grad or target.requires_grad or len(prediction.shape) != len(target.shape):
        return None
    pairs = enumerate(zip(prediction.shape, target.shape, strict=True))
    apart = [axis for axis, (own, wanted) in pairs if own != wanted]
    if len(apart) != 1 or apart[0] == 0 or prediction.shape[apart[0]] != 1:
        return None
    return apart[0]


def _widened(known: Paths, op: Op) -> tuple[Op, Key] | None:
    """The operation by which the target became wider than what it is made of, and the wider of what met there: the
    target has too many numbers then, not the prediction too few."""
    key = (op.graph, op.inputs[1])
    wanted = shape_of(known, key)
    todo, seen = [key], {key}
    found: tuple[Op, Key] | None = None  # the first that was computed
    for one in todo:  # grows while it is walked
        maker = known.maker(one)
        if maker is None or known.value(one).shape != wanted:
            continue
        given = [(maker.graph, i) for i in maker.inputs]
        shapes = [shape_of(known, value) for value in given]
        wide = [value for value, shape in zip(given, shapes, strict=True) if shape == wanted]
        narrow = [
            shape for shape in shapes if len(shape) == len(wanted) and shape == _one_wide(wanted, shape)
        ]
        if len(given) == 2 and len(wide) == 1 and narrow:
            found = maker, wide[0]
        todo += [value for value in wide if value not in seen]
        seen.update(wide)
    return found


def _one_wide(wanted: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The form of what was repeated along the last axis."""
    return (*wanted[:-1], 1) if wanted[-1] != 1 else ()


def _finding(trace: Trace, known: Paths, ops: list[Op], layer: Op) -> Finding:
    op = ops[-1]
    graph = known.graph(op.graph)
    axis = _repeated(graph, op)
    assert axis is not None
    prediction, target = (graph.values[i] for i in op.inputs[:2])
    several = target.shape[axis]
    made, edits, text = with_features(trace, layer, several)
    loss = op.site.user
    shapes = ["×".join(map(str, value.shape)) for value in (prediction, target)]
    name = names_of(trace).name(graph, op.inputs[0])
    one = f"`{name}`" if name else "the prediction"
    return Finding(
        message=f"{code(trace, loss, 'the loss')} compares one prediction with each of {several:,} targets of a sample",
        cause=made,
        cause_label="one number for each sample",
        effect=loss if loss.location() != made.location() else None,
        effect_label=f"repeats it for the {several:,} targets",
        seen=(f"{one} is {shapes[0]}, the target {shapes[1]}, in every pass of this line",),
        why="the loss repeats the prediction for each target: where they differ, it can only learn their mean",
        fix=f"let the layer give {several:,} numbers: {text or 'as many as there are targets'} in"
        f" {located(trace, made)}, if all are to be predicted; else give the loss the one that is",
        edits=edits,
        count=len(ops),
    )


def _of_target(trace: Trace, known: Paths, ops: list[Op], met: Op, wide: Key) -> Finding:
    op = ops[-1]
    graph = known.graph(op.graph)
    prediction, target = (graph.values[i] for i in op.inputs[:2])
    several = target.shape[-1]
    drawn = _log_prob(known, wide)
    name = names_of(trace).name(known.graph(wide[0]), wide[1])
    maker = known.maker(wide)
    made = drawn or (maker.site.user if maker is not None else met.site.user)
    shown = f"`{name}`" if name and drawn is None else code(trace, made, "it")
    loss = op.site.user
    shapes = ["×".join(map(str, value.shape)) for value in (prediction, target)]
    fix = f"make one number for each sample of {shown} before {located(trace, met.site.user, 'this line')}"
    if drawn is not None:
        place = located(trace, drawn, "`log_prob`")
        fix = f"add up the log-probabilities of an action's {several:,} parts: `.sum(-1, keepdim=True)` behind {place}"
    return Finding(
        message=f"the target of {code(trace, loss, 'the loss')} has {several:,} numbers for each sample, the prediction"
        f" one: {shown} is that wide where it is made",
        cause=drawn if drawn is not None else met.site.user,
        cause_label=f"gives {several:,} log-probabilities for each sample"
        if drawn is not None
        else f"one number meets {several:,} here",
        effect=loss,
        effect_label=f"compares the prediction with all {several:,}",
        related=((met.site.user, "what has one number for each sample is repeated here"),)
        if drawn is not None
        else (),
        seen=(f"the prediction is {shapes[0]}, the target {shapes[1]}, in every pass of this line",),
        why="a distribution over each number by itself gives a log-probability for each; that of the whole is their sum"
        if drawn is not None
        else "the loss repeats the prediction for each target, and a target that was repeated has no more to say",
        fix=fix,
        edits=_summed(trace, drawn) if drawn is not None else (),
        count=len(ops),
    )


def _log_prob(known: Paths, key: Key) -> Site | None:
    """The program's line by which these numbers are log-probabilities, each of one number, or are made of some of the
    same form."""
    wanted = shape_of(known, key)
    todo, seen = [key], {key}
    for one in todo:  # grows while it is walked
        maker = known.maker(one)
        if maker is None:
            continue
        if any(
            "/torch/distributions/" in f.path and f.function.endswith("log_prob")
            for f in (maker.site, *maker.site.stack)
        ):
            return _outermost(known, key, maker)
        for value in ((maker.graph, i) for i in maker.inputs):
            if shape_of(known, value) == wanted and value not in seen:
                todo.append(value)
                seen.add(value)
    return None


def _outermost(known: Paths, key: Key, log_prob: Op) -> Site:
    """The line of the same function that gives a name what is made of the log-probabilities, the last one."""
    last = log_prob.site.user
    file = known.trace.source_file(last.path)
    todo, seen = [key], {key}
    for one in todo:  # grows while it is walked
        maker = known.maker(one)
        if maker is None:
            continue
        site = maker.site.user
        statement = file.statement(site) if (site.path, site.function) == (last.path, last.function) else None
        if isinstance(statement, ast.Assign) and statement.value is file.at(site):
            return site
        for value in ((maker.graph, i) for i in maker.inputs):
            if value not in seen and shape_of(known, value) == shape_of(known, key):
                todo.append(value)
                seen.add(value)
    return last


def _summed(trace: Trace, site: Site) -> Edits:
    here = Source(trace, site.path)
    statement = here.file.statement(site)
    if (
        not isinstance(statement, ast.Assign)
        or len(statement.targets) != 1
        or not isinstance(statement.targets[0], ast.Name)
    ):
        return ()
    return here.behind(statement.value, ".sum(-1, keepdim=True)")
