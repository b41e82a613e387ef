"""Networks that the program writes from another one while both are trained by the same passes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.analysis.calls import Calls
from gradscope.analysis.own_writes import written_in_use
from gradscope.analysis.reach import Paths
from gradscope.analysis.terms import terms
from gradscope.analysis.unread import asked_at
from gradscope.events import Backward, Rooted
from gradscope.model import Graph, Parameter, Site
from gradscope.store import Trace


@dataclass
class TrainedCopy:
    """A network that the program writes from another of the same form, and that is trained as well."""

    module: int
    original: int
    event: Backward
    site: Site  # asks it
    parameters: list[int]
    times: int


def trained_copies(trace: Trace, known: Calls) -> Iterator[TrainedCopy]:
    """Networks that the program writes from another one while both are trained by the same pass."""
    written = written_in_use(trace) & known.trained
    if not written:
        return
    covered: set[int] = set()
    forms = _forms(trace, known)
    companions = _filled_together(known, forms)
    for number, form in forms.items():
        mine = {id for _, _, id in form}
        if not mine <= written or mine <= covered:
            continue
        shape = [(name, size) for name, size, _ in form]
        for other in companions.get(number, ()):
            its = forms[other]
            originals = {id for _, _, id in its}
            if [(name, size) for name, size, _ in its] != shape or originals & written_in_use(trace):
                continue
            found = _trained_copy(known, number, other, mine, originals)
            if found is not None:
                covered |= mine
                yield found
                break


Forms = dict[int, list[tuple[str, tuple[int, ...], int]]]


def _filled_together(known: Calls, forms: Forms) -> dict[int, list[int]]:
    """Module → the modules of which some pass fills parameters along with its own: a program that copies a
    model in every step has thousands, of which each meets a few."""
    modules_of: dict[int, list[int]] = {}
    for number, form in forms.items():
        for _, _, id in form:
            modules_of.setdefault(id, []).append(number)
    met: dict[int, dict[int, None]] = {}
    for filled in {frozenset(event.filled) for event in known.paths.backwards}:
        together = dict.fromkeys(number for id in sorted(filled) for number in modules_of.get(id, ()))
        for number in together:
            met.setdefault(number, {}).update(together)
    order = {number: place for place, number in enumerate(forms)}
    return {number: sorted(others, key=order.__getitem__) for number, others in met.items()}


def _forms(trace: Trace, known: Calls) -> Forms:
    """Module → name below it, shape and id of each of its parameters; outer modules first."""
    found: Forms = {}
    held: dict[int | None, list[Parameter]] = {}
    for parameter in trace.parameters:
        held.setdefault(parameter.module, []).append(parameter)
    for module in sorted(trace.modules.values(), key=lambda m: (m.path.count("."), bool(m.path), m.id)):
        members = known.members(module.id)
        skip = len(module.path) + 1 if module.path else 0
        form = sorted((p.name[skip:], p.shape, p.id) for member in members for p in held.get(member, ()))
        if form:
            found[module.id] = form
    return found


def _trained_copy(
    known: Calls, module: int, original: int, mine: set[int], originals: set[int]
) -> TrainedCopy | None:
    event = next(
        (
            e
            for e in known.paths.backwards
            if mine & set(e.filled) and _together(known.paths, e, mine, originals)
        ),
        None,
    )
    if event is None or not _copied(known.paths, mine, originals):
        return None
    for call in known.all:
        if (
            call.trains
            and call.event.graph == event.graph
            and mine & {p.id for p in known.parameters(call.event)}
        ):
            site = asked_at(known, event, known.members(module), call.entry)
            return TrainedCopy(module, original, event, site, sorted(mine), known.paths.alike(event))
    return None


def _together(paths: Paths, event: Rooted, mine: set[int], originals: set[int]) -> bool:
    """Whether one term of the loss compares both, rather than a sum of losses of their own."""
    parts = [part for root in event.roots for part in terms(paths, (event.graph, root))]
    reached = [paths.reach([part]).parameters for part in parts]
    return any(mine & one and originals & one for one in reached)


def _copied(paths: Paths, mine: set[int], originals: set[int]) -> bool:
    """Whether the program writes all of `mine` from values of `originals`."""
    left = set(mine)
    for number in paths.graph_ids:
        graph = paths.graph(number)
        for op in graph.writing:
            owned = {p for value in op.writes if (p := _owner(paths, graph, value)) in left}
            if (
                owned
                and op.module is None
                and any(_copies(paths, graph, given, originals) for given in op.inputs)
            ):
                left -= owned
    return not left


def _copies(paths: Paths, graph: Graph, given: int, originals: set[int]) -> bool:
    """Whether a value was computed from `originals` alone, not by a network that has them."""
    upstream = graph.upstream(given)
    made = [graph.ops[op] for value in upstream if (op := graph.values[value].op) is not None]
    return all(op.module is None for op in made) and any(
        _owner(paths, graph, value) in originals for value in upstream
    )


def _owner(paths: Paths, graph: Graph, value: int) -> int | None:
    """The parameter whose memory a value shares."""
    return graph.values[paths.memory(graph.id, value)].parameter
