"""Two outputs of a network go through the very same layers: they are one answer, and two targets are asked of it.

Why: the same layers make the same numbers of the same input. Two outputs that share all their layers, up to the last
one, are equal whatever is learned: where one loss compares the first with one target, and another loss the second with
another target, the one can only fall while the other rises, and the network learns what lies between.

Fix: share the layers up to the last one, and give each output a last layer of its own.

Measured: both losses were given the same numbers, with different targets, in all calls that were looked at; both
outputs are computed in one call of the module, from the same values and with the same parameters.
Silent on: one output that two losses compare, as with mixed labels or a teacher; a network that is called twice;
outputs with layers of their own, with dropout between, or with the same target.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.made import layer_made
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import code, located, parameter_names, parameter_subjects, plural
from gradscope.events import SameAnswers
from gradscope.fixes.source import Edits, Source, free_name
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace

ENOUGH = 3  # calls


class Split(NamedTuple):
    """The last calls of a layer that lead to the two answers, and the two frames where these part."""

    first: Op
    second: Op
    here: Site
    there: Site


def bad() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Linear(4, 8)
            self.head = nn.Linear(8, 3)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            hidden = torch.relu(self.body(x))
            one = self.head(hidden)  # related: GS437
            other = self.head(hidden)  # cause: GS437
            return one, other

    torch.manual_seed(0)
    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        x = torch.randn(16, 4)
        shape, colour = model(x)
        loss = nn.functional.cross_entropy(shape, x[:, :3].argmax(1))
        loss = loss + nn.functional.cross_entropy(colour, x[:, 1:].argmax(1))  # effect: GS437
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Linear(4, 8)
            self.head = nn.Linear(8, 3)
            self.head_2 = nn.Linear(8, 3)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            hidden = torch.relu(self.body(x))
            return self.head(hidden), self.head_2(hidden)

    torch.manual_seed(0)
    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        x = torch.randn(16, 4)
        shape, colour = model(x)
        loss = nn.functional.cross_entropy(shape, x[:, :3].argmax(1))
        loss = loss + nn.functional.cross_entropy(colour, x[:, 1:].argmax(1))
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS437", name="one-answer-for-two-targets", severity="warning", over=("GS784",), needs=SameAnswers)
def one_answer_for_two_targets(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for event in trace.of(SameAnswers):
        other = trace.site(event.other)
        if other is None or event.calls < ENOUGH:
            continue
        for _, loss in known.used_calls({event.name}):
            if loss.site.id != event.site.id:
                continue
            graph = known.graph(loss.graph)
            first = next(
                (op for op in graph.called({event.name}) if op.site.id == other.id and op.index < loss.index),
                None,
            )
            split = _split(known, graph, first, loss) if first is not None else None
            if split is not None and first is not None and split.there.location() not in told:
                told.add(split.there.location())
                yield _finding(trace, known, event, first, loss, split)


def _split(known: Paths, graph: Graph, first: Op, second: Op) -> Split | None:
    """Where the answers of two losses part, of which each layer is one that the other answer has gone through too."""
    one, other = first.inputs[0], second.inputs[0]
    if one == other or known.memory(graph.id, one) == known.memory(graph.id, other):
        return None
    behind = [set(graph.upstream(value)) for value in (one, other)]
    entered = [{value for value in found if graph.maker(value) is None} for found in behind]
    if entered[0] != entered[1] or not known.fed_by((graph.id, one)):
        return None
    last = [_last_layer(known, graph, mine - its) for mine, its in (behind, behind[::-1])]
    if last[0] is None or last[1] is None or last[0].module != last[1].module:
        return None
    stacks = [op.site.stack for op in last if op is not None]
    for depth, (here, there) in enumerate(zip(*stacks, strict=False)):
        if here != there:
            before = stacks[0][:depth]
            inside = [f for f in before if f.kind == "torch" and f.function.endswith("_call_impl")]
            of_loss = inside and inside[-1] in second.site.stack
            user = here.kind == there.kind == "user" and here.path == there.path
            return Split(last[0], last[1], here, there) if inside and user and not of_loss else None
    return None


def _last_layer(known: Paths, graph: Graph, values: set[int]) -> Op | None:
    """The last call among those that made these values to take a parameter."""
    for value in sorted(values, reverse=True):
        op = graph.maker(value)
        if op is not None and any(known.parameter_of((graph.id, index)) is not None for index in op.inputs):
            return op
    return None


def _finding(trace: Trace, known: Paths, event: SameAnswers, first: Op, loss: Op, split: Split) -> Finding:
    ids = known.fed_by((loss.graph, loss.inputs[0]))
    fix, edits = _own_layer(trace, split)
    texts = [code(trace, site, "the layers") for site in (split.here, split.there)]
    again = f"{texts[0]} and {texts[1]}" if texts[0] != texts[1] else texts[1]
    return Finding(
        message=f"{again} give the same answer twice, and two losses ask different targets of it",
        cause=split.there,
        cause_label="the same layer, of the same values",
        effect=loss.site.user,
        effect_label="compares that answer with a target of its own",
        related=(
            (split.here, "makes the first answer"),
            (first.site.user, "compares it with another target"),
        ),
        seen=(
            f"in all {plural(event.calls, 'call')} that were looked at both losses were given the same numbers, and"
            " different targets",
            f"both are computed from the same values, with the same parameters: {parameter_names(trace, ids)}",
        ),
        fix=fix,
        edits=edits,
        count=event.calls,
        subjects=parameter_subjects(ids),
    )


def _own_layer(trace: Trace, split: Split) -> tuple[str, Edits]:
    """A second layer beside the one that both answers go through, for the second one."""
    module = trace.modules.get(split.second.module) if split.second.module is not None else None
    made = layer_made(trace, module) if module is not None else None
    where = located(trace, split.there)
    plain = f"give each output a last layer of its own, and call the second one in {where}"
    if made is None:
        return plain, ()
    path, call = made
    here, text = Source(trace, path), trace.source_file(path).text(call)
    statement = here.file.statement_of(call)
    target = (
        statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    )
    plain = f"give the second output a layer of its own: another `{text}`, which {where} calls"
    node = trace.source_file(split.there.path).at(split.there)
    if (
        not isinstance(statement, ast.Assign)
        or not isinstance(target, ast.Attribute)
        or statement.value is not call
    ):
        return plain, ()
    old = ast.unparse(target)
    if not isinstance(node, ast.Call) or ast.unparse(node.func) != old or path != split.there.path:
        return plain, ()
    cls = here.file.class_of(statement)
    taken = (
        {one.attr for one in ast.walk(cls) if isinstance(one, ast.Attribute)} if cls is not None else set()
    )
    name = free_name([f"{target.attr}_2", f"{target.attr}_b", f"own_{target.attr}"], taken)
    new = f"{ast.unparse(target.value)}.{name}"
    edits = here.after(statement, f"{new} = {text}")
    fix = (
        f"give the second output a layer of its own: `{new} = {text}` beside `{old}`, and `{new}` in {where}"
    )
    return fix, edits + here.replace(node.func, new) if edits else ()
