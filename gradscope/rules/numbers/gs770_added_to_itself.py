"""A loss is added to itself, where a sum over the batches was meant: `loss += loss.item()`.

Why: the name of the sum is the name of the batch's loss, too. Each turn of the loop gives it the loss of its batch,
what was summed before is gone, and what is added is the same number once more. What is reported at the end is twice the
loss of the last batch.

Fix: two names, one for the sum and one for the loss of a batch.

Measured: the sum's two terms: the number was taken out of the very tensor that it is added to, by `item()`, `float` or
`detach()`, and may be multiplied by the size of the batch.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.ops import ADDITIONS, ALIASES, EXITS
from gradscope.analysis.reach import Key, paths
from gradscope.analysis.words import code, plural
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.source import FUNCTIONS, LOOPS
from gradscope.store import Trace

ENOUGH = 2  # times
TAKEN = EXITS | ALIASES  # give the number alone
AS_THEY_ARE = {"item", "detach", "cpu", "clone", "float", "double", "tolist"}


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = torch.zeros(())
        for _ in range(4):
            loss = nn.functional.cross_entropy(model(torch.randn(8, 3)), torch.randint(2, (8,)))
            opt.zero_grad()
            loss.backward()
            opt.step()
            loss = loss + loss.item()  # cause: GS770
        print(float(loss) / 4)


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        total = torch.zeros(())
        for _ in range(4):
            loss = nn.functional.cross_entropy(model(torch.randn(8, 3)), torch.randint(2, (8,)))
            opt.zero_grad()
            loss.backward()
            opt.step()
            total = total + loss.item()
        print(total / 4)


@rule("GS770", name="added-to-itself", severity="warning")
def added_to_itself(trace: Trace) -> Iterator[Finding]:
    if not TAKEN & set(trace.op_names):
        return
    known = paths(trace)
    counts: dict[Site, int] = {}
    taken: set[tuple[Key, tuple[str, int]]] = set()  # tensors of which a number was taken, and where
    for number in known.graph_ids:
        graph = known.graph(number)
        for op in graph.ops:
            if not op.inputs or graph.values[op.inputs[0]].shape:
                continue
            here = known.made((number, op.inputs[0])), op.site.user.location()
            if op.name in TAKEN:
                taken.add(here)
            elif op.name in ADDITIONS and here in taken:
                counts[op.site.user] = counts.get(op.site.user, 0) + graph.count
    for site, count in counts.items():
        places, name = _summed(trace.source_file(site.path).statement(site))
        if name and count >= ENOUGH:
            yield _finding(trace, site, places, name, count)


def _summed(statement: ast.AST | None) -> tuple[list[ast.expr], str]:
    """The places of the sum in `loss += loss.item()` and in `loss = loss + loss.item()`, and its name; "" for other
    statements."""
    places: list[ast.expr]
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
        places, added = [statement.target], [statement.value]
    elif (
        isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.BinOp)
        and isinstance(statement.value.op, ast.Add)
    ):
        sides, name = [statement.value.left, statement.value.right], ast.unparse(statement.targets[0])
        places = [statement.targets[0], *(side for side in sides if ast.unparse(side) == name)]
        added = [side for side in sides if ast.unparse(side) != name]
    else:
        return [], ""
    name = ast.unparse(places[0])
    return (places, name) if len(added) == 1 and _is_taken_from(added[0], name) else ([], "")


def _is_taken_from(node: ast.expr, name: str) -> bool:
    """Whether it is the number of this tensor: `loss.item()`, `float(loss)`, `loss.detach() * len(x)`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        one, other = (_is_taken_from(side, name) for side in (node.left, node.right))
        return one != other
    if isinstance(node, ast.Attribute):
        return node.attr == "data" and ast.unparse(node.value) == name
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Name):
        held = node.args[0] if node.func.id == "float" and len(node.args) == 1 else None
    else:
        bare = isinstance(node.func, ast.Attribute) and node.func.attr in AS_THEY_ARE and not node.args
        held = node.func.value if bare and isinstance(node.func, ast.Attribute) else None
    return held is not None and (ast.unparse(held) == name or _is_taken_from(held, name))


def _finding(trace: Trace, site: Site, places: list[ast.expr], name: str, count: int) -> Finding:
    own, edits = _two_names(trace, site, places, name)
    return Finding(
        message=f"{code(trace, site)} adds `{name}` to itself: the losses of the other batches are in no sum",
        cause=site,
        cause_label="adds the same loss once more",
        seen=(
            f"in {plural(count, 'time')} that it ran the number came out of the tensor that it was added to",
        ),
        fix=f"give the loss of a batch a name of its own, `{own}`, and add that to `{name}`",
        edits=edits,
        count=count,
        subjects=frozenset({("sum", *site.location())}),
    )


def _two_names(trace: Trace, site: Site, places: list[ast.expr], name: str) -> tuple[str, Edits]:
    """A name for the loss of a batch, and the edits that give it one in the loop: where the sum has a beginning before
    that, and nothing reads either in the loop after it was added."""
    here = Source(trace, site.path)
    scope = here.file.scope(site)
    names = [node for node in ast.walk(scope) if isinstance(node, ast.Name)]
    own = next(one for one in (f"batch_{name}", f"{name}_here") if one not in {node.id for node in names})
    around = here.file.around(site)
    loop = next((node for node in around if isinstance(node, (*LOOPS, *FUNCTIONS))), None)
    if not name.isidentifier() or not isinstance(loop, LOOPS):
        return own, ()
    inside = {id(node) for node in ast.walk(loop)}
    used = [node for node in names if node.id == name and id(node) in inside]
    begun = any(
        node.id == name and isinstance(node.ctx, ast.Store) and node.lineno < loop.lineno for node in names
    )
    if not begun or any(node.lineno > site.end_line for node in used):
        return own, ()
    sums = {id(place) for place in places}
    return own, tuple(edit for node in used if id(node) not in sums for edit in here.replace(node, own))
