"""The scores that a softmax loss compares have gone through a ReLU: those below 0 are cut off.

Why: cross entropy lowers the scores of the wrong classes below the others and wants numbers on both sides of 0. A ReLU
right before it makes every lower score a 0: there no gradient comes back, so that those classes can't be told apart
any further, and a sample whose scores are all 0 teaches nothing at all.

Fix: leave the activation behind the last layer out.

A `clamp` at 0 is a ReLU, `x * (x > 0)` and `torch.maximum(x, zeros)` are, and `logsumexp(scores) - scores[rows, label]`
is a cross entropy; so is the `log_prob` of `Categorical(logits=scores)`.

Silent on: a ReLU whose result is scaled, shifted or goes through a further layer before the loss; scores that no
parameter gets a gradient from; smooth activations such as softplus.
"""

from collections.abc import Iterator

from gradscope.analysis.made import layer_site
from gradscope.analysis.ops import JOINING, NEGATIONS, PARTS, PASSING, RELUS, SUMS
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located, parameter_subjects, plural
from gradscope.events import Backward
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.rules.numbers._losses import cuts_at_zero, loss_event, losses, makers, shape_of, without_cut
from gradscope.rules.numbers._relus import relu_by_hand, without_relu_by_hand
from gradscope.rules.numbers._written_out import of_a_distribution
from gradscope.store import Trace

FORMS = PASSING - PARTS - JOINING
ACTIVATIONS = {"ReLU", "ReLU6", "Hardtanh", "Threshold"}
CLASSES = 3  # between two of them a ReLU leaves the difference


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    first, last = nn.Linear(4, 16), nn.Linear(16, 5)
    opt = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.1)
    for _ in range(3):
        x, y = torch.randn(16, 4), torch.randint(0, 5, (16,))
        scores = torch.relu(last(torch.relu(first(x))))  # cause: GS728
        loss = nn.functional.cross_entropy(scores, y)  # effect: GS728
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    first, last = nn.Linear(4, 16), nn.Linear(16, 5)
    opt = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.1)
    for _ in range(3):
        x, y = torch.randn(16, 4), torch.randint(0, 5, (16,))
        scores = last(torch.relu(first(x)))
        loss = nn.functional.cross_entropy(scores, y)
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS728", name="logits-cut-at-zero", severity="warning")
def logits_cut_at_zero(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for key, op in (*losses(known, {"cross_entropy", "nll_loss"}), *_written_out(known)):
        found = _relu_before(known, key, op)
        if found is None:
            continue
        scores, maker = found
        event = loss_event(known, op)
        if event is not None and maker.site.user.location() not in told:
            told.add(maker.site.user.location())
            yield _finding(trace, known, op, scores, maker, event)


def _written_out(known: Paths) -> Iterator[tuple[Key, Op]]:
    """The same as `logsumexp(scores) - scores[rows, label]` and `log_softmax(scores)[rows, label]`."""
    for key, op in known.used_calls({"logsumexp", "log_softmax"}):
        graph, scores = known.graph(op.graph), op.inputs[0]
        if key[0] != op.graph or not graph.values[scores].requires_grad:
            continue
        through = FORMS | NEGATIONS
        readers = graph.readers_behind(op.outputs, lambda op: op.name in through)  # noqa: B023
        if op.name == "log_softmax":
            if any(_picks(reader) for _, reader in readers):
                yield (op.graph, scores), op
            continue
        for value, reader in readers:
            others = [other for other in reader.inputs if other != value]
            if reader.name not in SUMS or len(others) != 1:
                continue
            if _picked(graph, others[0], scores) or (others[0] == scores and _picked_later(graph, reader)):
                yield (op.graph, scores), op
                break


def _picks(op: Op) -> bool:
    """Whether a call takes one element of each row, as that of its label."""
    return op.name == "gather" or (op.name == "__getitem__" and op.extra.get("at") == "tt")


def _picked(graph: Graph, value: int, scores: int) -> bool:
    """Whether a value is what was picked out of these scores."""
    maker = graph.maker_behind(value, FORMS | NEGATIONS)
    return maker is not None and _picks(maker) and maker.inputs[0] == scores


def _picked_later(graph: Graph, op: Op) -> bool:
    """Whether one element of each row of the logarithms is taken, as `Categorical.log_prob` does."""
    through = FORMS | NEGATIONS | {"broadcast_tensors"}
    readers = graph.readers_behind(op.outputs, lambda op: op.name in through)
    return any(_picks(reader) for _, reader in readers)


def _relu_before(known: Paths, key: Key, op: Op) -> tuple[Key, Op] | None:
    """The ReLU whose result the softmax of this loss is taken of, and that result."""
    if op.name == "nll_loss":
        found = makers(known, key)
        if len(found) != 1 or found[0][1].name != "log_softmax":
            return None
        key = (found[0][1].graph, found[0][1].inputs[0])
    shape = shape_of(known, key)
    found = makers(known, key, cut=True)
    classes = shape[1] if len(shape) > 1 else shape[0] if shape else 0
    if len(found) != 1 or classes < CLASSES:
        return None
    maker = found[0][1]
    by_hand = relu_by_hand(known.trace, known.graph(maker.graph), maker)
    return found[0] if by_hand or cuts_at_zero(maker) else None


def _finding(trace: Trace, known: Paths, op: Op, scores: Key, maker: Op, event: Backward) -> Finding:
    graph = known.graph(maker.graph)
    last = sum(o.name == maker.name and o.site.user == maker.site.user for o in graph.ops) == 1
    module = trace.modules.get(maker.module) if maker.module is not None else None
    own = module is not None and module.cls in ACTIVATIONS  # else more than the ReLU would go with it
    layer = layer_site(trace, maker) if own else None
    by_hand = relu_by_hand(trace, graph, maker)
    where_it_is = "" if last else " behind the last layer"
    if layer is not None:
        leave_out = f"leave {located(trace, layer)} out"
    elif by_hand:
        leave_out = f"leave {located(trace, maker.site.user, 'the product')} out{where_it_is}"
    else:
        leave_out = f"leave `{maker.name}` out of {located(trace, maker.site.user, 'the call')}{where_it_is}"
    plain = "a ReLU" if by_hand or maker.name in RELUS else f"a `{maker.name}` at 0"
    name = {"relu6": "a ReLU6"}.get(maker.name, plain)
    asks = "Categorical(logits=…)" if of_a_distribution(op) else op.name
    return Finding(
        message=f"the scores that `{asks}` compares come out of {name}: whatever the last layer gives below 0 is cut"
        " off",
        cause=maker.site.user,
        cause_label="no score is below 0 after this, and those that were get no gradient",
        effect=op.site.user,
        effect_label="compares scores, and wants them on both sides of 0",
        related=((layer, "the layer that applies it"),) if layer is not None else (),
        seen=(
            f"in {plural(known.alike(event), 'pass')} `{asks}` got the {shape_of(known, scores)} result of"
            f" {code(trace, maker.site.user, 'it') if by_hand else f'`{maker.name}`'} with nothing between",
        ),
        fix=f"{leave_out}: the loss takes the plain numbers of the last layer",
        edits=(without_relu_by_hand if by_hand else without_cut)(trace, maker) if last or layer else (),
        subjects=parameter_subjects(known.reach([(op.graph, op.outputs[0])]).parameters)
        | {("squashed", *maker.site.user.location())},
    )
