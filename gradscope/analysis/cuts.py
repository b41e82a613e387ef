"""Where the gradient is lost on the way from a parameter to a loss."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from gradscope.analysis.gradients import gradients
from gradscope.analysis.loop import in_order, parameters_of
from gradscope.analysis.memo import once
from gradscope.analysis.ops import ADDITIONS, ARRAYS, EXITS, JOINING
from gradscope.analysis.reach import Key, Paths, late_paths, paths
from gradscope.analysis.returned import Returned
from gradscope.analysis.stand_ins import stand_ins
from gradscope.events import Backward, Rooted, Step
from gradscope.model import Graph, Op, Parameter, Since, Site
from gradscope.store import Trace

MAX_ENDS = 20  # losses of one graph that are followed


@dataclass
class Cut:
    """A place where the gradient of `parameters` is lost on the way to a loss."""

    op: Op
    kind: str  # as Op.cut; "leaf": the result was made a new leaf
    site: Site  # the user's line
    region: int | None
    parameters: list[Parameter]
    loss: Rooted | None
    output: Key
    known: Paths  # of the passes that it is lost for
    ends: dict[int, Op]  # parameter → where its own way ends: at one place, or in one block, with the others
    also: list[Op] = field(default_factory=list)  # cuts of other lines that have to go too

    @property
    def count(self) -> int:
        """How many passes, or steps since they stopped, went without."""
        if self.known.stop is not None:
            return self.known.stop.after
        return self.known.alike(self.loss, self.op) if self.loss is not None else 1

    @property
    def since(self) -> Since | None:
        return self.known.stop.since if self.known.stop is not None else None

    def severity(self, trace: Trace) -> str:
        """ "" where the parameters never got a gradient, or where it is proven that they have not changed since
        they lost it. One that stops in the middle of the run may be meant: from a line that trained nothing of
        it before, or by a block without gradients around what computed them before, it is another phase of
        the program; where the text cuts under a condition, it likely is."""
        stop = self.known.stop
        if stop is None:
            return ""
        ids = {p.id for p in self.parameters}
        trained = {e.site.user.location() for e in trace.of(Backward) if ids & set(e.filled)}
        again = self.loss is not None and self.loss.site.user.location() in trained
        if not again or self.region is not None:
            return "note"
        return "" if stop.unchanged and not _under_a_condition(trace, self.site) else "warning"


def _under_a_condition(trace: Trace, site: Site) -> bool:
    """Whether the cut stands in a branch (`if step >= 700:`, `if self.frozen:`): what the text does at some steps
    only may be meant. True where the text is not known, as it may be of a run that still goes on."""
    file = trace.source_file(site.path)
    if file.tree is None or not file.lines:
        return True
    inner: ast.AST | None = None
    for node in file.around(site):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            break
        if isinstance(node, (ast.If, ast.IfExp)) and inner is not node.test:
            return True
        inner = node
    return False


@once
def cuts(trace: Trace) -> list[Cut]:
    """Every place where the gradient of an expected parameter is lost, in program order; then those
    where it is lost from some step on."""
    found = cuts_of(trace, paths(trace), _expected(trace, paths(trace)))
    for late in late_paths(trace):
        found += [cut for cut in cuts_of(trace, late, _expected(trace, late)) if _new(trace, cut)]
    return found


def resting_cuts(trace: Trace) -> list[Cut]:
    """The same for those whose own optimizer never steps, where another one does."""
    return cuts_of(trace, paths(trace), paths(trace).resting())


def _expected(trace: Trace, known: Paths) -> list[Parameter]:
    aside = waiting(trace, known)
    return [p for p in known.expected() if p.id not in aside]


def _new(trace: Trace, cut: Cut) -> bool:
    """Whether passes that did give the parameters a gradient went without this cut: it is what changed."""
    ids = {p.id for p in cut.parameters}
    trained = {e.graph for e in trace.of(Backward) if e.graph >= 0 and ids & set(e.filled)}
    return cut.loss is not None and not any(
        op.site.id == cut.op.site.id and op.region == cut.op.region
        for number in trained
        for op in cut.known.graph(number).cuts
    )


def cuts_of(trace: Trace, known: Paths, parameters: list[Parameter]) -> list[Cut]:
    """Where the gradients of these are lost, those that are lost at one place together."""
    groups: dict[object, Cut] = {}
    blocking: dict[Key, tuple[Op, Key]] = {}

    meant, returned = stand_ins(trace), Returned(known)

    def lost_at(ways: Iterable[tuple[Op, Key]], parameter: Parameter) -> bool:
        # Beside a value that another one stands in for, a cut is there on purpose.
        ordered = sorted(ways, key=lambda way: (way[0].graph, way[0].index) not in meant) if meant else ways
        for found in ordered:
            if found[1] not in blocking:
                blocking[found[1]] = _blocking(known, found)
            op, output = blocking[found[1]]
            kind = cut_kind(trace, known, op, output)
            region = op.region if kind in ("no_grad", "inference_mode") else None
            group = ("region", region) if region is not None else (kind, op.site.user.location())
            cut = groups.get(group)
            if cut is None:
                loss = known.loss_of(output, lambda event: not _about_data(known, event))
                if loss is None and known.loss_of(output) is not None:
                    continue
                cut = groups[group] = Cut(
                    op, kind, _cut_site(trace, op, region), region, [parameter], loss, output, known,
                    {parameter.id: op}, [] if region is not None else _joined(known, op, output),
                )  # fmt: skip
            else:
                cut.parameters.append(parameter)
                cut.ends[parameter.id] = op
            _add_further(cut, [*_passed(known, found, parameter), *_again(known, op, output)])
            return True
        return False

    for parameter in parameters:
        own = _own_passes(trace, parameter)
        first, then = _own_first(known, parameter, own)
        if lost_at(first, parameter):
            continue
        as_numbers = own is not None or parameter.id not in known.feeding
        if as_numbers and _left_torch(trace, known, returned, parameter, groups, own):
            continue
        lost_at(then, parameter)
    return list(groups.values())


def _add_further(cut: Cut, ops: list[Op]) -> None:
    """Those of the same kind, once per line."""
    told = {cut.op.site.user.location(), *(op.site.user.location() for op in cut.also)}
    for op in ops:
        if op.name == cut.op.name and op.site.user.location() not in told:
            told.add(op.site.user.location())
            cut.also.append(op)


def _passed(known: Paths, found: tuple[Op, Key], parameter: Parameter) -> list[Op]:
    """The cuts before the one that blocks, where no gradient of what that is given comes past them either."""
    ops = [found[0]]
    while (further := _further_cut(known, found[1])) is not None:
        found = further
        ops.append(found[0])
    if len(ops) > 1:
        given = known.reach((found[1][0], i) for i in found[0].inputs)
        if parameter.id not in given.parameters:
            return ops[:-1]
    return []


def _again(known: Paths, op: Op, output: Key) -> list[Op]:
    """The same call further on, of what nothing else reads: it would be the next to cut."""
    found: list[Op] = []
    graph, at = known.graph(output[0]), output[1]
    seen: set[int] = set()
    while at not in seen and len(seen) < MAX_ENDS:  # an op may give back what it was given
        seen.add(at)
        readers = graph.consumers.get(at, ())
        if len(readers) == 1 and readers[0].site.user.kind == "user" and len(readers[0].outputs) == 1:
            found += [readers[0]] if readers[0].name == op.name == "detach" else []
            (at,) = readers[0].outputs
    return found


def _joined(known: Paths, op: Op, output: Key) -> list[Op]:
    """The cuts of other lines whose results meet this one's in one call that puts values together."""
    graph = known.graph(output[0])
    meeting = {
        i for r in graph.consumers.get(output[1], ()) if r.name in JOINING | ADDITIONS for i in r.inputs
    }
    makers = [graph.values[i].op for i in sorted(meeting)]
    found = [graph.ops[made] for made in makers if made is not None]
    here = op.site.user.location()
    return [o for o in found if op.cut and o.cut == op.cut and o.site.user.location() != here]


def _own_passes(trace: Trace, parameter: Parameter) -> set[Site] | None:
    """Where several optimizers step, the lines of the passes that this parameter's own step follows: what is lost
    on the way to those is told first, since `detach()` is right in the pass of the discriminator."""
    own = {site for number in parameter.optimizers for site in _passes_before_steps(trace).get(number, ())}
    return own if own and len(_passes_before_steps(trace)) > 1 else None


def _own_first(
    known: Paths, parameter: Parameter, own: set[Site] | None
) -> tuple[Iterable[tuple[Op, Key]], Iterable[tuple[Op, Key]]]:
    """The first cuts on the ways of a parameter: those on the way to its own passes, and the others."""
    found = (cut for key in known.feeding.get(parameter.id, ()) for cut in _first_cuts(known, key))
    if own is None:
        return found, ()
    ways: tuple[list[tuple[Op, Key]], list[tuple[Op, Key]]] = [], []
    for cut in islice(found, MAX_ENDS):
        end = known.loss_of(cut[1])
        ways[end is None or end.site.user not in own].append(cut)
    return ways


@once
def _passes_before_steps(trace: Trace) -> dict[int, set[Site]]:
    """Optimizer → the lines of the passes that came last before its steps."""
    found: dict[int, set[Site]] = {}
    last: Site | None = None
    for _, event in in_order(trace):
        if isinstance(event, Backward):
            last = event.site.user
        elif isinstance(event, Step) and last is not None and event.optimizer is not None:
            found.setdefault(event.optimizer, set()).add(last)
    return found


def cut_before_steps(trace: Trace, number: int) -> Cut | None:
    """The one place that takes what an optimizer holds out of the losses of the passes that come last before its
    steps, where these passes fill none of it, nor anything that another optimizer uses: made for that they would be
    right to leave this one's alone."""
    own, ids = _passes_before_steps(trace).get(number, set()), trace.optimizers[number].parameters
    passes = [event for event in trace.of(Backward) if event.site.user in own]
    if not passes or any(not set(ids).isdisjoint(event.filled) for event in passes):
        return None
    lines = {event.site.user.location() for event in passes}
    if any(fill.used for fill in gradients(trace).fills if fill.line in lines):
        return None
    found = cuts_of(trace, paths(trace), parameters_of(trace, ids))
    found = [cut for cut in found if cut.loss is not None and cut.loss.site.user in own]
    return found[0] if len(found) == 1 else None


def _about_data(known: Paths, event: Backward) -> bool:
    """Whether a pass asks for gradients of data alone, as each step of a sampler or an integrator does."""
    if event.call != "grad":
        return False
    asked = [known.parameter_of((event.graph, value)) for value in event.inputs]
    return not any(p is not None and (p.registered or p.optimizers) for p in asked)


def waiting(trace: Trace, known: Paths) -> set[int]:
    """Parameters whose own loss, a number with its graph, never has a pass, where no other parameter
    of their optimizer gets a gradient either: what is missing is that pass (GS204)."""
    expected = {p.id for p in known.expected()}
    idle = {
        number
        for number in known.stepping
        if number in trace.optimizers and set(trace.optimizers[number].parameters) <= expected
    }
    back = {number for number, index in known.roots if known.graph(number).values[index].is_leaf}
    found: set[int] = set()
    for number in known.graph_ids if idle else ():
        if number in back:  # its pass starts at a tensor without a past: the number came back as one
            continue
        graph = known.graph(number)
        ends = [v.index for v in graph.values if _ends(known, graph, v.index)]
        found |= known.reach((number, end) for end in ends[:MAX_ENDS]).parameters
    return {p for p in found & expected if set(trace.parameter(p).optimizers) <= idle}


def _ends(known: Paths, graph: Graph, index: int) -> bool:
    """Whether this is a number with a graph that only logs, if anything, read. An element of a parameter is none."""
    value = graph.values[index]
    if value.shape or not value.requires_grad or value.is_leaf or value.alias_of is not None:
        return False
    if {(graph.id, index), value.origin} & known.used.order.keys():
        return False
    return all(op.name in EXITS or op.cut is not None for op in graph.consumers.get(index, ()))


def cut_kind(trace: Trace, known: Paths, op: Op, output: Key) -> str:
    """How `op` lost the gradient of `output`, as `Cut.kind` has it."""
    if op.cut is not None:
        return op.cut
    if _whole(known, output):
        return "nondifferentiable"
    region = trace.regions.get(op.region) if op.region is not None else None
    off = region is not None and region.kind in ("no_grad", "inference_mode")
    # A view that `expand` makes under no_grad keeps the flag of its base, without its node.
    return region.kind if region is not None and off and known.required(output) is None else "leaf"


def _whole(known: Paths, output: Key) -> bool:
    """Whether the result holds integers or booleans (the indices of `max(dim)`)."""
    return known.value(output).dtype.startswith(("int", "uint", "bool"))


def _left_torch(
    trace: Trace,
    known: Paths,
    returned: Returned,
    parameter: Parameter,
    groups: dict[object, Cut],
    passes: set[Site] | None,
) -> bool:
    """Finds a parameter's values that went out as numbers and came back as another tensor, in the loss of one of
    these passes."""
    for graph in _with_exits(trace):
        # Rather all of a value than one number of it: `np.exp(x.detach().numpy() - x.max().item())`.
        taken = sorted(exits(known, graph, parameter.id), key=lambda way: way[0].name not in ARRAYS)
        for op, first in taken:
            back = returned.as_tensor(graph, op)
            kind = "numpy" if op.name in ("numpy", "__array__") else "item"
            if back is None:
                back, kind = returned.as_number(graph, op), "numpy" if kind == "numpy" else "number"
            if back is None:
                back = returned.in_array(graph, taken, op)
            if back is None:
                continue
            loss = known.loss_of(back)
            if passes is not None and (loss is None or loss.site.user not in passes):
                continue
            group = (kind, first.site.user.location())
            if group in groups:
                groups[group].parameters.append(parameter)
                groups[group].ends[parameter.id] = first
            else:
                groups[group] = Cut(
                    first, kind, first.site.user, None, [parameter], loss, back, known, {parameter.id: first}
                )
            return True
    return False


@once
def _with_exits(trace: Trace) -> list[Graph]:
    """The graphs in which numbers are handed to Python."""
    return [graph for graph in trace.graphs if graph.called(EXITS)]


def exits(known: Paths, graph: Graph, parameter: int) -> Iterator[tuple[Op, Op]]:
    """(op that hands numbers to Python, first cut before it) for what comes of a parameter, in this graph or in one
    before it."""
    todo: list[tuple[int, Op | None]] = [
        (v.index, None)
        for v in graph.values
        if v.parameter == parameter
        or (v.origin is not None and v.requires_grad and parameter in known.behind(v.origin))
    ]
    seen = {index for index, _ in todo}
    while todo:
        index, cut = todo.pop()
        for op in graph.consumers.get(index, ()):
            first = cut or (op if op.cut else None)
            if op.name in EXITS:
                yield op, first or op
            for output in op.outputs:
                if output not in seen:
                    seen.add(output)
                    todo.append((output, first))


def _cut_site(trace: Trace, op: Op, region: int | None) -> Site:
    where = trace.regions.get(region) if region is not None else None
    return where.site.user if where is not None else op.site.user


def _blocking(known: Paths, found: tuple[Op, Key]) -> tuple[Op, Key]:
    """The cut itself, or the one behind it that the gradient would not pass either: that of `feats` in
    `z = z / z.detach().norm(); feats = z.detach()`."""
    while (further := _further_cut(known, found[1])) is not None:
        found = further
    return found


def _further_cut(known: Paths, key: Key) -> tuple[Op, Key] | None:
    """The first cut on the way from a value to the losses, where each way has one."""
    seen = {key}
    todo = deque(seen)
    first: tuple[Op, Key] | None = None
    while todo:
        current = todo.popleft()
        if not all(_about_data(known, event) for event in known.roots.get(current, ())):
            return None
        tracked = known.value(current).requires_grad
        for target, op in known.used.feeds.get(current, ()):
            if op is not None and tracked and _loses(known, op, target):
                first = first or (op, target)
            elif target not in seen:
                seen.add(target)
                todo.append(target)
    return first


def _loses(known: Paths, op: Op, target: Key) -> bool:
    """Whether no gradient comes back through `op` from its result."""
    value = known.value(target)
    return not value.requires_grad or (target[1] not in op.written and value.is_leaf)


def _first_cuts(known: Paths, key: Key) -> list[tuple[Op, Key]]:
    """The first ops on the ways from a parameter's value to a loss that pass no gradient, nearest first, but those
    that give indices last: where numbers go the other way, as those of `topk`, it is there that they are lost. Rather
    one whose result was made to require a gradient again: a `detach()` alone may be meant."""
    if not known.value(key).requires_grad:
        return []
    seen = {key}
    todo = deque(seen)
    found: list[tuple[Op, Key]] = []
    while todo:
        current = todo.popleft()
        for target, op in known.used.feeds.get(current, ()):
            if op is not None and _loses(known, op, target):
                if known.value(target).requires_grad and target in known.roots:
                    return [(op, target)]
                found.append((op, target))
            elif target not in seen:
                seen.add(target)
                todo.append(target)
    return sorted(found, key=lambda cut: _whole(known, cut[1]))


def nearest_cuts(known: Paths, root: Key) -> Iterator[tuple[Op, Key]]:
    """Ops on the way back from `root` (which has no graph) that lost the gradient, nearest first."""

    def lost(op: Op, key: Key, tracked: list[Key]) -> bool:
        kept = op.cut is None and key[1] in op.written  # the same leaf, filled
        return bool(tracked) and not kept

    return nearest(known, root, lost)


def nearest(known: Paths, root: Key, ends: Callable[[Op, Key, list[Key]], bool]) -> Iterator[tuple[Op, Key]]:
    """Each op on the way back from `root` at which the way `ends`, with what it gave, nearest first.
    `ends` is asked with the op, its result, and those of its inputs that require a gradient."""
    seen = {root}
    todo = deque(seen)
    while todo:
        key = todo.popleft()
        sources, op = known.sources(key)
        tracked = [s for s in sources if known.value(s).requires_grad]
        if op is not None and ends(op, key, tracked):
            yield op, key
            continue
        for source in sources:
            if source not in seen:
                seen.add(source)
                todo.append(source)


def between(known: Paths, roots: Iterable[Key], parameter: int) -> list[Op]:
    """The ops at which the gradient of `roots` is lost on its ways back to a parameter, nearest to them first; none
    where it arrives on one way at least, or where no way leads there."""
    roots = list(roots)
    if parameter in known.reach(roots).parameters:
        return []

    def ends(op: Op, key: Key, tracked: list[Key]) -> bool:
        return bool(tracked) and _loses(known, op, key)

    found: dict[Key, Op] = {}
    for root in roots:
        for op, _ in nearest(known, root, ends):
            given = [(op.graph, i) for i in op.inputs]
            if parameter in known.reach(given).parameters | known.parameters_in(given):
                found[op.graph, op.index] = op
    return sorted(found.values(), key=lambda op: all(_whole(known, (op.graph, v)) for v in op.outputs))


WORDS = {
    "detach": "`detach()`",
    "data": "`.data`",
    "no_grad": "`torch.no_grad()`",
    "inference_mode": "`torch.inference_mode()`",
    "set_grad_enabled": "`torch.set_grad_enabled(False)`",
    "numpy": "`numpy()`",
    "item": "`item()`",
    "number": "`item()`",
    "tolist": "`tolist()`",
    "rewrap": "a new tensor made of its numbers",
    "leaf": "a new leaf",
    "custom": "a custom `autograd.Function`",
}


def differentiates(op: Op) -> bool:
    """Whether this is a call of `autograd.grad` whose gradients are no part of a graph."""
    return op.name == "grad" and op.cut == "nondifferentiable" and not op.extra.get("create_graph")


def constant_derivative(op: Op) -> bool:
    """Whether this call of `autograd.grad` was to make its gradients a part of the graph, and they have none: they
    are the same whatever the graph's leaves are, as those of a linear function."""
    return op.name == "grad" and op.cut == "nondifferentiable" and bool(op.extra.get("create_graph"))


def cut_words(op: Op, kind: str) -> str:
    """How a sentence names the cut."""
    if differentiates(op):
        return "`autograd.grad` without `create_graph=True`"
    if constant_derivative(op):
        return "`autograd.grad`: this derivative is a constant, which depends on nothing"
    if kind == "nondifferentiable":
        return f"`{op.name.strip('_') or op.name}`, which has no gradient"
    if op.name == "tolist":
        return WORDS["tolist"]
    if op.name == "Variable":
        return "`Variable()`"
    return WORDS.get(kind, f"`{op.name}`")
