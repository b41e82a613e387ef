"""What a block gives is added to itself, where its input had the same shape and is lost: no skip path is left.

Why: `x = attention(x)` gives the name `x` to the result, so that `x = x + x` on the next line doubles that. The block's
input, which the sum was to bring past the block, is read by nothing but the block.

Fix: keep both, `y = attention(x)` and `x = x + y`.

The same holds for `skip = x` behind the block in place of before it: both names are its result.

Silent on: values that are doubled without having taken the place of an input of their shape.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.ops import ADDITIONS
from gradscope.analysis.words import code, located
from gradscope.fixes.source import Source
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.source import names_in
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    stem, inner, head = (
        nn.Linear(3, 4),
        nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4)),
        nn.Linear(4, 1),
    )
    opt = torch.optim.SGD([*stem.parameters(), *inner.parameters(), *head.parameters()], lr=0.1)

    def block(x: torch.Tensor) -> torch.Tensor:
        x = inner(x)  # cause: GS731
        return x + x  # effect: GS731

    for _ in range(3):
        opt.zero_grad()
        head(block(stem(torch.randn(8, 3)))).pow(2).mean().backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    stem, inner, head = (
        nn.Linear(3, 4),
        nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4)),
        nn.Linear(4, 1),
    )
    opt = torch.optim.SGD([*stem.parameters(), *inner.parameters(), *head.parameters()], lr=0.1)

    def block(x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = inner(x)
        return x + y

    for _ in range(3):
        opt.zero_grad()
        head(block(stem(torch.randn(8, 3)))).pow(2).mean().backward()
        opt.step()


@rule("GS731", name="added-to-itself", severity="note")
def added_to_itself(trace: Trace) -> Iterator[Finding]:
    told: dict[tuple[str, int], tuple[Graph, Op, ast.Assign, int]] = {}
    for graph in trace.graphs:
        for op in graph.ops:
            bound = _bound_anew(trace, graph, op)
            if bound is not None:
                first = told.get(op.site.location(), (graph, op, bound, 0))
                told[op.site.location()] = (*first[:3], first[3] + graph.count)
    for graph, op, bound, count in told.values():
        yield _finding(trace, graph, op, bound, count)


def _bound_anew(trace: Trace, graph: Graph, op: Op) -> ast.Assign | None:
    """The statement before `x + x` that gave `x` what a call had made of it, where what `x` was before had the same
    shape and went nowhere else."""
    if op.name not in ADDITIONS or op.site.kind != "user":
        return None
    if len(op.inputs) != 2 or op.inputs[0] != op.inputs[1]:
        return None
    here = Source(trace, op.site.path)
    names = _operands(here.file.at(op.site))
    if len(names) != 2:
        return None
    statement = here.file.statement(op.site)
    second = _second_name(here, statement, *names)
    if second is None and names[0] != names[1]:
        return None
    name = second.value.id if second is not None and isinstance(second.value, ast.Name) else names[0]
    bound = _binding(here, statement, name)
    if not isinstance(bound, ast.Assign) or not isinstance(bound.value, ast.Call):
        return None
    read = {n for argument in bound.value.args for n in names_in(argument, ast.Load)}
    if second is None and name not in read:
        return None
    return bound if _lost(graph, op, op.inputs[0], here.file.span(bound.value)) else None


def _operands(node: ast.AST | None) -> list[str]:
    """The names that a sum adds, where both sides are names: of `a + b`, `a += b`, `torch.add(a, b)`, `a.add(b)`."""
    sides: list[ast.expr] = []
    if isinstance(node, ast.BinOp):
        sides = [node.left, node.right]
    elif isinstance(node, ast.AugAssign):
        sides = [node.target, node.value]
    elif isinstance(node, ast.Call) and not node.keywords:
        sides = node.args
        if len(sides) == 1 and isinstance(node.func, ast.Attribute):
            sides = [node.func.value, *sides]
    return [side.id for side in sides if isinstance(side, ast.Name)] if len(sides) == 2 else []


def _second_name(here: Source, statement: ast.stmt | None, left: str, right: str) -> ast.Assign | None:
    """The `other = name` by which the one of two names got the result itself, which the other one had been given."""
    for name, other in ((left, right), (right, left)):
        given = _binding(here, statement, other)
        if left == right or not isinstance(given, ast.Assign) or len(given.targets) != 1:
            continue
        if isinstance(given.value, ast.Name) and given.value.id == name:
            last = _binding(here, statement, name)
            return given if last is not None and last is _binding(here, given, name) else None
    return None


def _binding(here: Source, statement: ast.stmt | None, name: str) -> ast.stmt | None:
    """The last statement before this one that binds a name."""

    def binds(node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)

    return here.earlier(statement, binds)


def _lost(graph: Graph, add: Op, value: int, span: tuple[int, int, int, int]) -> bool:
    """Whether the call at `span` was given a value of the same shape that only it has read."""

    def within(site: Site) -> bool:
        frames = (frame for frame in site.stack if frame.path == add.site.path)
        return any((f.line, f.column, f.end_line, f.end_column) == span for f in frames)

    made = graph.values[value]
    maker = graph.maker(value)
    if maker is None or not within(maker.site):
        return False
    for source in graph.upstream(value)[1:]:
        given = graph.values[source]
        own = given.op is not None and within(graph.ops[given.op].site)
        readers = graph.consumers.get(source, [])
        if given.shape == made.shape and given.parameter is None and not own and given.requires_grad:
            return bool(readers) and all(within(reader.site) for reader in readers)
    return False


def _finding(trace: Trace, graph: Graph, op: Op, bound: ast.Assign, count: int) -> Finding:
    here = Source(trace, op.site.path)
    site = Site(-1, op.site.path, *here.file.span(bound.value), op.site.function, "user")
    names = _operands(here.file.at(op.site))
    second = _second_name(here, here.file.statement(op.site), *names)
    name = ast.unparse(second.value) if second is not None else names[0]
    sum_of = code(trace, op.site, "the sum")
    lost = f"the `{name}` from before is lost" if second is None else "no skip path is left"
    fix = (
        f"where the sum is to be a skip path, give the result of {located(trace, site)} another name, and add that to"
        f" `{name}`"
    )
    if second is not None:
        fix = (
            f"where the sum is to be a skip path, give `{ast.unparse(second.targets[0])}` the input of"
            f" {located(trace, site)}, before that call: `{ast.unparse(second)}` comes after it"
        )
    return Finding(
        message=f"{sum_of} adds what {code(trace, site, 'the call')} gave to itself: {lost}",
        cause=site,
        cause_label=f"its result takes the name `{name}`",
        effect=op.site,
        effect_label="both sides are one tensor",
        seen=(
            f"both operands are the same tensor of shape {graph.values[op.inputs[0]].shape}; what the call was given "
            "has that shape too, and nothing but the call has read it",
        ),
        fix=fix,
        count=count,
    )
