"""A state that was kept to be loaded or saved later is no copy: it has changed with the model.

Why: `state_dict()` gives the model's own tensors, not copies. Training goes on writing to them, so that the state
kept of the best epoch is always that of the last one; to load it copies every tensor onto itself, and a file that
it is saved to holds the last weights. The same happens where a target network is not a copy of the online one but the
network itself, and where `model.state_dict(best)` stands for `model.load_state_dict(best)`: it puts the model's own
tensors into what was kept, and loads nothing.

Fix: keep a copy, `{name: value.clone() for name, value in model.state_dict().items()}`.

Silent on: states that are cloned, deep-copied, written to a file before the training goes on, loaded into another
model, or saved again and again where they were made before the first step; networks that the program itself writes to
through their state, as an average of weights is kept, where the load that follows copies what is there already.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.text import nodes_that_ran, site_of
from gradscope.analysis.words import code, located, parameter_names, parameter_subjects, plural, user, where
from gradscope.events import Backward, StateLoaded, StateSaved, StateWrittenOver, Step, Update
from gradscope.fixes.source import Source
from gradscope.model import Edit, Finding, Site
from gradscope.rules import rule
from gradscope.source import SourceFile, called_name, method_name
from gradscope.store import Trace

SHARING = {"detach", "cpu", "to", "contiguous"}  # methods that may give the same memory


def bad() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    best, kept = float("inf"), model.state_dict()
    for _ in range(4):
        opt.zero_grad()
        loss = model(torch.randn(8, 3)).pow(2).mean()
        loss.backward()
        opt.step()
        if loss.item() < best:
            best, kept = loss.item(), model.state_dict()  # cause: GS110
        opt.zero_grad()
        model(torch.ones(8, 3)).pow(2).mean().backward()
        opt.step()
    model.load_state_dict(kept)  # effect: GS110


def good() -> None:
    import copy

    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    kept = copy.deepcopy(model.state_dict())
    for _ in range(4):
        opt.zero_grad()
        loss = model(torch.randn(8, 3)).pow(2).mean()
        loss.backward()
        opt.step()
        torch.save(model.state_dict(), "/dev/null")
    model.load_state_dict(kept)


@rule(
    "GS110",
    name="state-is-no-copy",
    severity="error",
    over=("GS219",),
    needs=(StateLoaded, StateSaved, StateWrittenOver),
)
def state_is_no_copy(trace: Trace) -> Iterator[Finding]:
    places: dict[tuple[tuple[str, int], bool], list[StateLoaded]] = {}
    for event in trace.of(StateLoaded):
        places.setdefault((event.site.user.location(), event.moved), []).append(event)
    for (_, moved), events in places.items():
        trained = [e for e in events if e.passed and _trained(trace, e)]
        if moved and trained:
            yield _kept(trace, trained)
        elif not moved and trace.of(Backward) and sum(event.count for event in events) > 1:
            if not _written_by_hand(trace, events[0]):
                yield _onto_itself(trace, events)
    for over in trace.of(StateWrittenOver):
        yield from _written_over(trace, over)
    saved: dict[tuple[int | None, tuple[str, int]], list[StateSaved]] = {}
    for one in trace.of(StateSaved):
        saved.setdefault((one.made, one.site.user.location()), []).append(one)
    for told in saved.values():
        yield _saved(trace, told)


def _written_over(trace: Trace, event: StateWrittenOver) -> Iterator[Finding]:
    """`model.state_dict(kept)`, of which nothing takes what it gives."""
    here = Source(trace, event.site.user.path)
    call = here.file.at(event.site.user)
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or not call.args:
        return
    if not isinstance(here.file.parent.get(id(call)), ast.Expr):
        return
    model, kept = (here.file.operand(node) for node in (call.func.value, call.args[0]))
    names = parameter_names(trace, event.parameters)
    yield Finding(
        message=f"{code(trace, event.site.user)} loads nothing: it puts the model's own tensors into `{kept}`",
        cause=event.site.user,
        cause_label=f"writes to `{kept}`, not to the model",
        seen=(f"`{kept}` held other tensors for {names}, and holds the model's own from here on",),
        why="`state_dict()` gives what the module holds, and its argument is the dict that it writes to: what was kept"
        " there is lost, and the model keeps the weights that it has. `load_state_dict()` goes the other way",
        fix=f"write `{model}.load_state_dict({kept})` ({where(event.site.user)})",
        edits=here.replace(call.func, f"{model}.load_state_dict"),
        count=event.count,
        subjects=parameter_subjects(event.parameters),
    )


def _trained(trace: Trace, event: StateLoaded) -> bool:
    return any(p.passes or p.steps for p in map(trace.parameter, event.parameters))


def _written_by_hand(trace: Trace, event: StateLoaded) -> bool:
    """Whether the program writes to these parameters elsewhere, of no gradient of theirs."""
    return any(
        e.parameter in event.parameters
        and not e.used
        and e.site.user.location() != event.site.user.location()
        for e in trace.of(Update)
    )


def _kept(trace: Trace, events: list[StateLoaded]) -> Finding:
    event = events[0]
    made = user(trace.site(event.made)) or event.site.user
    names = parameter_names(trace, event.parameters)
    load = code(trace, event.site.user, "the load")
    fix, edits = _copy(trace, made)
    return Finding(
        message=f"{code(trace, made, 'the state')} keeps no copy: {load} brings back what training has made of it",
        cause=made,
        cause_label="gives the model's own tensors",
        effect=event.site.user,
        effect_label="copies each of them onto itself",
        seen=(
            f"all tensors of the loaded state lie in the memory of {names}, which was written to since it was kept",
        ),
        fix=fix,
        edits=edits,
        count=sum(event.count for event in events),
        subjects=parameter_subjects(event.parameters),
    )


def _saved(trace: Trace, events: list[StateSaved]) -> Finding:
    event = events[-1]
    made = user(trace.site(event.made)) or event.site.user
    save = code(trace, event.site.user, "the save")
    fix, edits = _copy(trace, made)
    return Finding(
        message=f"{code(trace, made, 'the state')} keeps no copy: {save} writes what training has made of it",
        cause=made,
        cause_label="gives the model's own tensors",
        effect=event.site.user,
        effect_label=f"saves them as they are {plural(event.steps, 'step')} later",
        seen=(
            f"{plural(event.moved, 'tensor')} of the saved state lie in the model's own memory, which was written to"
            " since it was kept",
        ),
        fix=fix,
        edits=edits,
        count=sum(one.count for one in events),
    )


def _copy(trace: Trace, made: Site) -> tuple[str, tuple[Edit, ...]]:
    here = Source(trace, made.path)
    node = here.file.at(made)
    taken = _taken_along(here.file, node)
    if taken is not None:
        text = f"{here.file.operand(taken)}.clone()"
        return (
            f"keep copies of the tensors ({where(made)}): `{text}` in place of `{here.file.text(taken)}`",
            (here.replace(taken, text)),
        )
    if not isinstance(node, ast.Call):
        return f"keep copies of the tensors: `value.clone()` in {located(trace, made, 'it')}", ()
    text = f"{{name: value.clone() for name, value in {here.file.text(node)}.items()}}"
    return f"keep a copy ({where(made)}): `{text}`", here.replace(node, text)


def _taken_along(file: SourceFile, node: ast.AST | None) -> ast.expr | None:
    """`v`, or `v.detach().cpu()`, of `{k: v for k, v in model.state_dict().items()}`, of the call of `state_dict()` in
    it."""
    items = file.parent.get(id(node))
    loop = file.parent.get(id(file.parent.get(id(items))))
    made = file.parent.get(id(loop))
    if not isinstance(items, ast.Attribute) or items.attr != "items":
        return None
    if not isinstance(loop, ast.comprehension) or not isinstance(made, ast.DictComp):
        return None
    pair = loop.target.elts if isinstance(loop.target, ast.Tuple) else []
    value = of = made.value
    while isinstance(of, ast.Call) and isinstance(of.func, ast.Attribute) and of.func.attr in SHARING:
        of = of.func.value
    same = len(pair) == 2 and isinstance(of, ast.Name) and ast.unparse(pair[1]) == of.id
    return value if same else None


def _onto_itself(trace: Trace, events: list[StateLoaded]) -> Finding:
    event = events[0]
    count = sum(event.count for event in events)
    names = parameter_names(trace, event.parameters)
    one = _made_one(trace, event.site.user)
    if one is not None:
        return _no_longer_two(trace, event, one, count, names)
    other = _meant(trace, event)
    if other:
        return _its_own(trace, event, other, count, names)
    made = user(trace.site(event.made))
    fix, edits = (
        _copy(trace, made)
        if made is not None and made.location() != event.site.user.location()
        else (
            f"make the network that {located(trace, event.site.user, 'this line')} writes to a copy: "
            "`copy.deepcopy(…)` of the other, once",
            (),
        )
    )
    return Finding(
        message=f"{code(trace, event.site.user, 'this load')} copies a network onto itself: there are not two of them",
        cause=event.site.user,
        cause_label="both sides are the same tensors",
        seen=(f"in {plural(count, 'load')} the state given was the memory of {names} itself",),
        fix=fix,
        edits=edits,
        count=count,
        severity="warning",
        subjects=parameter_subjects(event.parameters),
    )


def _meant(trace: Trace, event: StateLoaded) -> str:
    """What `target.load_state_dict(target.state_dict())` was to load, as the program writes it: the trained network of
    the same form from which `target` was once made. "" where there is none, or more than one."""
    load = event.site.user
    target = _loads_itself(trace.source_file(load.path).at(load))
    held = [trace.parameter(id) for id in event.parameters]
    trained = [p.shape for p in trace.parameters if p.steps]
    if target is None or any(p.steps for p in held) or not held:
        return ""
    if any(trained.count(p.shape) < [q.shape for q in held].count(p.shape) for p in held):
        return ""
    name = ast.unparse(target)
    found = {text for _, _, node in nodes_that_ran(trace, ast.AST) if (text := _copied_from(node, name))}
    return found.pop() if len(found) == 1 else ""


def _loads_itself(call: ast.AST | None) -> ast.expr | None:
    """`x` of `x.load_state_dict(x.state_dict())`."""
    given = call.args[0] if isinstance(call, ast.Call) and call.args else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    if method_name(given) != "state_dict" or not isinstance(given, ast.Call):
        return None
    own, other = call.func.value, given.func.value if isinstance(given.func, ast.Attribute) else None
    return other if other is not None and ast.unparse(own) == ast.unparse(other) else None


def _copied_from(node: ast.AST, name: str) -> str:
    """`x` where this is `name.load_state_dict(x.state_dict())` or `name = deepcopy(x)`."""
    if isinstance(node, ast.Assign) and called_name(node.value) == "deepcopy":
        copied = node.value.args[0] if isinstance(node.value, ast.Call) and node.value.args else None
        return ast.unparse(copied) if copied is not None and ast.unparse(node.targets[0]) == name else ""
    if method_name(node) != "load_state_dict" or not isinstance(node, ast.Call) or not node.args:
        return ""
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    given = node.args[0]
    if owner is None or ast.unparse(owner) != name or method_name(given) != "state_dict":
        return ""
    text = ast.unparse(given).removesuffix(".state_dict()")
    return text if text != name else ""


def _its_own(trace: Trace, event: StateLoaded, other: str, count: int, names: str) -> Finding:
    """The network of which a copy was meant is another one."""
    load = event.site.user
    target = _loads_itself(trace.source_file(load.path).at(load))
    own = ast.unparse(target) if target is not None else ""
    first = next((e for e in trace.of(Step)), None)
    return Finding(
        message=f"{code(trace, load, 'this load')} loads the state of `{own}` into itself: it stays as it was",
        cause=load,
        cause_label="both sides are the same tensors",
        effect=first.site.user if first is not None else None,
        effect_label=f"trains `{other}`, which `{own}` never follows",
        seen=(
            f"in {plural(count, 'load')} the state given was the memory of {names} itself, which no optimizer steps",
        ),
        why=f"a target network follows the trained one by taking its weights now and then; `{own}` keeps those that it"
        " had at the start, and whatever is computed with it never gets better",
        fix=f"load the state of the network that is trained: `{own}.load_state_dict({other}.state_dict())`"
        f" ({where(load)})",
        edits=Source(trace, load.path).replace(target, other) if target is not None else (),
        count=count,
        severity="warning",
        subjects=parameter_subjects(event.parameters),
    )


def _made_one(trace: Trace, load: Site) -> ast.Assign | None:
    """`self.target = self.online`, for the load `self.target.load_state_dict(self.online.state_dict())`."""
    file = trace.source_file(load.path)
    call = file.at(load)
    given = call.args[0] if isinstance(call, ast.Call) and call.args else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    if not isinstance(given, ast.Call) or not isinstance(given.func, ast.Attribute):
        return None
    sides = ast.unparse(call.func.value), ast.unparse(given.func.value)
    given_to = [
        node
        for path, _, node in nodes_that_ran(trace, ast.Assign)
        if path == load.path and ast.unparse(node.targets[0]) == sides[0]
    ]
    same = [node for node in given_to if ast.unparse(node.value) == sides[1]]
    return same[0] if len(same) == 1 and len(given_to) > 1 else None  # there were two


def _no_longer_two(trace: Trace, event: StateLoaded, one: ast.Assign, count: int, names: str) -> Finding:
    """The network's name was given to the other one."""
    load = event.site.user
    place = site_of(load.path, load.function, one.value)
    text = ast.unparse(one)
    target, online = ast.unparse(one.targets[0]), ast.unparse(one.value)
    here = Source(trace, load.path)
    return Finding(
        message=f"`{text}` makes one network of two: {code(trace, load, 'the load')} copies it onto itself",
        cause=place,
        cause_label=f"from here on `{target}` is `{online}` itself, and moves with each step of it",
        effect=load,
        effect_label="copies each tensor onto itself",
        seen=(f"in {plural(count, 'load')} the state given was the memory of {names} itself",),
        fix=f"take `{text}` ({where(place)}) out: {code(trace, load, 'the load')} has copied the weights already",
        edits=here.remove(one),
        count=count,
        severity="warning",
        subjects=parameter_subjects(event.parameters),
    )
