"""Gradients that are computed and never used, and what they cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from gradscope.analysis.calls import Calls
from gradscope.analysis.clips import clips
from gradscope.analysis.gradients import Gradients, Line, asked, gradients, thrown_away
from gradscope.analysis.looks import kept_gradients
from gradscope.analysis.loop import read_for_itself
from gradscope.analysis.ops import bytes_of
from gradscope.analysis.reach import Key, passes
from gradscope.analysis.words import plural, source, variable
from gradscope.events import (
    Backward,
    CallTime,
    ModuleCall,
    PassTime,
    Rooted,
    Step,
    Update,
)
from gradscope.model import Parameter, Site
from gradscope.store import Trace

FEW = 2  # passes before "never" means something
MANY = 4  # passes before "no more" does


@dataclass
class Unread:
    """Parameters of one network with the passes that gave them gradients."""

    name: str  # as a sentence names it
    members: set[int]  # ids of its modules
    parameters: list[Parameter]
    passes: list[Backward]


def unread(trace: Trace, known: Calls, forgotten: set[int]) -> Iterator[Unread]:
    """The largest modules all of whose gradients were computed for nothing; without the parameters
    that an optimizer was meant to have and was not given (`forgotten`)."""
    trained = [p for p in trace.parameters if p.steps and p.optimizers]
    reads = max((p.reads for p in trained), default=0)
    used = {e.parameter for e in trace.of(Update) if e.used}
    mine = {
        p.id
        for p in trace.parameters
        if p.registered
        and p.passes >= FEW
        and p.id not in forgotten
        and not (p.steps or p.optimizers or p.id in used)
        and p.reads <= reads
        and not read_for_itself(p, trained)
        and p.id not in asked(trace)
    }
    events = [e for e in known.paths.backwards if e.call == "backward"]
    yield from _modules(trace, known, mine, events)


def finished(trace: Trace, known: Calls) -> Iterator[Unread]:
    """Modules whose training is over: since the last step that used their gradients, many more passes
    of other lines have filled them than ever did between two of their steps."""
    model = gradients(trace)
    mine = {p.id for p in trace.parameters if p.registered and not p.taken and _over(model, p.id)} - asked(
        trace
    )
    late = {fill.line for n in mine for fill in model.waiting[n]}
    late -= {fill.line for n in mine for _, fills in model.ended[n] for fill in fills}
    yield from _modules(
        trace, known, mine, [e for e in known.paths.backwards if e.site.user.location() in late]
    )


def _over(model: Gradients, parameter: int) -> bool:
    """Whether steps have used its gradients, and so many passes now wait for one as never before."""
    ended = model.ended.get(parameter, [])
    since = sum(fill.times for fill in model.waiting.get(parameter, ()))
    most = max((sum(fill.times for fill in fills) for _, fills in ended), default=0)
    return since >= MANY and since > 2 * most and any(isinstance(end, Step) for end, _ in ended)


def dropped(trace: Trace, known: Calls) -> Iterator[Unread]:
    """Modules of an optimizer whose gradients of some line's passes were all cleared unused."""
    looked: dict[Line, dict[int, Backward]] = {}  # of each line, equal ones once
    for fill in gradients(trace).fills:
        if fill.event.call == "backward" and fill.event.graph >= 0:
            looked.setdefault(fill.line, {})[id(fill.event)] = fill.event
    trainable = {
        p.id for p in trace.parameters if p.registered and p.steps and p.optimizers
    } - kept_gradients(trace).union(clips(trace).weighed)
    for line, ids in thrown_away(trace).items():
        yield from _modules(trace, known, ids & trainable, list(looked.get(line, {}).values()))


def _modules(trace: Trace, known: Calls, mine: set[int], events: list[Backward]) -> Iterator[Unread]:
    """The largest modules whose parameters with a gradient are all among `mine`."""
    left = set(mine)
    for module in sorted(trace.modules.values(), key=lambda m: (m.path.count("."), bool(m.path), m.id)):
        parameters = [p for p in known.parameters_of(module.id) if p.registered]
        wanted = [p for p in parameters if p.requires_grad and p.passes]
        if (
            wanted
            and all(p.id in left for p in wanted)
            and not any(p.steps for p in parameters if p.id not in mine)
        ):
            left -= {p.id for p in wanted}
            yield Unread(module_name(trace, module.id), known.members(module.id), wanted, events)


def module_name(trace: Trace, number: int) -> str:
    """How a sentence names a module: by the variable that holds its root, and its path."""
    module = trace.modules[number]
    root = trace.modules.get(module.root)
    above = (root.name or _kept_as(trace, root.site)) if root is not None else ""
    if not module.path:
        return f"`{above or module.cls}`"
    return f"`{above}.{module.path}`" if above else f"`{module.path}`"


def _kept_as(trace: Trace, site: Site | None) -> str:
    """Where a module was put that was first seen as `Net().eval()`: the variable or attribute."""
    made = site is not None and source(trace, site.user).endswith((".eval()", ".train()"))
    return variable(trace, site) if made else ""


def beyond(known: Calls, event: Rooted, members: set[int]) -> bool:
    """Whether the pass goes on, behind the network's own operations, to something that is used."""
    paths = known.paths
    reach = paths.reach((event.graph, root) for root in event.roots)
    inner: set[Key] = set()
    for number, index in reach.nodes:
        node = paths.graph(number).nodes[index]
        op = paths.graph(number).ops[node.op] if node.op is not None else None
        if op is not None and op.module in members:
            inner.add((number, index))
    seen: set[Key] = set()
    todo = [
        (number, edge.target)
        for number, index in inner
        for edge in paths.graph(number).nodes[index].edges
        if (number, edge.target) not in inner
    ]
    while todo:
        key = todo.pop()
        if key in seen:
            continue
        seen.add(key)
        node = paths.graph(key[0]).nodes[key[1]]
        if node.name == "AccumulateGrad":
            parameter = paths.parameters.get(node.parameter) if node.parameter is not None else None
            if parameter is None or (_used(parameter) and parameter.module not in members):
                return True
        elif not node.edges:
            return True  # goes on in another stretch
        todo += [(key[0], edge.target) for edge in node.edges]
    return False


def _used(p: Parameter) -> bool:
    """By a step or by the program's own update; a leaf outside all modules is the program's affair."""
    return bool(p.steps or p.optimizers or (p.updates and (p.taken or p.handed)) or not p.registered)


def feeds_trained(known: Calls, event: ModuleCall) -> bool:
    """Whether a network that is trained takes the result of this call."""
    outputs = set(known.outputs(event))
    for other in known.all:
        if other.event.graph != event.graph or other.event is event:
            continue
        if any(_used(p) for p in known.parameters(other.event)):
            inputs = [(other.event.graph, i) for i in other.event.inputs]
            if outputs & set(known.paths.flow(inputs).order):
                return True
    return False


def size_of(parameters: list[Parameter]) -> int:
    """Bytes of one gradient of each."""
    return sum(prod(p.shape) * bytes_of(p.dtype) for p in parameters)


def time_of(trace: Trace, site: Site) -> str:
    """How long the passes of a line took, as a sentence says it; "" where that was not measured."""
    place = site.user.location()
    return duration(sum((e.seconds or 0.0) for e in trace.of(PassTime) if e.site.user.location() == place))


def calls_time(trace: Trace, sites: set[int], told: int) -> str:
    """How long the calls of these lines took that built graphs for nothing, and how many were timed, where it is not
    as many as are told of; `told` is 0 where those are not the calls of modules that were timed."""
    found = [e for e in trace.of(CallTime) if e.site.id in sites]
    took = duration(sum((e.seconds or 0.0) for e in found))
    if took and all(e.calls == told for e in found):
        return f"{'it' if told == 1 else 'they'} took {took} in all, graphs included"
    calls = sum(e.calls for e in found)
    what = plural(calls, "call") + (" of modules" if len({e.site.id for e in found}) > 1 or not told else "")
    return (
        f"{what} that {'was' if calls == 1 else 'were'} timed took {took} in all, graphs included"
        if took
        else ""
    )


def pass_growth(trace: Trace, site: Site) -> str:
    """How much longer a pass of this line takes at the end of the run than at its beginning."""
    for event in trace.of(PassTime):
        early, late = event.early, event.late
        if event.site.id == site.id and early and late and late > early:
            return f"a pass took {duration(early)} in the beginning and {duration(late)} at the end"
    return ""


def duration(seconds: float) -> str:
    """As a sentence says it; "" for nothing."""
    if not seconds:
        return ""
    value, unit = (seconds, "s") if seconds >= 1 else (seconds * 1000, "ms")
    return f"{float(f'{value:.2g}'):g} {unit}"  # two digits, and no exponent


def asked_at(known: Calls, event: Backward, members: set[int], entry: Site) -> Site:
    """The user's line that asks these modules in the pass of `event`: a line of its own inside
    the model's `forward`, where they are a part of it; else `entry`."""
    graph = known.paths.graph(event.graph)
    reached = known.paths.reach((event.graph, root) for root in event.roots).nodes
    passed = {graph.nodes[node].op for number, node in reached if number == event.graph}
    mine = [op for op in graph.ops[: event.position + 1] if op.module in members]
    # The modules may run more than once: what the pass does not go through is not asked for it.
    mine = mine[next((i for i, op in enumerate(mine) if op.index in passed), 0) :]
    run = [
        op
        for op, number in zip(mine, range(mine[0].index if mine else 0, len(graph.ops)), strict=False)
        if op.index == number
    ]
    if not run:
        return entry
    others = {
        frame.location()
        for op in graph.ops
        if op.module is not None and op.module not in members
        for frame in op.site.stack
        if frame is not op.site.user
    }
    stacks = [op.site.stack for op in run]
    shared = [frames[0] for frames in zip(*stacks, strict=False) if len({f.location() for f in frames}) == 1]
    own = [frame for frame in shared if frame.kind == "user" and frame.location() not in others]
    return own[0] if own and entry.location() in {frame.location() for frame in shared} else entry


def cost_of(trace: Trace, site: Site, times: int, parameters: list[Parameter]) -> str:
    """What the passes that start at `site` took for gradients of these parameters."""
    text = (
        f"{passes(times)} computed gradients of {plural(len(parameters), 'parameter')}, "
        f"{size_of(parameters):,} bytes in each"
    )
    took = time_of(trace, site)
    return f"{text}; the passes of this line took {took} in all" if took else text
