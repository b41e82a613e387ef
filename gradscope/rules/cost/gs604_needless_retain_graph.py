"""`retain_graph` or `create_graph` is on, and nothing goes through the graph again.

Why: a backward pass frees what it has used as it goes. `retain_graph=True` keeps all of it until
the loss itself goes, so the peak of the memory is that of two graphs wherever a next forward runs
before then. `create_graph=True` builds a second graph on top of that. It also hides the error
that a wrong second pass would raise.

Fix: leave the argument out.

A note where what one pass keeps is less than a megabyte.

Silent on: runs that an error ended before their first step; several losses that share a graph; gradients per output;
gradient penalties, second-order methods and meta learning; states that later passes go through.
"""

from collections.abc import Iterator
from functools import cached_property

from gradscope.analysis.cuts import constant_derivative
from gradscope.analysis.loop import settled
from gradscope.analysis.memo import once
from gradscope.analysis.reach import Key, Paths, Reach, passes, paths
from gradscope.analysis.since import since_segment
from gradscope.analysis.unread import time_of
from gradscope.analysis.words import code, located, plural
from gradscope.events import Backward, ErrorRaised, Rooted, Step
from gradscope.fixes.calls import without_argument
from gradscope.model import Finding, Graph
from gradscope.rules import rule
from gradscope.store import Trace

SMALL = 1_000_000  # bytes that nobody misses

# Optimizers of torch: none of them differentiates a gradient again. Others may, inside their step.
FIRST_ORDER = {
    "SGD", "ASGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "SparseAdam", "Adagrad", "Adadelta", "RMSprop",
    "Rprop", "LBFGS", "Adafactor", "Muon",
}  # fmt: skip

TORCHS_OWN = ("torch/autograd/functional.py", "torch/autograd/gradcheck.py")


def bad_retain_in_loop() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward(retain_graph=True)  # cause: GS604
        opt.step()


def good_two_losses_on_one_graph() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        out = model(torch.randn(8, 4)).tanh()
        out[:, 0].pow(2).mean().backward(retain_graph=True)
        out[:, 1].pow(2).mean().backward()
        opt.step()


@rule("GS604", name="needless-retain-graph", severity="warning")
def needless_retain_graph(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    groups: dict[tuple[str, int], list[Backward]] = {}
    used: set[tuple[str, int]] = set()
    run = _Passes(trace, known)
    for event in known.backwards:
        if not (event.retain_graph or event.create_graph) or _constant(trace, event):
            continue
        if event.site.user.kind != "user" or not event.roots:
            continue
        if event.site.under(*TORCHS_OWN):
            continue  # `torch.autograd.functional.jacobian` keeps it, not the program
        place = event.site.user.location()
        groups.setdefault(place, []).append(event)
        if place not in used and run.again(event):
            used.add(place)
    for place, events in groups.items():
        if place not in used and not _cut_short(trace, events):
            yield _finding(trace, events)


def _cut_short(trace: Trace, events: list[Backward]) -> bool:
    """Whether an error ended the program before the step that these passes were made for: what was to go through
    their graphs may have been still to come."""
    if settled(trace):
        return False
    in_order = list(trace.of(Backward, Step))
    stepped = any(isinstance(event, Step) for event in in_order[in_order.index(events[0]) :])
    return sum(event.count for event in events) == 1 or not stepped


def _constant(trace: Trace, event: Backward) -> bool:
    """Whether the gradients were to have a graph, and came out constant: nothing could go through it."""
    return event.create_graph and (event.graph, event.site.user.location()) in _constant_places(trace)


@once
def _constant_places(trace: Trace) -> set[tuple[int, tuple[str, int]]]:
    """The lines of each graph that gave a derivative which is constant."""
    return {
        (graph.id, op.site.user.location())
        for graph in trace.graphs
        for op in graph.ops
        if constant_derivative(op)
    }


def _finding(trace: Trace, events: list[Backward]) -> Finding:
    event = events[0]
    times = _times(trace, event)
    argument = "create_graph" if event.create_graph else "retain_graph"
    nodes, held = event.held_nodes, event.held_bytes
    looked = sum(e.count for e in events)
    of = "" if looked >= times else f" (of the {looked:,} looked at closely)"
    seen = f"{passes(times)} kept the graph, no later one went through it{of}"
    if held:
        seen += f"; one keeps {plural(nodes or 0, 'node')} with {held:,} bytes saved for backward"
    took = time_of(trace, event.site)
    if took and argument == "create_graph":
        seen += f"; the passes of this line took {took} in all, building a graph of their own"
    call = code(trace, event.site.user, "the backward pass")
    return Finding(
        message=f"{call} keeps its graph with `{argument}`, and nothing uses it again",
        cause=event.site.user,
        cause_label="no second pass goes through this graph",
        seen=(seen,),
        fix=f"leave `{argument}=True` out of {located(trace, event.site.user, 'the pass')}",
        count=times,
        severity="note" if held is not None and held < SMALL else "",
        edits=without_argument(trace, event.site.user, argument),
        subjects=frozenset({("retain", event.site.user.location())}),
        since=since_segment(trace, event.segment),
    )


def _times(trace: Trace, event: Backward) -> int:
    """How many passes of this line kept their graph, also while sampling slept."""
    place = event.site.user.location()
    return sum(
        e.count
        for e in trace.of(Backward)
        if (e.retain_graph or e.create_graph) and e.site.user.location() == place
    )


class _Passes:
    """What each pass of the run goes through, by graph: asked once, for a run may have thousands."""

    def __init__(self, trace: Trace, known: Paths):
        self.trace, self.known = trace, known
        failed = [e for e in trace.of(ErrorRaised) if e.where == "backward"]
        # They may have gone through any graph.
        self.lost = any(e.graph < 0 for e in failed) or bool(known.unseen)
        self.in_graph: dict[int, list[tuple[Rooted, Reach]]] = {}
        self.from_elsewhere: dict[
            int, list[tuple[Rooted, set[Key]]]
        ] = {}  # the nodes in this graph of others
        self.unknown: list[Rooted] = []  # that go on where nobody saw
        for event in (*known.backwards, *failed):
            if event.graph >= 0:
                self._add(event, known.reach(_roots(event)))

    def _add(self, event: Rooted, reach: Reach) -> None:
        self.in_graph.setdefault(event.graph, []).append((event, reach))
        entered: dict[int, set[Key]] = {}
        for key in reach.nodes:
            if key[0] != event.graph:
                entered.setdefault(key[0], set()).add(key)
        for value in self.known.graph(event.graph).values:
            if value.kind != "carried" or value.node is None or (event.graph, value.node) not in reach.nodes:
                continue
            if value.origin is None:
                self.unknown.append(event)  # made by a pass, or in a stretch that was not seen
                continue
            source, index = value.origin
            node = self.known.graph(source).values[index].node
            entered.setdefault(source, set()).add((source, -1 if node is None else node))
        for graph, nodes in entered.items():
            self.from_elsewhere.setdefault(graph, []).append((event, nodes))

    def again(self, event: Backward) -> bool:
        """Whether a later pass went through the graph of this one, or may have."""
        if self.lost or (event.create_graph and self.gradient_used):
            return True
        here = self.in_graph[event.graph]
        first = self._inner(next(reach for other, reach in here if other is event))
        if any(other is event or not _same(other, event) for other in self.unknown):
            return True
        wanted = {*first, (event.graph, -1)}
        for graph in {key[0] for key in wanted}:
            for other, nodes in self.from_elsewhere.get(graph, ()):
                # Equal stretches are stored once: a state that enters its own graph again is its own later pass.
                itself = other is event and graph == event.graph
                if (itself or not _same(other, event)) and nodes & wanted:
                    return True
        after = False
        for other, reach in here:
            if after and _same(other, event) and (reach.nodes & first or not reach.complete):
                return True
            after = after or other is event
        return False

    def _inner(self, reach: Reach) -> set[Key]:
        """The nodes that a pass visits, without those of leaves, which every pass may share."""
        known = self.known
        return {key for key in reach.nodes if known.graph(key[0]).nodes[key[1]].name != "AccumulateGrad"}

    @cached_property
    def gradient_used(self) -> bool:
        return _gradient_used(self.trace, self.known)


def _same(one: Rooted, other: Rooted) -> bool:
    """Whether two passes are of one stretch and one graph."""
    return one.segment == other.segment and one.graph == other.graph


def _roots(event: Rooted) -> list[Key]:
    return [(event.graph, root) for root in event.roots]


def _made_of(graph: Graph, value: int) -> Iterator[int]:
    """What is computed from a value, or written with it, with gradients on."""
    for op in graph.consumers.get(value, ()):
        if op.nodes:
            yield from op.outputs or op.inputs


def _gradient_used(trace: Trace, known: Paths) -> bool:
    """Whether a pass went through a gradient that has a graph itself, or an optimizer may have."""
    if any(optimizer.cls not in FIRST_ORDER for optimizer in trace.optimizers.values()):
        return True
    gradients = {
        (number, output)
        for number in known.graph_ids
        for op in known.graph(number).ops
        if op.name == "grad"
        for output in op.outputs
    }
    failed = [e for e in trace.of(ErrorRaised) if e.where == "backward" and e.graph >= 0]
    visited = known.reached.nodes | known.reach(root for e in failed for root in _roots(e)).nodes
    for number in known.graph_ids:
        graph = known.graph(number)
        for value in graph.values:
            unknown = value.kind == "carried" and value.origin is None
            if unknown or gradients & {(number, value.index), value.origin}:
                if (number, value.index) in known.roots:
                    return True
                made = [
                    graph.values[i].node
                    for i in _made_of(graph, value.index)
                    if graph.values[i].requires_grad
                ]
                if made and (not known.reached.complete or None in made):
                    return True
                if any((number, node) in visited for node in made):
                    return True
    return False
