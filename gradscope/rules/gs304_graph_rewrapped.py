"""A value was taken out of its graph and wrapped into a new tensor: backward stops there.

Why: `torch.tensor(loss)`, `.item()` put back into a tensor and `.detach().requires_grad_()`
make a new leaf with the same numbers and no history. `backward()` on it runs without an
error, because the leaf requires a gradient, and gives the model none.

Fix: use the value as it is; combine losses with `+`, `sum` or `torch.stack`, which keep the graph.

Silent on: leaves made to ask for the gradient of an input (adversarial examples, saliency),
and values whose parameters get their gradient in another way.
"""

import ast
from collections.abc import Iterator
from math import prod

from gradscope.model import Edit, Event, Finding, Op, Parameter, Site
from gradscope.rules import rule
from gradscope.rules._common import code, located, parameter_names, parameter_subjects
from gradscope.rules._cuts import Cut, cuts, nearest_cuts
from gradscope.rules._edits import Source
from gradscope.rules._numbers import EXITS, MAKERS, entered
from gradscope.rules._paths import Key, Paths, passes, paths
from gradscope.store import Trace

_COPIES = ("item", "detach", "clone", "requires_grad_")  # methods that give the same numbers


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


def bad_number_put_back() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        total = torch.tensor(loss.item(), requires_grad=True)  # cause: GS304
        total.backward()  # effect: GS304
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


def bad_loss_by_way_of_numpy() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        number = model(torch.randn(8, 4)).pow(2).mean().detach().numpy()
        loss = torch.from_numpy(number).requires_grad_()  # cause: GS304
        loss.backward()  # effect: GS304
        opt.step()


def bad_loss_of_a_float() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        number = float(model(torch.randn(8, 4)).pow(2).mean())
        loss = torch.Tensor([number]).requires_grad_()  # cause: GS304
        loss.backward()  # effect: GS304
        opt.step()


def bad_logged_after_the_step() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.Adam(model.parameters())
    for _ in range(3):
        opt.zero_grad()
        loss = model(torch.randn(8, 3)).pow(2).mean()
        loss.detach().requires_grad_().backward()  # cause: GS304  # effect: GS304
        opt.step()
        f"{loss.item():.3f}"


def good_setting_among_the_parameters() -> None:
    import torch
    from torch import nn

    class Series(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)
            self.rate = nn.Parameter(torch.tensor(0.5))  # drawn with, as NumPy's generators want it

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            terms = 1 + int(10 * self.rate.item())
            total = torch.tensor(0.0).to(x)
            for k in range(terms):
                total = total + self.layer(x).pow(2).mean() / (k + 1)
            return total

    net = Series()
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(3):
        opt.zero_grad()
        net(torch.randn(8, 4)).backward()
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


@rule(
    "GS304",
    name="graph-rewrapped",
    severity="error",
    over=("GS102", "GS301", "GS302", "GS204", "GS206", "GS402", "GS601"),
)
def graph_rewrapped(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    found = False
    for cut in cuts(trace):
        site = _wrapper(known, cut)
        if site is not None and cut.loss is not None:
            found = True
            yield _finding(trace, known, site.user, cut.parameters, cut.loss)
    if not found:
        yield from _numbers_put_back(trace, known)


def _wrapper(known: Paths, cut: Cut) -> Site | None:
    """Where the value was put into a new tensor, where that is what cut the graph."""
    if cut.kind in ("rewrap", "leaf"):
        return cut.op.site
    if cut.kind in ("item", "tolist"):
        maker = known.graph(cut.output[0]).values[cut.output[1]].op
        return (known.graph(cut.output[0]).ops[maker] if maker is not None else cut.op).site
    unnamed = cut.op.cut is None  # a view under no_grad, which says of itself that it requires a gradient
    if cut.kind == "nondifferentiable" or (unnamed and cut.kind != "numpy"):
        return None
    return _leaf_behind(known, cut.output)


def _leaf_behind(known: Paths, output: Key) -> Site | None:
    """Where the result was made to require a gradient again, between the cut and the loss."""
    seen = {output}
    todo = [output]
    while todo:
        key = todo.pop()
        graph = known.graph(key[0])
        value = graph.values[key[1]]
        if value.is_leaf and value.requires_grad:
            made = known.required(key) if key in known.roots else None
            return graph.ops[value.op].site if value.op is not None else made
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
            wrapped = _wrapped(known, leaf)
            if wrapped is None or wrapped[0].location() in told:
                continue
            site, before = wrapped
            behind: set[int] = set()
            for op in before:
                behind |= _parameters(known, [(leaf[0], i) for i in op.inputs])
            parameters = [expected[i] for i in sorted(behind & expected.keys())]
            if parameters:
                told.add(site.location())
                yield _finding(trace, known, site, parameters, events[0])


def _parameters(known: Paths, keys: list[Key]) -> set[int]:
    """The parameters that these values were computed from, also where `detach()` came between."""
    found = known.reach(keys).parameters
    for key in keys:
        for op, output in nearest_cuts(known, key):
            if op.cut in ("detach", "data"):
                found |= known.reach((output[0], i) for i in op.inputs).parameters
    return found


def _wrapped(known: Paths, leaf: Key) -> tuple[Site, list[Op]] | None:
    """Where a leaf without a past was made, and the ops before it that took values out of a graph."""
    graph = known.graph(leaf[0])
    value = graph.values[leaf[1]]
    if value.op is not None:
        op = graph.ops[value.op]
        if op.inputs:
            return _made_to_require(known, leaf, op)
        if op.name not in MAKERS:
            return None
        return op.site.user, [o for o in graph.ops[: op.index] if o.name in EXITS]
    parameter = known.parameter_of(leaf)
    if value.origin is not None or prod(value.shape) != 1 or (parameter is not None and parameter.optimizers):
        return None
    site = known.required(leaf)
    given = [
        o for o in graph.ops if o.name in EXITS and o.cut is not None and o.index < entered(graph, leaf[1])
    ]
    if leaf in known.roots and site is not None and given:
        return site.user, given[-1:]
    taken = [o for o in graph.ops if o.cut in ("data", "detach") and not graph.consumers.get(o.outputs[0])]
    return (taken[-1].site.user, taken[-1:]) if taken else None


def _made_to_require(known: Paths, leaf: Key, op: Op) -> tuple[Site, list[Op]] | None:
    """The same for a leaf computed from numbers alone, which was then made to require a gradient."""
    graph = known.graph(leaf[0])
    sources = [graph.values[i] for i in graph.upstream(leaf[1])[1:]]
    if op.written or graph.values[leaf[1]].shape:
        return None
    if any(v.parameter is not None or v.requires_grad or v.origin is not None for v in sources):
        return None
    before = [o for o in graph.ops[: op.index] if o.name in EXITS]
    set_by = known.required(leaf)
    return (set_by.user, before) if set_by is not None and before else None


def _finding(trace: Trace, known: Paths, site: Site, parameters: list[Parameter], loss: Event) -> Finding:
    ids = [p.id for p in parameters]
    names = parameter_names(trace, ids)
    made = code(trace, site, "this")
    return Finding(
        message=f"the loss was rewrapped into a new tensor: backward ends there and {names} "
        f"get{'s' if len(ids) == 1 else ''} no gradient",
        cause=site,
        cause_label="a new leaf: same numbers, no history",
        effect=loss.site.user,
        effect_label="reaches the new leaf and nothing behind it",
        seen=(f"`.grad` of {names} is None after {passes(known.passes)}",),
        why=f"{made} copies the numbers, not the graph they came from",
        fix=_fix(trace, site),
        count=loss.count,
        edits=_as_it_is(trace, site),
        subjects=parameter_subjects(ids),
    )


def _as_it_is(trace: Trace, site: Site) -> tuple[Edit, ...]:
    """`loss` in place of `torch.tensor(loss.item(), requires_grad=True)` or `loss.detach().requires_grad_()`."""
    here = Source(trace, site.path)
    node = here.file.at(site)
    while isinstance(node, ast.Call) and isinstance(above := here.file.parent.get(id(node)), ast.Attribute):
        call = here.file.parent.get(id(above))
        if above.attr not in _COPIES or not isinstance(call, ast.Call):
            break
        node = call
    value: ast.AST | None = node
    if isinstance(value, ast.Call) and value.args and here.file.is_imported(value.func):
        value = value.args[0]
        if not (isinstance(value, ast.Call) and getattr(value.func, "attr", "") == "item"):
            return ()
    while isinstance(value, ast.Call) and getattr(value.func, "attr", "") in _COPIES:
        assert isinstance(value.func, ast.Attribute)
        value = value.func.value
    if not isinstance(node, ast.expr) or not isinstance(value, ast.expr) or value is node:
        return ()
    if isinstance(value, ast.Call) and here.file.is_imported(value.func):  # makes a new tensor itself
        return ()
    statement = here.file.parent.get(id(node))
    if isinstance(statement, ast.Assign) and [ast.unparse(t) for t in statement.targets] == [
        ast.unparse(value)
    ]:
        return here.remove(statement)
    return here.replace(node, here.file.text(value))


def _fix(trace: Trace, site: Site) -> str:
    made = located(trace, site, "this")
    new = [edit.text for edit in _as_it_is(trace, site)]
    if new:
        return (
            f"write `{new[0]}` in place of {made}: it has its graph" if new[0].strip() else f"take {made} out"
        )
    node = trace.source_file(site.path).at(site)
    given = node.args[0] if isinstance(node, ast.Call) and node.args else None
    if isinstance(given, ast.Name):
        return f"fill `{given.id}` without `item()`, and write `torch.stack({given.id})` in place of {made}"
    return f"use the value itself in place of {made}; `+`, `sum` and `torch.stack` keep its graph"
