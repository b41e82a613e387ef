"""A loss compares each of a layer's several numbers for a sample with its one target.

Why: torch's losses repeat a target of (N, 1) for a prediction of (N, k), with no more than a warning. All k numbers of
a sample are drawn to the same target: the layer learns k times the same, and none of its numbers has a meaning of its
own.

Fix: let the last layer give one number, `nn.Linear(features, 1)`; or pick the one that the target is of, as
`q.gather(1, action)`.

Measured: in a loss of torch's, in every pass, the last axis of the prediction is that of a layer's numbers, and the
target has size 1 there and the same sizes elsewhere; or the prediction is all that the layer gives for a batch of one
sample, and the target a single number, one of several in the data.
Silent on: layers whose numbers are taken together or picked anywhere in the run, as those of an ensemble or of twin
critics are; targets that are one constant; losses written by hand; predictions that the program gave that size itself.
"""

from collections.abc import Iterator
from math import prod

from gradscope.analysis.names import names_of
from gradscope.analysis.ops import (
    CASTS,
    FILLED,
    JOINING,
    LIKE,
    LOSSES,
    MEANS,
    PARTS,
    POINTWISE_LOSSES,
    RECURRENT,
    RECURRENT_CELLS,
    SOFTMAXES,
)
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.rules.numbers._features import layer_before, with_features
from gradscope.store import Trace

COMPARED = (
    LOSSES | SOFTMAXES | {"argmax"}
)  # say which of the numbers is the largest, or compare them one by one
FORMS = {"flatten", "view", "reshape", "squeeze"}  # the same numbers on fewer axes


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3))  # cause: GS391
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        inputs, targets = torch.randn(16, 5), torch.randn(16, 1)
        opt.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()  # effect: GS391
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        inputs, targets = torch.randn(16, 5), torch.randn(16, 1)
        opt.zero_grad()
        nn.functional.mse_loss(net(inputs), targets).backward()
        opt.step()


@rule("GS391", name="several-predictions-for-one", severity="warning")
def several_predictions_for_one(trace: Trace) -> Iterator[Finding]:
    if not trace.op_names & POINTWISE_LOSSES:
        return
    known = paths(trace)
    found: dict[tuple[str, int], list[tuple[Op, Op | None]]] = {}
    for _, op in known.used_calls(POINTWISE_LOSSES):
        layer = None
        if _is_repeated(known, op):
            layer = layer_before(known, _before_picks(known, (op.graph, op.inputs[0])))
        elif _is_repeated_for_one_sample(known, op):
            layer = layer_before(known, _before_forms(known, (op.graph, op.inputs[0])))
        found.setdefault(op.site.user.location(), []).append((op, layer))
    for pairs in found.values():
        op, layer = pairs[-1]
        layers = [one for _, one in pairs if one is not None]
        if layer is not None and len(layers) == len(pairs) and not any(_told_apart(known, o) for o in layers):
            yield _finding(trace, known, op, layer, len(pairs))


def _is_repeated(known: Paths, op: Op) -> bool:
    """Whether the target, which is data, is repeated along the last axis of the prediction."""
    if len(op.inputs) < 2:
        return False
    prediction, target = (known.value((op.graph, i)) for i in op.inputs[:2])
    maker = known.maker((op.graph, op.inputs[1]))
    return (
        prediction.requires_grad
        and not target.requires_grad
        and not _is_picked(known, op)
        and len(prediction.shape) == len(target.shape) > 1
        and prediction.shape[-1] > 1 == target.shape[-1]
        and prediction.shape[:-1] == target.shape[:-1]
        and (maker is None or maker.name not in FILLED | LIKE)
    )


def _is_picked(known: Paths, op: Op) -> bool:
    """Whether the predictions are rows picked by as many numbers, which may be those of columns."""
    maker = known.maker((op.graph, op.inputs[0]))
    if maker is None or maker.name not in ("__getitem__", "index_select") or len(maker.inputs) != 2:
        return False
    rows, index = (known.value((maker.graph, i)) for i in maker.inputs)
    return index.shape == rows.shape[:1]


def _is_repeated_for_one_sample(known: Paths, op: Op) -> bool:
    """Whether the target is a single number, one of several in the data, and the prediction of a batch of one sample
    has more."""
    if len(op.inputs) < 2:
        return False
    prediction, target = (known.value((op.graph, i)) for i in op.inputs[:2])
    maker = known.maker_behind((op.graph, op.inputs[1]), CASTS | FORMS | JOINING | {"unsqueeze"})
    return (
        prediction.requires_grad
        and not target.requires_grad
        and len(prediction.shape) > 1
        and prediction.shape[0] == 1 == prod(target.shape)
        and prod(prediction.shape) > 1
        and maker is not None
        and maker.name in PARTS
        and prod(known.value((maker.graph, maker.inputs[0])).shape) > 1
    )


def _before_forms(known: Paths, key: Key) -> Key:
    """The value that a prediction had been before it got fewer axes."""
    while (maker := known.maker(key)) is not None and maker.name in FORMS:
        key = (maker.graph, maker.inputs[0])
    return key


def _before_picks(known: Paths, key: Key) -> Key:
    """The value that a prediction was taken out of, or averaged over places of, with all its features."""
    while (maker := known.maker(key)) is not None and maker.name in PARTS | MEANS and maker.inputs:
        taken = (maker.graph, maker.inputs[0])
        before, after = known.value(taken).shape, known.value(key).shape
        if len(before) < 3 or before[-1:] != after[-1:]:
            break
        key = taken
    return key


def _told_apart(known: Paths, layer: Op) -> bool:
    """Whether anything in the run takes a layer's numbers together, or picks some of them."""
    weights = [p for i in layer.inputs[1:] if (p := known.parameter_of((layer.graph, i))) is not None]
    calls = [
        op
        for graph in map(known.graph, known.graph_ids)
        for op in graph.called({layer.name})
        if any(known.parameter_of((graph.id, i)) in weights for i in op.inputs[1:])
    ]
    return any(_apart(known.graph(op.graph), op) for op in calls)


def _apart(graph: Graph, layer: Op) -> bool:
    form = graph.values[layer.outputs[0]].shape

    def whole(op: Op) -> bool:
        shapes = [graph.values[i].shape for i in op.outputs]
        return all(shape[-1:] == form[-1:] or _is_flat(form, shape) for shape in shapes)

    return any(
        op.outputs and op.name not in COMPARED and not whole(op)
        for _, op in graph.readers_behind(layer.outputs, lambda op: op.name not in COMPARED and whole(op))
    )


def _is_flat(form: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Whether these are all numbers of each sample in a row."""
    return len(form) > 2 and shape == (form[0], prod(form[1:]))


def _finding(trace: Trace, known: Paths, op: Op, layer: Op, count: int) -> Finding:
    graph = known.graph(op.graph)
    prediction, target = (graph.values[i] for i in op.inputs[:2])
    several = prediction.shape[-1] if len(prediction.shape) == len(target.shape) else prod(prediction.shape)
    made, edits, text = with_features(trace, layer, 1)
    form = known.value((layer.graph, layer.outputs[0])).shape
    places = several // form[-1]
    label, fewer = f"gives {several:,} numbers for each sample", ""
    if places > 1:
        label = f"gives {form[-1]:,} numbers at each of {places:,} places of a sample"
        fewer = f", and take one of the {places:,} places before that layer, as the last step `x[:, -1]` of a sequence"
    loss = op.site.user
    give = f"let the layer give one number: {text or 'one'} in {located(trace, made)}{fewer}"
    if layer.name in RECURRENT | RECURRENT_CELLS:
        give = f"put a layer that makes one number of them behind {located(trace, made)}: `nn.Linear({form[-1]}, 1)`"
    shapes = ["×".join(map(str, value.shape)) for value in (prediction, target)]
    name = names_of(trace).name(graph, op.inputs[0])
    return Finding(
        message=f"{code(trace, loss, 'the loss')} compares {several:,} predictions for each sample with its one target",
        cause=made,
        cause_label=label,
        effect=loss if loss.location() != made.location() else None,
        effect_label=f"repeats the target for all {several:,}",
        seen=(
            f"{f'`{name}`' if name else 'the prediction'} is {shapes[0]}, the target {shapes[1]}, in every pass of"
            f" this line; nothing in the run takes the {several:,} together, or one of them",
        ),
        why=f"the loss repeats the target: all {several:,} numbers are drawn to the same one, and learn the same",
        fix=f"{give}; or give the loss the"
        f" one of them that the target is of, or a target for each (a class among {several:,} is a case for"
        " `cross_entropy`)",
        edits=edits if places == 1 else (),
        count=count,
    )
