"""A layer is given nothing but zeros: its weight never gets a gradient, and its answers are its bias.

Why: the gradient of a weight is what goes into its layer times what comes back. Pixels of whole numbers divided by
`//` are rounded down to 0, fractions that become integers as well. The bias behind them still trains, so that the loss
falls to that of the best constant answer, and stays there.

Fix: `/` in place of `//`; make numbers of a floating type before they are divided, and no integers of fractions.

Measured: the layer's first input, and the gradient of its weight, which was exactly zero in every measured pass while
that of its bias was not. Silent on: zeros that the program makes as such, layers that read what another one gave.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.ops import CASTS, LAYERS, PASSING, SCALES, SUMS, ZEROS
from gradscope.analysis.reach import Key, Paths
from gradscope.analysis.words import code, located, parameter_name, parameter_subjects
from gradscope.events import RawInput
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.rules.numbers._zeros import Zeros, reads_zeros, zeros_of_lines
from gradscope.store import Trace

ROUNDING = {"__floordiv__", "floor_divide", "floor", "floor_", "round", "round_", "trunc", "trunc_"}
INTEGERS = {"long", "int", "short", "byte", "char", "bool"}
MADE = ZEROS | {"empty", "full", "new_full", "zero_"}  # zeros that are meant, to be filled or not
FAR = 20  # calls followed


def bad() -> None:
    import torch
    from torch import nn

    images = torch.randint(0, 255, (64, 1, 8, 8), dtype=torch.uint8)
    labels = (images.float().mean((1, 2, 3)) > 127).long()
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for i in range(0, 64, 8):
        x = (images[i : i + 8] // 255).float()  # cause: GS316
        loss = nn.functional.cross_entropy(net(x), labels[i : i + 8])  # effect: GS316
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    images = torch.randint(0, 255, (64, 1, 8, 8), dtype=torch.uint8)
    labels = (images.float().mean((1, 2, 3)) > 127).long()
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for i in range(0, 64, 8):
        x = images[i : i + 8] / 255
        loss = nn.functional.cross_entropy(net(x), labels[i : i + 8])
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS316", name="given-nothing-but-zeros", severity="warning", needs=RawInput)
def given_nothing_but_zeros(trace: Trace) -> Iterator[Finding]:
    zero = {event.parameter for event in trace.of(RawInput) if event.low == event.high == 0}
    if not zero:
        return
    told: set[int] = set()
    for line in zeros_of_lines(trace):
        graph = line.known.graph(line.event.graph)
        for op in graph.called(LAYERS) if line.idle & zero else ():
            weight = reads_zeros(line, graph, op)
            if weight not in zero or weight in told or graph.values[op.inputs[0]].requires_grad:
                continue
            count = line.last(weight)
            if count == len(line.series[weight]) and line.is_wrong(count):
                told.add(weight)
                finding = _finding(line, graph, op, weight, count)
                if finding is not None:
                    yield finding


def _finding(line: Zeros, graph: Graph, op: Op, weight: int, count: int) -> Finding | None:
    trace, known = line.trace, line.known
    made = _made_zero(known, (graph.id, op.inputs[0]))
    if made is not None and made.name in MADE:
        return None
    name, layer = f"`{parameter_name(trace, weight)}`", op.site.user
    cause = made.site.user if made is not None else layer
    from_outside = f"look where the input of {located(trace, layer, 'the layer')} comes from", ()
    fix, edits = _repair(trace, made) if made is not None else from_outside
    return Finding(
        message=f"{name} is given nothing but zeros: its layer answers the same, whatever the data are",
        cause=cause,
        cause_label="gives zeros" if made is not None else "its input is zero everywhere",
        effect=layer if cause != layer else None,
        effect_label="takes them for its input",
        seen=(
            f"the input was 0 everywhere at the first call; the gradient of {name} was exactly 0 in all of {count}"
            " measured passes, and that of its bias was not",
        ),
        fix=fix,
        edits=edits,
        count=count,
        subjects=parameter_subjects([weight]),
    )


def _made_zero(known: Paths, key: Key) -> Op | None:
    """The call on the way to a value that rounds numbers down, or makes such zeros as they are meant."""
    for _ in range(FAR):
        op = known.maker(key)
        if op is None or op.name in MADE | ROUNDING:
            return op
        if op.name not in PASSING | CASTS | INTEGERS | SCALES | SUMS or not op.inputs:
            return None
        source = op.graph, op.inputs[0]
        types = known.value(source).dtype, known.value(known.made(key)).dtype
        if types[0].startswith(("float", "bfloat")) and types[1].startswith(("int", "uint", "bool")):
            return op
        key = source
    return None


def _repair(trace: Trace, made: Op) -> tuple[str, Edits]:
    site, here = made.site.user, Source(trace, made.site.user.path)
    node, where = here.file.at(site), located(trace, made.site.user)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
        instead = f"{here.file.text(node.left)} / {here.file.text(node.right)}"
        fix = f"divide by `/`, which does not round: `{instead}` in place of {where}"
        return fix, here.replace(node, instead)
    if made.name in ROUNDING:
        return (
            f"leave out {code(trace, site, 'the rounding')} ({where}), which makes 0 of all that it is given",
            (),
        )
    return f"keep the numbers as they are: {where} makes integers of fractions, and 0 of all below 1", ()
