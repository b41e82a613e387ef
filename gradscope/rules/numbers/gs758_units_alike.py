"""All units of a layer are one and the same: they began with the same numbers, and get the same gradients.

Why: a unit differs from its neighbour only by its weights. Where these begin alike (`nn.init.constant_`, `ones_`,
zeros in the layer before), every unit computes the same, each gets the same gradient, and each step leaves them
alike: a layer of many units learns what one can.

Fix: random initial weights, as the layers of `nn` have them by themselves; only biases may begin alike.

Measured: after eight steps or more, with gradients that were not zero, all rows of the weight were equal up to
rounding. Silent on: weights that are all zeros, weights of one row, layers that get no gradient, parameters that only a
penalty reads.
"""

from collections.abc import Iterator

from gradscope.analysis.made import made_at
from gradscope.analysis.ops import PRODUCTS_OF_MATRICES, RECURRENT
from gradscope.analysis.words import located, parameter_name, parameter_names, parameter_subjects, plural
from gradscope.events import Backward, Moved
from gradscope.fixes.first_values import OTHERS, at_random, filled_at
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.store import Trace

LAYERS = PRODUCTS_OF_MATRICES | RECURRENT | {
    "linear", "addmm", "bilinear", "embedding", "multi_head_attention_forward", "lstm_cell", "gru_cell",
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "mv",
}  # fmt: skip


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = x[:, :1] * x[:, 1:2]
    first, second = nn.Linear(4, 16), nn.Linear(16, 1)
    nn.init.constant_(first.weight, 0.1)  # cause: GS758
    nn.init.zeros_(first.bias)
    nn.init.constant_(second.weight, 0.1)
    opt = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=0.01)
    for _ in range(12):
        opt.zero_grad()
        nn.functional.mse_loss(second(torch.tanh(first(x))), y).backward()  # effect: GS758
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = x[:, :1] * x[:, 1:2]
    first, second = nn.Linear(4, 16), nn.Linear(16, 1)
    nn.init.zeros_(first.bias)
    nn.init.constant_(second.weight, 0.1)
    opt = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=0.01)
    for _ in range(12):
        opt.zero_grad()
        nn.functional.mse_loss(second(torch.tanh(first(x))), y).backward()
        opt.step()


@rule("GS758", name="units-alike", severity="warning", needs=Moved)
def units_alike(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(Moved):
        moved = dict(zip(event.parameters, event.moved, strict=False))
        ids = [
            id
            for id in event.alike
            if moved.get(id) and _has_gradients(trace, id) and _is_of_units(trace, id)
        ]
        if ids:
            yield _finding(trace, event, ids)


def _has_gradients(trace: Trace, id: int) -> bool:
    return any(norm > 0 for _, norm in trace.numbers("grad_norm", id))


def _is_of_units(trace: Trace, id: int) -> bool:
    """Whether its rows are multiplied with what comes in, as it is or scaled: what only a penalty reads is the same
    for each unit, and leaves these apart."""
    return any(_multiplies(graph, id) for graph in trace.graphs)


def _multiplies(graph: Graph, id: int) -> bool:
    own = [value for value in graph.values if value.parameter == id]

    def whole(op: Op) -> bool:
        return all(len(graph.values[made].shape) >= len(own[0].shape) for made in op.outputs)

    behind = graph.readers_behind((value.index for value in own), whole)
    return any(op.name in LAYERS for _, op in behind)


def _finding(trace: Trace, event: Moved, ids: list[int]) -> Finding:
    p = trace.parameter(ids[0])
    filled = filled_at(trace, p, OTHERS)
    cause = filled[0] if filled else made_at(trace, p)
    names = parameter_names(trace, ids)
    passed = next((e for e in trace.of(Backward) if set(ids) & set(e.filled)), None)
    new, edits = at_random(trace, filled[0]) if len(filled) == 1 else ("", ())
    leave = (
        f"give it random numbers: `{new}` in place of {located(trace, cause)}; `nn.Linear` and its like begin with such"
        " by themselves"
        if new
        else f"give `{parameter_name(trace, p.id)}` random numbers to begin with (`nn.init.kaiming_uniform_`)"
    )
    return Finding(
        message=f"all {p.shape[0]} rows of {names} are the same numbers: each of these layers learns what one unit can",
        cause=cause,
        cause_label="gives every unit the same numbers" if filled else "made here",
        effect=passed.site.user if passed is not None else None,
        effect_label="gives every unit the same gradient",
        seen=(
            f"after {plural(event.alike_after, 'step')} all rows of `{parameter_name(trace, p.id)}`, of shape"
            f" {p.shape}, were equal up to rounding, and they had moved",
        ),
        fix=leave,
        edits=edits,
        count=event.steps,
        subjects=parameter_subjects(ids),
    )
