"""What a call does to the graph, learned by looking at its grad_fn nodes once.

A Template says which nodes a call builds, relative to its inputs. It is looked
up by call site and kind of inputs, outputs and number of nodes made, so that
`grad_fn` is touched once per kind of call and not once per call: reading it has
a price, in time and in stack depth when a long chain is dropped (docs/design.md).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gradscope.hooks._torch import full_name_of, grad_fn_of, sequence_of

# Kinds of edge targets: (kind, a, b, input_nr)
INTERNAL, INPUT, EARLIER, OUTSIDE, LEAF = range(5)

MAX_WALK = 200_000


class Template(NamedTuple):
    """Compared and interned by content. `nodes`: (name, number relative to the first
    made by the call, edges). `outputs`: per new value, the index of its node or -1.
    `alias`: per new value, (input position, hidden) or None. `writes`: positions of
    inputs written in place. `reusable` is False where an edge leads past the inputs."""

    name: str
    cut: str | None
    nodes: tuple[tuple[str, int, tuple[tuple[int, int, int, int], ...]], ...]
    outputs: tuple[int, ...]
    alias: tuple[tuple[int, bool] | None, ...]
    writes: tuple[int, ...]
    reusable: bool
    extra: str = ""


class Sources:
    """Where the gradients of a call's inputs go: node number → position, as it was
    before the call (an in-place call changes `grad_fn` of its input)."""

    def __init__(self) -> None:
        self.by_number: dict[int, int] = {}
        self.by_output: dict[tuple[int, int], int] = {}  # the same for each output of a node
        self.leaves: dict[int, int] = {}  # id of the leaf tensor → position


def walk(
    new: list[Any],
    first: int,
    sources: Sources,
    earlier: Any,
    outside: Any,
    leaf_value: Any,
) -> tuple[tuple[Any, ...], tuple[int, ...], bool]:
    """The nodes reachable from the outputs `new` down to nodes already known.

    first: sequence number before the call. earlier(number) → (op, node) or None.
    outside(node) → index of a node from before the segment. leaf_value(node) → value
    index of an AccumulateGrad's leaf. Returns (nodes, node index per output, reusable).
    """
    index: dict[Any, int] = {}
    order: list[Any] = []
    outputs = []
    for tensor in new:
        node = grad_fn_of(tensor)
        if node is None:
            outputs.append(-1)
            continue
        number = sequence_of(node)
        if number < first and (number in sources.by_number or earlier(number) is not None):
            outputs.append(-1)  # passes an existing node on
            continue
        if node not in index:
            index[node] = len(order)
            order.append(node)
        outputs.append(index[node])
    reusable = True
    rows = []
    at = 0
    while at < len(order) and len(order) < MAX_WALK:
        node = order[at]
        at += 1
        edges = []
        for target, input_nr in node.next_functions:
            if target is None:
                continue
            number = sequence_of(target)
            if target in index:
                edges.append((INTERNAL, index[target], 0, input_nr))
            elif number == -1:
                leaf = getattr(target, "variable", None)
                position = sources.leaves.get(id(leaf)) if leaf is not None else None
                if position is not None:
                    edges.append((INPUT, position, 0, input_nr))
                else:
                    reusable = False
                    edges.append((LEAF, leaf_value(target), 0, input_nr))
            elif number in sources.by_number:
                position = sources.by_output.get((number, input_nr), sources.by_number[number])
                edges.append((INPUT, position, 0, input_nr))
            elif number >= first:
                index[target] = len(order)
                order.append(target)
                edges.append((INTERNAL, index[target], 0, input_nr))
            else:
                reusable = False
                known = earlier(number)
                if known is not None:
                    edges.append((EARLIER, known[0], known[1], input_nr))
                else:
                    edges.append((OUTSIDE, outside(target), 0, input_nr))
        number = sequence_of(node)
        reusable = reusable and number >= first
        rows.append((full_name_of(node), number - first, tuple(edges)))
    return tuple(rows), tuple(outputs), reusable


CONVERSIONS = {
    "item", "tolist", "numpy", "__float__", "__int__", "__bool__", "__index__", "__complex__", "__array__",
}  # fmt: skip
_CONVERSION_CUT = {"tolist": "tolist", "numpy": "numpy", "__array__": "numpy"}
_REWRAP = {"tensor", "as_tensor", "asarray", "from_numpy", "scalar_tensor", "new_tensor"}


def cut_of(
    name: str, any_grad_input: bool, out_grad: bool, has_tensor: bool, region: str | None
) -> str | None:
    """Why no gradient passes a call with these inputs and outputs (model.Op.cut)."""
    if not any_grad_input or out_grad:
        return None
    if not has_tensor:
        return _CONVERSION_CUT.get(name, "item") if name in CONVERSIONS else None
    if name in ("detach", "detach_", "Variable"):
        return "detach"
    if name == "data":
        return "data"
    if name in _REWRAP:
        return "rewrap"
    if region is not None:
        return "inference_mode" if region == "inference_mode" else "no_grad"
    return "nondifferentiable"
