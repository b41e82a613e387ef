"""A parameter receives gradients, but no optimizer holds it: it never trains.

Why: an optimizer changes only the parameters that it was given. The rest of the model
gets gradients at every backward and keeps its initial values.

Fix: give the optimizer all parameters (`model.parameters()`), also those of layers that
were added later (`optimizer.add_param_group`); make in `__init__` what the first `forward` makes; where the part is
meant to stay as it is, freeze it with `requires_grad_(False)`, which also saves the work.

A note only where a whole model works on what a trained one gives it (it may be there to judge, unless a term of a
loss reaches nothing else), where the program puts this part alone into
evaluation mode, and where it leaves these layers out by their names.

Silent on: several optimizers that share a model, parameters updated by hand, models of
which nothing is stepped (gradients for an input), frozen parts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from gradscope.analysis.feeds import cannot_judge
from gradscope.analysis.intent import milder, says_head_of_loaded, skipped_by_name
from gradscope.analysis.loop import idle, in_order, norm
from gradscope.analysis.ops import LAYERS, PASSING, PRODUCTS_OF_MATRICES, SLICES
from gradscope.analysis.own_writes import kept_up
from gradscope.analysis.since import since_pass
from gradscope.analysis.stops import set_at, thawed
from gradscope.analysis.trainers import made_inside
from gradscope.analysis.unheld import (
    left_behind,
    left_out,
    made_in_forward,
    made_too_soon,
    name_where_read,
    nearest,
    put_into_eval,
    taken_over,
    trained_by_nobody,
)
from gradscope.analysis.words import (
    dotted,
    listed,
    located,
    optimizer_name,
    parameter_name,
    parameter_names,
    parameter_subjects,
    plural,
    user,
    where,
    where_made,
)
from gradscope.events import Backward, Mode, OptimizerMade, RequiresGrad, SchedulerMade, Step
from gradscope.fixes.blocks import made_later, made_of_all
from gradscope.fixes.given import also_given, list_given
from gradscope.fixes.leaves import made_in_init
from gradscope.model import Event, Finding, Graph, Module, Op, Optimizer, Parameter, Site, Value
from gradscope.rules import rule
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


@rule("GS206", name="parameter-not-in-optimizer", severity="warning", over=("GS302", "GS601"))
def parameter_not_in_optimizer(trace: Trace) -> Iterator[Finding]:
    told = set[int]()
    for parameters, stepped, left in left_out(trace):
        told.update(p.id for p in left)
        found = _finding(trace, parameters, stepped, left)
        resting = put_into_eval(trace, left)
        if resting is not None:
            yield _resting(trace, found, resting)
            continue
        meant = skipped_by_name(trace, (p.name for p in left)) or says_head_of_loaded(
            trace, nearest(trace, stepped, left).site
        )
        yield milder(replace(found, edits=()) if meant else found, meant)
    for parameters, stepped, left in left_behind(trace):  # which may be wanted: a model that judges
        told.update(p.id for p in left)
        found, resting = _finding(trace, parameters, stepped, left), put_into_eval(trace, left)
        if resting is not None:
            yield _resting(trace, found, resting)
        else:
            yield found if cannot_judge(trace, left) else replace(found, severity="note", edits=())
    for parameters, stepped, left in trained_by_nobody(trace):
        if not told.intersection(p.id for p in left):
            yield _finding(trace, parameters, stepped, left)
    yield from _loose(trace)


def _resting(trace: Trace, found: Finding, put: Mode) -> Finding:
    """The program itself puts this part into evaluation mode and trains the rest: it may be meant to stay."""
    return replace(
        found,
        severity="note",
        seen=(
            *found.seen,
            f"{located(trace, put.site.user)} puts it into evaluation mode while the rest trains",
        ),
        fix="freeze it with `requires_grad_(False)`, where it is meant to stay as it is: that saves the work of its "
        f"gradients; else {found.fix.partition(';')[0]}",
        edits=(),
    )


def _loose(trace: Trace) -> Iterator[Finding]:
    """A parameter of no module: the weights of a loss, say, beside the model that it trains with."""
    written = kept_up(trace)
    left = {p.id: p for p in trace.parameters if _alone(p) and p.id not in written}
    plain = [id for id, p in left.items() if not p.declared]
    for id in set(plain) - _used_as_weights(trace, plain):
        del left[id]  # data may require a gradient, too
    found: dict[Site, tuple[dict[int, Parameter], list[Parameter]]] = {}
    for event in trace.of(Backward) if left else ():
        values = trace.graph(event.graph).values if event.graph >= 0 else ()
        ids = [values[leaf["value"]].parameter for leaf in event.leaves]
        mine = {id: left[id] for id in ids if id in left}
        stepped = [p for id in event.filled if (p := trace.parameter(id)).steps]
        if mine and stepped:
            found.setdefault(event.site.user, ({}, stepped))[0].update(mine)
    for site, (mine, stepped) in found.items():
        for p in list(mine.values()):
            if (old := taken_over(trace, p)) is not None and p.site is not None:
                del mine[p.id]
                yield _put_in_place(trace, p, old, p.site.user, site)
        if not mine:
            continue
        optimizer, names = nearest(trace, stepped, list(mine.values())), parameter_names(trace, mine)
        made = made_in_forward(mine.values(), optimizer)
        if made is not None:
            yield _made_in_forward(trace, list(mine.values()), optimizer, made, site)
            continue
        count = max(p.passes for p in mine.values())
        yield Finding(
            message=f"{names} {'gets' if len(mine) == 1 else 'get'} gradients but no optimizer holds"
            f" {'it' if len(mine) == 1 else 'them'}: no step ever uses them",
            cause=optimizer.site.user if optimizer.site else None,
            cause_label=_without(optimizer),
            effect=site,
            effect_label="computes gradients for them that nothing uses",
            seen=(
                f"{_kind(mine.values())} that got a gradient in {plural(count, 'pass')} and never changed",
            ),
            fix=f"give {names} to {optimizer_name(trace, optimizer.id)} too ({where_made(optimizer)})",
            edits=also_given(
                trace,
                optimizer.site if optimizer.made else None,
                [parameter_name(trace, id) for id in mine],
                single=True,
            ),
            subjects=parameter_subjects(mine)
            | {("leaf", p.site.user.location()) for p in mine.values() if p.site is not None},
            since=since_pass(trace, mine),
        )


def _without(optimizer: Optimizer) -> str:
    return "was not given these parameters" if optimizer.made else "works without these parameters"


def _made_in_forward(
    trace: Trace, mine: list[Parameter], optimizer: Optimizer, made: Site, backward: Site
) -> Finding:
    """An `nn.Parameter` that the first call of its module makes, when the optimizer has its list."""
    names = listed([f"`{name_where_read(trace, p)}`" for p in mine[:3]])
    names += f" and {len(mine) - 3} more" if len(mine) > 3 else ""
    one = len(mine) == 1
    holder, given = optimizer_name(trace, optimizer.id), user(optimizer.site)
    target, edits = made_in_init(trace, made, {p.shape for p in mine})
    kept = f"`{target}.copy_(…)` under `torch.no_grad()`" if target else "`.copy_(…)` under `torch.no_grad()`"
    return Finding(
        message=f"{names} {'gets' if one else 'get'} gradients but no optimizer holds {'it' if one else 'them'}:"
        f" `forward` makes {'it' if one else 'them'}, after {holder} was made",
        cause=made,
        cause_label=f"first runs when {holder} has its parameters",
        effect=backward,
        effect_label="computes gradients for it that nothing uses"
        if one
        else "computes gradients for them that nothing uses",
        related=((given, "was given the parameters that there were then"),) if given else (),
        seen=(
            f"an `nn.Parameter` that got a gradient in {plural(max(p.passes for p in mine), 'pass')} and never"
            " changed",
        ),
        fix=f"make {'it' if one else 'them'} in `__init__` and write the first values in place here ({kept}, in place"
        f" of {located(trace, made)}), or call the model once before {holder} is made ({where_made(optimizer)})",
        edits=edits,
        subjects=parameter_subjects(p.id for p in mine),
        since=since_pass(trace, (p.id for p in mine)),
    )


def _put_in_place(trace: Trace, p: Parameter, old: Parameter, made: Site, backward: Site) -> Finding:
    """A new `nn.Parameter` has taken the place of the one that the optimizer was given."""
    optimizer = trace.optimizers[old.optimizers[0]]
    name, holder = f"`{parameter_name(trace, p.id)}`", optimizer_name(trace, optimizer.id)
    given = user(optimizer.site)
    return Finding(
        message=f"{name} is a new `nn.Parameter`: {holder} still holds the one whose place it took, and no step uses"
        " its gradients",
        cause=made,
        cause_label="puts a new parameter in the place of the old one",
        effect=backward,
        effect_label="computes gradients for it that nothing uses",
        related=((given, f"was given `{parameter_name(trace, old.id)}` as it was then"),) if given else (),
        seen=(
            f"it got a gradient in {plural(p.passes, 'pass')} and never changed; in its place was"
            f" `{parameter_name(trace, old.id)}`, which no line reads since",
        ),
        fix=f"write the new values into the old parameter, under `torch.no_grad()` ({name[:-1]}.copy_(…)`, in place of"
        f" {located(trace, made)}), or make {holder} ({where_made(optimizer)}) after it"
        if p.shape == old.shape
        else f"give `{name_where_read(trace, p)}` to `add_param_group` of {holder} ({where_made(optimizer)}) behind"
        f" {located(trace, made)}, or make {holder} anew there: it is of another size"
        f" than the old one, {p.shape} in place of {old.shape}",
        edits=made_later(trace, given, backward, [p.site]),
        subjects=parameter_subjects([p.id, old.id]),
        since=since_pass(trace, [p.id]),
    )


def _alone(p: Parameter) -> bool:
    held = p.registered or p.optimizers
    return not held and p.requires_grad and p.passes >= 2 and idle(p)


def _kind(parameters: Iterable[Parameter]) -> str:
    return "an `nn.Parameter`" if all(p.declared for p in parameters) else "a leaf tensor"


def _used_as_weights(trace: Trace, ids: Collection[int]) -> set[int]:
    """Those of these leaves that calls take as weights and nothing else: as single numbers, or as the matrix that data
    are multiplied with."""
    seen: dict[int, bool] = {}
    for graph in trace.graphs if ids else ():
        for value in graph.values:
            id = value.parameter
            if id is not None and id in ids and value.op is None:
                readers = graph.consumers.get(value.index, ())
                seen[id] = seen.get(id, True) and all(_is_weight(graph, value, reader) for reader in readers)
    return {id for id, weight in seen.items() if weight}


def _is_weight(graph: Graph, value: Value, reader: Op) -> bool:
    if reader.name in SLICES and not graph.values[reader.outputs[0]].shape:
        return True
    if not value.shape:
        return reader.name not in PASSING  # what is brought into a form may be a point of the data
    first = reader.inputs[0] if reader.inputs else None
    return reader.name in PRODUCTS_OF_MATRICES | LAYERS and first != value.index and len(value.shape) > 1


def _finding(
    trace: Trace, parameters: list[Parameter], stepped: list[Parameter], left: list[Parameter]
) -> Finding:
    optimizer, backward = nearest(trace, stepped, left), _backward(trace, left)
    groups = _groups(trace, parameters, left)
    subject = listed(groups)
    verbs = ("gets", "is") if len(groups) == 1 else ("get", "are")
    other = _holds_the_same(trace, optimizer)
    name, place = optimizer_name(trace, optimizer.id), where_made(optimizer)
    together = list_given(trace, optimizer.site)
    place += f", in the list of {where(together)}" if together is not None else ""
    made = made_in_forward(left, optimizer)
    if made is not None:
        return _layer_made_in_forward(trace, left, optimizer, made, subject)
    inside, late = made_inside(trace, optimizer), _required_late(trace, optimizer, left)
    given = user(optimizer.site)
    without = _without(optimizer) if inside is None else "makes an optimizer without them"
    return Finding(
        message=f"{subject} {verbs[0]} gradients but {verbs[1]} in no optimizer: no step ever uses them",
        cause=late or given,
        cause_label="makes them require a gradient, after the optimizer was made" if late else without,
        effect=backward,
        effect_label="computes gradients for them that nothing uses",
        related=((given, without),) if late and given else (),
        seen=(
            f"{plural(len(left), 'parameter')} that no step changed, with a gradient in"
            f" {max(p.passes for p in left)} of the run's backward passes",
            *_measured(trace, left),
        ),
        fix=_given_late(trace, optimizer, inside, late, subject)
        if late is not None or inside is not None
        else f"make {name} ({place}) after {subject} {verbs[1]} put in: all that it holds is frozen"
        if not any(p.steps for p in stepped) or made_too_soon(trace, optimizer, left)
        else f"give {subject} to {name} ({place}), in place of what {optimizer_name(trace, other.id)} holds as well"
        if other is not None
        else f"give {subject} to {name} too ({place}); freeze what is meant to stay (`requires_grad_(False)`)",
        edits=(
            ()
            if made_too_soon(trace, optimizer, left)
            else also_given(
                trace,
                optimizer.site if optimizer.made else None,
                [group.strip("`") for group in groups],
                instead=other is not None,
            )
        )
        or made_of_all(trace, optimizer, backward, left),
        subjects=parameter_subjects(p.id for p in left),
        since=since_pass(trace, (p.id for p in left)),
    )


def _required_late(trace: Trace, optimizer: Optimizer, left: list[Parameter]) -> Site | None:
    """The line that made all of these require a gradient when the optimizer had made a step already; None where they
    did when it was made, and were frozen for a while only."""
    if {p.id for p in left} & _frozen_since(trace, optimizer):
        return None
    first = next((event.segment for event in trace.of(Step) if event.optimizer == optimizer.id), None)
    events = [thawed(trace).get(p.id) for p in left]
    lines = {
        set_at(trace, e) if e is not None and first is not None and e.segment > first else None
        for e in events
    }
    return lines.pop() if len(lines) == 1 else None


def _frozen_since(trace: Trace, optimizer: Optimizer) -> set[int]:
    """Leaves that were switched off after the optimizer was made, and not before."""
    off: dict[int, bool] = {}  # leaf → first switched off after that
    made = False
    for _, event in in_order(trace):
        made = made or (isinstance(event, OptimizerMade) and event.optimizer == optimizer.id)
        if isinstance(event, RequiresGrad) and not event.to and event.leaf is not None:
            off.setdefault(event.leaf, made)
    return {leaf for leaf, after in off.items() if after}


def _given_late(
    trace: Trace, optimizer: Optimizer, inside: Site | None, late: Site | None, subject: str
) -> str:
    """How an optimizer gets parameters that it was not given when it was made. A schedule counts its groups when it is
    made, and fails where one is added later."""
    scheduled = any(event.optimizer == optimizer.id for event in trace.of(SchedulerMade))
    here = f" where they are made to train ({where(late)})" if late is not None else ""
    if inside is not None:
        own = f"make an optimizer of all parameters{', those too that are frozen at first,' if late else ''}"
        made = located(trace, inside)
        text = f"{own} and hand it to the trainer, in place of the one that {made} makes without {subject}"
        return text if scheduled else f"{text}; or add them to that by its `add_param_group`{here}"
    name = optimizer_name(trace, optimizer.id)
    text = (
        f"give {name} ({where_made(optimizer)}) all parameters, {subject} too, though frozen at first: it passes over"
        " what has no gradient"
    )
    return text if scheduled else f"{text}; or add them by its `add_param_group`{here}"


def _layer_made_in_forward(
    trace: Trace, left: list[Parameter], optimizer: Optimizer, made: Site, subject: str
) -> Finding:
    """What the first call of the model puts into it, when the optimizer has its list."""
    holder, given = optimizer_name(trace, optimizer.id), user(optimizer.site)
    several = " and `" in subject
    return Finding(
        message=f"{subject} {'get' if several else 'gets'} gradients but {'are' if several else 'is'} in no optimizer:"
        f" `forward` makes {'them' if several else 'it'}, after {holder} was made",
        cause=made,
        cause_label=f"first runs when {holder} has its parameters",
        effect=_backward(trace, left),
        effect_label="computes gradients that nothing uses",
        related=((given, "was given the parameters that there were then"),) if given else (),
        seen=(
            f"{plural(len(left), 'parameter')} that no step changed, with a gradient in"
            f" {max(p.passes for p in left)} of the run's backward passes",
            *_measured(trace, left),
        ),
        fix=f"make {'them' if several else 'it'} in `__init__`, in place of {located(trace, made)}, or call the model"
        f" once before {holder} is made ({where_made(optimizer)})",
        subjects=parameter_subjects(p.id for p in left),
        since=since_pass(trace, (p.id for p in left)),
    )


def _holds_the_same(trace: Trace, optimizer: Optimizer) -> Optimizer | None:
    """Another one that steps all that this one holds: it was meant for something else."""
    held = [set(p.optimizers) for p in trace.parameters if optimizer.id in p.optimizers]
    others = set.intersection(*held) - {optimizer.id} if held else set()
    return trace.optimizers.get(min(others, default=-1))


def _measured(trace: Trace, left: list[Parameter]) -> Iterator[str]:
    last = norm(trace, left[0].id)
    if last:
        yield f"norm of the last gradient of {parameter_names(trace, [left[0].id])}, which no step used: {last:.4g}"


def _backward(trace: Trace, left: list[Parameter]) -> Site | None:
    """A pass that fills nothing else, where there is one: it is made for them."""
    ids = {p.id for p in left}
    events: list[Event] = [e for e in trace.of(Backward) if ids & set(e.filled)]
    own = [e for e in events if isinstance(e, Backward) and ids.issuperset(e.filled)]
    return (own or events)[0].site.user if events else None


def _groups(trace: Trace, parameters: list[Parameter], left: list[Parameter]) -> list[str]:
    """The outermost modules whose parameters are all left out, then single parameters."""
    roots = {p.id: trace.modules[p.module or 0].root for p in parameters}
    return [
        group
        for root in dict.fromkeys(roots[p.id] for p in left)
        for group in _groups_of(
            trace.modules[root],
            [p for p in parameters if roots[p.id] == root],
            [p for p in left if roots[p.id] == root],
        )
    ]


def _groups_of(root: Module, parameters: list[Parameter], left: list[Parameter]) -> list[str]:
    """The same of one model."""
    missing, found = {p.id for p in left}, dict[str, None]()
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
