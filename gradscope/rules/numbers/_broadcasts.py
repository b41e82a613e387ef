"""Where two shapes meet that repeat each other, and whether the program means that."""

from gradscope.analysis.reach import Key, Paths
from gradscope.model import Graph, Op

POINTWISE = {
    "pow", "square", "abs", "mul", "sqrt", "log1p", "cosh", "log",
    "clamp", "neg", "add", "sub", "div", "where", "float", "to",
    "detach", "min", "max", "minimum", "maximum", "__rsub__", "rsub", "exp",
    "relu", "softplus", "sigmoid", "tanh", "clamp_min", "clamp_max", "log_sigmoid",
}  # fmt: skip
EXPLICIT = {"unsqueeze", "expand", "expand_as", "repeat", "meshgrid", "broadcast_to", "repeat_interleave"}
NEAR = 8  # ops that are followed back to an explicit unsqueeze, or on to the reduction


def expanded(known: Paths, key: Key) -> bool:
    """Whether the program gave it its dimension of size 1 on purpose, for pairs."""
    for _ in range(NEAR):
        sources, op = known.sources(key)
        if op is not None:
            graph = known.graph(key[0])
            if op.name in EXPLICIT:
                return True
            if op.name == "__getitem__" and _adds_dimension(graph, op):
                return True
            if op.name not in POINTWISE and op.name not in ("contiguous", "detach", "clone"):
                return False
        if not sources:
            return False
        key = sources[0]
    return False


def _adds_dimension(graph: Graph, op: Op) -> bool:
    built = [graph.nodes[i].name for i in op.nodes]
    before, after = graph.values[op.inputs[0]].shape, graph.values[op.outputs[0]].shape
    return "UnsqueezeBackward0" in built or len(after) > len(before)
