"""A recurrent layer begins each sequence with a state that is drawn at random, in evaluation as in training.

Why: a state from `torch.randn` says nothing about the sequence. The layer has to learn to get rid of it, the first
positions (all, of a short sequence) carry its noise, and `model.eval()` does not turn it off: the same input gives
other answers each time.

Fix: begin with zeros, which is what the layer does when it is called without a state, or with a trained parameter.

A note where it was not seen with gradients off. Measured: the state itself is what the draw gave, drawn anew, and the
layer begins with nothing else in the run. Silent on: noise that is what a generator is given (its input holds no data),
latent states of encoders, states that are drawn once, or joined with others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.ops import CASTS, FILLED, JOINING, LIKE, PASSING, RECURRENT, RECURRENT_CELLS, SCALES
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located, parameter_names, plural
from gradscope.fixes.calls import renamed
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op, Site, Span
from gradscope.rules import rule
from gradscope.store import Trace

LAYERS = RECURRENT | RECURRENT_CELLS
DRAWS = {
    "randn": "zeros", "rand": "zeros", "randn_like": "zeros_like", "rand_like": "zeros_like", "normal_": "zero_",
    "uniform_": "zero_", "normal": "",
}  # fmt: skip  # and what gives zeros in the same form
THE_SAME = (PASSING - JOINING) | CASTS | {"requires_grad_", "detach"}
KNOWN_TO_ZEROS = {"device", "dtype", "requires_grad"}


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    data, labels = torch.randn(64, 5, 4), torch.randint(0, 2, (64,))
    layer, head = nn.GRU(4, 8, batch_first=True), nn.Linear(8, 2)
    opt = torch.optim.Adam([*layer.parameters(), *head.parameters()], lr=0.01)

    def forward(x: torch.Tensor) -> torch.Tensor:
        state = torch.randn(1, len(x), 8)  # cause: GS799
        out: torch.Tensor = head(layer(x, state)[0][:, -1])  # effect: GS799
        return out

    for rows in torch.arange(64).split(16):
        opt.zero_grad()
        nn.functional.cross_entropy(forward(data[rows]), labels[rows]).backward()
        opt.step()
    with torch.no_grad():
        print((forward(data).argmax(1) == labels).float().mean().item())


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    data, labels = torch.randn(64, 5, 4), torch.randint(0, 2, (64,))
    layer, head = nn.GRU(4, 8, batch_first=True), nn.Linear(8, 2)
    opt = torch.optim.Adam([*layer.parameters(), *head.parameters()], lr=0.01)

    def forward(x: torch.Tensor) -> torch.Tensor:
        state = torch.zeros(1, len(x), 8)
        out: torch.Tensor = head(layer(x, state)[0][:, -1])
        return out

    for rows in torch.arange(64).split(16):
        opt.zero_grad()
        nn.functional.cross_entropy(forward(data[rows]), labels[rows]).backward()
        opt.step()
    with torch.no_grad():
        print((forward(data).argmax(1) == labels).float().mean().item())


class _Begin(NamedTuple):
    """A call of a layer that does not go on with what an earlier call of it has given; `draws` made its states."""

    op: Op
    weights: frozenset[int]
    draws: tuple[Op, ...]  # empty where a state is anything else


@rule("GS799", name="state-begins-at-random", severity="warning")
def state_begins_at_random(trace: Trace) -> Iterator[Finding]:
    if trace.op_names.isdisjoint(LAYERS) or trace.op_names.isdisjoint(DRAWS):
        return
    known = paths(trace)
    layers: dict[frozenset[int], list[_Begin]] = {}
    for number in known.graph_ids:
        for op in known.graph(number).ops:
            begin = _begin(known, op) if op.name in LAYERS else None
            if begin is not None:
                layers.setdefault(begin.weights, []).append(begin)
    drawn = _draws(known)
    told: set[tuple[str, int]] = set()
    for begins in layers.values():
        places = {draw.site.user.span(): draw for begin in begins for draw in begin.draws}
        anew = all(drawn.get(place, 0) > 1 for place in places)
        trained = [begin for begin in begins if (begin.op.graph, begin.op.outputs[0]) in known.used.order]
        if not places or not anew or not trained or not all(begin.draws for begin in begins):
            continue
        lines = {draw.site.user.location() for draw in places.values()}
        if told.isdisjoint(lines) and all(_has_data(known, begin.op) for begin in begins):
            told |= lines
            yield _finding(trace, known, begins, list(places.values()))


def _draws(known: Paths) -> dict[Span, int]:
    """How many draws came from each place, in all stored graphs."""
    found: dict[Span, int] = {}
    for number in known.graph_ids:
        for op in known.graph(number).ops:
            if op.name in DRAWS:
                place = op.site.user.span()
                found[place] = found.get(place, 0) + 1
    return found


def _begin(known: Paths, op: Op) -> _Begin | None:
    given = [(op.graph, value) for value in op.inputs]
    parameters = {key: known.parameter_of(key) for key in given}
    weights = frozenset(p.id for p in parameters.values() if p is not None)
    states = [key for key in given[1:] if parameters[key] is None and _is_float(known, key)]
    if not weights or not op.outputs:
        return None
    makers = [_maker(known, key) for key in states]
    evaluates = (
        not known.graph(op.graph).values[op.outputs[0]].requires_grad
    )  # a graph for each call of the model
    if any(m is not None and m.name in LAYERS and (evaluates or m.graph == op.graph) for m in makers):
        return None
    draws = [m for m in makers if m is not None and _is_noise(m) and _near(m.site.user, op.site.user)]
    return _Begin(op, weights, tuple(draws) if draws and len(draws) == len(states) else ())


def _maker(known: Paths, key: Key) -> Op | None:
    """What gave a state its numbers, whatever a plain number scaled them by."""
    maker = known.maker(key)
    while maker is not None and maker.inputs and (maker.name in THE_SAME or _is_scaling(maker)):
        maker = known.maker((maker.graph, maker.inputs[0]))
    return maker


def _is_noise(op: Op) -> bool:
    """Whether it was drawn, and not around a mean that was computed."""
    return op.name in DRAWS and not (op.name == "normal" and op.inputs)


def _is_scaling(op: Op) -> bool:
    return op.name in SCALES and len(op.inputs) == 1


def _is_float(known: Paths, key: Key) -> bool:
    return "float" in known.value(key).dtype


def _near(draw: Site, call: Site) -> bool:
    """Whether the state is drawn where the layer is called: in that function, or in a method of the same class."""
    if draw.path != call.path:
        return False
    one, other = draw.function.rpartition("."), call.function.rpartition(".")
    return one == other or (bool(one[0]) and one[0] == other[0] and one[2] != "__init__")


def _has_data(known: Paths, op: Op) -> bool:
    """Whether what the layer reads was computed from anything but parameters and what this step has made itself."""
    for key in known.flow([(op.graph, op.inputs[0])]).order:
        sources, maker = known.sources(key)
        if sources or known.parameter_of(key) is not None:
            continue
        made_now = (
            maker is not None and maker.graph == op.graph and maker.name in FILLED | LIKE | DRAWS.keys()
        )
        if not made_now:
            return True
    return False


def _finding(trace: Trace, known: Paths, begins: list[_Begin], draws: list[Op]) -> Finding:
    places = [draw.site.user for draw in draws]
    off = [b for b in begins if not known.graph(b.op.graph).values[b.op.outputs[0]].requires_grad]
    first = begins[0]
    names = parameter_names(trace, sorted(first.weights))
    where = " and ".join(located(trace, place) for place in places[:3])
    return Finding(
        message=f"{code(trace, first.op.site.user, first.op.name)} begins with a state that is drawn at random in each"
        " call" + (", in evaluation too: the same input gives other answers" if off else ""),
        cause=places[0],
        cause_label="noise, which says nothing about the sequence",
        effect=first.op.site.user,
        effect_label="begins with it",
        related=tuple((place, "drawn as well") for place in places[1:4]),
        seen=(
            f"the layer of {names} began with what {plural(len(places), 'draw')} gave, new ones in each looked-at call"
            + (f"; {len(off)} of those had gradients off" if off else ""),
        ),
        fix=f"begin with zeros in place of {where}, or call it without a state, which is the same",
        severity="" if off else "note",
        edits=_zeros(trace, draws),
        subjects=frozenset({("state", *places[0].location())}),
    )


def _zeros(trace: Trace, draws: list[Op]) -> Edits:
    edits: Edits = ()
    for draw in draws:
        place = draw.site.user
        call = Source(trace, place.path).file.at(place)
        keywords = {k.arg for k in getattr(call, "keywords", ())}
        known = not getattr(call, "args", ()) if draw.name.endswith("_") else bool(DRAWS[draw.name])
        made = (
            renamed(trace, place, draw.name, DRAWS[draw.name]) if known and keywords <= KNOWN_TO_ZEROS else ()
        )
        if not made:
            return ()
        edits += made
    return edits
