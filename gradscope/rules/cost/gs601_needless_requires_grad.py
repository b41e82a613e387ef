"""An input or target requires a gradient that nobody reads.

Why: `requires_grad=True` on data makes backward compute its gradient in every pass, through
the first layer, and keep it. Only parameters need one; the model learns the same without it.

Fix: leave `requires_grad` off for data.

Silent on: adversarial examples, saliency, gradient penalties and anything else that reads the
gradient or asks `autograd.grad` for it, or for that of something computed from it, which requires
a gradient for no other reason; what a custom function that is given nothing else with a gradient works on (its
`backward` may train layers of its own); tensors that an optimizer or the program updates; programs that
train nothing.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gradscope.analysis.names import shape_words
from gradscope.analysis.ops import LOSS_FUNCTIONS
from gradscope.analysis.own_leaves import leaf_place, wanted_leaves
from gradscope.analysis.reach import Paths, passes, paths
from gradscope.analysis.unread import time_of
from gradscope.analysis.words import code, located, source, user
from gradscope.events import Backward, GradientHook, ModuleCall, RequiresGrad, Step
from gradscope.fixes.leaves import without_request
from gradscope.fixes.source import receiver
from gradscope.model import Finding, Graph, Op, Site, Value
from gradscope.rules import rule
from gradscope.store import Trace


def bad_inputs_in_training_loop() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4, requires_grad=True)  # cause: GS601
        opt.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()  # effect: GS601
        opt.step()


def good_gradient_penalty() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4, requires_grad=True)
        out = model(x).pow(2)
        (slope,) = torch.autograd.grad(out.sum(), x, create_graph=True)
        opt.zero_grad()
        (out.mean() + slope.norm(dim=1).sub(1).pow(2).mean()).backward()
        opt.step()


@dataclass
class Needless:
    """Leaves made at one line, with what their gradients cost."""

    bytes: int
    shape: list[int]
    event: Backward
    requires: Site | None
    kept: bool = False  # one tensor went through several passes: it may be meant to be trained
    times: int = 0  # passes
    gradients: int = 0
    last: Backward | None = None  # the pass that was counted last


@rule("GS601", name="needless-requires-grad", severity="warning")
def needless_requires_grad(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    if not known.stepping and not any(
        p.updates and p.registered and p.passes for p in known.parameters.values()
    ):
        return
    if any(event.module for event in trace.of(GradientHook)):
        return  # the hook of a frozen layer is called where a gradient goes back to what the layer is given
    wanted = wanted_leaves(trace)
    groups: dict[tuple[str, int], Needless] = {}
    for event in known.backwards:
        if event.graph < 0 or event.create_graph or not _trains(trace, known, event):
            continue
        graph = known.graph(event.graph)
        for leaf in event.leaves:
            value = graph.values[leaf["value"]]
            made = leaf_place(value)
            if made is None or made in wanted or not _is_data(known, graph, value, event, trace):
                continue
            group = groups.get(made)
            if group is None:
                requires = _requires(trace, known, graph, value) or user(value.site)
                group = groups[made] = Needless(leaf.get("bytes", 0), leaf.get("shape", []), event, requires)
            group.gradients += event.count
            if group.last is not event:
                group.times += event.count
                group.last = event
            group.kept |= value.parameter is not None and known.parameters[value.parameter].passes > 1
    for group in groups.values():
        yield _finding(trace, group)


def _trains(trace: Trace, known: Paths, event: Backward) -> bool:
    """Whether the gradients of this pass are used: a pass that only asks about an input trains nothing."""
    accumulated = set(event.filled)
    if not known.stepping:
        return bool(accumulated)
    for step in trace.of(Step):
        states = step.states
        if step.segment >= event.segment and accumulated & {
            *states.get("fresh", ()),
            *states.get("stale", ()),
        }:
            return True
    return False


def _finding(trace: Trace, group: Needless) -> Finding:
    effect = group.event.site.user
    size = group.bytes * group.gradients
    took = time_of(trace, group.event.site)
    shape = shape_words(group.shape)
    several = group.gradients > group.times
    what = f"{group.gradients:,} gradients of {shape}" if several else f"a gradient of {shape}"
    total = paths(trace).alike(group.event)
    looked = (
        f" that {'was' if group.times == 1 else 'were'} looked at (of {total:,})"
        if group.times < total
        else ""
    )
    elsewhere = _asked_elsewhere(trace, group)
    return Finding(
        message=f"data requires a gradient that nobody reads: {code(trace, group.requires, 'an input of the loss')}",
        cause=group.requires or effect,
        cause_label="made to require a gradient here",
        effect=effect,
        effect_label="computes and keeps its gradient",
        seen=(
            f"{passes(group.times)}{looked} computed {what} ({size:,} bytes in all) that"
            f" {'were' if several else 'was'} never read"
            + (f"; the passes of this line took {took} in all" if took else ""),
        ),
        fix=_fix(trace, group.requires)
        + ("; where it is to be trained, give it to the optimizer" if group.kept else "")
        + (f", or ask only where {located(trace, elsewhere)} runs, as it did not here" if elsewhere else ""),
        count=group.times,
        severity="note" if elsewhere is not None else "",
        edits=without_request(trace, group.requires) if elsewhere is None else (),
        subjects=frozenset({("leaf", group.requires.location())} if group.requires else ()),
    )


def _asked_elsewhere(trace: Trace, group: Needless) -> Site | None:
    """The call in a branch that did not run which is given the data, and may ask for the gradient."""
    site = group.requires
    name = receiver(trace, site, "requires_grad_") if site is not None else ""
    if site is None or not name:
        return None
    file, ran = trace.source_file(site.path), {s.line for s in trace.sites if s.path == site.path}
    scope = file.scope(site)
    for branch in ast.walk(scope) if scope is not None else ():
        for call in ast.walk(branch) if isinstance(branch, ast.If) else ():
            if isinstance(call, ast.Call) and any(ast.unparse(given) == name for given in call.args):
                lines = range(call.lineno, (call.end_lineno or call.lineno) + 1)
                if call.lineno > site.line and ran.isdisjoint(lines):
                    return Site(-1, site.path, *file.span(call), site.function, "user")
    return None


def _is_data(known: Paths, graph: Graph, value: Value, event: Backward, trace: Trace) -> bool:
    """Whether the leaf goes into a model as its input, or meets its output in a loss."""
    if value.parameter is not None:
        parameter = known.parameters.get(value.parameter)
        if parameter is not None and (parameter.registered or parameter.optimizers or parameter.updates):
            return False
        if parameter is not None and parameter.declared:
            return False  # meant to be trained (GS206)
    readers = graph.consumers.get(value.index, ())
    if any(op.name.startswith("Checkpoint") for op in readers):
        return False  # reentrant checkpointing needs an input that requires a gradient
    if any(_only_for(graph, op, value.index) for op in graph.consumers.get(value.index, ())):
        return False
    places = dict([(graph.id, value.index), *([value.origin] if value.origin is not None else [])])
    for call in trace.of(ModuleCall):  # before an earlier pass, where another loss came first
        if call.graph in places:
            entered = known.graph(call.graph)
            if places[call.graph] in _roots_of(entered, call.inputs):
                return True
    if _made_each_time(trace, known, graph, value) and any(op.module is not None for op in readers):
        return True
    for op in readers:
        if op.module is None or op.name in LOSS_FUNCTIONS:
            others = [graph.values[i] for i in op.inputs if i != value.index]
            if value.shape and any(
                o.shape == value.shape and o.requires_grad and not o.is_leaf for o in others
            ):
                return True
    return False


def _only_for(graph: Graph, op: Op, value: int) -> bool:
    """Whether a custom function gives a result with a graph for this value's sake alone: its `backward`, which may fill
    gradients of layers that it has from elsewhere, would not be called."""
    others = [i for i in op.inputs if i != value and graph.values[i].requires_grad]
    return bool(op.extra.get("custom")) and bool(op.nodes) and not others


def _made_each_time(trace: Trace, known: Paths, graph: Graph, value: Value) -> bool:
    """Whether a line of the user's makes such data anew for every pass, outside all modules, and asks
    for its gradient there or after."""
    site = user(value.site)
    if site is None or not value.shape:
        return False
    here = trace.source_file(site.path)
    node = here.at(site)
    if not isinstance(node, ast.Call):
        return False
    asked = here.parent.get(id(node))  # of `torch.zeros(4).requires_grad_()`
    later = isinstance(asked, ast.Attribute) and asked.attr == "requires_grad_"
    if not later and not any(k.arg == "requires_grad" for k in node.keywords):
        maker = known.maker((graph.id, value.index))
        if maker is None or maker.module is not None or _requires(trace, known, graph, value) is None:
            return False
    made = [
        p
        for p in known.parameters.values()
        if p.site is not None and p.site.user.location() == site.location()
    ]
    return len(made) > 2 and all(p.passes < 2 and not p.registered for p in made)


def _roots_of(graph: Graph, inputs: Iterable[int]) -> set[int]:
    found: set[int] = set()
    for index in inputs:
        found.update(graph.upstream(index, most=200))
    return found


def _requires(trace: Trace, known: Paths, graph: Graph, value: Value) -> Site | None:
    """Where `requires_grad` was set on it after it was made."""
    keys = {(graph.id, value.index), value.origin}
    for event in trace.of(RequiresGrad):
        if not event.to or event.graph < 0:
            continue
        other = known.graph(event.graph).values[event.value]
        if {(event.graph, other.index), other.origin} & (keys - {None}):
            return event.site.user
        if other.parameter is not None and other.parameter == value.parameter:
            return event.site.user
    return None


def _fix(trace: Trace, site: Site | None) -> str:
    if site is None:
        return ""
    text, whole = source(trace, site), located(trace, site)
    if "requires_grad=True" in text:
        return f"leave `requires_grad=True` out of {whole}"
    return f"leave `.requires_grad_()` out of {whole}" if "requires_grad_(" in text else f"take {whole} out"
