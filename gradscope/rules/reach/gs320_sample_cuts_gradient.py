"""A layer works on numbers drawn with `sample()`: no gradient comes back to what the distribution is made of.

Why: `sample()` draws under `no_grad`. The numbers are right, and no gradient goes back from them to the mean and the
deviation that they were drawn with. Where another term of the loss (a KL divergence) still trains these, nothing
looks broken: the encoder of a variational autoencoder learns to please that term alone.

Fix: `rsample()`, which computes the same numbers from the mean, the deviation and a noise, with a graph.

A product of such numbers and data counts as a layer where the likelihood of other data is asked of it.

The same of numbers whose log-probability is only added to the loss, as in the loss of a soft actor-critic: with numbers
that have no graph the gradient of that term is zero on average, and nothing says which numbers the layer likes.

Silent on: distributions that have no `rsample()`, numbers whose log-probability something weighs (policy gradients),
distributions that nothing else trains in the same pass, targets, passes that draw with `rsample()` elsewhere (who
knows it may mean the other).
"""

from collections.abc import Iterator
from math import prod

from gradscope.analysis.ops import (
    ADDITIONS,
    CASTS,
    DISTRIBUTIONS,
    EXITS,
    MEANS,
    NEGATIONS,
    PASSING,
    PRODUCTS_OF_MATRICES,
    SCALES,
    SUBTRACTIONS,
)
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.senses import plain_factor
from gradscope.analysis.words import code, located, parameter_names, parameter_subjects
from gradscope.events import Backward
from gradscope.fixes.calls import renamed
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace

LAYERS = {
    "linear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "lstm",
    "gru",
    "matmul",
    "addmm",
}
LINEAR = ADDITIONS | SUBTRACTIONS | NEGATIONS | CASTS | MEANS | PASSING | {"sum"}


def bad() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal, kl_divergence

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
    for _ in range(3):
        x = torch.randn(16, 6)
        mean, spread = encoder(x).chunk(2, 1)
        q = Normal(mean, spread.exp())
        z = q.sample()  # cause: GS320
        error = (decoder(z) - x).pow(2).sum(1).mean()  # effect: GS320
        loss = error + kl_divergence(q, Normal(0.0, 1.0)).sum(1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal, kl_divergence

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
    for _ in range(3):
        x = torch.randn(16, 6)
        mean, spread = encoder(x).chunk(2, 1)
        q = Normal(mean, spread.exp())
        z = q.rsample()
        loss = (decoder(z) - x).pow(2).sum(1).mean() + kl_divergence(q, Normal(0.0, 1.0)).sum(1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS320", name="sample-cuts-gradient", severity="warning", over=("GS605",))
def sample_cuts_gradient(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    samples: dict[int, list[tuple[Op, int]]] = {}
    for event in known.backwards:
        graph = known.graph(event.graph)
        if graph.id not in samples:
            samples[graph.id] = [] if any(map(_keeps_graph, graph.sites)) else list(_samples(graph))
        reached = None
        for op, drawn in samples[graph.id]:
            place = op.site.user.location()
            if place in told:
                continue
            if reached is None:
                reached = known.reach((graph.id, root) for root in event.roots)
            behind = known.fed_by((graph.id, drawn))
            if not behind or not behind <= reached.parameters:
                continue
            layer = _layer(known, op, drawn, reached.nodes)
            scored = _layer_beside_a_score(known, op, drawn, reached.nodes) if layer is None else None
            if layer is not None:
                told.add(place)
                yield _finding(trace, op, layer, sorted(behind))
            elif scored is not None:
                told.add(place)
                yield _finding(trace, op, scored, sorted(behind), event)


def _samples(graph: Graph) -> Iterator[tuple[Op, int]]:
    """The calls that draw within a `sample()`, with the value that this gives."""
    for op in graph.cuts:
        if op.cut == "no_grad" and len(op.outputs) == 1 and _of_sample(op):
            drawn = _drawn(graph, op)
            if drawn is not None:
                yield op, drawn


def _of_sample(op: Op) -> bool:
    """Whether it is a part of a `sample()` of torch's, of a distribution that has an `rsample()`."""
    inner = [
        frame.function for frame in op.site.stack if DISTRIBUTIONS in frame.path and frame.kind == "torch"
    ]
    return "Normal.sample" in inner or (
        any(name.endswith(".rsample") for name in inner) and any(name.endswith(".sample") for name in inner)
    )


def _keeps_graph(site: Site) -> bool:
    """Whether a call is a part of an `rsample()` that the program calls itself."""
    inner = [frame.function for frame in site.stack if DISTRIBUTIONS in frame.path and frame.kind == "torch"]
    return any(name.endswith(".rsample") for name in inner) and not any(
        name.endswith(".sample") for name in inner
    )


def _drawn(graph: Graph, op: Op) -> int | None:
    """The value that the `sample()` gives in which `op` draws; None where another call of it draws."""
    value = op.outputs[0]
    for _ in range(len(graph.ops)):
        readers = [r for r in graph.consumers.get(value, ()) if _sampling(r) and r.outputs]
        if not readers:
            return value
        if readers[0].cut == "no_grad" and _of_sample(readers[0]):
            return None
        value = readers[0].outputs[0]
    return None


def _sampling(op: Op) -> bool:
    return any(
        frame.function.endswith(".sample") and DISTRIBUTIONS in frame.path and frame.kind == "torch"
        for frame in op.site.stack
    )


def _layer(known: Paths, op: Op, made: int, reached: frozenset[Key]) -> Op | None:
    """The first layer that works on what was drawn, on the way of the pass; None where its probability is asked
    for, or where it meets what it was drawn from."""
    graph = known.graph(op.graph)
    drawn = {value for index in op.inputs for value in graph.upstream(index, most=8)}
    found = product = None
    for value, reader in graph.readers_behind([made], lambda r: r.name in PASSING):
        if any(frame.function.endswith(".log_prob") for frame in reader.site.stack):
            return None
        others = {index for index in reader.inputs if index != value}
        if reader.name in LAYERS and any((graph.id, node) in reached for node in reader.nodes):
            found = found or reader
        elif reader.name not in PASSING and others & drawn:
            return None
        elif reader.name in LAYERS | PRODUCTS_OF_MATRICES and not reader.nodes and reader.outputs:
            product = product or reader
    if found is None and product is not None and _is_judged(graph, product, drawn, reached):
        return product
    return found


def _is_judged(graph: Graph, product: Op, drawn: set[int], reached: frozenset[Key]) -> bool:
    """Whether the likelihood of data is asked of what was computed with the drawn numbers, and weighed by what the
    pass trains: a deviation of its own is all that still gets a gradient of it."""
    for value, reader in graph.readers_behind(product.outputs, lambda r: not r.nodes):
        if not reader.nodes or reader.name == "broadcast_tensors":  # it gives each back by itself
            continue
        others = {index for index in reader.inputs if index != value}
        asked = any(frame.function.endswith(".log_prob") for frame in reader.site.stack)
        if reader.name in SCALES and asked and not others & drawn:
            return any((graph.id, node) in reached for node in reader.nodes)
        return False
    return False


def _layer_beside_a_score(known: Paths, op: Op, made: int, reached: frozenset[Key]) -> Op | None:
    """The first layer on the way of the pass that works on what was computed from the drawn numbers, where the
    log-probability of these, by what they were drawn from, is a part of the loss by sums alone."""
    graph = known.graph(op.graph)
    drawn = {value for index in op.inputs for value in graph.upstream(index, most=8)}
    scores: set[int] = set()
    layer, own = None, False
    left = weighed = (
        False  # numbers leave torch, as for an environment; a number that may have come back weighs
    )
    for value, reader in graph.readers_behind([made], lambda r: r.name not in LAYERS):
        on_the_way = any((graph.id, node) in reached for node in reader.nodes)
        others = {index for index in reader.inputs if index != value}
        if _asks_probability(reader):
            scores.update(reader.outputs)
            own |= bool(others & drawn)
        elif value in scores and on_the_way:
            if not _adds(known, reader, value, made):
                return None
            weighed |= reader.name in SCALES and plain_factor(known.trace, reader) is None
            scores.update(reader.outputs)
        elif reader.name in LAYERS and on_the_way:
            layer = layer or reader
        elif reader.name in EXITS:
            left = True
        elif others & drawn and reader.nodes:
            return None
    return layer if own and not (left and weighed) else None


def _asks_probability(op: Op) -> bool:
    return any(
        frame.function.endswith(".log_prob") and DISTRIBUTIONS in frame.path and frame.kind == "torch"
        for frame in op.site.stack
    )


def _adds(known: Paths, op: Op, value: int, made: int) -> bool:
    """Whether a call only adds up numbers, or scales them all alike by what was not computed from `made`."""
    if op.name in LINEAR:
        return True
    graph = known.graph(op.graph)
    factors = [i for i in op.inputs if i != value]
    if op.name not in SCALES or any(prod(graph.values[i].shape) > 1 for i in factors):
        return False
    if (graph.id, made) in known.flow((graph.id, i) for i in factors).order:
        return False
    # A single log-probability times a number may be that of an episode and what it has brought in.
    several = prod(graph.values[value].shape) > 1
    return several or (not factors and plain_factor(known.trace, op) is not None)


def _finding(trace: Trace, op: Op, layer: Op, behind: list[int], scored: Backward | None = None) -> Finding:
    """`scored`: the pass whose loss has the log-probability of what was drawn as a term."""
    site = op.site.user
    text = code(trace, site, "`sample()`")
    ways = (
        "the pass reaches them by other ways only, and no log-probability of what was drawn is taken"
        if scored is None
        else "the log-probability of what was drawn is only added to the loss, and nothing weighs it: the gradient of"
        " that is zero on average over the draws"
    )
    return Finding(
        message=f"{text} keeps no graph: {parameter_names(trace, behind)} get no gradient from what is computed"
        " with it",
        cause=site,
        cause_label="is drawn under `no_grad`",
        effect=layer.site.user,
        effect_label="works on it, and its gradient ends there",
        seen=(f"the distribution is computed from {parameter_names(trace, behind)}; {ways}",),
        why="`sample()` draws under `no_grad`: no gradient goes back from the numbers to the mean and the deviation"
        " that they were drawn with. What the layer makes of them teaches nothing, and a log-probability without a"
        " weight pushes as often one way as the other"
        if scored is not None
        else "",
        fix=f"draw with `rsample()` in {located(trace, site)}",
        edits=renamed(trace, site, "sample", "rsample"),
        subjects=parameter_subjects(behind)
        | ({("pass", scored.site.user.location())} if scored is not None else set()),
    )
