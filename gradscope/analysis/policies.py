"""What a policy's loss multiplies log-probabilities with, where that leads back to what has a loss of its own: a
critic's advantage, a reward that trained parameters compute."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from gradscope.analysis.bootstraps import squared
from gradscope.analysis.calls import Calls
from gradscope.analysis.ops import (
    CASTS,
    COMPARING_LOSSES,
    DRAWS,
    EXPONENTIALS,
    MULTIPLICATIONS,
    PASSING,
    PICKS_OF_ROWS,
    PROBABILITIES,
    SCALES,
    SUBTRACTIONS,
)
from gradscope.analysis.reach import Key, Paths
from gradscope.events import Backward
from gradscope.model import Graph, Op, Site

NEAR = 4  # calls
MAX_UPSTREAM = 400  # values looked at for a log-probability


class Advantage(NamedTuple):
    """`(returns - value) * log_prob`, whose value leads back to a critic."""

    difference: Op  # data minus the critic's estimate
    product: Op  # with the log-probability
    lesson: Op  # the critic's own loss
    parameters: frozenset[int]  # of the critic alone
    times: int


def advantages(known: Calls) -> Iterator[tuple[Graph, Advantage]]:
    """Once per line: where the critic has a loss of its own, and the actor's trains it too."""
    told: set[tuple[str, int]] = set()
    for number in known.paths.graph_ids:
        graph = known.paths.graph(number)
        for op in graph.called(SCALES):
            place = op.site.user.location()
            if len(op.inputs) == 2 and op.outputs and place not in told:
                found = _advantage(known, graph, op)
                if found is not None:
                    told.add(place)
                    yield graph, found


def _advantage(known: Calls, graph: Graph, product: Op) -> Advantage | None:
    used = known.paths.used.order
    if (graph.id, product.outputs[0]) not in used or len(set(product.inputs)) < 2:
        return None
    for weight, chance in (product.inputs, product.inputs[::-1]):
        difference = _difference(graph, weight)
        if difference is None or not (
            scored(graph, chance) or picked(known.paths, (graph.id, chance), "log_softmax")
        ):
            continue
        estimate = next(i for i in difference.inputs[:2] if graph.values[i].requires_grad)
        reach = known.paths.reach
        actor = reach([(graph.id, chance)]).parameters
        critic = (reach([(graph.id, estimate)]).parameters - actor) & known.trained
        lesson = _lesson(known, graph, difference, estimate)
        if critic and lesson is not None:
            times = known.paths.times_through(graph.id, product.nodes) or graph.count
            return Advantage(difference, product, lesson, frozenset(critic), times)
    return None


def _difference(graph: Graph, value: int) -> Op | None:
    """The op that took an estimate with a graph from data without one, perhaps negated since."""
    for _ in range(3):
        op = graph.maker(value)
        if op is None or op.module is not None or not op.inputs:
            return None
        tracked = [i for i in op.inputs[:2] if graph.values[i].requires_grad]
        if op.name in SUBTRACTIONS and len(op.inputs) >= 2 and len(tracked) == 1:
            data = next(i for i in op.inputs[:2] if i not in tracked)
            return None if graph.values[data].kind == "parameter" or graph.values[tracked[0]].is_leaf else op
        if op.name != "neg" or not tracked:
            return None
        value = tracked[0]
    return None


def _lesson(known: Calls, graph: Graph, difference: Op, estimate: int) -> Op | None:
    """The loss that compares the same estimate with data, or takes it, without its graph, for what is to be reached."""
    used = known.paths.used.order
    readers: list[Op] = [difference, *graph.consumers.get(estimate, ())]
    for op in list(readers):
        readers += graph.consumers.get(op.outputs[0], ()) if op.cut == "detach" and op.outputs else ()
    for op in readers:
        own = op.name in COMPARING_LOSSES or (op.name in SUBTRACTIONS and squared(known.paths, op))
        if own and op.outputs and (graph.id, op.outputs[0]) in used:
            return op
    return None


class Reward(NamedTuple):
    """`log_prob * reward` of an action that was drawn, whose reward leads to parameters with a loss of their own."""

    product: Op
    weight: int  # the reward
    parameters: frozenset[int]  # behind the reward, and not behind the action's probability
    passes: int


def rewards(known: Calls, told: Collection[tuple[str, int]]) -> Iterator[tuple[Graph, Reward]]:
    """Once per line, but for those `told` already."""
    seen = set(told)
    for event in known.paths.backwards:
        if event.call != "backward" or event.create_graph:
            continue
        graph = known.paths.graph(event.graph)
        any_score = any(is_part_of(site, "log_prob") for site in graph.sites)
        scores = _made_of_scores(graph) if any_score else set()
        for op in graph.called(MULTIPLICATIONS) if scores else ():
            place = op.site.user.location()
            if len(set(op.inputs)) == 2 and op.nodes and place not in seen and scores.intersection(op.inputs):
                found = _reward(known, event, graph, op)
                if found is not None:
                    seen.add(place)
                    yield graph, found


def _made_of_scores(graph: Graph) -> set[int]:
    """The values that a distribution's `log_prob` gave, and all that was made of them with a graph."""
    found: set[int] = set()
    for op in graph.ops:
        if op.nodes and (not found.isdisjoint(op.inputs) or is_part_of(op.site, "log_prob")):
            found.update(op.outputs, op.written)
    return found


def _reward(known: Calls, event: Backward, graph: Graph, product: Op) -> Reward | None:
    if not all(graph.values[index].requires_grad for index in product.inputs):
        return None
    reach, nodes = known.paths.reach, {(graph.id, node) for node in product.nodes}
    for weight, chance in (product.inputs, product.inputs[::-1]):
        actor = reach([(graph.id, chance)]).parameters
        behind = (reach([(graph.id, weight)]).parameters - actor) & known.trained & set(event.filled)
        if not behind or not _of_data(known, (graph.id, weight)) or not _score(known, graph, chance, actor):
            continue
        roots = [(event.graph, root) for root in event.roots]
        if nodes <= reach(roots).nodes:
            taught = frozenset(behind & reach(roots, stop=nodes).parameters)
            return Reward(product, weight, taught, known.paths.alike(event)) if taught else None
    return None


def _of_data(known: Calls, weight: Key) -> bool:
    """Whether a value is more than a number that is trained, as a temperature is."""
    flow = known.paths.flow([weight])
    leaves = [key for key in flow.order if not known.paths.sources(key)[0]]
    return any(known.paths.parameter_of(key) is None for key in leaves)


def _score(known: Calls, graph: Graph, value: int, actor: frozenset[int]) -> bool:
    """Whether a value is the `log_prob`, summed up and the like, of what was drawn from the same distribution: a ratio
    of probabilities is another method."""
    return any(
        is_drawn(known.paths, (graph.id, i), actor)
        for op in calls_behind(graph, value, EXPONENTIALS | PROBABILITIES)
        if is_part_of(op.site, "log_prob")
        for i in op.inputs
        if not graph.values[i].requires_grad
    )


def is_drawn(known: Paths, value: Key, actor: frozenset[int]) -> bool:
    """Whether a value was drawn with probabilities that these parameters give."""
    for key in known.flow([value]).order:
        sources, op = known.sources(key)
        if op is not None and (op.name in DRAWS or is_part_of(op.site, "sample")):
            behind = (known.parameter_of(source) for source in known.flow(sources).order)
            if any(parameter is not None and parameter.id in actor for parameter in behind):
                return True
    return False


def scored(graph: Graph, value: int) -> bool:
    """Whether a distribution's `log_prob` stands behind a value, with a graph."""
    return any(is_part_of(op.site, "log_prob") for op in calls_behind(graph, value))


def picked(known: Paths, key: Key, name: str) -> bool:
    """Whether a value is what a softmax gives to one of its classes in each row."""
    for _ in range(NEAR):
        op = known.maker(key)
        if op is None or not op.inputs:
            return False
        if op.name in PICKS_OF_ROWS:
            maker = known.maker_behind((op.graph, op.inputs[0]), CASTS)
            return maker is not None and maker.name == name and "t" in op.extra.get("at", "t")
        if op.name not in PASSING:
            return False
        key = (op.graph, op.inputs[0])
    return False


def calls_behind(graph: Graph, value: int, beyond: Collection[str] = ()) -> Iterator[Op]:
    """The calls that a value was made by with a graph, nearest first; none of those named in `beyond`, nor before."""
    todo, seen = [value], {value}
    while todo and len(seen) < MAX_UPSTREAM:
        op = graph.maker(todo.pop())
        if op is None or op.name in beyond:
            continue
        yield op
        new = [i for i in op.inputs if i not in seen and graph.values[i].requires_grad]
        seen.update(new)
        todo += new


def is_part_of(site: Site, name: str) -> bool:
    """Whether a call is a part of this method of a class of torch's."""
    return any(f.kind == "torch" and f.function.endswith(f".{name}") for f in site.stack)
