"""Rewards that a policy's loss takes with the graph of what they were computed by."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from gradscope.analysis.calls import Calls
from gradscope.analysis.names import names_of
from gradscope.analysis.ops import DRAWS, EXPONENTIALS, MULTIPLICATIONS, PROBABILITIES
from gradscope.analysis.reach import Key, passes
from gradscope.analysis.words import code, located, parameter_names, parameter_subjects
from gradscope.events import Backward
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op
from gradscope.store import Trace

MAX_UPSTREAM = 400  # values looked at for a log-probability


@dataclass(frozen=True)
class Reward:
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
        scored = any(_method(op, "log_prob") for op in graph.ops)
        for op in graph.ops if scored else ():
            place = op.site.user.location()
            if op.name in MULTIPLICATIONS and len(set(op.inputs)) == 2 and op.nodes and place not in seen:
                found = _reward(known, event, graph, op)
                if found is not None:
                    seen.add(place)
                    yield graph, found


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
    """Whether a value is the `log_prob`, summed up and the like, of what was drawn from the same distribution."""
    todo, seen = [value], {value}
    while todo and len(seen) < MAX_UPSTREAM:
        op = graph.maker(todo.pop())
        if op is None or op.name in EXPONENTIALS | PROBABILITIES:
            continue  # a ratio of probabilities is another method
        if _method(op, "log_prob"):
            constants = [(graph.id, i) for i in op.inputs if not graph.values[i].requires_grad]
            if any(_drawn(known, key, actor) for key in constants):
                return True
        new = [i for i in op.inputs if i not in seen and graph.values[i].requires_grad]
        seen.update(new)
        todo += new
    return False


def _drawn(known: Calls, value: Key, actor: frozenset[int]) -> bool:
    """Whether a value was drawn with probabilities that these parameters give."""
    for key in known.paths.flow([value]).order:
        sources, op = known.paths.sources(key)
        if op is not None and (op.name in DRAWS or _method(op, "sample")):
            behind = (known.paths.parameter_of(source) for source in known.paths.flow(sources).order)
            if any(parameter is not None and parameter.id in actor for parameter in behind):
                return True
    return False


def _method(op: Op, name: str) -> bool:
    return any(f.kind == "torch" and f.function.endswith(f".{name}") for f in op.site.stack)


def reward_finding(trace: Trace, graph: Graph, found: Reward) -> Finding:
    """GS314 for a reward that carries its graph."""
    product = found.product.site.user
    made = graph.values[found.weight].op
    name = names_of(trace).name(graph, found.weight) or ""
    subject = f"`{name}`" if name else "the weight"
    source = graph.ops[made].site.user if made is not None else None
    elsewhere = source is not None and source.location() != product.location()
    names = parameter_names(trace, sorted(found.parameters))
    return Finding(
        message=f"{subject} carries a graph into {code(trace, product, 'the product')}: the policy's loss trains"
        f" {names} as well",
        cause=product,
        cause_label="both factors are differentiated",
        effect=source if elsewhere else None,
        effect_label="made of what has a loss of its own",
        seen=(
            f"in {passes(found.passes)} {names} got a gradient over the reward, times the log-probability of the"
            " action, and one from the rest of the loss",
        ),
        fix=f"multiply the log-probability by `{name or 'reward'}.detach()` in"
        f" {located(trace, product, 'the product')}: what is drawn is judged by the number alone",
        count=found.passes,
        edits=_detached(trace, found, name),
        subjects=parameter_subjects(found.parameters),
    )


def _detached(trace: Trace, found: Reward, name: str) -> Edits:
    here = Source(trace, found.product.site.user.path)
    node = here.file.at(found.product.site.user)
    for side in (node.left, node.right) if isinstance(node, ast.BinOp) else ():
        if name and ast.unparse(side) == name and isinstance(side, (ast.Name, ast.Attribute, ast.Subscript)):
            return here.append(side, ".detach()")
    return ()
