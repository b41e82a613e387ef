"""An attention's mask takes out all but zeros: what the attention gives is zero in every pass.

Why: `masked_fill` fills the places where its mask is True. Given a mask that is True at the valid places, it leaves
those behind the border, or the padding, whose values are zeros. Their weighted sum is zero whatever the weights are,
and neither the queries nor the keys and values get a gradient. For `scaled_dot_product_attention` it is the other way
round: True means there that a place takes part.

Fix: turn the mask round.

Measured: gradients up to the end of the run. That of the layer that reads the attention's result is exactly zero
while that of its bias is not, so that its whole input is zero; those of the values' projection are exactly zero too,
and a gradient does come back to what feeds it, which is not zero therefore.
The mask is a boolean one (`masked_fill`, `torch.where`), or numbers without a graph that are added to the scores.
Silent where there is no mask, or more than one, and where a weight is zero itself.
"""

from collections.abc import Iterator

from gradscope.analysis.ops import ADDITIONS, LAYERS, PASSING, PRODUCTS_OF_MATRICES, SCALES
from gradscope.analysis.reach import passes
from gradscope.analysis.words import code, located, parameter_name, parameter_names, parameter_subjects
from gradscope.events import ZeroWeights
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.rules.numbers._masks import MASKED, TURNED, turned
from gradscope.rules.numbers._zeros import Zeros, reads_zeros, zeros_of_lines
from gradscope.store import Trace

CARRYING = PASSING | {"dropout", "dropout_", "rearrange", "unfold", "float"}
MASKS = {*MASKED, "where", *ADDITIONS}
DIRECT = "scaled_dot_product_attention"


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, query, keys, values = (nn.Linear(6, 6, bias=b) for b in (True, True, False, False))
    out = nn.Linear(6, 6)
    opt = torch.optim.SGD([p for m in (embed, query, keys, values, out) for p in m.parameters()], lr=0.1)
    x, valid = torch.randn(16, 5, 6), torch.ones(16, 5)
    valid[:, 3:] = 0
    for _ in range(8):
        h = embed(x) * valid.unsqueeze(2)
        scores = query(h) @ keys(h).transpose(1, 2)
        scores = scores.masked_fill(valid.bool().unsqueeze(1), -1e9)  # cause: GS727
        mixed = torch.softmax(scores, dim=-1) @ values(h)
        opt.zero_grad()
        (h + out(mixed) - x).pow(2).mean().backward()  # effect: GS727
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, query, keys, values = (nn.Linear(6, 6, bias=b) for b in (True, True, False, False))
    out = nn.Linear(6, 6)
    opt = torch.optim.SGD([p for m in (embed, query, keys, values, out) for p in m.parameters()], lr=0.1)
    x, valid = torch.randn(16, 5, 6), torch.ones(16, 5)
    valid[:, 3:] = 0
    for _ in range(8):
        h = embed(x) * valid.unsqueeze(2)
        scores = query(h) @ keys(h).transpose(1, 2)
        scores = scores.masked_fill(~valid.bool().unsqueeze(1), -1e9)
        mixed = torch.softmax(scores, dim=-1) @ values(h)
        opt.zero_grad()
        (h + out(mixed) - x).pow(2).mean().backward()
        opt.step()


@rule("GS727", name="mask-keeps-only-zeros", severity="warning", over=("GS705", "GS720", "GS721"))
def mask_keeps_only_zeros(trace: Trace) -> Iterator[Finding]:
    zero = {id for event in trace.of(ZeroWeights) for id in event.parameters}
    for line in zeros_of_lines(trace):
        graph = line.known.graph(line.event.graph)
        for op in graph.called(LAYERS) if line.idle and graph.called(MASKS) else ():
            weight = reads_zeros(line, graph, op)
            if weight is None or weight in zero:
                continue
            mask, values = _attention(graph, op.inputs[0])
            count = line.last(weight)
            projection = _projection(line, graph, values, count) if mask is not None else None
            if mask is None or projection is None or projection in zero or not line.is_wrong(count):
                continue
            before = line.known.reach([(graph.id, op.inputs[0])]).parameters & line.filled
            idle = sorted(id for id in before if line.last(id) >= count)
            yield _finding(line, mask, op, weight, idle, count)


def _attention(graph: Graph, result: int) -> tuple[Op | None, int]:
    """The call with a boolean mask that an attention's weights come from, and the values that they weigh."""
    product = graph.maker_behind(result, CARRYING)
    if product is None:
        return None, -1
    if product.name == DIRECT:
        return (
            (product, product.inputs[2])
            if len(product.inputs) == 4 and _is_masked(graph, product)
            else (None, -1)
        )
    if product.name not in PRODUCTS_OF_MATRICES or len(product.inputs) != 2:
        return None, -1
    for weights, values in (product.inputs, product.inputs[::-1]):
        softmax = graph.maker_behind(weights, CARRYING)
        if softmax is not None and softmax.name == "softmax":
            mask = graph.maker_behind(softmax.inputs[0], CARRYING | SCALES)
            scores = _masked_scores(graph, mask)
            if mask is not None and scores is not None:
                before = graph.maker_behind(scores, CARRYING | SCALES)
                if before is None or _masked_scores(graph, before) is None:
                    return mask, values
    return None, -1


def _is_masked(graph: Graph, op: Op) -> bool:
    return any(graph.values[index].dtype == "bool" for index in op.inputs)


def _masked_scores(graph: Graph, op: Op | None) -> int | None:
    """The scores that a call puts a mask on."""
    if op is None or op.name == DIRECT or op.name not in MASKS:
        return None
    if op.name in MASKED:
        return op.inputs[0] if _is_masked(graph, op) else None
    trained = [index for index in op.inputs if graph.values[index].requires_grad]
    if len(trained) != 1 or (op.name == "where" and not _is_masked(graph, op)):
        return None
    rest = [graph.values[index] for index in op.inputs if index not in trained]
    return trained[0] if op.name == "where" or any(value.shape for value in rest) else None


def _projection(line: Zeros, graph: Graph, values: int, count: int) -> int | None:
    """The weight of the layer without a bias that gives the values, where it has learned nothing though a gradient
    comes to the parameters that its input is computed from: so that is not all zeros, as what is let in is."""
    op = graph.maker_behind(values, CARRYING)
    if op is None or op.name not in LAYERS or len(op.inputs) != 2:
        return None
    weight = line.known.parameter_of((graph.id, op.inputs[1]))
    if weight is None or line.last(weight.id) < count:
        return None
    feeding = line.known.reach([(graph.id, op.inputs[0])]).parameters
    return weight.id if any(line.always_there(id, count) for id in feeding) else None


def _finding(line: Zeros, mask: Op, reader: Op, weight: int, idle: list[int], count: int) -> Finding:
    trace, site = line.trace, mask.site.user
    given, edits = turned(trace, mask.name, site) if mask.name in TURNED else ("", ())
    behind = f"`{parameter_name(trace, weight)}`"
    names = parameter_names(trace, idle)
    return Finding(
        message=f"the mask of {code(trace, site, f'`{mask.name}`')} leaves only zeros: {names} never learn",
        cause=site,
        cause_label="takes out every place whose value is not zero",
        effect=reader.site.user,
        effect_label=f"{behind} is given zeros only",
        seen=(
            f"in the last {passes(count)} measured the gradients of {behind} and of {names} were exactly 0, and that of"
            " its bias was not",
            "what the values are computed from has got a gradient in each of them",
        ),
        fix=f"turn the mask round in {located(trace, site)}{f': `{given}`' if given else ''}",
        edits=edits,
        count=count,
        subjects=parameter_subjects([weight, *idle]),
    )
