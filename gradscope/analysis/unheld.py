"""Parameters that get gradients and that no optimizer holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set

from gradscope.analysis.calls import is_part_of
from gradscope.analysis.feeds import drawn_here, fed, feeding
from gradscope.analysis.loop import filled_since, since_filled, taken_for_itself
from gradscope.analysis.memo import once
from gradscope.analysis.own_writes import kept_up
from gradscope.analysis.reach import Paths, Reach, paths
from gradscope.analysis.terms import terms
from gradscope.analysis.words import dotted
from gradscope.analysis.writes import only_bounded
from gradscope.events import Mode, ModuleCall, ReplacedParameter, Step
from gradscope.model import Optimizer, Parameter, Site
from gradscope.store import Trace

FEW = 4  # passes of a loss of its own
Left = tuple[list[Parameter], list[Parameter], list[Parameter]]


@once
def left_out(trace: Trace) -> list[Left]:
    """(all parameters, those that are stepped, those left out) of each model that misses some."""
    return list(_left_out_of(trace)) if trace.optimizers else []


def _left_out_of(trace: Trace) -> Iterator[Left]:
    written = kept_up(trace)
    written = written - only_bounded(trace) if written else written
    roots = _by_root(trace)
    for parameters in roots.values():
        stepped = [p for p in parameters if p.steps and p.optimizers] or asleep(trace, parameters)
        left = [p for p in parameters if p.id not in written and _left_out(p, stepped)]
        left = [p for p in left if not _has_made_room(trace, p, stepped)]
        if stepped and left:
            yield parameters, stepped, left
    yield from _new_models(trace, roots, written, fed)


def _has_made_room(trace: Trace, p: Parameter, stepped: list[Parameter]) -> bool:
    """Whether a parameter of the same name that is stepped took its place, and it got no gradient since."""
    others = {q.id for q in stepped if q.name == p.name}
    return bool(others) and p.id not in filled_since(trace, others)


def asleep(trace: Trace, parameters: list[Parameter]) -> list[Parameter]:
    """Those that an optimizer holds and steps past in the whole run, each of them frozen: it was made
    before the parameters that train (adapters, say) were put in."""
    held = [p for p in parameters if any(trace.optimizers[n].steps for n in p.optimizers)]
    return [] if any(p.requires_grad or p.passes for p in held) else held


@once
def left_behind(trace: Trace) -> list[Left]:
    """As `left_out`, of each new model in training mode that no optimizer holds, and that goes on
    with what stepped models give it."""
    return list(_left_behind(trace)) if trace.optimizers else []


def _left_behind(trace: Trace) -> Iterator[Left]:
    yield from _new_models(trace, _by_root(trace), kept_up(trace), feeding)


@once
def trained_by_nobody(trace: Trace) -> list[Left]:
    """As `left_out`, of models that no optimizer holds and that are there to be trained: terms of a loss, or losses
    with passes of their own, reach their parameters and nothing else. This run drew their weights."""
    return list(_trained_by_nobody(trace)) if trace.optimizers else []


def _trained_by_nobody(trace: Trace) -> Iterator[Left]:
    known, written, told = paths(trace), kept_up(trace), set[int]()
    models = [
        parameters
        for parameters in _by_root(trace).values()
        if any(p.passes for p in parameters)
        and not any(p.optimizers for p in parameters)
        and drawn_here(trace, parameters)
    ]
    if not models:
        return
    others = [p for p in trace.parameters if p.registered and p.steps and p.optimizers]
    for root, events in known.roots.items():
        parts = [known.reach([part]) for part in terms(known, root)]
        reached = {id for part in parts for id in part.parameters}
        stepped = [p for id in sorted(reached) if (p := trace.parameter(id)).steps]
        if not stepped and sum(e.count for e in events if e.call == "backward" and not e.inputs) >= FEW:
            stepped = others
        left = {
            p.id
            for parameters in models
            for p in parameters
            if p.id in reached - told - written and _left_out(p, stepped)
        }
        alone = [
            part for part in parts if part.parameters & left and part.parameters <= left and part.complete
        ]
        mine = {id for part in alone if not _other_leaves(known, part) for id in part.parameters}
        if mine and stepped:
            told |= mine
            of_models = [p for parameters in models for p in parameters if mine & {p.id for p in parameters}]
            yield of_models, stepped, [p for p in of_models if p.id in mine]


def _other_leaves(known: Paths, part: Reach) -> bool:
    """Whether a gradient for something else than parameters is asked for, too."""
    return any(known.value(key).parameter is None for key in part.leaves)


def _by_root(trace: Trace) -> dict[int, list[Parameter]]:
    roots: dict[int, list[Parameter]] = {}
    for p in trace.parameters:
        if p.registered and p.module in trace.modules:
            roots.setdefault(trace.modules[p.module].root, []).append(p)
    return roots


def _new_models(
    trace: Trace,
    roots: dict[int, list[Parameter]],
    written: Set[int],
    stepped_beside: Callable[[Trace, list[Parameter], dict[int, list[Parameter]]], list[Parameter]],
) -> Iterator[Left]:
    """Models that nothing steps or writes to, each with what is `stepped_beside` it."""
    trained = {
        root: stepped
        for root, parameters in roots.items()
        if (stepped := [p for p in parameters if p.steps and p.optimizers])
    }
    for parameters in roots.values():
        if any(p.id in written or p.optimizers or p.steps for p in parameters):
            continue
        stepped = stepped_beside(trace, parameters, trained)
        left = [p for p in parameters if p.requires_grad]
        if stepped and left and all(_left_out(p, stepped) for p in left):
            yield parameters, stepped, left


def _left_out(p: Parameter, stepped: list[Parameter]) -> bool:
    """Gets gradients and is in no hands at all: no optimizer, no update, nobody takes its gradient."""
    if p.optimizers or p.steps or not p.requires_grad or not p.is_leaf:
        return False
    if p.changed and not p.updates:
        return False  # moved by something that is no op of torch
    passes = max((other.passes for other in stepped), default=0)
    taken = max((other.taken for other in stepped), default=0)  # with all gradients: theirs too
    unused = p.taken <= taken and not taken_for_itself(p, stepped)
    return p.passes >= min(2, max(1, passes)) and unused


def replaced(trace: Trace) -> set[int]:
    """Parameters that an optimizer still holds, of a layer that the model no longer has: what
    took its place is left out."""
    return {
        number
        for _, stepped, left in left_out(trace)
        for number in nearest(trace, stepped, left).parameters
        if not trace.parameter(number).registered and not trace.parameter(number).passes
    }


def taken_over(trace: Trace, p: Parameter) -> Parameter | None:
    """The parameter that an optimizer holds in whose place this one was put later: a module has this one now where
    it had the other, or the same call in the same module reads this one and never the other again."""
    for event in trace.of(ReplacedParameter):
        if event.parameter == p.id and trace.parameter(event.before).optimizers:
            return trace.parameter(event.before)
    for readers in _readers(trace).values():
        if len(readers) != 2 or p.id not in readers:
            continue
        (other,) = (trace.parameter(number) for number in readers if number != p.id)
        alike = len(other.shape) == len(p.shape)  # it may have grown
        if other.optimizers and alike and readers[other.id][1] < readers[p.id][0]:
            return other
    return None


def made_in_forward(parameters: Iterable[Parameter], optimizer: Optimizer) -> Site | None:
    """The line that made all of these, where it ran for the first time in a module's call after the optimizer had
    been made: sites are numbered as they come up."""
    places: dict[tuple[str, int], Site] = {}
    for p in parameters:
        if p.site is None or optimizer.site is None or p.site.id < optimizer.site.id:
            return None
        if not p.site.under("torch/nn/modules/module.py"):
            return None
        places[p.site.user.location()] = p.site.user
    return next(iter(places.values())) if len(places) == 1 else None


def name_where_read(trace: Trace, p: Parameter) -> str:
    """`model.quant1.s` for the parameter that `self.s` was when it was made, by the module in whose call it is first
    read; its name where there is none."""
    first, _, attribute = p.name.rpartition(".")
    for graph in trace.graphs if first == "self" else ():
        for op in graph.ops:
            module = trace.modules.get(op.module) if op.module is not None else None
            if module is not None and any(graph.values[index].parameter == p.id for index in op.inputs):
                root = trace.modules[module.root].name
                return dotted(root, f"{module.path}.{attribute}") if root else p.name
    return p.name


_Operand = tuple[int, tuple[str, int], int]  # module, the user's line, and the place among the inputs


@once
def _readers(trace: Trace) -> dict[_Operand, dict[int, tuple[int, int]]]:
    """What the modules' calls read: operand → parameter → the first and the last segment in which it did."""
    ran: dict[int, tuple[int, int]] = {}  # graph → the first and the last segment that had it
    for segment in trace.segments:
        if segment.graph is not None:
            ran[segment.graph] = ran.get(segment.graph, (segment.index,))[0], segment.index
    found: dict[_Operand, dict[int, tuple[int, int]]] = {}
    for number, (first, last) in ran.items():
        graph = trace.graph(number)
        for op in graph.ops:
            if op.module is None:
                continue
            for position, index in enumerate(op.inputs):
                parameter = graph.values[index].parameter
                if parameter is not None:
                    readers = found.setdefault((op.module, op.site.user.location(), position), {})
                    before = readers.get(parameter, (first, last))
                    readers[parameter] = min(before[0], first), max(before[1], last)
    return found


def put_into_eval(trace: Trace, left: list[Parameter]) -> Mode | None:
    """The `eval()` of a part of the model that holds all of these, where that part still was in evaluation
    mode when the model was trained: as its layers were seen to be, or, where none of them asks for its mode, as nothing
    has put it back since."""
    owners, last = {p.module for p in left}, None
    around = {
        m for m in trace.modules if all(owner is not None and is_part_of(trace, owner, m) for owner in owners)
    }
    for event in trace.of(Mode):
        if event.module not in around:
            continue
        last = None if event.training or trace.modules[event.module].parent is None else event
        if last is not None and any(
            call.training
            and call.builds_graph
            and any(is_part_of(trace, m, last.module) for m in call.eval_layers)
            for call in trace.of(ModuleCall)
        ):
            return event
    return last if last is not None and not _ask_for_their_mode(trace, last.module) else None


def _ask_for_their_mode(trace: Trace, part: int) -> bool:
    """Whether layers of a part of a model did something else in training than in evaluation."""
    seen = {m for call in trace.of(ModuleCall) for m in (*call.train_layers, *call.eval_layers)}
    return any(is_part_of(trace, m, part) for m in seen if m in trace.modules)


def nearest(trace: Trace, stepped: list[Parameter], left: list[Parameter]) -> Optimizer:
    """The optimizer that holds most of the model's other parameters: of those that step after the passes into
    what is left out, where one does."""
    later = {e.optimizer for e in _steps_after(trace, left)}
    held = [number for p in stepped for number in p.optimizers if number in trace.optimizers]
    votes = [number for number in held if number in later] or held
    return trace.optimizers[max(votes, key=votes.count)]


def made_too_soon(trace: Trace, optimizer: Optimizer, left: list[Parameter]) -> bool:
    """Whether no step that the optimizer makes after the passes into what is left out uses any gradient: all that
    it holds is frozen by then."""
    steps = [e for e in _steps_after(trace, left) if e.optimizer == optimizer.id]
    return bool(steps) and not any(e.fresh for e in steps)


def _steps_after(trace: Trace, left: list[Parameter]) -> list[Step]:
    return [e for _, e in since_filled(trace, {p.id for p in left}) if isinstance(e, Step)]
