"""Two networks are mixed, parameter by parameter, and some of the pairs are one and the same parameter.

Why: a target network, or an average, has to stand still while the other one is trained. A part that both hold is
moved by each step of the optimizer in both of them, and the line that mixes them mixes it with itself.

Fix: give the second network a part of its own, `copy.deepcopy(part)`.

Measured: in one line of the program's own that writes to parameters while the run trains, some are written with what
another parameter holds, and others, which an optimizer steps, with nothing but what they hold themselves. Or all are
written with what they hold themselves, taken from them in two places: an optimizer steps them, or it holds them and
`requires_grad_(False)`, meant for the copy, has frozen them.
Silent on: shared parts that nothing trains, and lines that do the same to every parameter (weight decay by hand).
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from gradscope.analysis.ops import ALIASES
from gradscope.analysis.own_writes import assigned_from
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.text import nodes_of_functions, site_of
from gradscope.analysis.words import (
    code,
    located,
    optimizer_name,
    parameter_names,
    parameter_subjects,
    plural,
    where,
)
from gradscope.events import RequiresGrad, Update
from gradscope.fixes.copies import deepcopied
from gradscope.fixes.source import Source
from gradscope.model import Finding, Graph, Op, Parameter, Site
from gradscope.rules import rule
from gradscope.source import called_name, own_name
from gradscope.store import Trace

LISTING = ("parameters", "named_parameters", "state_dict")


def bad() -> None:  # fix: by hand
    import torch
    from torch import nn

    body = nn.Linear(3, 4)
    net = nn.Sequential(body, nn.ReLU(), nn.Linear(4, 1))
    target = nn.Sequential(body, nn.ReLU(), nn.Linear(4, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 3)
        with torch.no_grad():
            wanted = 1 + 0.9 * target(x)
        opt.zero_grad()
        (net(x) - wanted).pow(2).mean().backward()
        opt.step()
        with torch.no_grad():
            for p, q in zip(net.parameters(), target.parameters(), strict=True):
                q.mul_(0.9).add_(p, alpha=0.1)  # cause: GS219


def good() -> None:
    import copy

    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    target = copy.deepcopy(net)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 3)
        with torch.no_grad():
            wanted = 1 + 0.9 * target(x)
        opt.zero_grad()
        (net(x) - wanted).pow(2).mean().backward()
        opt.step()
        with torch.no_grad():
            for p, q in zip(net.parameters(), target.parameters(), strict=True):
                q.mul_(0.9).add_(p, alpha=0.1)


@dataclass
class _Mix:
    """What one line writes to parameters."""

    site: Site
    shared: dict[int, None] = field(default_factory=dict)  # written with nothing but themselves
    # the same, which an optimizer holds and cannot step
    frozen: dict[int, None] = field(default_factory=dict)
    apart: dict[int, None] = field(default_factory=dict)  # written with another one
    taken: tuple[Site, ...] = ()  # where the two sides of one were taken from their parameter


@rule("GS219", name="target-shares-parameters", severity="warning", needs=Update)
def target_shares_parameters(trace: Trace) -> Iterator[Finding]:
    written = {(event.parameter, event.site.user.location()) for event in trace.of(Update)}
    if not written:
        return
    known = paths(trace)
    mixes: dict[tuple[str, int], _Mix] = {}
    for graph in trace.graphs:
        for op in graph.ops:
            if op.writes and len(op.inputs) > 1:
                _count(known, graph, op, written, mixes)
    for event in trace.of(Update):
        if event.how == "assigned":
            _count_assigned(known, event, mixes)
    for mix in mixes.values():
        if mix.apart and mix.shared.keys() - mix.apart.keys() == mix.shared.keys() and mix.shared:
            yield _finding(trace, mix)
        elif (mix.shared or mix.frozen) and not mix.apart:
            sides = _sides(trace, mix)
            if len(sides) == 2:
                yield _one_network(trace, mix, sides)


def _count(
    known: Paths,
    graph: Graph,
    op: Op,
    written: set[tuple[int, tuple[str, int]]],
    mixes: dict[tuple[str, int], _Mix],
) -> None:
    site = op.site.user
    target = _parameters(known, graph, op.inputs[:1])
    if len(target) != 1 or (next(iter(target)), site.location()) not in written:
        return
    given = [value for index in op.inputs[1:] for value in (index, *graph.upstream(index))]
    sources = _parameters(known, graph, given)
    mix = mixes.setdefault(site.location(), _Mix(site))
    _sort(mix, known.parameters[next(iter(target))], sources)
    into = _taken(graph, op.inputs[0])
    if sources == target and into is not None and not mix.taken:
        sides = into, *(place for value in given if (place := _taken(graph, value)) is not None)
        mix.taken = tuple({side.location(): side for side in sides}.values())


def _count_assigned(known: Paths, event: Update, mixes: dict[tuple[str, int], _Mix]) -> None:
    """`q.data = 0.9 * q.data + 0.1 * p.data`: each of the two terms is made of one parameter."""
    op = assigned_from(known, event)
    if op is None or len(op.inputs) != 2:
        return
    graph, site = known.graph(op.graph), op.site.user
    terms = [_parameters(known, graph, (value, *graph.upstream(value))) for value in op.inputs]
    if all(len(term) == 1 for term in terms) and {event.parameter} in terms:
        mix = mixes.setdefault(site.location(), _Mix(site))
        _sort(mix, known.parameters[event.parameter], terms[0] | terms[1])


def _sort(mix: _Mix, parameter: Parameter, sources: set[int]) -> None:
    itself = sources == {parameter.id}
    if itself and parameter.optimizers and not parameter.requires_grad and not parameter.steps:
        mix.frozen[parameter.id] = None
    elif itself and parameter.steps and parameter.passes:
        mix.shared[parameter.id] = None
    elif sources - {parameter.id} and not parameter.steps:
        mix.apart[parameter.id] = None


def _taken(graph: Graph, value: int) -> Site | None:
    """Where a tensor was taken from what comes from outside, by `state_dict()` or `.data`; it may have been written to
    since."""
    maker = graph.maker(value)
    while maker is not None and value in maker.written:
        value = maker.writes[maker.written.index(value)]
        maker = graph.maker(value)
    return maker.site.user if maker is not None and maker.name in ALIASES else None


def _parameters(known: Paths, graph: Graph, values: Iterator[int] | tuple[int, ...] | list[int]) -> set[int]:
    found = (known.parameter_of((graph.id, known.memory(graph.id, value))) for value in values)
    return {p.id for p in found if p is not None}


def _finding(trace: Trace, mix: _Mix) -> Finding:
    shared, apart = list(mix.shared), list(mix.apart)
    names = parameter_names(trace, shared)
    it, its = ("it", "its") if len(shared) == 1 else ("them", "their")
    twice = _named_twice(trace, apart[0])
    given = site_of(*twice) if twice is not None else _given(trace, shared[0], apart[0])
    return Finding(
        message=f"{code(trace, mix.site, 'this line')} mixes {names} with {'itself' if it == 'it' else 'themselves'}:"
        f" both networks hold {it}",
        cause=given or mix.site,
        cause_label="the same part goes into both" if given else "both sides are one tensor for some",
        effect=mix.site if given else None,
        effect_label="both sides are one tensor for some",
        seen=(
            f"this line mixes {plural(len(apart), 'parameter')} with those of the other network, and"
            f" {plural(len(shared), 'parameter')}, which an optimizer steps, with {its} own values only",
        ),
        fix=f"give the second network a part of its own, as `copy.deepcopy(…)` makes it"
        f"{f', in {located(trace, given)}' if given else ''}: now each step of the optimizer changes {names} in both",
        edits=deepcopied(trace, given, twice[2]) if twice is not None and given is not None else (),
        count=1,
        subjects=parameter_subjects(shared),
    )


def _named_twice(trace: Trace, apart: int) -> tuple[str, str, ast.expr] | None:
    """The second of two assignments in a row that give one thing, which the function got or made, two names: where
    both then go into calls, the one of which makes the second network."""
    part = trace.modules.get(trace.parameter(apart).module or 0)
    root = trace.modules[part.root] if part is not None else None
    own = (root.variable or root.name).rpartition(".")[2] if root is not None else ""
    called = {own, part.path.partition(".")[0] if part is not None else ""}
    found = []
    for path, function, node in nodes_of_functions(trace, ast.Assign):
        file = trace.source_file(path)
        row = file.siblings(node)
        before = row[row.index(node) - 1] if row.index(node) else None
        if not isinstance(before, ast.Assign) or not isinstance(node.value, ast.Name):
            continue
        names = [
            target.id for one in (before, node) for target in one.targets if isinstance(target, ast.Name)
        ]
        if len(names) != 2 or ast.unparse(before.value) != node.value.id or node.value.id in names:
            continue
        given = {
            argument.id: own_name(one.targets[0])
            for one in row
            if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call)
            for argument in one.value.args
            if isinstance(argument, ast.Name)
        }
        if given.keys() >= set(names) and given[names[1]] in called - {given[names[0]]}:
            found.append((path, function, node.value))
    return found[0] if len(found) == 1 else None


def _sides(trace: Trace, mix: _Mix) -> list[str]:
    """What the two sides are the parameters or the state of, as the program writes it: in the loop around the line,
    which goes along both, or where each was taken."""
    file = trace.source_file(mix.site.path)
    loop = next((above for above in file.around(mix.site) if isinstance(above, ast.For)), None)
    found = {text for call in (ast.walk(loop.iter) if loop is not None else ()) if (text := _listed(call))}
    if len(found) != 2 and len(mix.taken) == 2:
        taken = [trace.source_file(site.path).at(site) for site in mix.taken]
        found = {text for call in taken if call is not None and (text := _listed(call))}
    return sorted(found)


def _listed(node: ast.AST) -> str:
    """`x` of `x.parameters()`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LISTING:
        return ast.unparse(node.func.value)
    return ""


def _one_network(trace: Trace, mix: _Mix, sides: list[str]) -> Finding:
    """Every parameter that the line writes to is mixed with itself."""
    mixed = [*mix.shared, *mix.frozen]
    names = parameter_names(trace, mixed)
    shallow = _shallow(trace)
    named = None if shallow else _second_name(trace, mixed[0]) or _bound(trace, mix.site, sides)
    place, value = (shallow[0] if shallow else named) or (None, None)
    given = ast.unparse(value) if value is not None else ""
    edits = deepcopied(trace, place, value) if place is not None and value is not None else ()
    if shallow:
        here = Source(trace, shallow[0][0].path)
        edits = tuple(edit for _, call in shallow for edit in here.replace(call.func, "copy.deepcopy"))
        given = ast.unparse(shallow[0][1].args[0])
    there = ""
    if place is not None and value is not None:
        name = trace.source_file(place.path).statement_of(value)
        there = (
            f"in place of {located(trace, place)}"
            if shallow
            else f"in `{ast.unparse(name or value)}` ({where(place)})"
        )
        there = f", {there}"
    frozen = [] if mix.shared else list(mix.frozen)
    froze = list(
        {
            e.site.user.location(): e.site.user
            for e in trace.of(RequiresGrad)
            if not e.to and e.leaf in frozen
        }.values()
    )
    holder = optimizer_name(trace, trace.parameter(mixed[0]).optimizers[0])
    line = located(trace, froze[0] if froze else None, "the line that freezes it")
    held = f"which {holder} holds and no pass gave a gradient" if frozen else "which an optimizer steps"
    return Finding(
        message=f"{code(trace, mix.site, 'this line')} mixes a network with itself: there are not two of them"
        + (f", and {holder} holds what was frozen as the copy" if frozen else ""),
        cause=place or mix.site,
        cause_label="copies the module, and not its parameters"
        if shallow
        else "a second name for the same network"
        if place
        else "both sides are one tensor",
        effect=mix.site if place else None,
        effect_label="both sides are one tensor",
        related=(
            *((site, "and here") for site, _ in shallow[1:]),
            *((site, "freezes the one network that there is") for site in froze),
        ),
        seen=(
            f"this line mixes {plural(len(mixed), 'parameter')}, {held}, with its own values"
            if len(mixed) == 1
            else f"this line mixes {len(mixed)} parameters, {held}, each with its own values",
        ),
        fix=f"make the second network one of its own: `copy.deepcopy({given or '…'})`{there}; as it is, "
        + (
            f"{line} keeps {names} from being trained"
            if frozen
            else f"each step of the optimizer changes {names} in both"
        ),
        edits=edits,
        count=1,
        subjects=parameter_subjects(mixed),
    )


def _shallow(trace: Trace) -> list[tuple[Site, ast.Call]]:
    """The calls of `copy.copy` that were given a module, as far as the text names it."""
    names = {module.variable.rpartition(".")[2] for module in trace.modules.values() if module.variable}
    return [
        (site_of(path, function, node), node)
        for path, function, node in nodes_of_functions(trace, ast.Call)
        if isinstance(node, ast.Call) and len(node.args) == 1 and own_name(node.args[0]) in names
        if trace.source_file(path).imported_name(node.func) == "copy.copy"
    ]


def _second_name(trace: Trace, parameter: int) -> tuple[Site, ast.expr] | None:
    """The one assignment that gives the network of a parameter another name, and the name that it had."""
    module = trace.modules.get(trace.parameter(parameter).module or 0)
    root = trace.modules[module.root] if module is not None else None
    name = root.variable.rpartition(".")[2] if root is not None and root.variable else ""
    found = [
        (site_of(path, function, node.value), node.value)
        for path, function, node in nodes_of_functions(trace, ast.Assign)
        if name and isinstance(node, ast.Assign) and isinstance(node.value, (ast.Name, ast.Attribute))
        if own_name(node.value) == name and isinstance(node.targets[0], (ast.Name, ast.Attribute))
        if own_name(node.targets[0]) != name
    ]
    return found[0] if len(found) == 1 else None


def _bound(trace: Trace, site: Site, sides: list[str]) -> tuple[Site, ast.expr] | None:
    """The one assignment in the file that makes one of the two sides a name for something else that has a name."""
    file = trace.source_file(site.path)
    values = [value for side in sides for value in file.assigned.get(side, ())]
    again = [value for value in values if ast.unparse(value) in sides]
    values = again if len(again) == 1 else values
    if len(values) != 1 or not isinstance(values[0], (ast.Name, ast.Attribute)):
        return None
    function = file.function_of(values[0])
    return site_of(site.path, function.name if function is not None else "<module>", values[0]), values[0]


def _given(trace: Trace, shared: int, apart: int) -> Site | None:
    """The one line in the text that can have put the shared part into the second network: an assignment from one
    to the other, or a call of its class with something made before."""
    part, root = (trace.modules.get(trace.parameter(id).module or 0) for id in (shared, apart))
    if part is None or root is None:
        return None
    name, cls = part.path.partition(".")[0], trace.modules[root.root].cls
    put, made = [], []
    for path, function, node in nodes_of_functions(trace, ast.Assign, ast.Call):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute) and node.value.attr == name:
            target = node.targets[0]
            if isinstance(target, ast.Attribute) and target.attr == name and name:
                put.append(site_of(path, function, node.value))
        elif isinstance(node, ast.Call) and called_name(node) == cls:
            if any(isinstance(given, (ast.Name, ast.Attribute)) for given in node.args):
                made.append(site_of(path, function, node))
    found = put or made
    return found[0] if len(found) == 1 else None
