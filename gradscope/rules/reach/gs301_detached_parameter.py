"""Parameters feed the loss, but every way back to them is cut: they get no gradient.

Why: `detach()`, `.data`, `numpy()` and operations under `torch.no_grad()` pass the values
on and end the graph. The loss still depends on the parameters behind the cut, yet backward
cannot reach them, so the optimizer silently leaves them as they are.

Fix: remove the cut; where another network's loss needs it (a discriminator's), cut for that loss
alone. Where the parameters are frozen on purpose, say so with `requires_grad_(False)` and leave
them out of the optimizer.

Silent on: frozen parameters; parameters that no optimizer holds, where one steps; parameters that get a
gradient from another loss; targets that the program itself writes (averages, copies).
A warning where they have an optimizer that nothing in the program ever steps; a note where its step stands in
a part of the program that this run did not come to. Where a gradient
stops in the middle of the run: a warning where its optimizer goes on changing the parameters (weight decay, momentum),
or the text cuts from a number of steps on (`if step >= 700`); a note where that is another phase, at a backward of
its own or under a block without gradients.
"""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.cuts import Cut, cut_words, cuts, resting_cuts
from gradscope.analysis.loop import settled
from gradscope.analysis.lost import shared_with
from gradscope.analysis.names import names_of
from gradscope.analysis.ops import SUBTRACTIONS
from gradscope.analysis.own_writes import kept_up
from gradscope.analysis.reach import Paths, passes, paths
from gradscope.analysis.stand_ins import StandIn, name_beside, stand_ins
from gradscope.analysis.text import may_step
from gradscope.analysis.words import (
    code,
    listed,
    located,
    method,
    optimizer_name,
    parameter_names,
    parameter_subjects,
    quoted,
    root_of,
    source,
    variable,
    where,
)
from gradscope.events import Backward
from gradscope.fixes.calls import receiver_in_place_of
from gradscope.fixes.gathered import stacked
from gradscope.fixes.leaves import joined, requires_before
from gradscope.fixes.source import Edits, Source
from gradscope.model import Edit, Finding, Op, Parameter, Site
from gradscope.rules import rule
from gradscope.store import Trace


def bad_detach_between_layers() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer1 = nn.Linear(4, 8)
            self.layer2 = nn.Linear(8, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = torch.relu(self.layer1(x))
            h = h.detach()  # cause: GS301
            y: torch.Tensor = self.layer2(h)
            return y

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = model(torch.randn(16, 4)).pow(2).mean()
        loss.backward()  # effect: GS301
        opt.step()


def good_frozen_trunk() -> None:
    import torch
    from torch import nn

    trunk, head = nn.Linear(4, 8), nn.Linear(8, 1)
    opt = torch.optim.SGD(head.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        with torch.no_grad():
            features = torch.relu(trunk(torch.randn(16, 4)))
        head(features).pow(2).mean().backward()
        opt.step()


@rule(
    "GS301", name="detached-parameter", severity="error", over=("GS204", "GS302", "GS402", "GS605", "GS705")
)
def detached_parameter(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told = [cut for cut in cuts(trace) if cut.kind not in ("nondifferentiable", "rewrap", "leaf", "item")]
    resting = [cut for cut in resting_cuts(trace) if cut.kind != "nondifferentiable"]
    for cut in (*told, *resting):  # GS305 and GS304 tell the others
        if cut.loss is None:
            continue
        severity = _severity(trace, cut)
        if severity is None:
            continue
        if (function := _uncalled_function(trace, cut)) is not None:
            yield _of_function(trace, known, cut, function)
            continue
        ids = [p.id for p in cut.parameters]
        names = parameter_names(trace, ids)
        stands = stand_ins(trace).get((cut.op.graph, cut.op.index))
        shared = _shared(trace, known, cut) if stands is None else None
        fix, edits = (
            _moved_by(trace, known, stands, names)
            if stands is not None
            else _joined(trace, known, cut) or (_fix(trace, cut, names), _without(trace, cut))
        )
        if shared is not None and shared.fix:
            fix, edits = (
                f"{fix.partition('; if ')[0]}, {shared.fix}",
                (*edits, *shared.edits) if edits else (),
            )
        own = shared.own.site.user if shared is not None else cut.loss.site.user
        times = known.passes_beside(cut.parameters)
        verb, more = "feeds" if len(ids) == 1 else "feed", " any more" if cut.known.stop else ""
        loss = code(trace, own, "the backward pass")
        words = _words(trace, cut)
        yield Finding(
            message=f"{names} {verb} the loss, but {words} cuts the graph on the way: no gradient arrives{more}",
            cause=cut.site,
            cause_label="the graph is cut here",
            effect=own,
            effect_label="this pass cannot reach past the cut",
            related=(*_related(known, cut), *_misses(stands)),
            seen=(
                cut.known.seen(ids, f"`.grad` of {names} is None after {passes(times)}"),
                *_resting(trace, cut),
            ),
            why=f"the value goes on after {words.rstrip(',')}, the graph does not: {loss} stops there",
            fix=fix + _and_step(trace, cut),
            count=cut.count,
            edits=edits if not _resting(trace, cut) else (),
            severity=severity,
            subjects=parameter_subjects(ids)
            | ({("pass", own.location())} if shared is not None else set())
            | ({("exploding", *own.location())} if _misses(stands) else set()),
            since=cut.since,
        )


def _uncalled_function(trace: Trace, cut: Cut) -> Op | None:
    """The custom function within which the graph ends, where it was given nothing that requires a gradient: torch
    leaves it out of the graph then, and never calls its `backward`, which may fill gradients of layers of its own."""
    around = {frame.span() for frame in cut.op.site.stack}
    for graph in trace.graphs:
        for op in graph.ops:
            if op.extra.get("custom") and not op.nodes and op.site.user.span() in around:
                return None if any(graph.values[i].requires_grad for i in op.inputs) else op
    return None


def _of_function(trace: Trace, known: Paths, cut: Cut, function: Op) -> Finding:
    assert cut.loss is not None
    ids, site = [p.id for p in cut.parameters], function.site.user
    names, (line, edits) = parameter_names(trace, ids), requires_before(trace, site)
    return Finding(
        message=f"{names} {'works' if len(ids) == 1 else 'work'} within {code(trace, site)}, which is given nothing"
        " that requires a gradient: its `backward` is never called",
        cause=site,
        cause_label="has no input with a gradient, and so no place in the graph",
        effect=cut.loss.site.user,
        effect_label="this pass ends behind the function",
        related=((cut.site, "works with gradients off, as all within a function does"),),
        seen=(
            cut.known.seen(
                ids, f"`.grad` of {names} is None after {passes(known.passes_beside(cut.parameters))}"
            ),
            f"none of the tensors that `{function.name}.apply` was given required a gradient",
        ),
        why="autograd takes a function into the graph only where one of the tensors that it is given requires a"
        " gradient: layers that it has from elsewhere do not count",
        fix=f"let its input require one: `{line}` before {located(trace, site)}",
        count=cut.count,
        edits=edits,
        subjects=parameter_subjects(ids),
        since=cut.since,
    )


class Shared(NamedTuple):
    """What to do where a pass of another optimizer's wants the cut that its own pass must not have."""

    own: Backward
    fix: str
    edits: Edits


def _shared(trace: Trace, known: Paths, cut: Cut) -> Shared | None:
    """The graph is to end there for the other pass alone, else that would free what the own one needs."""
    shared = shared_with(cut)
    name = names_of(trace).name(known.graph(cut.output[0]), cut.output[1])
    if shared is None:
        return None
    if not name:
        return Shared(shared.own, "", ())
    given = [_named_in(trace, site, name) for site in shared.theirs]
    return Shared(
        shared.own,
        f"and give `{name}.detach()` to {listed([located(trace, site) for site in shared.theirs])}",
        tuple(edit for edits in given for edit in edits) if all(given) else (),
    )


def _named_in(trace: Trace, site: Site, name: str) -> Edits:
    """`.detach()` behind the one argument of the call at `site` that is this variable."""
    here = Source(trace, site.path)
    call = here.file.at(site)
    given = call.args if isinstance(call, ast.Call) else []
    named = [arg for arg in given if isinstance(arg, ast.Name) and arg.id == name]
    return here.append(named[0], ".detach()") if len(named) == 1 else ()


def _misses(stands: StandIn | None) -> tuple[tuple[Site, str], ...]:
    """The loss that is to move what is chosen, and does not reach it: it drives what the sum was made of away, until
    the gradients explode."""
    if stands is None or stands.loss is None:
        return ()
    return ((stands.loss.site.user, "gives its gradient to what the sum was made of"),)


def _moved_by(trace: Trace, known: Paths, stands: StandIn, names: str) -> tuple[str, Edits]:
    """How what another value stands in for gets a gradient: by a loss that compares itself."""
    graph, loss = known.graph(stands.total.graph), stands.loss
    made = located(trace, stands.total.site.user, "the sum")
    if loss is None:
        return (
            f"leave {made} as it is, and add a term to the loss that moves {names}: compare what it was taken from"
            " with the other operand `.detach()`ed",
            (),
        )
    site, name = loss.site.user, name_beside(trace, graph, stands.chosen, loss)
    here = Source(trace, site.path)
    node = here.file.at(site)
    place = loss.inputs.index(stands.total.outputs[0])
    own = names_of(trace).name(graph, stands.chosen)
    of = f"`{own}` of {made}" if own else f"what {made} was made of"
    what = f"`{name}`" if name else f"{of}, without its graph cut,"
    verb = "take" if loss.name in SUBTRACTIONS else "compare"
    fix = f"{verb} {what} in {located(trace, site, 'the loss')}, in place of the sum that stands in for it"
    if not name or not isinstance(node, ast.Call) or len(node.args) <= place:
        return fix, ()
    return fix, here.replace(node.args[place], name)


def _related(known: Paths, cut: Cut) -> tuple[tuple[Site, str], ...]:
    """Where the cut value was made, or where its number goes on."""
    graph = known.graph(cut.output[0])
    again = graph.values[cut.output[1]].op
    if cut.kind in ("number", "numpy") and again is not None:
        place, label = graph.ops[again].site.user, "goes on from here as plain numbers"
    else:
        place, label = cut.op.site.user, "the result has no grad_fn"
    found = ((place, label),) if place.location() != cut.site.location() else ()
    return (*found, *((op.site.user, "and here") for op in cut.also))


def _words(trace: Trace, cut: Cut) -> str:
    """How a sentence names the cut; a call whose own code turns gradients off, by the user's words."""
    if _drawn(trace, cut):
        return f"{code(trace, cut.site, '`sample()`')}, which draws without a gradient,"
    if cut.kind == "number" and cut.op.name == "__float__":
        text = source(trace, cut.site)
        if text and "float(" not in text:
            return f"{quoted(text)}, which takes plain numbers,"
        return "`float()`"
    return cut_words(cut.op, cut.kind)


def _drawn(trace: Trace, cut: Cut) -> bool:
    """Whether `sample()` of a distribution is the cut."""
    region = trace.regions.get(cut.region) if cut.region is not None else None
    return region is not None and region.site.kind == "torch" and "distributions" in region.site.path


def _severity(trace: Trace, cut: Cut) -> str | None:
    """None where the cut is no fault, "note" where it is likely meant."""
    known = paths(trace)
    if all(p.id in kept_up(trace) for p in cut.parameters):
        return None  # a copy that follows others: a momentum encoder, a target network
    if any(p.id in kept_up(trace) for p in cut.parameters):
        return "note"
    if any(_rests(known, p) for p in cut.parameters):
        if not settled(trace):
            return None  # what its optimizer had not done until the exception, it might do
        return "note" if may_step(trace, _held(trace, cut)) else "warning"
    if known.stepping:
        return cut.severity(trace) or "error"
    mine = {root_of(trace, p) for p in cut.parameters}
    trained = {root_of(trace, p) for p in known.parameters.values() if p.registered and known.has_gradient(p)}
    return "error" if mine & trained else "note"


def _rests(known: Paths, p: Parameter) -> bool:
    """Whether optimizers hold it that never step, while another one does."""
    return bool(known.stepping and p.optimizers) and not known.stepped(p)


def _resting(trace: Trace, cut: Cut) -> list[str]:
    """What says of a cut that the optimizers of what is behind it never stepped."""
    return [
        f"{optimizer_name(trace, number)}, which holds them, made no step" for number in _held(trace, cut)
    ]


def _and_step(trace: Trace, cut: Cut) -> str:
    """What is to be done beside taking such a cut away."""
    calls = [method(trace, number, "step") for number in _held(trace, cut)]
    return f"; if they should, call {listed(calls)} too" if calls else ""


def _held(trace: Trace, cut: Cut) -> list[int]:
    """The optimizers of a cut's parameters, where these rest."""
    if not any(_rests(paths(trace), p) for p in cut.parameters):
        return []
    return sorted({number for p in cut.parameters for number in p.optimizers})


_TAKEN_OUT = {"detach": ("detach", "detach_"), "number": ("item",)}  # kind of cut → the methods that make it


def _fix(trace: Trace, cut: Cut, names: str) -> str:
    frozen = f"; if {names} should not train: `requires_grad_(False)`, and not in the optimizer"
    text = source(trace, cut.site)
    for taken in _TAKEN_OUT.get(cut.kind, ()):
        if f".{taken}()" in text:
            found = "" if taken == "item" else frozen
            places = [located(trace, site, "this line") for site in (cut.site, *_also(cut))]
            return f"leave `.{taken}()` out of {listed(places)}{found}"
    if _drawn(trace, cut):
        return (
            f"call `rsample()` in {located(trace, cut.site, 'this line')} where the distribution has it, or put "
            + ("the `log_prob` of what was drawn into the loss")
        )
    if cut.kind == "numpy" and (tensor := re.sub(r"(\.(?:detach|cpu|numpy)\(\))+$", "", text)) != text:
        without = " without `.detach()` and" if ".detach()" in text else ""
        return (
            f"compute with `{tensor}` itself ({where(cut.site)}) to the loss,{without} not with NumPy{frozen}"
        )
    if cut.kind == "numpy":
        return f"compute with tensors from {located(trace, cut.site, 'here')} to the loss, not with NumPy{frozen}"
    if cut.kind in ("rewrap", "leaf", "item") and text:
        return f"go on with the tensor itself in place of {located(trace, cut.site)}{frozen}"
    if cut.region is not None:
        if (names_of(trace).line(cut.site) or "").startswith("@"):
            return f"take the decorator {located(trace, cut.site)} away{frozen}"
        made = variable(trace, cut.op.site) or source(trace, cut.op.site.user)
        what = f"`{made}` ({where(cut.op.site)})" if made else "it"
        return f"compute {what} outside of {located(trace, cut.site, 'the block')}{frozen}"
    if text := source(trace, cut.site):
        number = re.fullmatch(r"(?:float|int|bool)\((.+)\)", text)
        if number:
            return f"keep the tensor: `{number[1]}` in place of {located(trace, cut.site)}{frozen}"
    return f"take {located(trace, cut.site, 'the cut')} away{frozen}"


def _joined(trace: Trace, known: Paths, cut: Cut) -> tuple[str, Edits] | None:
    """A tensor that is made of the numbers of a list of tensors, as it keeps their graphs."""
    if cut.kind not in ("number", "numpy") or cut.output[0] != cut.op.graph or cut.also:
        return None
    words, edits = stacked(trace, cut.site, known.graph(cut.op.graph), cut.op, cut.output[1])
    if words:
        return f"{words} ({where(cut.site)})", edits
    new, edits = joined(trace, cut.site, known.graph(cut.op.graph), cut.op, cut.output[1])
    return (f"write `{new}` in place of {located(trace, cut.site)}", edits) if new else None


def _without(trace: Trace, cut: Cut) -> tuple[Edit, ...]:
    edits: list[Edit] = []
    for site in (cut.site, *_also(cut)):
        found = (receiver_in_place_of(trace, site, taken) for taken in _TAKEN_OUT.get(cut.kind, ()))
        mine = next((edits for edits in found if edits), ())
        if not mine:
            return ()
        edits += mine
    return tuple(edits)


def _also(cut: Cut) -> list[Site]:
    return [op.site.user for op in cut.also]
