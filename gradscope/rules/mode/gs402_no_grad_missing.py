"""Evaluation builds graphs that no backward pass ever uses.

Why: outside of `torch.no_grad()` every forward keeps what a backward would need:
activations of every layer, for as long as the result lives. In evaluation that is memory
and time for nothing.

Fix: evaluate under `with torch.no_grad():` (or `torch.inference_mode()`).

In a run without any backward, which may be to come, it is told only of what many calls in evaluation mode gave and one
operation joins in the end: all of their graphs lived until then.

Silent on: evaluation that asks for gradients (saliency, adversarial examples), and what comes by no line but those
that it comes by too (a model that is adapted to each task, in evaluation as well); results that a loss uses; a single
forward that nobody looks at.
At note at most: a single call with a small graph, however many modules it calls; the evaluation that
a library's `fit()` makes; forwards in training mode, such as those that choose an agent's actions; a forward beside one
whose input gets a gradient, in the same function (the attacked input of an FGSM test is judged
with the code that made it).
"""

import ast
from collections import Counter
from collections.abc import Iterator, Sequence

from gradscope.analysis.calls import Call, Calls, calls
from gradscope.analysis.counted import at_least
from gradscope.analysis.loop import settled
from gradscope.analysis.memo import once
from gradscope.analysis.ops import ADDITIONS, JOINING
from gradscope.analysis.reach import Key
from gradscope.analysis.runs import Runs, runs_of
from gradscope.analysis.unread import calls_time
from gradscope.analysis.words import code, listed, located, parameter_subjects, plural
from gradscope.events import Backward, CallTime, ModuleCall, Step
from gradscope.fixes.source import Source, receiver
from gradscope.model import Edit, Finding, Node, Op, Site, Value
from gradscope.rules import rule
from gradscope.store import Trace

LARGE = 10_000_000  # bytes that the graph of a single call has to hold to be worth a warning
NO_GRAD = "with torch.no_grad():"
SUMMED = 3  # calls in one sum: it is one over batches
MANY = 8  # calls whose results are joined in the end
MODEST = 5  # nodes of a forward in training mode to be worth a note


def bad_validation_with_graphs() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        model.train()
        opt.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.zeros(8, dtype=torch.long)).backward()
        opt.step()
        model.eval()
        for _ in range(2):
            scores = model(torch.randn(8, 4))  # cause: GS402
            (scores.argmax(dim=1) == 0).sum().item()


def good_no_grad() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        model.train()
        opt.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.zeros(8, dtype=torch.long)).backward()
        opt.step()
        model.eval()
        with torch.inference_mode():
            for _ in range(2):
                (model(torch.randn(8, 4)).argmax(dim=1) == 0).sum().item()


@rule("GS402", name="no-grad-missing", severity="warning", over=("GS603",))
def no_grad_missing(trace: Trace) -> Iterator[Finding]:
    known = calls(trace)
    if known.paths.roots and not known.paths.reached.complete:
        return
    groups: dict[tuple[str, int], list[Call]] = {}
    for call in known.all:
        if _builds_for_nothing(known, call):
            groups.setdefault(_asked(known, call).location(), []).append(call)
    owning = {place: group for place, group in groups.items() if known.parameters(group[0].event)}
    groups = owning or groups  # what a loss module is given was built by the model, which is told
    if not known.paths.roots:
        groups = {place: group for place, group in groups.items() if _held_together(known, group)}
    models: dict[int, list[list[Call]]] = {}
    for group in groups.values():
        models.setdefault(_root(known, group[0].event), []).append(group)
    for model, places in models.items():
        severe = [group for group in places if _severe(known, group)]
        if severe:  # one cause, however many lines
            first = next((g for g in severe if known.called(g[0].event) == model), severe[0])
            yield _finding(known, first, "", [g for g in places if g is not first])
            continue
        for group in places:
            if not _training(group[0]) or (_times(known, group).least > 1 and _modest(known, group)):
                if not _cut_short(known, group):
                    yield _finding(known, group, "note", ())


def _held_together(known: Calls, group: list[Call]) -> Op | None:
    """In a run without any pass, which may have been meant to come: the operation that joins what many calls in
    evaluation mode gave, and all of whose graphs lived until then."""
    if not settled(known.trace) or any(map(_training, group)):
        return None
    made = {key for call in group for key in known.outputs(call.event)}
    for number in {number for number, _ in made}:
        for op in known.paths.graph(number).called(JOINING):
            if sum((number, i) in made for i in op.inputs) >= MANY:
                return op
    return None


def _cut_short(known: Calls, group: list[Call]) -> bool:
    """Whether an exception ended the program around these calls: their pass may have been to come."""
    last = max((event.segment for event in known.trace.of(Step)), default=0)
    return not settled(known.trace) and all(_training(c) and c.event.segment >= last - 1 for c in group)


def _asked(known: Calls, call: Call) -> Site:
    """The user's line that asks: where a method of the model calls its layers, for training too, the
    innermost line on the way there that no call which trains came by, outside of the modules' own methods where there
    is one: those may be trained through by others. Where training comes by all of them, the innermost by which no
    evaluation asks for gradients."""
    shared, needed = _used_lines(known.trace), _used_in_evaluation(known.trace)
    frames = _users(call)
    own = [frame for frame in frames if frame.location() not in shared]
    classes = _classes(known.trace)
    outside = (frame for frame in own if _class(frame) not in classes)
    free = (frame for frame in frames if frame.location() not in needed)
    return next(outside, own[0] if own else next(free, call.entry))


def _users(call: Call) -> list[Site]:
    """The user's lines on the way to a call, the innermost first."""
    return [frame for frame in reversed(call.event.site.stack) if frame.kind == "user"]


def _class(frame: Site) -> str:
    """The class whose method a line stands in; "" of a function."""
    return frame.function.rpartition(".")[0].rpartition(".")[2]


@once
def _classes(trace: Trace) -> set[str]:
    """The classes of the run's modules."""
    return {module.cls for module in trace.modules.values()}


@once
def _used_lines(trace: Trace) -> set[tuple[str, int]]:
    """The lines by which the calls came that a loss depends on, and those that a backward goes back through."""
    known = calls(trace)
    sites = {call.event.site.id: call.event.site for call in known.all if call.used}
    for number, index in known.paths.reached.nodes:
        if (site := known.paths.graph(number).nodes[index].site) is not None:
            sites[site.id] = site
    return {frame.location() for site in sites.values() for frame in site.stack}


@once
def _used_in_evaluation(trace: Trace) -> set[tuple[str, int]]:
    """The lines by which calls in evaluation mode came whose results a gradient was asked of."""
    sites = {c.event.site.id: c.event.site for c in calls(trace).all if c.used and not _training(c)}
    return {frame.location() for site in sites.values() for frame in site.stack}


def _root(known: Calls, event: ModuleCall) -> int:
    """The model that holds the called module."""
    return known.trace.modules[known.called(event)].root


def _builds_for_nothing(known: Calls, call: Call) -> bool:
    if not call.event.grad or call.used or call.event.site.user.kind != "user":
        return False
    if _training(call) and not known.consumed(call.event):
        return False  # may be a call for its running statistics, or for shapes
    needed = _used_in_evaluation(known.trace)
    if not _training(call) and all(frame.location() in needed for frame in _users(call)):
        return False
    graph = known.paths.graph(call.event.graph)
    return any(graph.values[i].requires_grad for _, i in known.outputs(call.event))


def _training(call: Call) -> bool:
    return bool(call.event.training)


def _past(known: Calls, group: list[Call], asked: Site) -> bool:
    """Whether the line that asks makes none of these calls itself: it calls `forward`, or a method of the program's,
    and what is called there is a part of the model, or several modules."""
    called = {known.called(call.event) for call in group}
    whole = called == {_root(known, group[0].event)}
    return not whole and all(call.event.site.location() != asked.location() for call in group)


def _times(known: Calls, group: list[Call]) -> Runs:
    """Between how many and how many times the line was run that asks; as often as the call that it comes to most was
    made, where it makes that itself."""
    asked = _asked(known, group[0])
    if _past(known, group, asked):
        return runs_of(known, group, asked)
    counts: dict[tuple[int, object], int] = {}
    for call in group:
        key = known.called(call.event), call.event.site.user.span()
        counts[key] = counts.get(key, 0) + call.event.count
    return Runs(max(counts.values()), max(counts.values()))


def _modest(known: Calls, group: list[Call]) -> bool:
    """Whether it is more than a number computed from another, such as a constrained parameter."""
    return any(_nodes(known, call.event) >= MODEST for call in group)


def _kinds(group: list[Call]) -> list[Call]:
    """The first of these calls of each module at each line."""
    found: dict[tuple[int, int], Call] = {}
    for call in group:
        found.setdefault((call.event.called, call.event.site.id), call)
    return list(found.values())


def _built(known: Calls, call: Call) -> int:
    """How many nodes the asked line built behind a call's outputs and what it goes on to make of them, up to where the
    model is called again."""
    asked, event = _asked(known, call).id, call.event
    graph, model = known.paths.graph(event.graph), _root(known, event)

    def within(made: Op | Node) -> bool:
        return made.site is not None and any(frame.id == asked for frame in made.site.stack)

    def of_this_call(op: Op) -> bool:
        module = known.trace.modules.get(op.module) if op.module is not None else None
        return within(op) and (module is None or module.root != model)

    made = {
        i
        for _, op in graph.readers_behind(event.outputs, of_this_call)
        if of_this_call(op)
        for i in op.outputs
    }
    behind = known.paths.reach([*known.outputs(event), *((graph.id, i) for i in sorted(made))])
    built = {key for key in behind.nodes if within(_node(known, key))}
    next_to = {(number, edge.target) for number, i in built for edge in _node(known, (number, i)).edges}
    return len(built) + sum(_node(known, key).name == "AccumulateGrad" for key in next_to - built)


def _node(known: Calls, key: Key) -> Node:
    return known.paths.graph(key[0]).nodes[key[1]]


def _heaviest(group: list[Call]) -> ModuleCall:
    """The call whose graph was found to hold most: the last ones have what all before them keep."""
    return max((call.event for call in group), key=lambda event: event.graph_bytes)


def _came(known: Calls, group: list[Call], times: int) -> tuple[int, str]:
    """How many calls with a graph this line made, as a number and as a sentence begins: of many in a row the first are
    noted, and all are timed that sampling is awake for, of each module that is called there, in training as well where
    that comes by the line."""
    sites = {call.event.site.id for call in group}
    timed = [event.calls for event in known.trace.of(CallTime) if event.site.id in sites]
    built = [c for c in known.all if c.event.site.id in sites and c.event.builds_graph]
    if sum(timed) <= sum(call.event.count for call in built):
        return times, at_least(known.trace, times, "call")
    mine, kinds = set(map(id, group)), {(c.event.site.id, known.called(c.event)) for c in built}
    if all(id(call) in mine for call in built) and len(kinds) == len(sites):
        return max(timed), at_least(known.trace, max(timed), "call")
    return times, f"at least {plural(times, 'call')}"


def _ran(trace: Trace, runs: Runs) -> tuple[int, str]:
    """How often a line ran that makes none of the calls itself, as a number and as a sentence begins."""
    if runs.least == 1 < runs.most:
        return 1, "a call"
    if runs.least < runs.most:
        return runs.least, f"at least {plural(runs.least, 'call')}"
    return runs.least, at_least(trace, runs.least, "call")


def _nodes(known: Calls, event: ModuleCall) -> int:
    return len(known.paths.reach(known.outputs(event)).nodes)


def _severe(known: Calls, group: list[Call]) -> bool:
    """Whether it is worth a warning: evaluation whose result is looked at, and that costs something."""
    held = _heaviest(group).graph_bytes or 0
    return (
        not any(_training(call) for call in group)
        and any(known.consumed(call.event) for call in group)
        and _worth(known, group[0], _times(known, group).least, held)
    )


def _finding(known: Calls, group: list[Call], severity: str, beside: Sequence[list[Call]]) -> Finding:
    first, trace = group[0].event, known.trace
    asked = _asked(known, group[0])
    past = _past(known, group, asked)
    times, came = (
        _ran(trace, _times(known, group)) if past else _came(known, group, _times(known, group).least)
    )
    name = known.name(first) if len({known.called(c.event) for c in group}) == 1 else _whole(known, first)
    nodes = max(_built(known, call) for call in _kinds(group))
    weighed = _heaviest(group)
    seen = f"{came} built a graph of {plural(nodes, 'node')}"
    seen += " each, none was used" if times > 1 else ", which was not used"
    if weighed.graph_bytes:
        part = "at least " if weighed.graph_nodes < nodes else ""
        seen += f"; {'one' if times > 1 else 'it'} holds {part}{_size(weighed.graph_bytes)}"
        seen += ", with the graph that it goes on from" if weighed.graph_nodes > nodes else ""
    took = calls_time(trace, {call.event.site.id for call in group}, 0 if past else times)
    if past:
        name = code(trace, asked, name)
    here = located(trace, asked, "this call")
    header = _header(known, group, asked)
    if header == NO_GRAD:
        under = f"put {here}{_loop(trace, asked)} under `{header}`{_likewise(known, asked, beside)}"
    elif header:
        under = f"put {here} under `{header}`: training runs this line as well, and needs its graph there"
    else:
        under = (
            f"put {here} under `with torch.set_grad_enabled(training):`, where `training` is an argument of your own, "
            "True if a backward follows and False in evaluation: training runs this line as well, and needs "
            "its graph there"
        )
    trains = all(_training(call) for call in group)
    summed = _summed(known, group) if times > 1 and not trains else []
    joins = _held_together(known, group) if not known.paths.roots else None
    if joins is not None:
        seen += f"; {located(trace, joins.site.user)} joins what they gave, and until then all of it was held"
    if summed:
        seen += f"; {listed([code(trace, site) for site in summed])} keep{'s' * (len(summed) == 1)} the graph of each"
        under += f"; or add numbers only, {_as_numbers(trace, summed)}"
    return Finding(
        message=_reaches_nothing(trace, asked, name)
        if trains
        else f"{name} is evaluated with gradients on: it builds graphs that no backward uses",
        cause=asked,
        cause_label="keeps everything a backward would need",
        related=(
            *((_asked(known, other[0]), "and here") for other in beside),
            *(((joins.site.user, "until here all of these graphs are held"),) if joins is not None else ()),
            *((site, "adds it up with its graph, which lives as long as the sum") for site in summed),
        ),
        seen=(seen, took) if took else (seen,),
        fix=f"if it is only to be looked at, {under}; if it is to train, call `backward()` on a loss made from it"
        if trains
        else under,
        count=times,
        severity=severity,
        edits=() if severity == "note" else _edits(known, [group, *beside]),
        subjects=frozenset({("call", asked.location())})
        | (parameter_subjects(p.id for p in known.parameters(first)) if trains else frozenset()),
    )


def _likewise(known: Calls, asked: Site, beside: Sequence[list[Call]]) -> str:
    """The other lines that evaluate the same model with a graph."""
    sites = {site.location(): site for other in beside if (site := _asked(known, other[0])) is not asked}
    others = [located(known.trace, site) for site in sites.values()]
    return f", and {listed(others)} likewise" if others else ""


def _summed(known: Calls, group: list[Call]) -> list[Site]:
    """The lines that add one number of each of these calls, with its graph, to a variable that has those of others."""
    kinds: dict[int, list[Call]] = {}
    for call in group:
        kinds.setdefault(call.event.site.id, []).append(call)
    found: dict[tuple[str, int], Site] = {}
    for calls_of_line in kinds.values():
        reached: Counter[tuple[int, int]] = Counter()
        for call in calls_of_line[:SUMMED]:
            graph = known.paths.graph(call.event.graph)
            added = {op.index: op for _, op in graph.readers_behind(call.event.outputs, lambda _: True)}
            for op in added.values():
                if op.name in ADDITIONS and any(_is_number_with_graph(graph.values[i]) for i in op.outputs):
                    reached[graph.id, op.index] += 1
                    if reached[graph.id, op.index] == SUMMED:
                        found.setdefault(op.site.user.location(), op.site.user)
    sites = (site for _, site in sorted(found.items()))
    return [site for site in sites if isinstance(known.trace.source_file(site.path).at(site), ast.AugAssign)]


def _is_number_with_graph(value: Value) -> bool:
    return value.requires_grad and not value.shape


def _as_numbers(trace: Trace, summed: list[Site]) -> str:
    """The first of these sums without its graph."""
    file = trace.source_file(summed[0].path)
    node = file.at(summed[0])
    if not isinstance(node, ast.AugAssign):
        return ""
    added = Source(trace, summed[0].path).part(node.value)
    return f"`{file.text(node.target)} += {added}.item()`"


def _reaches_nothing(trace: Trace, asked: Site, name: str) -> str:
    file = trace.source_file(asked.path)
    if isinstance(file.parent.get(id(file.at(asked))), ast.Expr):
        return f"{name} builds graphs here that reach no backward, and so trains nothing"
    return f"what {name} gives here reaches no backward, and so trains nothing"


def _worth(known: Calls, call: Call, times: int, held: float) -> bool:
    """Whether it costs something, and the user's line is one that can be changed."""
    where = call.event.site.user.location()
    trains = any(event.site.user.location() == where for event in known.paths.backwards)  # a library's loop
    return (times > 1 or held >= LARGE) and not trains and not _beside_gradients(known, call)


def _whole(known: Calls, event: ModuleCall) -> str:
    """The name of the model that holds the called module."""
    root = known.trace.modules[known.trace.modules[known.called(event)].root]
    return f"`{root.name or root.cls}`"


def _edits(known: Calls, groups: list[list[Call]]) -> tuple[Edit, ...]:
    """Where the model itself is called, once in a function: what calls its parts may train them too."""
    entries: dict[str, tuple[Site, str]] = {}
    for group in groups:
        if known.called(group[0].event) == _root(known, group[0].event) or group is groups[0]:
            entry = _asked(known, group[0])
            entries.setdefault(entry.function, (entry, _header(known, group, entry)))
    return tuple(edit for entry, header in entries.values() for edit in _under(known.trace, entry, header))


def _under(trace: Trace, entry: Site, header: str) -> tuple[Edit, ...]:
    here = Source(trace, entry.path)
    if not header or "torch" not in here.file.imported:
        return ()
    return here.under(here.block(entry) if header == NO_GRAD else here.file.statement(entry), header)


def _header(known: Calls, group: list[Call], asked: Site) -> str:
    """What this line has to stand under. One that training comes by as well must go on building graphs for it: there
    the model's own mode decides, where it told the two apart in this run; "" where it did not."""
    if asked.location() not in _used_lines(known.trace):
        return NO_GRAD
    here = [c for c in known.all if any(frame.location() == asked.location() for frame in c.event.site.stack)]
    told = all(_training(call) for call in here if call.used) and not any(map(_training, group))
    model = _model(known.trace, asked, group[0]) if told else ""
    return f"with torch.set_grad_enabled({model}.training):" if model else ""


def _model(trace: Trace, asked: Site, call: Call) -> str:
    """The name of the module that a line calls, or a method of; "" where it calls something else."""
    inner = next((frame for frame in call.event.site.stack if frame.parent is asked), None)
    if inner is None:
        return receiver(trace, asked)
    method = inner.function.rpartition(".")[2]
    return receiver(trace, asked, method) if _class(inner) in _classes(trace) else ""


def _beside_gradients(known: Calls, call: Call) -> bool:
    """Whether the same function, in evaluation mode too, asks this module for its input's gradient."""
    where = (call.entry.path, call.entry.function, known.called(call.event))
    return any(
        other.used
        and not other.event.training
        and (other.entry.path, other.entry.function, known.called(other.event)) == where
        and _input_requires_grad(known, other)
        for other in known.all
    )


def _input_requires_grad(known: Calls, call: Call) -> bool:
    values = known.paths.graph(call.event.graph).values
    return any(values[i].requires_grad for i in call.event.inputs if i < len(values))


def _size(count: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"


def _loop(trace: Trace, entry: Site) -> str:
    """The loop that has nothing but the evaluation in it, and no training."""
    block = Source(trace, entry.path).block(entry)
    if not isinstance(block, (ast.For, ast.While)):
        return ""
    lines = range(block.lineno, (block.end_lineno or block.lineno) + 1)
    frames = (frame for event in trace.of(Backward, Step) for frame in event.site.stack)
    trains = any(frame.path == entry.path and frame.line in lines for frame in frames)
    return "" if trains else f", and the loop of line {block.lineno} with it,"
