"""What an activation gave is read by nothing: the network goes on with what went into it.

Why: `act = self.relu(h)` makes a new tensor. Where the next lines take `h`, the layers before and behind are joined
without a bend, as if the activation were not there: a stack of linear layers can tell no more than one.

Fix: hand on what the activation gave.

Measured: no operation of the run reads the result in any form, and no line after it asks for its name; operations
that build the loss read what it was made of, and layers come behind. Silent on: activations that write in place,
results that are kept elsewhere, those of the last scores, and what is computed without gradients.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from gradscope.analysis.never_read import Unread, unread_at
from gradscope.analysis.ops import RELUS, SIGMOIDS
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.text import own_nodes
from gradscope.analysis.words import code, listed, located, parameter_subjects, where
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.source import SCOPES
from gradscope.store import Trace

ACTIVATIONS = RELUS | SIGMOIDS | {
    "tanh", "gelu", "silu", "mish", "elu", "selu", "celu", "leaky_relu", "prelu", "softplus", "hardswish",
    "hardsigmoid", "hardtanh", "softsign", "logsigmoid",
}  # fmt: skip

FAR = 200  # operations


def bad() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.act, self.two = nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            hidden = self.one(x)
            bent = self.act(hidden)  # noqa: F841  # cause: GS466
            shown: torch.Tensor = self.two(hidden)  # effect: GS466
            return shown

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        (model(torch.randn(16, 4)) - 1).pow(2).mean().backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.act, self.two = nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            hidden = self.one(x)
            bent = self.act(hidden)
            shown: torch.Tensor = self.two(bent)
            return shown

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        (model(torch.randn(16, 4)) - 1).pow(2).mean().backward()
        opt.step()


@dataclass
class _Dead:
    op: Op
    unread: Unread
    reader: Op  # of what it was made of
    filled: set[int]
    count: int


@rule("GS466", name="activation-unread", severity="warning", over=("GS733",))
def activation_unread(trace: Trace) -> Iterator[Finding]:
    if trace.op_names.isdisjoint(ACTIVATIONS):
        return
    functions: dict[tuple[str, str], list[_Dead]] = {}
    looked: set[int] = set()
    for event in paths(trace).backwards:
        graph = paths(trace).graph(event.graph)
        for op in graph.called(ACTIVATIONS):
            if op.site.id in looked or op.site.user.kind != "user" or op.writes or not op.nodes:
                continue
            looked.add(op.site.id)
            reader = _goes_on(paths(trace), graph, op)
            unread = unread_at(trace, op.site) if reader is not None else None
            if reader is not None and unread is not None and _is_named(unread):
                one = _Dead(op, unread, reader, set(event.filled), graph.count)
                functions.setdefault((op.site.user.path, op.site.user.function), []).append(one)
    for dead in functions.values():
        yield _finding(trace, dead)


def _goes_on(known: Paths, graph: Graph, op: Op) -> Op | None:
    """The operation that reads what the activation was given, further on the way to the loss."""
    if len(op.outputs) != 1 or op.outputs[0] in op.inputs:
        return None
    feeds = known.used.feeds.get((graph.id, op.inputs[0]), ())
    later = [one for _, one in feeds if one is not None and one is not op and one.name not in ACTIVATIONS]
    behind = [one for one in later if one.graph == graph.id and one.index > op.index]
    return next((one for one in behind if _has_layers_behind(graph, one)), None)


def _is_named(unread: Unread) -> bool:
    """Whether a variable is what it is given to: an attribute may be asked for by a name in a text."""
    statement = unread.statement
    return isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)


def _has_layers_behind(graph: Graph, reader: Op) -> bool:
    """Whether it, or what is computed of it, is computed with parameters: of a last result only a metric takes the
    activation."""
    behind = (op for _, op in graph.readers_behind(reader.outputs, lambda _: True))
    return any(
        graph.values[i].parameter is not None for op in (reader, *islice(behind, FAR)) for i in op.inputs
    )


def _finding(trace: Trace, dead: list[_Dead]) -> Finding:
    first = dead[0]
    site = first.unread.site
    names = listed([f"`{one.unread.name}`" for one in dead], 4)
    calls = code(trace, site, "an activation") if len(dead) == 1 else f"{len(dead)} activations"
    edits = [_handed_on(trace, one) for one in dead]
    return Finding(
        message=f"nothing reads what {calls} gave ({names}): the network goes on with what went into"
        f" {'it' if len(dead) == 1 else 'them'}",
        cause=site,
        cause_label=f"gives `{first.unread.name}`, which nothing reads",
        effect=first.reader.site.user,
        effect_label="takes what went into the activation",
        related=tuple((one.unread.site, f"`{one.unread.name}`, the same") for one in dead[1:]),
        seen=("no operation of the run reads it, and no line after it has its name",),
        fix="hand on what the activation gave: "
        + listed(
            [
                f"`{one.unread.name}` in {located(trace, one.reader.site.user, 'the next call')}"
                for one in dead[:2]
            ],
            2,
        )
        + (f", and so on ({where(dead[2].unread.site)})" if len(dead) > 2 else ""),
        edits=tuple(edit for each in edits for edit in each) if all(edits) else (),
        count=first.count,
        subjects=parameter_subjects(first.filled),
    )


def _handed_on(trace: Trace, one: _Dead) -> Edits:
    """The name of what the activation gave in place of that of what went into it, in all of the function behind it."""
    here = Source(trace, one.unread.site.path)
    statement = one.unread.statement
    call = statement.value if isinstance(statement, ast.Assign) else None
    given = call.args[0] if isinstance(call, ast.Call) and len(call.args) == 1 else None
    scope = here.file.scope_of(statement)
    if (
        not isinstance(given, ast.Name)
        or not isinstance(scope, SCOPES)
        or here.file.loop_of(statement) is not None
    ):
        return ()
    last = statement.end_lineno or statement.lineno
    later = [n for n in own_nodes(scope) if isinstance(n, ast.Name) and n.id == given.id and n.lineno > last]
    if any(not isinstance(n.ctx, ast.Load) for n in later):
        return ()
    return tuple(edit for n in later for edit in here.replace(n, one.unread.name))
