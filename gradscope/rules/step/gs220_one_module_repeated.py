"""A list of layers holds one module several times: all of them are one set of weights.

Why: `[Layer()] * n` makes one layer and n references to it. The network is as deep as it looks, but its layers
share their weights, which get the sum of n gradients.

Fix: `[Layer() for _ in range(n)]` makes n of them.

A note, since sharing may be meant. Silent on: one layer that is called in a loop, and lists of a module that has a
name: who writes so has one layer in mind.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.calls import is_part_of
from gradscope.analysis.reach import paths
from gradscope.analysis.text import nodes_of_functions, site_of
from gradscope.analysis.words import code, located, parameter_names, parameter_subjects, plural
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Module, Op, Site
from gradscope.rules import rule
from gradscope.source import called_name
from gradscope.store import Trace

CONTAINERS = ("ModuleList", "Sequential")


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


@rule("GS220", name="one-module-repeated", severity="note")
def one_module_repeated(trace: Trace) -> Iterator[Finding]:
    written = list(_multiplied(trace))
    known, told = paths(trace), set()
    for event in known.backwards if written else ():
        graph = known.graph(event.graph)
        for module in list(trace.modules.values()):
            parent = trace.modules.get(module.parent) if module.parent is not None else None
            if parent is None or parent.cls not in CONTAINERS or not _alone(trace, module):
                continue
            lines = [(site, node) for cls, site, node in written if cls == module.cls]
            called, times = _uses(trace, graph, module)
            if len(lines) == 1 and called is not None and times > 1 and lines[0][0].location() not in told:
                told.add(lines[0][0].location())
                yield _finding(trace, module, *lines[0], called, times)


def _multiplied(trace: Trace) -> Iterator[tuple[str, Site, ast.BinOp]]:
    """Each `[Layer(…)] * n` of the program's text, with the name of that class."""
    for path, function, node in nodes_of_functions(trace, ast.BinOp):
        made = node.left.elts if isinstance(node.op, ast.Mult) and isinstance(node.left, ast.List) else []
        if len(made) == 1 and isinstance(made[0], ast.Call):
            yield (
                called_name(made[0]),
                site_of(path, function, node),
                node,
            )


def _alone(trace: Trace, module: Module) -> bool:
    """Whether it is the only one of its class that its container knows of."""
    beside = [other for other in trace.modules.values() if other.parent == module.parent]
    return sum(other.cls == module.cls for other in beside) == 1


def _uses(trace: Trace, graph: Graph, module: Module) -> tuple[Op | None, int]:
    """A call within a module, and how often its line ran in this graph with a parameter of it."""
    counts: dict[tuple[int, str], list[Op]] = {}
    for op in graph.ops:
        if is_part_of(trace, op.module, module.id) and any(
            graph.values[index].parameter is not None for index in op.inputs
        ):
            counts.setdefault((op.module or 0, op.name), []).append(op)
    if not counts:
        return None, 0
    ops = max(counts.values(), key=len)
    return ops[0], len(ops)


def _finding(trace: Trace, module: Module, site: Site, node: ast.BinOp, called: Op, times: int) -> Finding:
    ids = [p.id for p in trace.parameters if is_part_of(trace, p.module, module.id)]
    new, edits = _comprehension(trace, site, node)
    names = parameter_names(trace, ids)
    return Finding(
        message=f"{code(trace, site, 'this list')} holds one `{module.cls}` several times, with one set of weights",
        cause=site,
        cause_label=f"one `{module.cls}`, and references to it",
        effect=called.site.user,
        effect_label=f"used {plural(times, 'time')} in one pass",
        seen=(
            f"one module of {plural(len(ids), 'parameter')} ({names}) was used {plural(times, 'time')} in a pass",
        ),
        fix=f"write `{new}` in place of {located(trace, site)} if each is to have weights of its own",
        edits=edits,
        count=1,
        subjects=parameter_subjects(ids),
    )


def _comprehension(trace: Trace, site: Site, node: ast.BinOp) -> tuple[str, Edits]:
    """`[Layer() for _ in range(n)]` for `[Layer()] * n`: the text, and the edits."""
    here = Source(trace, site.path)
    assert isinstance(node.left, ast.List), "what was asked for"
    text = f"[{here.file.text(node.left.elts[0])} for _ in range({here.file.text(node.right)})]"
    return " ".join(text.split()), here.replace(node, text)
