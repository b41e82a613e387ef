"""A model centres or scales each sample by a number of the whole batch: what it says of one depends on the others.

Why: `x.mean()` without an axis is one number of the whole batch. Where a forward subtracts it, the answer for a sample
is another one in another batch, and for a batch of one it is centred as it never was in training. In a dueling network
the advantages of a state are meant to be centred over its own actions. So it is with `x / x.norm()`: embeddings that
are to be of length 1 get one that shrinks with the size of the batch.

Fix: name the axis: `x - x.mean(dim=1, keepdim=True)`, `x / x.norm(dim=1, keepdim=True)`, and of features the same with
`x.pow(2).mean(dim=(1, 2, 3), keepdim=True)`.

Measured: the shapes, and that the difference (the quotient) is (a part of) what the call of the model gives, sample by
sample.
Silent on: losses and penalties that come to one number, statistics of the inputs, means over named axes, batches of
one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import prod

from gradscope.analysis.ops import (
    ADDITIONS,
    CLIPS,
    DIVISIONS,
    MULTIPLICATIONS,
    PASSING,
    POWERS,
    RECIPROCALS,
    SCALES,
    SUBTRACTIONS,
    SUMS,
)
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located, parameter_subjects
from gradscope.events import ModuleCall
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.rules.numbers._losses import shape_of
from gradscope.store import Trace

OF_ALL = ("mean", "norm", "sum", "std", "var")  # the last two are no news of what the mean is told of
SPREADS = {"std", "var"}
KEPT = ADDITIONS | CLIPS | PASSING | {"sqrt", "maximum"}
NEAR = 8  # calls between a number and what it scales
OF_NORMS = (
    "divided by its own norm each sample has the length 1; divided by that of all samples it has one that shrinks with"
    " the size of the batch, and depends on who else is in it: another in training than for a sample alone"
)
OF_MEANS = (
    "divided by a number of its own each sample is scaled by itself; divided by one of the whole batch it is another"
    " one in another batch, and for a sample alone, in evaluation as in training"
)
KEEPS = SUMS | PASSING | {"mul", "div", "relu", "tanh", "sigmoid"}


def bad() -> None:
    import torch
    from torch import nn

    class Dueling(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.value, self.advantage = nn.Linear(4, 1), nn.Linear(4, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            advantage = self.advantage(x)
            out: torch.Tensor = self.value(x) + advantage - advantage.mean()  # cause: GS753
            return out

    torch.manual_seed(0)
    net = Dueling()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        x, action = torch.randn(16, 4), torch.randint(0, 3, (16, 1))
        loss = (net(x).gather(1, action) - x.sum(1, keepdim=True)).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS753
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    class Dueling(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.value, self.advantage = nn.Linear(4, 1), nn.Linear(4, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            advantage = self.advantage(x)
            out: torch.Tensor = self.value(x) + advantage - advantage.mean(dim=1, keepdim=True)
            return out

    torch.manual_seed(0)
    net = Dueling()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        x, action = torch.randn(16, 4), torch.randint(0, 3, (16, 1))
        loss = (net(x).gather(1, action) - x.sum(1, keepdim=True)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS753", name="mean-of-the-whole-batch", severity="warning")
def mean_of_the_whole_batch(trace: Trace) -> Iterator[Finding]:
    if trace.op_names.isdisjoint(OF_ALL):
        return
    known = paths(trace)
    calls: dict[int, list[ModuleCall]] = {}
    for event in trace.of(ModuleCall):
        calls.setdefault(event.graph, []).append(event)
    told: set[tuple[str, int]] = set()
    done: set[Key] = set()
    for key, mean in (call for name in OF_ALL for call in known.used_calls({name})):
        place = mean.site.user.location()
        graph = known.graph(mean.graph)
        if place in told or mean.module is None or shape_of(known, key) or not mean.inputs:
            continue
        form = shape_of(known, (mean.graph, mean.inputs[0]))
        value = graph.values[mean.inputs[0]]
        if len(form) < 2 or form[0] < 2 or not value.requires_grad or value.is_leaf:
            continue
        readers = graph.consumers.get(key[1], ())
        taken = next((op for op in readers if _subtracts(graph, op, mean)), None) or _scaled(graph, mean)
        if mean.name in SPREADS and ((graph.id, mean.inputs[0]) in done or prod(form[1:]) == 1):
            continue
        if taken is not None and _given_out(known, taken, form, calls.get(mean.graph, [])):
            told.add(place)
            done.add((graph.id, mean.inputs[0]))
            yield _finding(trace, known, mean, taken, form)


def _subtracts(graph: Graph, op: Op, mean: Op) -> bool:
    """Whether an op takes the mean away from a tensor of the form that the mean was taken of, which holds the same."""
    if (
        op.name not in SUBTRACTIONS
        or mean.name != "mean"
        or len(op.inputs) != 2
        or op.inputs[1] != mean.outputs[0]
    ):
        return False
    source, todo = mean.inputs[0], [op.inputs[0]]
    if graph.values[op.inputs[0]].shape != graph.values[source].shape:
        return False
    for index in todo:  # grows while it is walked
        if index == source:
            return True
        made = graph.maker(index)
        if made is not None and made.name in ADDITIONS and len(todo) < 8:
            todo += made.inputs
    return False


def _scaled(graph: Graph, mean: Op) -> Op | None:
    """The call that divides by the norm, the mean or the spread, or by its root, what that was taken of: itself, its
    square or its size; a product with the inverse is that too."""
    of = {mean.inputs[0]}
    made = graph.maker(mean.inputs[0])
    squares = made is not None and made.name in POWERS | {"abs"}
    if mean.name == "sum" and not squares:
        return None
    if mean.name in ("mean", "sum") and made is not None and squares:
        of.add(made.inputs[0])
    todo = [(mean.outputs[0], False)]
    for index, inverse in todo:  # grows while it is walked
        for op in graph.consumers.get(index, ()):
            if not op.outputs or len(todo) > NEAR:
                continue
            others = [value for value in op.inputs if value != index]
            if not graph.values[op.outputs[0]].shape:
                if not others and op.name in KEPT | RECIPROCALS:
                    todo.append((op.outputs[0], inverse != (op.name in RECIPROCALS)))
            elif op.name in (MULTIPLICATIONS if inverse else DIVISIONS) and len(others) == 1:
                first = inverse or op.inputs[0] == others[0]
                if first and _holds(graph, others[0], of, SUMS | SCALES if mean.name in SPREADS else SCALES):
                    return op
    return None


def _holds(graph: Graph, value: int, of: set[int], names: set[str]) -> bool:
    """Whether a value is one of these, perhaps multiplied with something."""
    todo = [value]
    for index in todo:  # grows while it is walked
        if index in of:
            return True
        made = graph.maker(index)
        if made is not None and made.name in names and len(todo) < NEAR:
            todo += made.inputs
    return False


def _given_out(known: Paths, taken: Op, form: tuple[int, ...], calls: list[ModuleCall]) -> bool:
    """Whether the difference is computed from what a model is given for each sample, and goes into what it gives, by
    sums and the like; the quotient by layers too."""
    graph = known.graph(taken.graph)
    there = len(graph.values)
    fed = [c for c in calls if any(graph.values[i].shape[:1] == form[:1] for i in c.inputs if i < there)]
    results = {index for call in fed for index in call.outputs}
    given = {(graph.id, index) for call in fed for index in call.inputs}
    if known.flow([(graph.id, taken.inputs[0])]).order.keys().isdisjoint(given):
        return False  # of weights alone
    todo = list(taken.outputs)
    for index in todo:  # grows while it is walked
        if index in results:
            return True
        for op in graph.consumers.get(index, ()):
            if (op.name in KEEPS or taken.name not in SUBTRACTIONS) and op.module is not None:
                todo += [i for i in op.outputs if graph.values[i].shape[:1] == form[:1] and i not in todo]
    return False


def _finding(trace: Trace, known: Paths, mean: Op, taken: Op, form: tuple[int, ...]) -> Finding:
    result: Key = (mean.graph, taken.outputs[0])
    loss = known.loss_of(result)
    whole, divides = code(trace, mean.site.user, f"`{mean.name}`"), taken.name not in SUBTRACTIONS
    done = "what each sample is divided by" if divides else "taken away from each sample"
    axes = "1" if len(form) == 2 else str(tuple(range(1, len(form))))
    return Finding(
        message=f"{whole} is one number of the whole batch, and {'' if divides else 'is '}{done}: what the model gives"
        " for one depends on the others",
        cause=mean.site.user,
        cause_label=f"the {mean.name} of all of {form}, its {form[0]} samples too",
        effect=loss.site.user if loss is not None else None,
        effect_label="trains on it",
        seen=(
            f"a {mean.name} of {form} to one number, {'that divides' if divides else 'taken away from'} {form};"
            f" {form[0]} samples in the batch",
        ),
        fix=f"take the {mean.name} of each sample by itself: `.{mean.name}(dim={axes}, keepdim=True)` in"
        f" {located(trace, mean.site.user)}",
        edits=_by_sample(trace, mean, axes),
        why=OF_NORMS if mean.name == "norm" else OF_MEANS if divides else "",
        subjects=parameter_subjects(known.behind(result)),
    )


def _by_sample(trace: Trace, mean: Op, axes: str) -> Edits:
    """`x.mean(dim=1, keepdim=True)` for `x.mean()`, and `torch.mean(x, …)` for `torch.mean(x)`."""
    here = Source(trace, mean.site.user.path)
    call = here.file.at(mean.site.user)
    if not isinstance(call, ast.Call) or call.keywords or not isinstance(call.func, ast.Attribute):
        return ()
    if call.func.attr != mean.name or len(call.args) != int(here.file.is_imported(call.func)):
        return ()
    given = f"dim={axes}, keepdim=True"
    if call.args:
        return here.append(call.args[0], f", {given}")
    return here.replace(call, f"{here.file.text(call.func)}({given})")
