"""The loss does not fall, and the network is one linear map: its linear layers follow each other with nothing between.

Why: a linear layer of a linear layer is a linear layer. Without an activation between them many layers can tell no
more than one, however wide they are: not XOR, no curve, no class that is no half of the space.

Fix: an activation between the layers (`nn.ReLU()`), not only behind the last one.

Measured: the layers that the loss was computed with, and the losses. Silent on: losses that fall, layers that are
narrower than what they stand between (a factor of low rank), layers whose results are used twice.
"""

import ast
import math
from collections.abc import Iterator
from statistics import mean

from gradscope.analysis.made import layer_site
from gradscope.analysis.ops import PASSING
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import located, plural
from gradscope.events import Backward
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace

ENOUGH = 9  # losses measured
LONG = 50  # steps, over which they were
STILL = 0.9  # of what the loss was in the first third: it is more than that in the last
BETWEEN = PASSING | {"dropout"}


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


@rule("GS733", name="one-linear-map", severity="note", symptom=True)
def one_linear_map(trace: Trace) -> Iterator[Finding]:
    lines = {event.site.user.location(): event for event in trace.of(Backward)}
    if not any(_still(_losses(trace, event)) for event in lines.values()):
        return  # nearly every run: its calls need not be gone through
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for key, op in known.used_calls({"linear"}):
        layers = _in_a_row(known, op)
        event = known.loss_of(key) if len(layers) > 1 else None
        if event is None or event.site.user.location() in told:
            continue
        losses = _losses(trace, event)
        if _still(losses):
            told.add(event.site.user.location())
            yield _finding(trace, known, event, layers, losses)


def _in_a_row(known: Paths, last: Op) -> list[Op]:
    """The linear layers from the program's data to this one, where nothing else is between them."""
    found = [last]
    graph = known.graph(last.graph)
    while True:
        before = _before(known, (graph.id, found[0].inputs[0]))
        if before is None:
            break
        if before.name != "linear" or before.graph != graph.id:
            return []
        if len(graph.consumers.get(before.outputs[0], ())) != 1:
            return []  # used twice
        found.insert(0, before)
    if graph.values[found[0].inputs[0]].requires_grad or not all(_trained(known, op) for op in found):
        return []
    sizes = [graph.values[op.inputs[1]].shape for op in found]
    ends = min(sizes[0][-1], sizes[-1][0])
    return found if all(size[0] >= ends for size in sizes[:-1]) else []


def _before(known: Paths, key: Key) -> Op | None:
    """What made a value, behind calls that hand the numbers on; None where the data begins, and nothing else reads
    them on the way."""
    while True:
        graph = known.graph(key[0])
        maker = graph.maker(key[1])
        if maker is None or not graph.values[key[1]].requires_grad or maker.name not in BETWEEN:
            return maker if graph.values[key[1]].requires_grad else None
        if len(graph.consumers.get(key[1], ())) != 1:
            return maker
        key = (key[0], maker.inputs[0])


def _trained(known: Paths, op: Op) -> bool:
    weight = known.parameter_of((op.graph, op.inputs[1])) if len(op.inputs) > 1 else None
    return weight is not None and known.stepped(weight)


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


def _finding(trace: Trace, known: Paths, event: Backward, layers: list[Op], losses: list[float]) -> Finding:
    third = len(losses) // 3
    made = [layer_site(trace, op) or op.site.user for op in layers]
    graph = known.graph(layers[0].graph)
    shapes = [graph.values[op.inputs[1]].shape for op in layers]
    return Finding(
        message=f"{plural(len(layers), 'linear layer')} with nothing between them are one linear map, and the loss does"
        " not fall",
        cause=made[0],
        cause_label="its result goes into the next linear layer as it is",
        effect=event.site.user,
        effect_label="the loss is what it was",
        related=tuple((site, "and here") for site in made[1:-1]),
        seen=(
            f"the layers have the widths {', '.join(str(shape[-1]) for shape in shapes)}, {shapes[-1][0]}; the loss was"
            f" {mean(losses[:third]):.4g} in the first third of those measured and {mean(losses[-third:]):.4g} in the"
            " last",
        ),
        fix=f"put an activation behind {' and '.join(located(trace, site) for site in made[:-1])}: `nn.ReLU()`",
        edits=_relus(trace, made[:-1]),
    )


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
