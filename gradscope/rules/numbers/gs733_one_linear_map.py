"""The loss does not fall, and the network is one linear map: its linear layers follow each other with nothing between.

Why: a linear layer of a linear layer is a linear layer. Without an activation between them many layers can tell no
more than one, however wide they are: not XOR, no curve, no class that is no half of the space.

Fix: an activation between the layers (`nn.ReLU()`), not only behind the last one.

Measured: the layers that the loss was computed with, and the losses; a layer is also a product with a weight that is
trained. Silent on: losses that fall, layers that are narrower than what they stand between (a factor of low rank),
layers whose results are used twice.
"""

import ast
import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import mean

from gradscope import equations
from gradscope.analysis.made import layer_site
from gradscope.analysis.ops import ADDITIONS, CUTTING_OFF, PASSING, PRODUCTS_OF_BATCHES, PRODUCTS_OF_MATRICES
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import located, parameter_subjects, plural
from gradscope.events import Backward
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op, Parameter, Site
from gradscope.rules import rule
from gradscope.store import Trace

ENOUGH = 9  # losses measured
LONG = 50  # steps, over which they were
STILL = 0.9  # of what the loss was in the first third: it is more than that in the last
BETWEEN = (PASSING - CUTTING_OFF) | {"dropout"}
OPERANDS = {
    "linear": (0, 1),
    "addmm": (1, 2),
}  # the data and the weight; of other products it shows which they are
TURNED = {"t", "T", "mT", "transpose", "swapaxes", "swapdims", "permute"}


def bad() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(
                nn.Linear(2, 8),  # cause: GS733
                nn.Linear(8, 1),
            )

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.sigmoid(self.body(x))

    torch.manual_seed(0)
    x = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = torch.tensor([[0.0], [1.0], [1.0], [0.0]])
    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(400):
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()  # effect: GS733
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = torch.tensor([[0.0], [1.0], [1.0], [0.0]])
    net = nn.Sequential(
        nn.Linear(2, 8),
        nn.ReLU(),
        nn.Linear(8, 1),
    )
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(400):
        opt.zero_grad()
        nn.functional.mse_loss(torch.sigmoid(net(x)), y).backward()
        opt.step()


@dataclass(frozen=True)
class _Layer:
    """data: the value that it is given; into, out: its widths."""

    op: Op
    data: int
    weight: Parameter
    into: int
    out: int


@rule("GS733", name="one-linear-map", severity="note", over=("GS784",), symptom=True)
def one_linear_map(trace: Trace) -> Iterator[Finding]:
    lines = {event.site.user.location(): event for event in trace.of(Backward)}
    if not any(_still(_losses(trace, event)) for event in lines.values()):
        return  # nearly every run: its calls need not be gone through
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for key, op in known.used_calls(OPERANDS.keys() | PRODUCTS_OF_MATRICES | PRODUCTS_OF_BATCHES):
        layers = _in_a_row(known, op)
        event = known.loss_of(key) if len(layers) > 1 else None
        if event is None or event.site.user.location() in told:
            continue
        losses = _losses(trace, event)
        if _still(losses):
            told.add(event.site.user.location())
            yield _finding(trace, known, event, layers, losses)


def _in_a_row(known: Paths, last: Op) -> list[_Layer]:
    """The linear layers from the program's data to this one, where nothing else is between them."""
    layer = _layer(known, last)
    found: list[_Layer] = []
    graph = known.graph(last.graph)
    while layer is not None:
        found.insert(0, layer)
        before = _before(known, (graph.id, layer.data))
        if before is None:
            break
        layer = _layer(known, before)
        if layer is None or before.graph != graph.id:
            return []
        if len(graph.consumers.get(before.outputs[0], ())) != 1:
            return []  # used twice
    if not found or graph.values[found[0].data].requires_grad:
        return []
    ends = min(found[0].into, found[-1].out)
    return found if all(layer.out >= ends for layer in found[:-1]) else []


def _layer(known: Paths, op: Op) -> _Layer | None:
    """A call as a linear layer: a product of what it is given and a trained matrix."""
    graph = known.graph(op.graph)
    if op.name in OPERANDS:
        data, weight = (op.inputs[place] for place in OPERANDS[op.name])
    elif op.name in PRODUCTS_OF_MATRICES | PRODUCTS_OF_BATCHES and len(op.inputs) == 2:
        weights = [index for index in op.inputs if _weight(known, graph, index) is not None]
        if len(weights) != 1:
            return None
        weight = weights[0]
        data = next(index for index in op.inputs if index != weight)
    else:
        return None
    parameter = _weight(known, graph, weight)
    if parameter is None:
        return None
    into, out = _widths(graph, op, data, weight)
    return _Layer(op, data, parameter, into, out) if into and out else None


def _weight(known: Paths, graph: Graph, index: int) -> Parameter | None:
    maker = graph.maker(index)
    while maker is not None and maker.name in TURNED:
        index = maker.inputs[0]
        maker = graph.maker(index)
    parameter = known.parameter_of((graph.id, index))
    trained = parameter is not None and len(parameter.shape) == 2 and known.stepped(parameter)
    return parameter if trained else None


def _widths(graph: Graph, op: Op, data: int, weight: int) -> tuple[int, int]:
    """How many numbers of a sample go in and come out; zeros where that cannot be told."""
    first, second = graph.values[weight].shape
    if op.name == "linear":
        return second, first
    if op.name != "einsum":
        return (first, second) if weight == op.inputs[-1] else (second, first)
    equation = equations.of(op)
    if equation is None or len(equation.operands) != 2:
        return 0, 0
    given = equation.operands[op.inputs.index(data)]
    sizes = {
        letter: (first, second)[axis] for letter, axis in equation.axes(op.inputs.index(weight), 2).items()
    }
    kept = [size for letter, size in sizes.items() if letter not in given]
    summed = [size for letter, size in sizes.items() if letter in equation.contracted]
    return (summed[0], kept[0]) if len(kept) == len(summed) == 1 else (0, 0)


def _before(known: Paths, key: Key) -> Op | None:
    """What made a value, behind calls that hand the numbers on or add a bias; None where the data begins, and nothing
    else reads them on the way."""
    while True:
        graph = known.graph(key[0])
        maker = graph.maker(key[1])
        if maker is None or not graph.values[key[1]].requires_grad:
            return None
        index = (
            _biased(known, graph, maker)
            if maker.name in ADDITIONS
            else maker.inputs[0]
            if maker.inputs
            else None
        )
        if index is None or maker.name not in BETWEEN | ADDITIONS:
            return maker
        if len(graph.consumers.get(key[1], ())) != 1:
            return maker
        key = (key[0], index)


def _biased(known: Paths, graph: Graph, op: Op) -> int | None:
    """What a parameter of one axis is added to."""
    biases = [
        index
        for index in op.inputs
        if (p := known.parameter_of((graph.id, index))) is not None and len(p.shape) == 1
    ]
    others = [index for index in op.inputs if index not in biases]
    return others[0] if len(biases) == len(others) == 1 else None


def _losses(trace: Trace, event: Backward) -> list[float]:
    """What was measured of the losses of its line; nothing where that was in few steps only."""
    place = event.site.user.location()
    sites = {e.site.id for e in trace.of(Backward) if e.site.user.location() == place}
    found = trace.numbers("loss", None, sites)
    return [loss for _, loss in found if math.isfinite(loss)] if found and found[-1][0] >= LONG else []


def _still(losses: list[float]) -> bool:
    """Whether the loss is about what it was at first, and not next to nothing."""
    third = len(losses) // 3
    if len(losses) < ENOUGH:
        return False
    first, last = mean(losses[:third]), mean(losses[-third:])
    return first > 0 and last > STILL * first


def _finding(
    trace: Trace, known: Paths, event: Backward, layers: list[_Layer], losses: list[float]
) -> Finding:
    third = len(losses) // 3
    made = [_made(trace, layer.op) for layer in layers]
    widths = [layer.into for layer in layers]
    return Finding(
        message=f"{plural(len(layers), 'linear layer')} with nothing between them are one linear map, and the loss does"
        " not fall",
        cause=made[0],
        cause_label="its result goes into the next linear layer as it is",
        effect=event.site.user,
        effect_label="the loss is what it was",
        related=tuple((site, "and here") for site in made[1:-1]),
        seen=(
            f"the layers have the widths {', '.join(map(str, widths))}, {layers[-1].out}; the loss was"
            f" {mean(losses[:third]):.4g} in the first third of those measured and {mean(losses[-third:]):.4g} in the"
            " last",
        ),
        fix=f"put an activation behind {' and '.join(located(trace, site) for site in made[:-1])}: `nn.ReLU()`",
        edits=_relus(trace, made[:-1]),
        subjects=parameter_subjects(
            known.reach([(layers[-1].op.graph, layers[-1].op.outputs[0])]).parameters
        ),
    )


def _made(trace: Trace, op: Op) -> Site:
    return (layer_site(trace, op) if op.name == "linear" else None) or op.site.user


def _relus(trace: Trace, made: list[Site]) -> Edits:
    """`nn.ReLU()` behind each of these layers, where they are arguments of an `nn.Sequential`."""
    edits: Edits = ()
    for site in made:
        here = Source(trace, site.path)
        call = here.file.at(site)
        above = here.file.parent.get(id(call))
        if not isinstance(call, ast.Call) or not isinstance(above, ast.Call) or call not in above.args:
            return ()
        if ast.unparse(above.func) != "nn.Sequential" or "nn" not in here.file.imported:
            return ()
        edits += here.append(call, ", nn.ReLU()")
    return edits
