"""The loss is the same whatever the model says: softmax over a single class.

Why: softmax makes numbers that sum to one. Over one class that is always 1, its logarithm always 0,
so the cross entropy is 0, its gradient is exactly zero and nothing is learned.

Fix: one output per class for `cross_entropy`; for a single output `binary_cross_entropy_with_logits`
(yes or no) or `mse_loss` (a number); or take the softmax along the dimension of the classes.

Silent on: attention over a single position, softmax over one class beside other ways to the loss.
"""

from collections.abc import Iterator

from gradscope.model import Event, Finding, Op
from gradscope.rules import rule
from gradscope.rules._common import located, parameter_names, parameter_subjects
from gradscope.rules._losses import loss_event
from gradscope.rules._paths import Paths, passes, paths
from gradscope.store import Trace

SOFTMAX_NODES = {"SoftmaxBackward0", "LogSoftmaxBackward0"}


def bad() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.rand(8, 1))  # cause: GS704
        loss.backward()  # effect: GS704
        opt.step()


def bad_softmax() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        chance = torch.softmax(model(torch.randn(8, 4)), dim=1)  # cause: GS704
        loss = (chance.squeeze(1) - torch.rand(8)).pow(2).mean()
        loss.backward()  # effect: GS704
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 2, (8,))).backward()
        opt.step()


def good_one_output() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(model(torch.randn(8, 4)), torch.rand(8, 1)).backward()
        opt.step()


def good_one_example() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        chances = model(torch.randn(1, 4)).softmax(dim=1)
        (chances - torch.tensor([[0.0, 1.0, 0.0]])).pow(2).mean().backward()
        opt.step()


def good_attention_to_one_position() -> None:
    import torch
    from torch import nn

    query, value, head = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*query.parameters(), *value.parameters(), *head.parameters()], lr=0.1)
    for step in range(4):
        opt.zero_grad()
        x = torch.randn(2, 1 + step, 4)  # grows as a sequence does
        weights = torch.softmax(query(x) @ x.transpose(1, 2), dim=2)
        head(weights @ value(x)).pow(2).mean().backward()
        opt.step()


@rule("GS704", name="degenerate-loss", severity="error", over=("GS204", "GS212", "GS302", "GS305"))
def degenerate_loss(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    found: dict[tuple[tuple[str, int], str], tuple[Op, Event, list[int]]] = {}
    for graph_id, index in known.used.order:
        graph = known.graph(graph_id)
        maker = graph.values[index].op
        op = graph.ops[maker] if maker is not None else None
        if (
            op is None
            or not op.nodes
            or not _over_one(graph.values[op.inputs[0]].shape if op.inputs else (), op)
        ):
            continue
        place = (op.site.user.location(), op.name)
        if place not in found and (event := loss_event(known, op)) is not None:
            zero = _lost(trace, known, event)
            if zero:
                found[place] = (op, event, zero)
    for op, event, zero in found.values():
        yield _finding(trace, known, op, event, zero)


def _over_one(shape: tuple[int, ...], op: Op) -> bool:
    """Whether the call may be a softmax over one class, by its input's shape."""
    if op.name == "cross_entropy":
        return bool(shape) and shape[1 if len(shape) > 1 else 0] == 1
    return op.name in ("softmax", "log_softmax") and 1 in shape


def _lost(trace: Trace, known: Paths, event: Event) -> list[int]:
    """The parameters that the loss reaches only through a softmax, where the gradient of every one of
    them was exactly zero whenever it was measured. One alone says nothing: a key's bias in attention
    has no effect either."""
    roots = [(event.graph, root) for root in event.data["roots"]]
    behind = known.reach(roots).parameters - known.reach(roots, SOFTMAX_NODES).parameters
    norms = [trace.numbers("grad_norm", id) for id in behind]
    return sorted(behind) if all(known and not any(norm for _, norm in known) for known in norms) else []


def _finding(trace: Trace, known: Paths, op: Op, event: Event, zero: list[int]) -> Finding:
    shape = known.graph(op.graph).values[op.inputs[0]].shape
    names = parameter_names(trace, zero)
    made = located(trace, op.site.user, f"`{op.name}`")
    measured = len(trace.numbers("grad_norm", zero[0]))
    losses = [value for _, value in trace.numbers("loss", event.site.id)]
    seen = [f"the gradient of {names} was exactly 0 in {passes(measured)}"]
    if losses and max(losses) == min(losses):
        seen.append(f"the loss was {losses[0] + 0.0:.5g} every time")
    return Finding(
        message=f"`{op.name}` is taken over a single class: the loss cannot change, the gradient is zero",
        cause=op.site.user,
        cause_label=f"its input is {_shape(shape)}: one class",
        effect=event.site.user,
        effect_label=f"{names} get a gradient of exactly zero",
        seen=tuple(seen),
        fix=f"give {made} one output per class; for a single output take `binary_cross_entropy_with_logits` or"
        " `mse_loss`"
        if op.name == "cross_entropy"
        else f"take {made} along the dimension of the classes, or a sigmoid for a single output",
        count=event.count,
        subjects=parameter_subjects(zero),
    )


def _shape(shape: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
