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
from dataclasses import replace

from gradscope.model import Edit, Event, Finding, Parameter, Site
from gradscope.names import place
from gradscope.rules import rule
from gradscope.rules._common import code, located, parameter_names, parameter_subjects, quoted
from gradscope.rules._cuts import Cut, cuts
from gradscope.rules._paths import Key, Paths, passes, paths
from gradscope.rules._put_back import as_it_is, numbers_put_back
from gradscope.rules._terms import Wrapped, wrapped_losses, wrapped_terms
from gradscope.store import Trace

_LEFT = ("no_grad", "inference_mode", "detach", "data")  # what leaves the graph behind, on a line of its own


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


def bad_detached_before_its_mean() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).detach().pow(2).mean().requires_grad_()  # cause: GS304
        loss.backward()  # effect: GS304
        opt.step()


def bad_required_on_the_next_line() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = (model(torch.randn(8, 4)).detach() ** 2).mean()  # cause: GS304
        loss.requires_grad_()
        loss.backward()  # effect: GS304
        opt.step()


def bad_made_without_gradients() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        with torch.no_grad():
            out = model(torch.randn(8, 4))
        loss = out.pow(2).mean().requires_grad_()  # cause: GS304
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


def bad_loss_by_numpy() -> None:
    import torch
    from torch import nn
    from torch.autograd import Variable

    model = nn.Linear(3, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        scores = model(torch.randn(8, 3)).detach().numpy()
        margin = (1 - scores[:, 0] + scores[:, 1]).clip(min=0)
        loss = Variable(torch.Tensor([margin.mean()]), requires_grad=True)  # cause: GS304
        opt.zero_grad()
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


def bad_loss_of_one_of_two() -> None:
    import torch
    from torch import nn

    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    opt_g = torch.optim.Adam(generator.parameters())
    opt_c = torch.optim.Adam(critic.parameters())
    for _ in range(3):
        opt_g.zero_grad()
        fake = generator(torch.randn(4, 2))
        critic(fake).mean().neg().backward()
        opt_g.step()
        opt_c.zero_grad()
        loss = critic(fake.detach()).mean() - critic(torch.randn(4, 2)).mean()
        loss.detach().requires_grad_().backward()  # cause: GS304  # effect: GS304
        opt_c.step()


def bad_loss_beside_a_detach() -> None:
    import torch
    from torch import nn

    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    opt_g = torch.optim.Adam(generator.parameters())
    opt_c = torch.optim.Adam(critic.parameters())
    for _ in range(3):
        opt_c.zero_grad()
        fake = generator(torch.randn(4, 2))
        (critic(fake.detach()).mean() - critic(torch.randn(4, 2)).mean()).backward()
        opt_c.step()
        opt_g.zero_grad()
        loss = critic(fake).mean().neg().detach().requires_grad_()  # cause: GS304
        loss.backward()  # effect: GS304
        opt_g.step()


def bad_term() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        fit = model(torch.randn(8, 3)).pow(2).mean()
        size = torch.tensor(model.weight.abs().sum().item(), requires_grad=True)  # cause: GS304
        (fit + 0.1 * size).backward()  # effect: GS304
        opt.step()


def bad_term_made_a_leaf() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        left = model(torch.randn(8, 3)).pow(2).mean()
        right = model(torch.randn(8, 3)).abs().mean().detach().requires_grad_()  # cause: GS304
        ((left + right) / 2).backward()  # effect: GS304
        opt.step()


def good_terms_without_a_past() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scale = torch.tensor(0.0, requires_grad=True)
    opt.add_param_group({"params": [scale]})
    for _ in range(3):
        opt.zero_grad()
        fit = model(torch.randn(8, 3)).pow(2).mean()
        f"{fit.item():.3f}"
        (fit * (-scale).exp() + scale + torch.tensor(0.1, requires_grad=True)).backward()
        opt.step()


def good_term_detached() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        soft = model(torch.randn(8, 3)).sigmoid().mean()
        hard = (soft > 0.5).float()
        (soft + (hard - soft).detach()).backward()
        opt.step()


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
    over=("GS102", "GS202", "GS204", "GS206", "GS301", "GS302", "GS402", "GS601"),
)
def graph_rewrapped(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for cut in cuts(trace):
        site = _wrapper(cut.known, cut)
        if site is not None and cut.loss is not None:
            told.add(site.user.location())
            rewrapped = _finding(trace, cut.known, site.user, cut.parameters, cut.loss, cut)
            yield replace(rewrapped, count=cut.count, severity=cut.severity(trace), since=cut.since)
    if not told:
        for made, parameters, loss in numbers_put_back(known):
            told.add(made.location())
            yield _finding(trace, known, made, parameters, loss)
    for kind, found in ((_loss, wrapped_losses(known)), (_term, wrapped_terms(known))):
        for wrapped in found:
            if wrapped.made.location() not in told:
                told.add(wrapped.made.location())
                yield kind(trace, wrapped)


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


def _finding(
    trace: Trace,
    known: Paths,
    site: Site,
    parameters: list[Parameter],
    loss: Event,
    cut: Cut | None = None,
) -> Finding:
    ids = [p.id for p in parameters]
    fix, edits = _fix(trace, site, cut)
    names = parameter_names(trace, ids)
    made = code(trace, site, "this")
    return Finding(
        message=f"the loss was rewrapped into a new tensor: backward ends there and {names} "
        f"get{'s' if len(ids) == 1 else ''} no gradient",
        cause=site,
        cause_label="a new leaf: same numbers, no history",
        effect=loss.site.user,
        effect_label="reaches the new leaf and nothing behind it",
        seen=(known.seen(ids, f"`.grad` of {names} is None after {passes(known.passes)}"),),
        why=f"{made} copies the numbers, not the graph they came from",
        fix=fix,
        count=loss.count,
        edits=edits,
        subjects=parameter_subjects(ids),
    )


def _loss(trace: Trace, loss: Wrapped) -> Finding:
    """Its parameters get gradients from other passes."""
    names = parameter_names(trace, sorted(loss.parameters))
    found = _finding(
        trace, paths(trace), loss.made, [trace.parameter(id) for id in loss.parameters], loss.loss
    )
    return replace(
        found,
        message=f"the loss was rewrapped into a new tensor: backward ends there and gives {names} nothing",
        seen=(f"{passes(loss.loss.count)} from this line reached no parameter",),
    )


def _term(trace: Trace, term: Wrapped) -> Finding:
    names = parameter_names(trace, sorted(term.parameters))
    fix, edits = _fix(trace, term.made)
    return Finding(
        message="a term of the loss was rewrapped into a new tensor: it trains nothing",
        cause=term.made,
        cause_label="a new leaf: same numbers, no history",
        effect=term.loss.site.user,
        effect_label="only the other terms of the loss arrive",
        seen=("no gradient of the term reaches any parameter in this pass",),
        why=f"its numbers were computed from {names}, which only the other terms of the loss train",
        fix=fix,
        count=term.loss.count,
        edits=edits,
        severity="warning",
        subjects=frozenset({("term", *term.made.location())}),
    )


def _fix(trace: Trace, site: Site, cut: Cut | None = None) -> tuple[str, tuple[Edit, ...]]:
    made = located(trace, site, "this")
    old, edits = as_it_is(trace, site, cut.op.site.user if cut is not None else None)
    new = edits[0].text.strip() if edits else ""
    if edits:
        fix = f"write {quoted(new)} in place of {quoted(old)} ({place(site)}): it has its graph"
        return (fix if new else f"take {made} out"), edits
    node = trace.source_file(site.path).at(site)
    given = node.args[0] if isinstance(node, ast.Call) and node.args else None
    if isinstance(given, ast.Name):
        return (
            f"fill `{given.id}` without `item()`, and write `torch.stack({given.id})` in place of {made}",
            (),
        )
    if cut is not None and cut.op.site.user.location() != site.location() and cut.op.cut in _LEFT:
        lost = located(trace, cut.op.site.user, "the call")
        where = "with gradients on" if cut.op.cut in ("no_grad", "inference_mode") else "with its graph"
        return f"compute {lost} {where}, and leave `requires_grad` out: the loss has its graph then", ()
    return f"use the value itself in place of {made}; `+`, `sum` and `torch.stack` keep its graph", ()
