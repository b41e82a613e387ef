"""A value was taken out of its graph and wrapped into a new tensor: backward stops there.

Why: `torch.tensor(loss)`, `.item()` put back into a tensor and `.detach().requires_grad_()`
make a new leaf with the same numbers and no history. `backward()` on it runs without an
error, because the leaf requires a gradient, and gives the model none.

Fix: use the value as it is; combine losses with `+`, `sum` or `torch.stack`, which keep the graph.

Silent on: leaves made to ask for the gradient of an input (adversarial examples, saliency),
and values whose parameters get their gradient in another way.
"""

from collections.abc import Iterator

from gradscope.model import Event, Finding, Op, Parameter
from gradscope.rules import rule
from gradscope.rules._common import code, parameter_names, parameter_subjects
from gradscope.rules._paths import Key, Paths, cuts, passes, paths
from gradscope.store import Trace

MAKERS = {"tensor", "as_tensor", "asarray", "scalar_tensor", "new_tensor", "from_numpy", "Tensor", "FloatTensor"}


def bad_tensor_of_loss() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss = loss.detach().clone().requires_grad_()  # cause: GS304
        loss.backward()  # effect: GS304
        opt.step()


def bad_item_put_back() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        losses = [model(torch.randn(8, 4)).pow(2).mean().item() for _ in range(2)]
        loss = torch.tensor(losses, requires_grad=True).mean()  # cause: GS304
        loss.backward()  # effect: GS304
        opt.step()


def good_adversarial_example() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4)
        near = x.clone().detach().requires_grad_(True)
        (slope,) = torch.autograd.grad(model(near).pow(2).mean(), near)
        opt.zero_grad()
        model((near + 0.1 * slope.sign()).detach()).pow(2).mean().backward()
        opt.step()


def good_split_backward() -> None:
    import torch
    from torch import nn

    front, back = nn.Linear(4, 8), nn.Linear(8, 1)
    opt = torch.optim.SGD([*front.parameters(), *back.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        sent = front(torch.randn(8, 4))
        received = sent.detach().requires_grad_()
        back(received).pow(2).mean().backward()
        sent.backward(received.grad)
        opt.step()


@rule("GS304", name="graph-rewrapped", severity="error", over=("GS301", "GS302", "GS204", "GS206"))
def graph_rewrapped(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    found = False
    for cut in cuts(trace):
        if cut.kind in ("rewrap", "leaf", "item") and cut.loss is not None:
            found = True
            yield _finding(trace, known, cut.op, cut.parameters, cut.loss)
        elif cut.loss is not None and (leaf := _leaf_behind(known, cut.output)):
            found = True
            yield _finding(trace, known, leaf, cut.parameters, cut.loss)
    if not found:
        yield from _numbers_put_back(trace, known)


def _leaf_behind(known: Paths, output: Key) -> Op | None:
    """The op whose result was made to require a gradient again, between the cut and the loss."""
    seen = {output}
    todo = [output]
    while todo:
        key = todo.pop()
        graph = known.graph(key[0])
        value = graph.values[key[1]]
        if value.is_leaf and value.requires_grad:
            return graph.ops[value.op] if value.op is not None else None
        for target, _ in known.used.feeds.get(key, ()):
            following = known.graph(target[0]).values[target[1]]
            if target not in seen and following.is_leaf:
                seen.add(target)
                todo.append(target)
    return None


def _numbers_put_back(trace: Trace, known: Paths) -> Iterator[Finding]:
    """A loss made of plain numbers, which `item()` had just taken out of a graph."""
    expected = {p.id: p for p in known.expected()}
    if not expected:
        return
    told = set()
    for key, events in known.roots.items():
        reach = known.reach([key])
        if reach.parameters & {p.id for p in known.parameters.values() if p.registered or p.optimizers}:
            continue
        for leaf in reach.leaves:
            graph = known.graph(leaf[0])
            value = graph.values[leaf[1]]
            op = graph.ops[value.op] if value.op is not None else None
            if op is None or op.name not in MAKERS or op.inputs or op.site.user.location() in told:
                continue
            taken = [o for o in graph.ops[: op.index] if o.cut in ("item", "tolist", "numpy")]
            behind: set[int] = set()
            for exit in taken:
                behind |= known.reach((graph.id, i) for i in exit.inputs).parameters
            parameters = [expected[i] for i in sorted(behind & expected.keys())]
            if parameters:
                told.add(op.site.user.location())
                yield _finding(trace, known, op, parameters, events[0])


def _finding(trace: Trace, known: Paths, op: Op, parameters: list[Parameter], loss: Event) -> Finding:
    ids = [p.id for p in parameters]
    names = parameter_names(trace, ids)
    made = code(trace, op.site.user, f"`{op.name}`")
    return Finding(
        message=f"the loss was rewrapped into a new tensor: backward ends there and {names} "
        f"get{'s' if len(ids) == 1 else ''} no gradient",
        cause=op.site.user,
        cause_label="a new leaf: same numbers, no history",
        effect=loss.site.user,
        effect_label="reaches the new leaf and nothing behind it",
        seen=(f"`.grad` of {names} is None after {passes(known.passes)}",),
        why=f"{made} copies the numbers, not the graph they came from",
        count=loss.count,
        subjects=parameter_subjects(ids),
    )
