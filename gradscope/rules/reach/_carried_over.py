"""Values that brought the graph of an earlier step into a pass, and how to stop that. (GS306)

A state is made anew in each step from its own last value: it is to be cut once, where a step begins or
ends, not between the time steps of one forward. What was made once is to be made anew where it depends
on something that is trained, and needs no graph where it does not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.analysis.carried import Carried, all_carried
from gradscope.analysis.loop import steps_between
from gradscope.analysis.names import name_of, names_of, place, short_path
from gradscope.analysis.reach import Key, Paths
from gradscope.analysis.since import since_segment
from gradscope.analysis.words import (
    code,
    dotted,
    listed,
    located,
    optimizer_name,
    parameter_name,
    parameter_names,
    plural,
    quoted,
)
from gradscope.events import ErrorRaised, Step
from gradscope.fixes.calls import beside, line_after, line_before, under_no_grad
from gradscope.fixes.source import Edits, Source
from gradscope.model import Graph, Op, Parameter, Site, place_of
from gradscope.source import LOOPS
from gradscope.store import Trace

_VARIABLES = (ast.Name, ast.Attribute, ast.Subscript)


@dataclass(frozen=True)
class CarriedOver:
    """What brought an old graph along, with the repair."""

    names: tuple[str, ...]
    cause: Site
    label: str
    related: tuple[tuple[Site, str], ...]
    seen: tuple[str, ...]
    fix: str
    edits: Edits
    leaves: tuple[Site, ...] = ()  # where what asks for a gradient without need was made


def carried_over(trace: Trace, known: Paths, event: ErrorRaised) -> CarriedOver | None:
    """What the failing pass of `event` found of an earlier step; None where nothing is known of it."""
    carried = [c for c in all_carried(known, event) if known.maker(_old(known, event, c)) is not None]
    if not carried:
        return None
    states = [state for one in carried if (state := _state(trace, known, event, one)) is not None]
    if states:
        return _of_state(trace, known, event, states)
    once = [one for one in carried if not _made_again(known, event, one)]
    return _made_once(trace, known, event, once) if once else _of_others(trace, known, event, carried)


def _old(known: Paths, event: ErrorRaised, carried: Carried) -> Key:
    """The value whose graph an earlier pass had been through: it, or what it was computed from."""
    key = known.made((event.graph, carried.value.index))
    return known.nearest(key, _earlier_nodes(known, event)) or key


def _earlier_nodes(known: Paths, event: ErrorRaised) -> frozenset[Key]:
    line = event.site.user.location()
    passes = [e for e in known.backwards if e.segment <= event.segment and e.site.user.location() == line]
    return known.reach((e.graph, root) for e in passes[-1:] for root in e.roots).nodes


# -- a state that each step makes from its own last value ------------------------------


@dataclass(frozen=True)
class _State:
    names: tuple[str, ...]
    site: Site  # the user's line that takes it in and keeps its new value
    carried: Carried
    maker: Op


def _state(trace: Trace, known: Paths, event: ErrorRaised, carried: Carried) -> _State | None:
    maker = known.maker(_old(known, event, carried))
    assert maker is not None, "asked only for what was seen being made"
    own = name_of(trace, known.graph(event.graph), carried.value.index)
    made = {_line(trace, frame) for frame in maker.site.stack if frame.kind == "user"}
    for reader in carried.readers:
        for frame in _since_apart(reader.site, event.site):
            names = _read_and_kept(trace, frame)
            if _line(trace, frame) not in made:
                names = [name for name in names if name == own]
            if names:
                return _State(tuple(names), frame, carried, maker)
    return None


def _since_apart(site: Site, other: Site) -> Iterator[Site]:
    """The user's frames of `site`, outermost first, from where its stack leaves that of `other`."""
    shared = {(frame.id, frame.location()) for frame in other.stack}
    return (f for f in site.stack if f.kind == "user" and (f.id, f.location()) not in shared)


def _line(trace: Trace, site: Site) -> tuple[str, int]:
    statement = trace.source_file(site.path).statement(site)
    return site.path, statement.lineno if statement is not None else site.line


def _read_and_kept(trace: Trace, site: Site) -> list[str]:
    """`h` of `out, h = cell(x, h)`, the statement at `site`."""
    statement = trace.source_file(site.path).statement(site)
    if isinstance(statement, ast.AugAssign):
        return [ast.unparse(statement.target)]
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is None:
        return []
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    kept = [
        ast.unparse(n)
        for target in targets
        for n in ast.walk(target)
        if isinstance(n, _VARIABLES) and isinstance(n.ctx, ast.Store)
    ]
    read = {ast.unparse(n) for n in ast.walk(statement.value) if isinstance(n, _VARIABLES)}
    return [name for name in dict.fromkeys(kept) if name in read]


def _of_state(trace: Trace, known: Paths, event: ErrorRaised, states: list[_State]) -> CarriedOver:
    first = states[0]
    same = [s for s in states if s.site.location() == first.site.location()]
    names = tuple(dict.fromkeys(name for s in same for name in s.names))
    several = len(names) == 1 and any(
        (s.maker.site, s.maker.module) == (first.maker.site, first.maker.module) for s in same[1:]
    )
    times = _times(known.graph(event.graph), first.carried.readers[0])
    made = first.maker.site.user
    fix, edits = _cut(trace, event, same, names, several, times)
    seen = (
        f"{code(trace, first.carried.readers[0].site.user, 'that line')} ran {plural(times, 'time')} in this "
        "step: only the first read a value of the step before",
    )
    return CarriedOver(
        names,
        first.site,
        f"takes {_all(names)} as the step before left it, with its graph",
        ((made, "made here in the step before"),) if _line(trace, made) != _line(trace, first.site) else (),
        seen if times > 1 else (),
        fix,
        edits,
    )


def _times(graph: Graph, reader: Op) -> int:
    """How often the line that takes a state in ran for it in this step."""
    line = reader.site.user
    return sum(
        op.name == reader.name and op.module == reader.module and op.site.user == line for op in graph.ops
    )


def _cut(
    trace: Trace, event: ErrorRaised, states: list[_State], names: tuple[str, ...], several: bool, times: int
) -> tuple[str, Edits]:
    """Where to cut it, in words and as edits."""
    site, effect = states[0].site, event.site.user
    lines = [_detached(name, several) for name in names]
    held = list(
        dict.fromkeys(f"{_holder(trace, s)}.{n[5:]}" for s in states for n in names if n[:5] == "self.")
    )
    in_loop = beside(trace, site, effect)
    empty = any(_begins_empty(trace, site.path, name) for name in names)
    if held and not in_loop and (empty or times > 1):
        known = not any(name.startswith("self.") for name in held)
        text = f"`{_detached(held[0], several)}`"
        others = f", and the same for {listed([f'`{name}`' for name in held[1:]])}" if held[1:] else ""
        edits = _after(trace, effect, [_detached(n, several) for n in held]) if known else ()
        between = (
            f". Not at {located(trace, site)} itself, which needs the graph between the time steps of one forward"
            if times > 1
            else ""
        )
        return (
            f"cut it once in each step, after {located(trace, effect)}: {text}{others}; "
            f"{_anew(trace, states[0], event)}{between}",
            edits if _in_scope(trace, effect, held) else (),
        )
    here = Source(trace, site.path)
    block = here.block(site, keep_out=[effect]) if in_loop else here.file.statement(site)
    if empty:
        return (
            f"detach what is carried over: `{lines[0]}` after {located(trace, effect)}",
            _after(trace, effect, lines) if in_loop else (),
        )
    shown = located(trace, site)
    if block is not None and block.lineno != (here.file.statement(site) or block).lineno:
        shown = f"`{here.file.lines[block.lineno - 1].strip().removesuffix(':')}` ({_at(site, block)})"
    return (
        f"detach what is carried over: {' and '.join(f'`{line}`' for line in lines)} before {shown}",
        tuple(e for line in lines for e in here.before(block, line)) if all(map(_plain, names)) else (),
    )


def _after(trace: Trace, site: Site, lines: list[str]) -> Edits:
    return tuple(edit for line in lines for edit in line_after(trace, site, line))


def _detached(name: str, several: bool) -> str:
    return f"{name} = tuple(h.detach() for h in {name})" if several else f"{name} = {name}.detach()"


def _at(site: Site, statement: ast.stmt) -> str:
    return place_of(short_path(site.path), statement.lineno)


def _plain(name: str) -> bool:
    return name.replace(".", "").isidentifier()


def _holder(trace: Trace, state: _State) -> str:
    """`net[2]`, the module whose state it is, as the program calls it outside; "self" where unknown."""
    module = trace.modules.get(state.carried.readers[0].module or 0)
    while module is not None and module.cls != _class(trace, state.site):
        module = trace.modules.get(module.parent) if module.parent is not None else None
    root = trace.modules.get(module.root) if module is not None else None
    return dotted(root.name, module.path) if module is not None and root is not None and root.name else "self"


def _class(trace: Trace, site: Site) -> str:
    around = trace.source_file(site.path).around(site)
    return next((node.name for node in around if isinstance(node, ast.ClassDef)), "")


def _in_scope(trace: Trace, site: Site, names: list[str]) -> bool:
    """Whether the variables that these begin with are assigned in the function at `site`, or given to it."""
    scope = trace.source_file(site.path).scope(site)
    bound = {n.id for n in ast.walk(scope) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    bound |= {n.arg for n in ast.walk(scope) if isinstance(n, ast.arg)}
    return all(name.replace("[", ".").partition(".")[0] in bound for name in names)


def _begins_empty(trace: Trace, path: str, name: str) -> bool:
    """Whether the program somewhere assigns None to it."""
    for node in ast.walk(trace.source_file(path).tree or ast.Module([], [])):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                pairs = [(target, node.value)]
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = list(zip(target.elts, node.value.elts, strict=False))
                if any(
                    ast.unparse(t) == name and isinstance(v, ast.Constant) and v.value is None
                    for t, v in pairs
                ):
                    return True
    return False


def _anew(trace: Trace, state: _State, event: ErrorRaised) -> str:
    """What begins anew: the method of its class that sets the state, at the start of a step."""
    start = next(_since_apart(state.site, event.site), None)
    where = f" before {located(trace, start)}" if start is not None and start != state.site else ""
    for node in trace.source_file(state.site.path).around(state.site):
        if isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and method.name not in (
                    "__init__",
                    state.site.function,
                ):
                    if _assigns(method, state.names):
                        there = f"`{method.name}()` ({_at(state.site, method)})"
                        return f"or, where no batch goes on from the last one, call {there}{where}"
    return f"or, where no batch goes on from the last one, set it anew{where}"


def _assigns(method: ast.FunctionDef, names: tuple[str, ...]) -> bool:
    return any(
        isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store) and ast.unparse(n) in names
        for n in ast.walk(method)
    )


# -- what was made once ----------------------------------------------------------------


@dataclass(frozen=True)
class _Made:
    name: str
    site: Site  # where it is kept under that name
    key: Key


def _made_again(known: Paths, event: ErrorRaised, carried: Carried) -> bool:
    """Whether the line that made it ran in the failing step too."""
    maker = known.maker(_old(known, event, carried))
    graph = known.graph(event.graph)
    return maker is not None and any(
        op.site.user.location() == maker.site.user.location() for op in graph.ops
    )


def _made(trace: Trace, known: Paths, event: ErrorRaised, carried: Carried) -> _Made:
    key = number, index = _old(known, event, carried)
    graph = known.graph(number)
    maker = known.maker(key)
    assert maker is not None, "asked only for what was seen being made"
    found = names_of(trace).assignment(graph, maker, graph.values[index])
    effect = event.site.user
    beside_it = (f for f in maker.site.stack if (f.path, f.function) == (effect.path, effect.function))
    itself = known.made((event.graph, carried.value.index)) == key
    name = name_of(trace, *(known.graph(event.graph), carried.value.index) if itself else (graph, index))
    return _Made(*found, key) if found is not None else _Made(name, next(beside_it, maker.site.entry), key)


def _made_once(trace: Trace, known: Paths, event: ErrorRaised, carried: list[Carried]) -> CarriedOver:
    made = [_made(trace, known, event, one) for one in carried]
    names = tuple(dict.fromkeys(one.name for one in made))
    reach = known.reach(one.key for one in made)
    leaves = {p.id: p for key in reach.leaves if (p := known.parameter_of(key)) is not None}
    leaves |= {id: known.parameters[id] for id in reach.parameters if id in known.parameters}
    needed = [p for p in leaves.values() if _needed(p)]
    rested = [p for p in needed if _rests(trace, known, event, p, made)]
    if needed and len(rested) == len(needed) and reach.complete:
        return _made_for_others(trace, known, event, carried, made, rested)
    sites = list({one.site.location(): one.site for one in made}.values())
    related = [(site, "made in an earlier step, with its graph") for site in sites[1:]]
    readers = list({r.site.user.location(): r.site.user for one in carried for r in one.readers}.values())
    related += [(site, "brought the old graph into this step") for site in readers]
    begins: list[Site] = []
    if leaves and not needed and reach.complete:
        fix, edits, begins = _without_graph(trace, made, list(leaves.values()))
        related += [(site, "asks for the gradient, and the graph begins here") for site in begins]
    else:
        fix, edits = _in_each_step(trace, event, made, needed)
    return CarriedOver(
        names,
        sites[0],
        "made in an earlier step, with its graph",
        tuple(related),
        _when(trace, known, made),
        fix,
        edits,
        tuple(begins),
    )


def _needed(parameter: Parameter) -> bool:
    """Whether somebody wants its gradient: an optimizer, a module, or a line that reads it."""
    held = parameter.optimizers or parameter.module is not None
    return bool(held or parameter.reads or parameter.taken or parameter.handed)


def _rests(trace: Trace, known: Paths, event: ErrorRaised, parameter: Parameter, made: list[_Made]) -> bool:
    """Whether only other parameters are trained since these values were made: an optimizer has stepped, and none
    that holds this one, nor does any in the loop around the failing pass."""
    if parameter.reads or parameter.taken or parameter.handed or parameter.updates:
        return False
    numbers = {known.made(one.key)[0] for one in made}
    first = max((s.index for s in trace.segments if s.graph in numbers), default=None)
    if first is None:
        return False
    held = set(parameter.optimizers)
    since = {step.optimizer for _, step in steps_between(trace, first)}
    if not since or since & held or not all(trace.optimizers[number].steps for number in held):
        return False  # one that is still to step may use what this pass gives
    steps = [step for step in trace.of(Step) if step.optimizer in held]
    for frame in event.site.stack:
        loop = trace.source_file(frame.path).outermost_loop(frame) if frame.kind == "user" else None
        if any(_within(loop, frame, other) for step in steps for other in step.site.stack):
            return False
    return True


def _within(loop: ast.stmt | None, frame: Site, other: Site) -> bool:
    """Whether `other` stands in this loop around `frame`, where that is one."""
    span = (loop.lineno, loop.end_lineno or loop.lineno) if isinstance(loop, LOOPS) else (0, 0)
    return other.path == frame.path and span[0] <= other.line <= span[1]


def _made_for_others(
    trace: Trace,
    known: Paths,
    event: ErrorRaised,
    carried: list[Carried],
    made: list[_Made],
    leaves: list[Parameter],
) -> CarriedOver:
    """What a network gave once, of which none of the parameters is trained any more: it needs no graph."""
    effect, graph = event.site.user, known.graph(event.graph)
    sites = []
    for one in made:
        maker = known.maker(one.key)
        assert maker is not None, "asked only for what was seen being made"
        here = (f for f in maker.site.stack if (f.path, f.function) == (effect.path, effect.function))
        sites.append(next(here, maker.site.entry))
    names = tuple(dict.fromkeys(name_of(trace, graph, one.value.index) for one in carried))
    readers = list({r.site.user.location(): r.site.user for one in carried for r in one.readers}.values())
    related = [(site, "made once, with its graph") for site in sites[1:]]
    related += [(site, "brought the old graph into this step") for site in readers]
    holders = {number for p in leaves for number in p.optimizers}
    held = listed([optimizer_name(trace, number) for number in sorted(holders)])
    return CarriedOver(
        names,
        sites[0],
        "made once, with its graph",
        tuple(related),
        (
            f"no step has used a gradient of {parameter_names(trace, [p.id for p in leaves])} since then"
            + (
                f": {held} {'has' if len(holders) == 1 else 'have'} not stepped"
                if held
                else ", and no optimizer has them"
            ),
        ),
        f"compute {_all(names)} without a graph, under `torch.no_grad()`:"
        f" {' and '.join(dict.fromkeys(located(trace, site) for site in sites))}; or `.detach()` it there",
        tuple(edit for site in dict.fromkeys(sites) for edit in under_no_grad(trace, site)),
    )


def _when(trace: Trace, known: Paths, made: list[_Made]) -> tuple[str, ...]:
    number = known.made(made[0].key)[0]
    segment = next((s.index for s in trace.segments if s.graph == number), None)
    step = since_segment(trace, segment) if segment is not None else None
    names = _all(tuple(dict.fromkeys(one.name for one in made)))
    return (
        (f"{names} {'were' if len(made) > 1 else 'was'} not made again after step {step.step}",)
        if step
        else ()
    )


def _in_each_step(
    trace: Trace, event: ErrorRaised, made: list[_Made], needed: list[Parameter]
) -> tuple[str, Edits]:
    effect = event.site.user
    names = tuple(dict.fromkeys(one.name for one in made))
    places = " and ".join(dict.fromkeys(located(trace, one.site) for one in made))
    trained = [p for p in needed if p.optimizers or p.module is not None]
    leaf = next(iter(trained or needed), None)
    because = "keep it without its graph (`.detach()`) if it is not to be trained"
    if leaf is not None:
        wanted = "which is trained" if trained else "whose gradient the program reads"
        because = f"the graph is needed, since it goes to `{parameter_name(trace, leaf.id)}`, {wanted}"
    edits: Edits = ()
    condition = _condition(trace, made[0].site)
    if condition is not None:
        here = Source(trace, made[0].site.path)
        text = " ".join(here.file.text(condition.test).split())
        how = f", which {quoted(f'if {text}')} ({_at(made[0].site, condition)}) left out in this step"
        name = parameter_name(trace, leaf.id) if leaf is not None else ""
        if name.isidentifier() and _in_scope(trace, made[0].site, [name]):
            how += f": add `or {name}.requires_grad` to it"
            edits = here.append(condition.test, f" or {name}.requires_grad")
    elif beside(trace, made[0].site, effect):
        how = ", inside the loop"
    else:
        how = ""
    return f"compute {_all(names)} anew in each step: {places}{how}; {because}", edits


def _condition(trace: Trace, site: Site) -> ast.If | None:
    """The `if` around `site` in its function, which lets it be made."""
    file = trace.source_file(site.path)
    inner: ast.AST | None = None
    for node in file.around(site):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return None
        if isinstance(node, ast.If) and inner in node.body:
            return node
        inner = node
    return None


def _without_graph(trace: Trace, made: list[_Made], leaves: list[Parameter]) -> tuple[str, Edits, list[Site]]:
    begins = [leaf.site.user for leaf in leaves if leaf.site is not None]
    asked = listed(
        [
            f"`{parameter_name(trace, leaf.id)}`{f' ({place(leaf.site.user)})' if leaf.site else ''}"
            for leaf in leaves
        ]
    )
    places = " and ".join(dict.fromkeys(located(trace, one.site) for one in made))
    edits: Edits = ()
    for one in {m.site: m for m in made}.values():
        here = Source(trace, one.site.path)
        node = here.file.at(one.site)
        if isinstance(node, (ast.BinOp, ast.UnaryOp)):
            edits += here.insert(node, "(") + here.append(node, ").detach()")
        elif isinstance(node, (ast.Call, ast.Attribute, ast.Subscript)):
            edits += here.append(node, ".detach()")
    them = ("it", "its gradient") if len(leaves) == 1 else ("them", "their gradients")
    return (
        f"detach {_all(tuple(dict.fromkeys(m.name for m in made)))} where it is made: `.detach()` behind {places}; "
        f"or make {asked} without `requires_grad`: no optimizer holds {them[0]} and nothing reads {them[1]}",
        edits,
        begins,
    )


# -- anything else ---------------------------------------------------------------------


def _of_others(trace: Trace, known: Paths, event: ErrorRaised, carried: list[Carried]) -> CarriedOver:
    made = [_made(trace, known, event, one) for one in carried]
    reader = carried[0].readers[0].site.user
    graph = known.graph(event.graph)
    names = tuple(dict.fromkeys(name_of(trace, graph, one.value.index) for one in carried))
    lines = [_detached(name, False) for name in names]
    shown = " and ".join(f"`{line}`" for line in lines) if all(map(_plain, names)) else _all(names)
    known_there = all(map(_plain, names)) and not any(_begins_empty(trace, reader.path, n) for n in names)
    edits = tuple(e for line in lines for e in line_before(trace, reader, line)) if known_there else ()
    return CarriedOver(
        names,
        made[0].site,
        "made in an earlier step, with its graph",
        ((reader, "brought the old graph into this step"),),
        (),
        f"detach what is carried over: {shown} before {located(trace, reader, 'it is used')}",
        edits,
    )


def _all(names: tuple[str, ...]) -> str:
    return listed([f"`{name}`" for name in names])
