"""The optimizer holds parameters of a model that does not train, and misses those that do.

Why: an optimizer keeps the parameter objects that it was given. Where the model (or a layer
of it) is replaced afterwards, by a new head, a copy, a loaded or a re-parametrised module, it
goes on stepping the old ones and the new ones never change.

Fix: make the optimizer after the model is complete, or give it the new parameters with
`optimizer.add_param_group`.

Silent on: parameters that simply were not used in this run, target networks, models whose
gradients are only wanted for an input.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.loop import filled_since, idle, nearest_backward, parameters_of, since_filled
from gradscope.analysis.since import since_pass
from gradscope.analysis.trainers import made_inside
from gradscope.analysis.unheld import left_out
from gradscope.analysis.words import (
    backward_text,
    located,
    optimizer_name,
    parameter_names,
    parameter_subjects,
    plural,
    root_of,
    where_made,
)
from gradscope.events import ModuleCall, Step, Update
from gradscope.fixes.blocks import made_later
from gradscope.fixes.calls import in_place_of
from gradscope.model import Finding, Optimizer, Parameter, Site
from gradscope.rules import rule
from gradscope.store import Trace

FEW_STEPS = 2  # after which a copy of one pass may still be the first of a lasting one
EMPTY = 5  # steps without a gradient, of an optimizer whose parameters another one trains
HANDED_ON = 4  # passes without one copy back: a worker may fetch the shared weights now and then


def bad() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 10))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)  # cause: GS207
    model[1] = nn.Linear(3, 2)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()  # effect: GS207
        opt.step()


def good_rebuilt_in_time() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 10))
    model[1] = nn.Linear(3, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


@rule(
    "GS207",
    name="optimizer-holds-orphans",
    severity="error",
    over=("GS204", "GS206", "GS215", "GS302", "GS605"),
)
def optimizer_holds_orphans(trace: Trace) -> Iterator[Finding]:
    for number, optimizer in trace.optimizers.items():
        if not optimizer.steps:
            continue
        held = parameters_of(trace, optimizer.parameters)
        if not held:  # GS272
            continue
        if not any(p.passes for p in held):
            left = _trained_elsewhere(trace, held)
            if left:
                yield _finding(trace, number, optimizer, held, left)
                continue
        if forgotten := _behind_empty_steps(trace, number, held):
            yield _finding(trace, number, optimizer, held, forgotten)
            continue
        if swapped := _swapped(trace, number, held):
            yield _finding(trace, number, optimizer, held, swapped)
            continue
        for parameters, stepped, left in left_out(trace):
            orphans = _replaced(trace, held, parameters, left)
            goes_on = _steps_since(trace, number, {p.id for p in left}) >= min(2, optimizer.steps)
            if (
                orphans
                and goes_on
                and (any(number in p.optimizers for p in stepped) or _took_place(orphans, held, left))
            ):
                yield _finding(trace, number, optimizer, orphans, left)


def _took_place(orphans: list[Parameter], held: list[Parameter], left: list[Parameter]) -> bool:
    """Whether all that an optimizer holds is gone, and what the model misses is just as large: a layer
    that has an optimizer of its own was replaced."""
    return len(orphans) == len(held) and sorted(p.shape for p in held) == sorted(p.shape for p in left)


def _trained_elsewhere(trace: Trace, held: list[Parameter]) -> list[Parameter]:
    """The parameters of a model that gets gradients in every pass and is in nobody's hands."""
    if not any(p.requires_grad for p in held):
        return []
    shapes = sorted(p.shape for p in held)
    found: list[Parameter] = []
    for parameters in _by_root(trace):
        same = sorted(p.shape for p in parameters) == shapes
        if same and any(p.steps for p in held) and all(_handed_on(p) for p in parameters):
            return parameters  # its gradients are handed to a copy that is stepped and goes nowhere
        if all(idle(p) and not p.optimizers and p.passes >= 2 for p in parameters):
            if same:
                return parameters
            found = found or parameters
    return found if not any(p.steps for p in trace.parameters if p.passes) else []


def _behind_empty_steps(trace: Trace, number: int, held: list[Parameter]) -> list[Parameter]:
    """The parameters of a model in nobody's hands, where an optimizer holds what another one trains, and each of its
    own steps comes after a pass over that model and finds no new gradient."""
    if not held or any(set(p.optimizers) <= {number} for p in held):
        return []
    for parameters in _by_root(trace):
        untouched = not any(p.steps or p.updates or p.changed or p.optimizers for p in parameters)
        if untouched and all(p.passes >= EMPTY for p in parameters):
            ids = {p.id for p in parameters}
            empty = _empty_steps_since(trace, number, ids, set())
            if empty >= EMPTY and empty == trace.optimizers[number].steps:
                return parameters
    return []


def _by_root(trace: Trace) -> list[list[Parameter]]:
    """The trainable parameters of each model."""
    roots: dict[int, list[Parameter]] = {}
    for p in trace.parameters:
        if p.registered and p.module in trace.modules and p.requires_grad:
            roots.setdefault(trace.modules[p.module].root, []).append(p)
    return list(roots.values())


def _swapped(trace: Trace, number: int, held: list[Parameter]) -> list[Parameter]:
    """The parameters of a model that took the place of the trained one in the middle of the run: in no
    hands, and no step finds a new gradient since its passes began. One of other shapes is only
    meant to do so where the trained one is called no more."""
    shapes = sorted(p.shape for p in held if p.requires_grad)
    for parameters in _by_root(trace):
        if any(p.optimizers or p.steps or p.changed or p.taken for p in parameters):
            continue
        ids = {p.id for p in parameters}
        alike = sorted(p.shape for p in parameters) == shapes
        roots = set() if alike else {root_of(trace, p) for p in held}
        if _empty_steps_since(trace, number, ids, roots) >= 2:
            return parameters
    return []


def _empty_steps_since(trace: Trace, number: int, ids: set[int], roots: set[int | None]) -> int:
    """Steps of one optimizer without a new gradient since the first pass over `ids`; 0 where one of them
    had some, where the program itself wrote to these meanwhile, or called a model of `roots`."""
    empty = 0
    for repeat, event in since_filled(trace, ids):
        if isinstance(event, Step) and event.optimizer == number:
            if not event.states.keys() <= {"none", "zero", "used"}:
                return 0
            empty += repeat
        elif isinstance(event, Update) and event.parameter in ids:
            return 0
        elif isinstance(event, ModuleCall) and event.module in roots:
            return 0
    return empty


def _steps_since(trace: Trace, number: int, ids: set[int]) -> int:
    """Steps of one optimizer since the passes over `ids` began."""
    since = since_filled(trace, ids)
    return sum(repeat for repeat, e in since if isinstance(e, Step) and e.optimizer == number)


def _handed_on(p: Parameter) -> bool:
    """Whether all that came of many gradients is that others got them."""
    used = p.steps or p.updates or p.changed or p.optimizers
    return p.taken > 0 and p.passes >= HANDED_ON and not used


def _replaced(
    trace: Trace, held: list[Parameter], parameters: list[Parameter], left: list[Parameter]
) -> list[Parameter]:
    """What the optimizer still holds of what the model no longer has: it was never part of the
    model that runs, or goes by the name of a parameter that took its place."""
    names, ids = {p.name for p in left}, {p.id for p in left}
    root = {p.module for p in parameters}
    trains = filled_since(trace, ids)  # they have taken the place of what is left out
    found = []
    for p in held:
        gone = not p.registered and not p.passes and p.requires_grad
        if gone or (p.module in root and p.name in names and p.id not in ids | trains):
            found.append(p)
    return found


def _finding(
    trace: Trace, number: int, optimizer: Optimizer, orphans: list[Parameter], left: list[Parameter]
) -> Finding:
    ids = {p.id for p in left}
    effect = nearest_backward(trace, ids)
    names, passes = parameter_names(trace, [p.id for p in left]), max(p.passes for p in left)
    holder = optimizer_name(trace, number)
    other = _other_model(trace, optimizer, orphans, left)
    if other is not None:
        return _of_other_model(trace, number, optimizer, orphans, left, other)
    copied = _copied_for_each_pass(trace, optimizer, left)
    if copied is not None:
        return _of_copies(trace, number, optimizer, orphans, left, copied)
    return Finding(
        message=f"{holder} holds {plural(len(orphans), 'parameter')} that the training model does not have,"
        f" and misses {names}",
        cause=optimizer.site.user if optimizer.site else None,
        cause_label="was given parameters that the model no longer has"
        if optimizer.made
        else "works with parameters that the model no longer has",
        effect=effect.site.user if effect else None,
        effect_label="fills gradients that no optimizer knows",
        related=_made(left, optimizer),
        seen=(
            f"{plural(len(left), 'parameter')} got a gradient {passes} times and never changed;"
            f" the {plural(len(orphans), 'parameter')} that {holder} holds in their place got none",
        ),
        fix=f"copy what {holder} has changed back into {names} after each step, under `torch.no_grad()`"
        if any(p.steps for p in orphans) and all(_handed_on(p) for p in left)
        else f"complete the model before {located(trace, inside)}, which makes an optimizer of what it has then"
        if (inside := made_inside(trace, optimizer)) is not None
        else f"make {holder} anew, of the parameters that the model has now (it was {where_made(optimizer)}); or give"
        " the new ones to its `add_param_group`"
        if not optimizer.made
        else f"make {holder} ({where_made(optimizer)}) after the model is complete, before"
        f" {backward_text(trace, effect)}; or give the new parameters to its `add_param_group`",
        count=passes,
        edits=made_later(
            trace,
            optimizer.site.user if optimizer.site and optimizer.made else None,
            effect.site.user if effect else None,
            [p.site for p in left],
        ),
        subjects=parameter_subjects([*ids, *(p.id for p in orphans)]) | {("optimizer", number)},
        since=since_pass(trace, ids),
    )


def _other_model(
    trace: Trace, optimizer: Optimizer, orphans: list[Parameter], left: list[Parameter]
) -> tuple[str, str] | None:
    """The variables of the model whose parameters the optimizer was given and of the one that is trained,
    where that was there when the optimizer was made: it was given the wrong one."""
    roots = [{root_of(trace, p) for p in parameters} for parameters in (orphans, left)]
    modules = [
        trace.modules.get(n) if len(r) == 1 and (n := next(iter(r))) is not None else None for r in roots
    ]
    if (
        optimizer.site is None
        or not optimizer.made
        or modules[0] is None
        or modules[1] is None
        or modules[0] is modules[1]
    ):
        return None
    names = modules[0].name, modules[1].name
    there = all(names) and names[0] != names[1] and in_place_of(trace, optimizer.site.user, *names)
    return names if there else None


def _of_other_model(
    trace: Trace,
    number: int,
    optimizer: Optimizer,
    orphans: list[Parameter],
    left: list[Parameter],
    names: tuple[str, str],
) -> Finding:
    ids = {p.id for p in left}
    effect, holder = nearest_backward(trace, ids), optimizer_name(trace, number)
    given, trained = names
    passes = max(p.passes for p in left)
    return Finding(
        message=f"{holder} holds the parameters of `{given}`, while `{trained}` is trained: no step changes that",
        cause=optimizer.site.user if optimizer.site else None,
        cause_label=f"was given the parameters of `{given}`",
        effect=effect.site.user if effect else None,
        effect_label=f"fills the gradients of `{trained}`, which no optimizer knows",
        related=_made(left, optimizer),
        seen=(
            f"{plural(len(left), 'parameter')} of `{trained}` got a gradient {passes} times and never changed;"
            f" {plural(len(orphans), 'parameter')} of `{given}` got none from these passes",
        ),
        fix=f"give {holder} ({where_made(optimizer)}) `{trained}.parameters()` in place of `{given}`'s",
        count=passes,
        edits=in_place_of(trace, optimizer.site.user if optimizer.site else None, given, trained),
        subjects=parameter_subjects([*ids, *(p.id for p in orphans)]) | {("optimizer", number)},
        since=since_pass(trace, ids),
    )


def _copied_for_each_pass(trace: Trace, optimizer: Optimizer, left: list[Parameter]) -> Site | None:
    """The `deepcopy` that makes what is trained, where that lives for one pass only while steps go on."""
    site = next((p.site.user for p in left if p.site is not None), None)
    node = trace.source_file(site.path).at(site) if site is not None else None
    called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
    lasting = max(p.passes for p in left) > 1 or optimizer.steps <= FEW_STEPS
    return site if called.rpartition(".")[2] == "deepcopy" and not lasting else None


def _of_copies(
    trace: Trace,
    number: int,
    optimizer: Optimizer,
    orphans: list[Parameter],
    left: list[Parameter],
    copied: Site,
) -> Finding:
    ids = {p.id for p in left}
    effect, holder = nearest_backward(trace, ids), optimizer_name(trace, number)
    held = f"the {plural(len(orphans), 'parameter')} that {holder} holds"
    return Finding(
        message=f"the loss is computed with copies: no gradient comes back to {held}",
        cause=copied,
        cause_label="a copy has no graph that leads back to what it was made of",
        effect=effect.site.user if effect else None,
        effect_label="fills the gradients of the copies",
        related=((optimizer.site.user, "steps what was copied"),) if optimizer.site is not None else (),
        seen=(f"{plural(optimizer.steps, 'step')}, each with other copies; {held} never had a gradient",),
        why="the parameters of a deep copy are leaves of their own. Where they are to be changed and the change be"
        " learned through, as in meta learning, the changed ones have to be computed from the first",
        fix="compute with tensors made of the model's own parameters (`fast = p - lr * grad`, no write through"
        f" `.data`) and `torch.func.functional_call(model, fast, x)`, in place of {located(trace, copied)};"
        " or carry the copies' gradients over to the model's by hand before the step",
        count=optimizer.steps,
        subjects=parameter_subjects([*ids, *(p.id for p in orphans)]) | {("optimizer", number)},
        since=since_pass(trace, ids),
    )


def _made(left: list[Parameter], optimizer: Optimizer) -> tuple[tuple[Site, str], ...]:
    """Where the parameters that the optimizer misses came from."""
    site = next((p.site.user for p in left if p.site is not None), None)
    known = optimizer.site.user.location() if optimizer.site else None
    later = _made_later(left, optimizer)
    call = (
        ((later, "gives the model new parameters, after the optimizer was made"),)
        if later is not None
        else ()
    )
    if site is None or site.kind != "user" or site.location() == known:
        return call
    if later is not None and later.location() == site.location():
        return call
    return (*call, (site, "the model's parameters were made here"))


def _made_later(left: list[Parameter], optimizer: Optimizer) -> Site | None:
    """The line, in the function that made the optimizer and behind that, that made the new parameters."""
    made = optimizer.site.user if optimizer.site is not None else None
    for p in left if made is not None else ():
        for frame in p.site.stack if p.site is not None else ():
            if made is not None and (frame.path, frame.function) == (made.path, made.function):
                if frame.line > made.line and p.site is not None and frame.id != p.site.id:
                    return frame
    return None
