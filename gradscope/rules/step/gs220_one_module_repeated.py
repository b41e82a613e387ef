"""A list of layers holds one and the same layer in several places: all of them are one set of weights.

Why: `[Layer()] * n`, or `n * [Layer()]`, makes one layer and n references to it, and `copy.copy` of a module keeps its
parameters. The network is as deep as it looks, but its layers share their weights, which get the sum of n gradients.

Fix: `[Layer() for _ in range(n)]` makes n of them, `copy.deepcopy(layer)` a copy with weights of its own.

Measured: the places of a `Sequential`, `ModuleList` or `ModuleDict` that hold the same weights, or those of any module
that hold shallow copies of one layer, and how often a pass uses these.
Silent on: one layer that is called in a loop, layers without weights, and lists of a module that has a name: who writes
so has one layer in mind.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from gradscope.analysis.keeping import assigned
from gradscope.analysis.own_functions import results
from gradscope.analysis.reach import paths
from gradscope.analysis.text import nodes_of_functions, nodes_that_ran, site_of
from gradscope.analysis.words import code, located, parameter_names, parameter_subjects, plural
from gradscope.events import RepeatedPart
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.source import called_name
from gradscope.store import Trace

Walk = Callable[..., Iterator[tuple[str, str, Any]]]  # over the program's text


def bad() -> None:
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + torch.tanh(self.linear(x))  # effect: GS220

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList([Block()] * 3)  # cause: GS220

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for block in self.blocks:
                x = block(x)
            return x

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    block = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    model = nn.Sequential(*[block] * 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


class _Repeated(NamedTuple):
    """Where the text repeats a layer, and what to write in its place."""

    site: Site
    new: str
    edits: Edits


@rule("GS220", name="one-module-repeated", severity="warning", needs=RepeatedPart)
def one_module_repeated(trace: Trace) -> Iterator[Finding]:
    told: set[tuple[str, int]] = set()
    for event in trace.of(RepeatedPart):
        found = _written(trace, event, nodes_that_ran) or _written(trace, event, nodes_of_functions)
        used = _uses(trace, event)
        if len(found) == 1 and len(used) > 1 and found[0].site.location() not in told:
            told.add(found[0].site.location())
            yield _finding(trace, event, found[0], used)


def _written(trace: Trace, event: RepeatedPart, walk: Walk) -> list[_Repeated]:
    """A function that only puts modules together leaves nothing in the trace: then all of the text is looked at."""
    if event.one:
        return _where_made(trace, event, list(_one_layer(trace, event.cls, walk)))
    copies = _shallow_copies(trace, walk)
    if event.made is None:
        return list(copies)
    place = trace.site(event.made)
    made = place.user if place is not None else None
    if made is None:
        return []
    return [one for one in copies if (one.site.path, one.site.line) == (made.path, made.line)][:1]


def _where_made(trace: Trace, event: RepeatedPart, found: list[_Repeated]) -> list[_Repeated]:
    """Those in whose lines the layer's parameters were made, where the run was watched then."""
    made = next((p.site for p in trace.parameters if p.id in event.parameters and p.site is not None), None)
    if made is None or not any(
        frame.kind == "torch" and frame.function.endswith("__init__") for frame in made.stack
    ):
        return found
    lines = [(frame.path, frame.line) for frame in made.stack if frame.kind == "user"]
    return [
        one
        for one in found
        if any(path == one.site.path and one.site.line <= line <= one.site.end_line for path, line in lines)
    ]


def _one_layer(trace: Trace, cls: str, walk: Walk) -> Iterator[_Repeated]:
    """Each `[Layer(…)] * n` or `n * [Layer(…)]` with a layer of this class, each `dict.fromkeys(names, Layer(…))`, and
    each `itertools.repeat(Layer(…), n)`."""
    for path, function, node in walk(trace, ast.BinOp):
        sides = [(node.left, node.right), (node.right, node.left)] if isinstance(node.op, ast.Mult) else []
        for several, number in sides:
            made = several.elts if isinstance(several, ast.List | ast.Tuple) else []
            if any(_makes(trace, part, cls) for part in made):
                here = Source(trace, path)
                yield _anew(here, function, node, [here.file.text(part) for part in made], number)
    for path, function, node in walk(trace, ast.Call):
        given = node.args[1:] if ast.unparse(node.func) == "dict.fromkeys" else []
        if len(given) == 1 and _makes(trace, given[0], cls):
            here = Source(trace, path)
            keys, layer = (here.file.text(part) for part in node.args)
            text = f"{{name: {layer} for name in {keys}}}"
            yield _Repeated(site_of(path, function, node), " ".join(text.split()), here.replace(node, text))
        here = Source(trace, path)
        if here.file.imported_name(node.func) == "itertools.repeat" and len(node.args) == 2:
            if _makes(trace, node.args[0], cls):
                yield _anew(here, function, node, [here.file.text(node.args[0])], node.args[1])


def _anew(here: Source, function: str, node: ast.expr, layers: list[str], number: ast.expr) -> _Repeated:
    """A list that makes these layers anew, that many times."""
    times = here.file.text(number)
    text = f"[{layers[0]} for _ in range({times})]"
    if len(layers) > 1:
        text = f"[part for _ in range({times}) for part in ({', '.join(layers)})]"
    return _Repeated(site_of(here.path, function, node), " ".join(text.split()), here.replace(node, text))


def _makes(trace: Trace, part: ast.expr, cls: str) -> bool:
    """Whether it is a call of this class, or of a function of the program's that gives one."""
    name = called_name(part)
    functions = (node for _, _, node in nodes_of_functions(trace, ast.FunctionDef) if node.name == name)
    return name == cls or (bool(name) and any(_gives(function, cls) for function in functions))


def _gives(function: ast.FunctionDef, cls: str) -> bool:
    """Whether each `return` of it gives a call of that class, or a name that was given one."""
    made = {
        name
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and called_name(node.value) == cls
        for name in assigned(node)
    }
    values = results(function)
    return bool(values) and all(called_name(v) == cls or getattr(v, "id", "") in made for v in values)


def _shallow_copies(trace: Trace, walk: Walk) -> Iterator[_Repeated]:
    """Each `copy.copy(…)` of the program's text."""
    for path, function, node in walk(trace, ast.Call):
        here = Source(trace, path)
        if here.file.imported_name(node.func) == "copy.copy":
            by_name = not isinstance(node.func, ast.Attribute)  # then `deepcopy` need not be imported
            new = "copy.deepcopy" if by_name else here.file.text(node.func).removesuffix("copy") + "deepcopy"
            text = f"{new}({', '.join(here.file.text(given) for given in node.args)})"
            edits = () if by_name else here.replace(node.func, new)
            yield _Repeated(site_of(path, function, node), text, edits)


def _uses(trace: Trace, event: RepeatedPart) -> list[Op]:
    """The calls with the first parameter of the layer, in the pass in which there are the most: of one line where the
    places hold several objects, which may share what they hold on purpose."""
    found: list[Op] = []
    for backward in paths(trace).backwards:
        graph, lines = trace.graph(backward.graph), dict[tuple[str, int], list[Op]]()
        own = {value.index for value in graph.values if value.parameter in event.parameters[:1]}
        for op in graph.ops if own else ():
            if not own.isdisjoint(op.inputs):
                lines.setdefault(("", 0) if event.one else op.site.user.location(), []).append(op)
        found = max([found, *lines.values()], key=len)
    return found


def _finding(trace: Trace, event: RepeatedPart, found: _Repeated, used: list[Op]) -> Finding:
    names, times = parameter_names(trace, event.parameters), plural(len(used), "time")
    line = used[0].site.user
    return Finding(
        message=f"{code(trace, found.site, 'this list')} makes one `{event.cls}` with one set of weights, for"
        f" {len(event.names)} places",
        cause=found.site,
        cause_label=f"one `{event.cls}`, and references to it"
        if event.one
        else "keeps the parameters of the first",
        effect=line if line.location() != found.site.location() else None,
        effect_label=f"used {times} in one pass",
        seen=(
            f"the places {', '.join(event.names[:4])}{' …' if event.names[4:] else ''} of one module hold"
            f" {'one module' if event.one else 'modules with the same parameters'}; its"
            f" {plural(len(event.parameters), 'parameter')} ({names}) took part {times} in a pass",
        ),
        fix=f"write `{found.new}` in place of {located(trace, found.site)}: each then has weights of its own",
        edits=found.edits,
        subjects=parameter_subjects(event.parameters),
    )
