"""What takes the place of the row of a table that an `argmax` has looked up: all rows, each times its probability."""

from __future__ import annotations

import ast

from gradscope.analysis.ops import CASTS, PASSING, SOFTMAXES
from gradscope.analysis.words import located
from gradscope.fixes.source import Binds, Edits, Source
from gradscope.model import Graph, Op
from gradscope.source import method_name
from gradscope.store import Trace


def soft_rows(trace: Trace, chosen: Op) -> tuple[str, Edits] | None:
    """The repair where the place of the largest score is looked up in an embedding that has a row for each score; with
    the edits where both are written in one function and nothing else asks for the place."""
    graph = trace.graph(chosen.graph)
    index = graph.values[chosen.outputs[-1]] if chosen.outputs else None
    dims = list(chosen.extra.get("dims") or ())
    if chosen.name not in ("argmax", "max") or index is None or not index.dtype.startswith("int"):
        return None
    looked_up = _looked_up(graph, index.index)
    scores = graph.values[chosen.inputs[0]].shape
    if looked_up is None or len(dims) != 1 or not -len(scores) <= dims[0] < len(scores):
        return None
    axis = dims[0] % len(scores)
    rows = next(
        (v for v in graph.inputs(looked_up) if len(v.shape) == 2 and v.dtype.startswith("float")), None
    )
    if rows is None or rows.shape[0] != scores[axis] or index.shape != (*scores[:axis], *scores[axis + 1 :]):
        return None
    here, there = Source(trace, chosen.site.user.path), Source(trace, looked_up.site.user.path)
    call, taken = here.file.at(chosen.site.user), there.file.at(looked_up.site.user)
    given = here.file.asked_of(call)
    table = _table(there, taken)
    if given is None or not table or not isinstance(taken, ast.Call):
        return None
    soft = _probabilities(here, graph, chosen, given, dims[0])
    if axis != len(scores) - 1:
        soft += f".movedim({dims[0]}, -1)"
    whole = f"{soft} @ {table}"
    text = (
        f"take the mean of all rows, each with its probability, in place of {located(trace, looked_up.site.user)}:"
        f" `{whole}` has a gradient to the scores. Where exactly one row is to be taken, use"
        " `torch.nn.functional.gumbel_softmax(scores, hard=True)` for the probabilities"
    )
    return text, _edits(here, there, call, taken, (soft, table))


def _looked_up(graph: Graph, index: int) -> Op | None:
    """The lookup that the place goes into, where it is all that asks for it."""
    readers = graph.consumers.get(index, ())
    while len(readers) == 1 and readers[0].name in CASTS:
        readers = graph.consumers.get(readers[0].outputs[0], ())
    one = readers[0] if len(readers) == 1 else None
    return one if one is not None and one.name == "embedding" else None


def _probabilities(here: Source, graph: Graph, chosen: Op, given: ast.expr, dim: int) -> str:
    """The text of the probabilities that were chosen among."""
    maker = graph.maker_behind(chosen.inputs[0], PASSING)
    if maker is not None and maker.name in SOFTMAXES:
        return here.part(given) + (".exp()" if maker.name == "log_softmax" else "")
    return f"{here.part(given)}.softmax(dim={dim})"


def _table(there: Source, taken: object) -> str:
    """The text of the rows: `layer.weight` for `layer(index)`, what `embedding` is given."""
    if not isinstance(taken, ast.Call) or not taken.args:
        return ""
    if method_name(taken) == "embedding" and there.file.is_imported(taken.func):
        return there.part(taken.args[1], Binds.PRODUCT) if len(taken.args) > 1 else ""
    return f"{there.file.text(taken.func)}.weight" if len(taken.args) == 1 and not taken.keywords else ""


def _edits(here: Source, there: Source, call: object, taken: ast.Call, new: tuple[str, str]) -> Edits:
    """Both changed where they stand: the place, by whatever name it has, holds the probabilities then."""
    soft, table = new
    if not isinstance(call, ast.Call) or here.path != there.path:
        return ()
    place: ast.expr = call
    above = here.file.parent.get(id(call))
    if method_name(call) == "max":
        if not _takes_the_second(above) or not isinstance(above, (ast.Subscript, ast.Attribute)):
            return ()
        place = above
    if taken.args[0] is place:
        return here.replace(taken, f"{soft} @ {table}")
    function = here.file.function_of(call)
    assigned, name = here.file.parent.get(id(place)), taken.args[0]
    if not isinstance(assigned, ast.Assign) or not isinstance(name, ast.Name) or function is None:
        return ()
    if [ast.unparse(one) for one in assigned.targets] != [name.id] or there.file.function_of(
        taken
    ) is not function:
        return ()
    uses = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == name.id]
    if len(uses) != 2:
        return ()
    return (*here.replace(place, soft), *there.replace(taken, f"{name.id} @ {table}"))


def _takes_the_second(above: object) -> bool:
    """Whether it is `….indices` or `…[1]`."""
    if isinstance(above, ast.Attribute):
        return above.attr == "indices"
    return (
        isinstance(above, ast.Subscript) and isinstance(above.slice, ast.Constant) and above.slice.value == 1
    )
