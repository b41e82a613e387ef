"""The layer whose numbers a loss is given, and how many it gives for each sample."""

from __future__ import annotations

from gradscope.analysis.made import layer_made, root_made
from gradscope.analysis.ops import ALIASES, PASSING
from gradscope.analysis.reach import Key, Paths
from gradscope.analysis.text import site_of
from gradscope.fixes.calls import with_argument
from gradscope.fixes.source import Edits
from gradscope.model import Op, Site
from gradscope.store import Trace


def layer_before(known: Paths, key: Key) -> Op | None:
    """The layer with weights whose result a value is, as it is or through a function of each number."""
    maker = known.maker(key)
    while maker is not None and maker.inputs and not _weighs(known, maker):
        graph = known.graph(maker.graph)
        if maker.name not in PASSING | ALIASES and not maker.nodes:
            return None
        if graph.values[maker.inputs[0]].shape != graph.values[maker.outputs[0]].shape:
            return None
        maker = known.maker((maker.graph, maker.inputs[0]))
    return maker if maker is not None and maker.inputs else None


def _weighs(known: Paths, op: Op) -> bool:
    return len(op.inputs) > 1 and any(known.parameter_of((op.graph, i)) is not None for i in op.inputs[1:])


def with_features(trace: Trace, layer: Op, number: int) -> tuple[Site, Edits, str]:
    """Where the layer is made, the edit that lets it give so many numbers, and its words; none where the text does not
    say."""
    module = trace.modules.get(layer.module) if layer.module is not None else None
    made = (layer_made(trace, module) or root_made(trace, module)) if module is not None else None
    if made is None or layer.name != "linear":
        return layer.site.user, (), ""
    place = site_of(made[0], "", made[1])
    return place, with_argument(trace, place, "out_features", str(number), 1), f"`out_features` {number}"
