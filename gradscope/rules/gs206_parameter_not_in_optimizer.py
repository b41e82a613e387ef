"""A parameter receives gradients, but no optimizer holds it: it never trains.

Why: an optimizer changes only the parameters that it was given. The rest of the model
gets gradients at every backward and keeps its initial values.

Fix: give the optimizer all parameters (`model.parameters()`), also those of layers that
were added later (`optimizer.add_param_group`); where the part is meant to stay as it is,
freeze it with `requires_grad_(False)`, which also saves the work.

A note only where a whole model goes on with what a trained one gives it: it may be there to judge; and
where the program passes over these layers by their name.

Silent on: several optimizers that share a model, parameters updated by hand, models of
which nothing is stepped (gradients for an input), frozen parts.
"""

from collections.abc import Iterator
from dataclasses import replace

from gradscope.model import Event, Finding, Optimizer, Parameter, Site
from gradscope.rules import rule
from gradscope.rules._common import (
    dotted,
    listed,
    parameter_name,
    parameter_names,
    parameter_subjects,
    plural,
)
from gradscope.rules._own_writes import kept_up
from gradscope.rules._patches import made_of_all
from gradscope.rules._rewrites import also_given
from gradscope.rules._skipped import skipped_by_name
from gradscope.rules._training import idle, norm, optimizer_name, where
from gradscope.rules._unheld import left_behind, left_out
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.trunk = nn.Linear(3, 3)
            self.head = nn.Linear(3, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self.head(torch.relu(self.trunk(x)))
            return y

    model = Net()
    opt = torch.optim.SGD(model.trunk.parameters(), lr=0.1)  # cause: GS206
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()  # effect: GS206
        opt.step()


def bad_layer_added_later() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3))
    opt = torch.optim.Adam(model.parameters())  # cause: GS206
    model.append(nn.Linear(3, 1))
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()  # effect: GS206
        opt.step()
        with torch.no_grad():
            next(model[1].parameters()).clamp_(-1, 1)  # a bound trains nothing


def bad_encoder_forgotten() -> None:
    import torch
    from torch import nn

    encoder, decoder = nn.Linear(3, 3), nn.Linear(3, 1)
    opt = torch.optim.SGD(decoder.parameters(), lr=0.1)  # cause: GS206
    for _ in range(3):
        opt.zero_grad()
        decoder(encoder(torch.randn(8, 3))).pow(2).mean().backward()  # effect: GS206
        opt.step()


def bad_head_forgotten() -> None:
    import torch
    from torch import nn

    encoder, head = nn.Linear(3, 3), nn.Linear(3, 1)
    opt = torch.optim.SGD(encoder.parameters(), lr=0.1)  # cause: GS206
    for _ in range(3):
        opt.zero_grad()
        head(encoder(torch.randn(8, 3))).pow(2).mean().backward()  # effect: GS206
        opt.step()


def bad_loss_that_learns() -> None:
    import torch
    from torch import nn

    class Weighted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.zeros(1))

        def forward(self, error: torch.Tensor) -> torch.Tensor:
            return (torch.exp(-self.scale) * error + self.scale).mean()

    model, weigh = nn.Linear(3, 1), Weighted()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)  # cause: GS206
    for _ in range(3):
        opt.zero_grad()
        weigh(model(torch.randn(8, 3)).pow(2)).backward()  # effect: GS206
        opt.step()


def bad_adapters_put_in_later() -> None:
    import torch
    from torch import nn

    class Adapted(nn.Module):
        def __init__(self, base: nn.Linear) -> None:
            super().__init__()
            self.base, self.more = base.requires_grad_(False), nn.Linear(3, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self.base(x) + self.more(x)
            return y

    model = nn.Sequential(nn.Linear(3, 3))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)  # cause: GS206
    model[0] = Adapted(model[0])  # type: ignore[arg-type]
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()  # effect: GS206
        opt.step()


def good_judged_by_another_model() -> None:
    import torch
    from torch import nn

    model, judge = nn.Linear(3, 3), nn.Linear(3, 1).eval()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        judge(model(torch.randn(8, 3))).pow(2).mean().backward()
        opt.step()


def good_features_of_a_loaded_model() -> None:
    import torch
    from torch import nn

    features, head = nn.Linear(3, 3), nn.Linear(3, 1)
    features.load_state_dict(nn.Linear(3, 3).state_dict())
    opt = torch.optim.SGD(head.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        head(features(torch.randn(8, 3))).pow(2).mean().backward()
        opt.step()


def good_two_optimizers() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    optimizers = [torch.optim.SGD(layer.parameters(), lr=0.1) for layer in model]
    for _ in range(3):
        model.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        for opt in optimizers:
            opt.step()


def good_layers_passed_over() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2), nn.BatchNorm1d(2))
    adapted: list[nn.Parameter] = []
    for name, layer in model.named_modules():
        if "4" in name:
            continue
        if isinstance(layer, nn.BatchNorm1d):
            adapted += layer.parameters()
    opt = torch.optim.SGD(adapted, lr=0.01)
    for p in (model[0].weight, model[0].bias, model[3].weight, model[3].bias):
        p.requires_grad_(False)
    for _ in range(3):
        opt.zero_grad()
        chances = model(torch.randn(8, 4)).softmax(dim=1)
        (-(chances * chances.log()).sum(dim=1)).mean().backward()
        opt.step()


def good_fine_tuning() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    model[0].requires_grad_(False)
    opt = torch.optim.SGD(model[1].parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def good_updated_by_hand() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    opt = torch.optim.SGD(model[0].parameters(), lr=0.1)
    for _ in range(3):
        model.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        with torch.no_grad():
            for p in model[1].parameters():
                p.sub_(0.1 * p.grad)  # type: ignore[operator]


def good_image_optimized() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    image = torch.zeros(1, 3, requires_grad=True)
    opt = torch.optim.SGD([image], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(image).pow(2).mean().backward()
        opt.step()


def bad_weights_of_the_loss() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    balance = nn.Parameter(torch.zeros(2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)  # cause: GS206
    for _ in range(3):
        losses = model(torch.randn(8, 3)).pow(2).mean(0)
        opt.zero_grad()
        ((-balance).exp() * losses + balance).sum().backward()  # effect: GS206
        opt.step()


def good_weights_of_the_loss() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    balance, fixed = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.ones(2), requires_grad=False)
    by_hand = nn.Parameter(torch.ones(1))
    opt = torch.optim.SGD([*model.parameters(), balance], lr=0.1)
    for _ in range(3):
        losses = model(torch.randn(8, 3)).pow(2).mean(0) * fixed * by_hand
        opt.zero_grad()
        ((-balance).exp() * losses + balance).sum().backward()
        opt.step()
        with torch.no_grad():
            by_hand += 0.1 * by_hand.grad  # type: ignore[misc, operator]
        by_hand.grad = None


@rule("GS206", name="parameter-not-in-optimizer", severity="warning")
def parameter_not_in_optimizer(trace: Trace) -> Iterator[Finding]:
    for parameters, stepped, left in left_out(trace):
        found = _finding(trace, parameters, stepped, left)
        meant = skipped_by_name(trace, (p.name for p in left))
        yield replace(found, severity="note", edits=()) if meant else found
    for parameters, stepped, left in left_behind(trace):  # which may be wanted: a model that judges
        yield replace(_finding(trace, parameters, stepped, left), severity="note", edits=())
    yield from _loose(trace)


def _loose(trace: Trace) -> Iterator[Finding]:
    """An `nn.Parameter` of no module: the weights of a loss, say, beside the model that it trains with."""
    written = kept_up(trace)
    left = {p.id: p for p in trace.parameters if _alone(p) and p.id not in written}
    found: dict[Site, tuple[dict[int, Parameter], list[Parameter]]] = {}
    for event in trace.of("backward") if left else ():
        values = trace.graph(event.graph).values if event.graph >= 0 else ()
        ids = [values[leaf["value"]].parameter for leaf in event.data.get("leaves", ())]
        mine = {id: left[id] for id in ids if id in left}
        stepped = [p for id in event.data.get("accumulated") or () if (p := trace.parameter(id)).steps]
        if mine and stepped:
            found.setdefault(event.site.user, ({}, stepped))[0].update(mine)
    for site, (mine, stepped) in found.items():
        optimizer, names = _nearest(trace, stepped), parameter_names(trace, mine)
        count = max(p.passes for p in mine.values())
        yield Finding(
            message=f"{names} {'gets' if len(mine) == 1 else 'get'} gradients but no optimizer holds"
            f" {'it' if len(mine) == 1 else 'them'}: no step ever uses them",
            cause=optimizer.site.user if optimizer.site else None,
            cause_label="was not given these parameters",
            effect=site,
            effect_label="computes gradients for them that nothing uses",
            seen=(f"an `nn.Parameter` that got a gradient in {plural(count, 'pass')} and never changed",),
            fix=f"give {names} to {optimizer_name(trace, optimizer.id)} too ({where(optimizer.site)})",
            edits=also_given(trace, optimizer.site, [parameter_name(trace, id) for id in mine], single=True),
            subjects=parameter_subjects(mine),
        )


def _alone(p: Parameter) -> bool:
    held = p.registered or p.optimizers
    return p.declared and not held and p.requires_grad and p.passes >= 2 and idle(p)


def replaced(trace: Trace) -> set[int]:
    """Parameters that an optimizer still holds, of a layer that the model no longer has: what
    took its place is left out."""
    return {
        number
        for _, stepped, _ in left_out(trace)
        for number in _nearest(trace, stepped).parameters
        if not trace.parameter(number).registered and not trace.parameter(number).passes
    }


def _finding(
    trace: Trace, parameters: list[Parameter], stepped: list[Parameter], left: list[Parameter]
) -> Finding:
    optimizer, backward = _nearest(trace, stepped), _backward(trace, left)
    groups = _groups(trace, parameters, left)
    subject = listed(groups)
    verbs = ("gets", "is") if len(groups) == 1 else ("get", "are")
    return Finding(
        message=f"{subject} {verbs[0]} gradients but {verbs[1]} in no optimizer: no step ever uses them",
        cause=optimizer.site.user if optimizer.site else None,
        cause_label="was not given these parameters",
        effect=backward,
        effect_label="computes gradients for them that nothing uses",
        seen=(
            f"{plural(len(left), 'parameter')} that no step changed, with a gradient in"
            f" {max(p.passes for p in left)} of the run's backward passes",
            *_measured(trace, left),
        ),
        fix=f"give {subject} to {optimizer_name(trace, optimizer.id)} too ({where(optimizer.site)}); freeze"
        " what is meant to stay (`requires_grad_(False)`)"
        if any(p.steps for p in stepped)
        else f"make {optimizer_name(trace, optimizer.id)} ({where(optimizer.site)}) after {subject}"
        f" {verbs[1]} put in: all that it holds is frozen",
        edits=also_given(trace, optimizer.site, [group.strip("`") for group in groups])
        or made_of_all(trace, optimizer, backward, left),
        subjects=parameter_subjects(p.id for p in left),
    )


def _measured(trace: Trace, left: list[Parameter]) -> Iterator[str]:
    last = norm(trace, left[0].id)
    if last:
        yield f"norm of the last gradient of `{left[0].name}`, which no step used: {last:.4g}"


def _nearest(trace: Trace, stepped: list[Parameter]) -> Optimizer:
    """The optimizer that holds most of the model's other parameters."""
    votes = [number for p in stepped for number in p.optimizers if number in trace.optimizers]
    return trace.optimizers[max(votes, key=votes.count)]


def _backward(trace: Trace, left: list[Parameter]) -> Site | None:
    ids = {p.id for p in left}
    events: list[Event] = [e for e in trace.of("backward") if ids & set(e.data.get("accumulated") or ())]
    return events[0].site.user if events else None


def _groups(trace: Trace, parameters: list[Parameter], left: list[Parameter]) -> list[str]:
    """The outermost modules whose parameters are all left out, then single parameters."""
    missing, found = {p.id for p in left}, dict[str, None]()
    root = trace.modules[trace.modules[left[0].module or 0].root]
    held = any(p.optimizers for p in parameters)
    if root.name and not held and len(left) == sum(p.requires_grad for p in parameters):
        return [f"`{root.name}`"]
    for p in left:
        parts = p.name.split(".")
        for depth in range(1, len(parts)):
            prefix = ".".join(parts[:depth])
            if all(o.id in missing for o in parameters if o.name.startswith(f"{prefix}.")):
                found[f"`{dotted(root.name, prefix)}`"] = None
                break
        else:
            found[f"`{dotted(root.name, p.name)}`"] = None
    return list(found)
