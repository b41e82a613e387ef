"""Where a recurrent layer or attention was made, and how it is told which axis comes first."""

from __future__ import annotations

import ast

from gradscope.analysis.reach import Paths
from gradscope.analysis.words import code, located
from gradscope.fixes.calls import with_argument, without_argument
from gradscope.model import Edit, Op, Site
from gradscope.source import called_name
from gradscope.store import Trace

LAYERS = {"LSTM", "GRU", "RNN", "MultiheadAttention", "TransformerEncoderLayer", "TransformerDecoderLayer"}


def made(trace: Trace, known: Paths, op: Op) -> Site | None:
    """The call that made the layer which `op` ran; of copies in a stack the layer that was copied."""
    for value in op.inputs:
        parameter = known.parameter_of((op.graph, value))
        if parameter is not None and parameter.site is not None:
            return _copied(trace, parameter.site.user)
    return None


def _copied(trace: Trace, site: Site) -> Site:
    """The layer that is the first argument of the stack made at `site`: made there, or with a name of its own."""
    file = trace.source_file(site.path)
    stack = file.at(site)
    first = stack.args[0] if isinstance(stack, ast.Call) and stack.args else None
    if isinstance(first, ast.Call) and _is_layer(first):
        return Site(-1, site.path, *file.span(first), site.function, "user")
    if not isinstance(first, ast.Name):
        return site
    found = [
        node.value
        for node in file.nodes
        if isinstance(node, ast.Assign)
        and node.lineno < site.line
        and any(isinstance(target, ast.Name) and target.id == first.id for target in node.targets)
    ]
    layer = max(found, key=lambda value: value.lineno, default=None)
    if not isinstance(layer, ast.Call) or not _is_layer(layer):
        return site
    return Site(-1, site.path, *file.span(layer), site.function, "user")


def _is_layer(call: ast.Call) -> bool:
    return called_name(call) in LAYERS


def other_first(trace: Trace, op: Op, site: Site | None, layer: str) -> tuple[str, tuple[Edit, ...]]:
    """The layer at `site` with its other axis first, as a sentence and as an edit."""
    plain = code(trace, site).strip("`").partition("(")[0].rpartition(".")[2] in LAYERS
    here = located(trace, site, f"`{layer}`")
    if op.extra.get("batch_first"):
        edits = without_argument(trace, site, "batch_first") if plain else ()
        return f"leave `batch_first=True` out of {here}, or give it the batch first", edits
    edits = with_argument(trace, site, "batch_first", "True") if plain else ()
    return f"give `batch_first=True` to {here}", edits
