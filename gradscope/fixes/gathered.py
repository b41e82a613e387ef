"""The mechanical fix where a list gathers the numbers of tensors, and a new tensor is made of it."""

from __future__ import annotations

import ast

from gradscope.fixes.source import Edits, Source
from gradscope.model import Graph, Op, Site
from gradscope.source import called_name
from gradscope.store import Trace

_LEAVING = {"tolist", "item", "numpy", "cpu", "detach"}  # methods that give the same numbers
_ARRAYS = {"array", "asarray", "stack"}  # numpy's, of a list of such numbers


def stacked(trace: Trace, lost: Site, graph: Graph, cut: Op, made: int) -> tuple[str, Edits]:
    """What to write so that the list gets the tensors and `torch.stack` joins them, and the edits: `cut` is the call at
    `lost` that gives the numbers of one of them, `made` the value that was made of all. "", () where that is not what
    the program does."""
    op = graph.values[made].op
    again = graph.ops[op].site.user if op is not None else None
    if again is None or again.path != lost.path or not _is_stack(graph, cut, made):
        return "", ()
    here = Source(trace, lost.path)
    number, maker = _outermost(here, here.file.at(lost)), here.file.at(again)
    value = _behind(number)
    if (
        number is None
        or value is None
        or not isinstance(maker, ast.Call)
        or not maker.args
        or not here.file.is_imported(maker.func)
    ):
        return "", ()
    given = maker.args[0]
    if isinstance(given, ast.Call) and called_name(given) in _ARRAYS and given.args:
        given = given.args[0]
    name = _gathering(here, number)
    if not name or ast.unparse(given) != name or not _only_gathered(here, number, name, given):
        return "", ()
    text, new = here.text_of(value), f"torch.stack({name})"
    if "torch" not in here.file.imported or not text:
        return "", ()
    words = f"keep `{text}` itself in `{name}`, and write `{new}` in place of `{here.text_of(maker)}`"
    return words, here.replace(number, text) + here.replace(maker, new)


def _is_stack(graph: Graph, cut: Op, made: int) -> bool:
    """Whether the new tensor has the form of all those together, of one form and type."""
    calls = [op for op in graph.called({cut.name}) if op.site.user == cut.site.user and op.inputs]
    reads, whole = [graph.values[op.inputs[0]] for op in calls], graph.values[made]
    if not reads or whole.shape != (len(reads), *reads[0].shape):
        return False
    return all((each.shape, each.dtype) == (reads[0].shape, whole.dtype) for each in reads)


def _outermost(here: Source, node: ast.AST | None) -> ast.expr | None:
    """`x.detach().tolist()`, of which the call that lost the graph may be the first part."""
    while isinstance(node, ast.Call) and isinstance(above := here.file.parent.get(id(node)), ast.Attribute):
        call = here.file.parent.get(id(above))
        if above.attr not in _LEAVING or not isinstance(call, ast.Call):
            break
        node = call
    return node if isinstance(node, ast.expr) else None


def _behind(node: ast.expr | None) -> ast.expr | None:
    """`x` of `x.detach().tolist()`."""
    taken = False
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _LEAVING:
        node, taken = node.func.value, True
    return node if taken else None


def _gathering(here: Source, number: ast.expr | None) -> str:
    """The list that the numbers are put into: by `append`, or as the one thing that a comprehension makes."""
    above = here.file.parent.get(id(number))
    if isinstance(above, ast.Call) and isinstance(above.func, ast.Attribute) and above.func.attr == "append":
        return ast.unparse(above.func.value) if above.args == [number] else ""
    if isinstance(above, ast.ListComp) and above.elt is number:
        statement = here.file.parent.get(id(above))
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            return ast.unparse(statement.targets[0])
    return ""


def _only_gathered(here: Source, number: ast.expr | None, name: str, given: ast.expr) -> bool:
    """Whether nothing else reads the list, which may want the numbers."""
    above = here.file.parent.get(id(number))
    allowed = {id(given)}
    if isinstance(above, ast.Call) and isinstance(above.func, ast.Attribute):
        allowed.add(id(above.func.value))
    reads = [
        node
        for node in here.file.nodes
        if isinstance(node, (ast.Name, ast.Attribute))
        and isinstance(node.ctx, ast.Load)
        and ast.unparse(node) == name
        and here.file.scope_of(node) is here.file.scope_of(given)
    ]
    return {id(node) for node in reads} <= allowed
