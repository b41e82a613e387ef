"""The loss is the same whatever the model says: softmax over a single class.

Why: softmax makes numbers that sum to one. Over one class, or one place, that is always 1, its logarithm
always 0: a cross entropy is 0, and the gradient of what went in exactly zero, so that nothing is learned by it.

Fix: one output per class for `cross_entropy`; for a single output `binary_cross_entropy_with_logits`
(yes or no) or `mse_loss` (a number); or take the softmax along the dimension of the classes.

Silent on: attention over a single position, softmax over one class beside other ways to the loss.
At warning: a softmax along the first axis, which had one place in every call, where another has several; along any axis
of one place, where what it weighs is summed over another or several others; a softmax of
the one score that `topk` or `max` has chosen among several, as a gate does with k=1.
"""

import ast
from collections.abc import Iterator
from dataclasses import replace

from gradscope import equations
from gradscope.analysis.counted import at_least
from gradscope.analysis.made import softmax_site
from gradscope.analysis.ops import MASKING, PASSING, QUOTIENTS, SCALES, SLICES
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.trails import trail
from gradscope.analysis.words import code, located, parameter_names, parameter_subjects, where
from gradscope.events import Rooted
from gradscope.fixes.calls import along as along_axis
from gradscope.fixes.source import Edits, Source
from gradscope.fixes.statements import beside
from gradscope.model import Edit, Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.rules.numbers._losses import loss_event
from gradscope.rules.numbers._written_out import EXP, WrittenOut, axis_of, softmax_written_out
from gradscope.store import Trace

SOFTMAX_NODES = {"SoftmaxBackward0", "LogSoftmaxBackward0"}
CHOICES = {"topk", "max"}
LAYERS = {"linear", "conv1d", "conv2d", "conv3d", "matmul"}  # their second input is the weight


def bad() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.rand(8, 1))  # cause: GS704
        loss.backward()  # effect: GS704
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 2, (8,))).backward()
        opt.step()


@rule("GS704", name="degenerate-loss", severity="error", over=("GS204", "GS212", "GS302", "GS305", "GS707"))
def degenerate_loss(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    places: dict[tuple[tuple[str, int], str], list[Op]] = {}
    for _, op in known.used_calls({"cross_entropy", "softmax", "log_softmax"}):
        places.setdefault((op.site.user.location(), op.name), []).append(op)
    for calls in places.values():
        along = _along_one(known, calls) or _weighs_along_others(trace, known, calls)
        another = not along and _weighs_along_another(trace, known, calls)
        for op in calls:
            event = loss_event(known, op) if op.nodes and _over_one(known, op) else None
            if event is None:
                continue
            single = _one_output(known.graph(op.graph), op)
            chosen = None if single or along or another else _chosen(known, op)
            zero = _lost(trace, known, event, op, single or along or another or chosen is not None)
            if zero and chosen is not None:
                yield _gate(trace, known, op, event, zero, chosen)
                break
            if zero:
                found = _finding(trace, known, op, event, zero, along and not single)
                yield replace(found, severity="warning") if another and not single else found
                break

    yield from _written_out(trace, known)


def _written_out(trace: Trace, known: Paths) -> Iterator[Finding]:
    """Softmaxes of the program's own over the one output of a layer."""
    told: set[tuple[str, int]] = set()
    if trace.op_names.isdisjoint(EXP):
        return
    for _, op in known.used_calls(EXP | QUOTIENTS):
        own = softmax_written_out(known, op) if op.nodes and op.site.user.location() not in told else None
        axis = axis_of(known, own.along) if own is not None else None
        if (
            own is None
            or axis is None
            or known.value((own.along.graph, own.along.inputs[0])).shape[axis] != 1
        ):
            continue
        event = loss_event(known, op)
        zero = (
            _lost(trace, known, event, op, True)
            if event is not None
            and own.scores[0] == op.graph
            and _is_one_output(known.graph(op.graph), own.scores[1])
            else []
        )
        if event is not None and zero:
            told.add(op.site.user.location())
            yield _finding_of_own(trace, known, own, event, zero)


def _finding_of_own(trace: Trace, known: Paths, own: WrittenOut, event: Rooted, zero: list[int]) -> Finding:
    names, place = parameter_names(trace, zero), own.made.site.user
    shape = known.value((own.along.graph, own.along.inputs[0])).shape
    measured = at_least(trace, len(trace.numbers("grad_norm", zero[0])), "backward pass")
    text = code(trace, place, f"`{own.made.name}`")
    return Finding(
        message=f"{text} is a softmax over a single class: it gives 1 whatever goes in, the gradient is zero",
        cause=place,
        cause_label=f"`{own.words}`: it goes over an axis of one place",
        effect=event.site.user,
        effect_label=f"{names} get a gradient of exactly zero",
        related=((own.along.site.user, f"goes over one of {shape}"),)
        if own.along.site.user.location() != place.location()
        else (),
        seen=(f"the gradient of {names} was exactly 0 in {measured}",),
        fix=f"take a sigmoid in place of {located(trace, place)}, for a single output; or give it one output per class",
        count=event.count,
        subjects=parameter_subjects(zero),
    )


def _over_one(known: Paths, op: Op) -> bool:
    """Whether the call may be a softmax over one class, by its input's shape and the axis that it was given."""
    shape = known.graph(op.graph).values[op.inputs[0]].shape if op.inputs else ()
    if op.name == "cross_entropy":
        return bool(shape) and shape[1 if len(shape) > 1 else 0] == 1
    dims = op.extra.get("dims") or []
    if len(dims) == 1 and -len(shape) <= dims[0] < len(shape):
        return bool(shape[dims[0]] == 1)
    return 1 in shape


def _lost(trace: Trace, known: Paths, event: Rooted, op: Op, of_one: bool) -> list[int]:
    """The parameters that the loss reaches only through a softmax, where the gradient of every one of
    them was exactly zero whenever it was measured. One alone says nothing: a key's bias in attention
    has no effect either. Where it is known to be `of_one`, they are those behind that softmax."""
    roots = [(event.graph, root) for root in event.roots]
    behind = known.reach(roots).parameters
    past = known.reach(roots, SOFTMAX_NODES).parameters
    if of_one:
        same = [o for o in known.graph(op.graph).ops if o.site.user.location() == op.site.user.location()]
        stop = {(op.graph, node) for o in same if o.name == op.name for node in o.nodes}
        past = known.reach(roots, stop=stop).parameters
    norms = [trace.numbers("grad_norm", id) for id in behind - past]
    zero = all(known and not any(norm for _, norm in known) for known in norms)
    return sorted(behind - past) if zero else []


def _one_output(graph: Graph, op: Op) -> bool:
    """Whether a layer with a single output, and nothing that changes sizes, made what goes in."""
    return _is_one_output(graph, op.inputs[0])


def _is_one_output(graph: Graph, index: int) -> bool:
    value = graph.values[index]
    for _ in range(6):
        maker = graph.ops[value.op] if value.op is not None else None
        if maker is None or len(maker.inputs) < (2 if maker.name in LAYERS else 1):
            return False
        if maker.name in LAYERS:
            weight = graph.values[maker.inputs[1]]
            outputs = weight.shape[-1:] if maker.name == "matmul" else weight.shape[:1]
            return weight.parameter is not None and outputs == (1,)
        if graph.values[maker.inputs[0]].shape != value.shape:
            return False
        value = graph.values[maker.inputs[0]]
    return False


def _along_one(known: Paths, calls: list[Op]) -> bool:
    """Whether each of these softmax calls, those of one line, went along the first axis, which had one place, while a
    later one had several: a batch of one, most often."""
    for call in calls:
        value = known.graph(call.graph).values[call.inputs[0]] if call.inputs else None
        if (
            value is None
            or not value.shape
            or value.shape[0] != 1
            or max(value.shape) == 1
            or value.op is None
        ):
            return False
        if call.extra.get("dims") not in ([0], [-len(value.shape)]):
            return False
    return True


def _weighs_along_others(trace: Trace, known: Paths, calls: list[Op]) -> bool:
    """Whether each of these calls was given an axis that had one place, and what it weighs is summed over two others or
    more: over a single one it is known which was meant."""
    for call in calls:
        axis = _given_axis(known, call)
        if axis is None or known.graph(call.graph).values[call.inputs[0]].shape[axis] != 1:
            return False
        if len(_summed_over(trace, call) - {axis}) < 2:
            return False
    return True


def _weighs_along_another(trace: Trace, known: Paths, calls: list[Op]) -> bool:
    """Whether each of these calls was given an axis that had one place, and what it weighs is summed over another one
    alone, of several places, along which nothing else brings the weights to a sum of one."""
    for call in calls:
        axis, weighed = _given_axis(known, call), _weighed(trace, call)
        shape = known.graph(call.graph).values[call.inputs[0]].shape if call.inputs else ()
        if axis is None or weighed is None or shape[axis] != 1 or weighed[0] == axis or shape[weighed[0]] < 2:
            return False
        sums = trail(trace, (call.graph, call.outputs[0])).sums
        again = any(one.other is None and weighed[0] in one.over for one in sums)
        if again or not _weighs_at_once(known.graph(call.graph), call, weighed[1]):
            return False
    return True


def _weighs_at_once(graph: Graph, call: Op, use: Op) -> bool:
    """Whether nothing between a softmax and the sum of what it weighs sums over another axis: one of a single place
    has no name to be followed by."""
    equation = equations.of(use)
    if len(equation.contracted if equation is not None else use.extra.get("dims") or ()) > 1:
        return False
    between = PASSING | SCALES | MASKING | {"dropout"}
    return any(op is use for _, op in graph.readers_behind(call.outputs, lambda one: one.name in between))


def _given_axis(known: Paths, op: Op) -> int | None:
    """The axis that a softmax was given, counted from the front."""
    shape = known.graph(op.graph).values[op.inputs[0]].shape if op.inputs else ()
    given = op.extra.get("dims") or []
    if op.name == "cross_entropy" or len(given) != 1 or not -len(shape) <= given[0] < len(shape):
        return None
    return int(given[0]) % len(shape)


def _summed_over(trace: Trace, op: Op) -> set[int]:
    """The axes that what a softmax weighs is summed over."""
    found = trail(trace, (op.graph, op.outputs[0])).sums
    return {axis for one in found if one.other is not None for axis in one.over}


def _chosen(known: Paths, op: Op) -> Op | None:
    """The call that left one of several scores, the largest one, over which this softmax goes."""
    if op.name == "cross_entropy" or len(op.extra.get("dims") or []) != 1:
        return None
    key = (op.graph, op.inputs[0])
    while (maker := known.maker(key)) is not None and maker.name in SLICES and maker.inputs:
        key = (maker.graph, maker.inputs[0])
    if maker is None or maker.name not in CHOICES or not maker.inputs or maker.outputs[:1] != (key[1],):
        return None
    values = known.graph(maker.graph).values
    scores, kept = values[maker.inputs[0]].shape, values[op.inputs[0]].shape
    axis = op.extra["dims"][0]
    if len(scores) != len(kept) or not -len(kept) <= axis < len(kept):
        return None
    return maker if scores[axis] > 1 and kept[axis] == 1 else None


def _weighed(trace: Trace, op: Op) -> tuple[int, Op] | None:
    """The one axis that what this softmax weighs is summed over, and the call that does."""
    shape = paths(trace).graph(op.graph).values[op.outputs[0]].shape
    given = op.extra.get("dims") or []
    if len(given) != 1 or not -len(shape) <= given[0] < len(shape):
        return None
    found = [s for s in trail(trace, (op.graph, op.outputs[0])).sums if s.other is not None]
    axes = {axis for one in found for axis in one.over}
    return (axes.pop(), found[0].op) if len(axes) == 1 else None


def _finding(trace: Trace, known: Paths, op: Op, event: Rooted, zero: list[int], along: bool) -> Finding:
    shape = known.graph(op.graph).values[op.inputs[0]].shape
    names = parameter_names(trace, zero)
    place = softmax_site(trace, op)
    made = located(trace, place, f"`{op.name}`")
    measured = len(trace.numbers("grad_norm", zero[0]))
    losses = [value for _, value in trace.numbers("loss", event.site.id)]
    seen = [f"the gradient of {names} was exactly 0 in {at_least(trace, measured, 'backward pass')}"]
    if losses and max(losses) == min(losses):
        seen.append(f"the loss was {losses[0] + 0.0:.5g} every time")
    alone = op.name == "cross_entropy" or not known.reach(
        [(event.graph, root) for root in event.roots]
    ).parameters - set(zero)
    effect = "the loss cannot change" if alone else "it gives the same whatever goes in"
    over, places = "a single class", "one class"
    fix = f"take {made} along the dimension of the classes, or a sigmoid for a single output"
    edits: tuple[Edit, ...] = ()
    weighed = None if op.name == "cross_entropy" or along else _weighed(trace, op)
    if op.name == "cross_entropy":
        fix = (
            f"give {made} one output per class; for a single output take `binary_cross_entropy_with_logits` or"
            " `mse_loss`"
        )
    elif along:
        own = _given_axis(known, op) or 0
        over, places = "an axis of one place", f"axis {own} has one place"
        # The first axis is that of the samples, unless the softmax itself goes along it.
        axes = [
            f"`dim={axis - len(shape)}` ({n} places)"
            for axis, n in enumerate(shape)
            if n > 1 and (axis or not own)
        ]
        fix = f"take {made} along the axis whose places share the weights: {' or '.join(axes)}"
    elif weighed is not None:
        axis, use = weighed
        over, places = "an axis of one place", f"axis {op.extra['dims'][0]} has one place"
        fix = (
            f"take {made} along the axis that {located(trace, use.site.user, f'`{use.name}`')} sums over, `dim={axis}` "
            f"({shape[axis]} places)"
        )
        edits = along_axis(trace, place, op.name, axis)
    return Finding(
        message=f"`{op.name}` is taken over {over}: {effect}, the gradient is zero",
        cause=place,
        cause_label=f"its input is {shape}: {places}",
        effect=event.site.user,
        effect_label=f"{names} get a gradient of exactly zero",
        seen=tuple(seen),
        fix=fix,
        edits=edits,
        severity="warning" if along else "",
        count=event.count,
        subjects=parameter_subjects(zero),
    )


def _gate(trace: Trace, known: Paths, op: Op, event: Rooted, zero: list[int], chosen: Op) -> Finding:
    """A softmax of the score of the one that was chosen: its weight is 1, whichever it is."""
    names = parameter_names(trace, zero)
    place = op.site.user
    scores = known.graph(chosen.graph).values[chosen.inputs[0]].shape
    axis = op.extra["dims"][0]
    first, edits = _chosen_behind(trace, place, chosen)
    return Finding(
        message=f"`{op.name}` is taken over the one score that `{chosen.name}` has left: it is 1 whatever that is, and"
        " its gradient zero",
        cause=place,
        cause_label=f"its input is {known.graph(op.graph).values[op.inputs[0]].shape}: axis {axis} has one place",
        effect=event.site.user,
        effect_label="leaves a gradient of exactly zero",
        related=((chosen.site.user, f"leaves one of {scores[axis]}"),),
        seen=(
            f"the gradient of {names} was exactly 0 in"
            f" {at_least(trace, len(trace.numbers('grad_norm', zero[0])), 'backward pass')}",
            f"`{chosen.name}` chose one of {scores[axis]} scores along axis {axis}, and the softmax goes over that one",
        ),
        why="the softmax of one number is 1. What is chosen is multiplied by that, so that no gradient says whether"
        " another choice would have been better: the scores stay as they were initialised",
        fix=f"take the softmax over all {scores[axis]} scores and choose from the probabilities: {first}",
        edits=edits,
        severity="warning",
        count=event.count,
        subjects=parameter_subjects(zero),
    )


def _chosen_behind(trace: Trace, place: Site, chosen: Op) -> tuple[str, Edits]:
    """`top, i = scores.topk(k)` and `softmax(top, 1)` → `top, i = softmax(scores, 1).topk(k)` and `top`, where nothing
    else reads `top`."""
    at = chosen.site.user
    here = Source(trace, place.path)
    file = here.file
    softmax, choice = file.at(place), file.at(at)
    words = f"`{chosen.name}` ({where(at)}) behind the softmax ({where(place)})"
    if not isinstance(softmax, ast.Call) or not isinstance(choice, ast.Call) or not beside(trace, place, at):
        return words, ()
    made, given = file.statement(at), softmax.args[0] if softmax.args else None
    scores: ast.expr | None = choice.args[0] if choice.args else None
    if isinstance(choice.func, ast.Attribute) and not file.is_imported(choice.func.value):
        scores = choice.func.value
    if not isinstance(made, ast.Assign) or made.value is not choice or not isinstance(given, ast.Name):
        return words, ()
    if scores is None or isinstance(scores, ast.Starred) or not isinstance(made.targets[0], ast.Tuple):
        return words, ()
    first = made.targets[0].elts[0]
    mentions = [n for n in ast.walk(file.scope(place)) if isinstance(n, ast.Name) and n.id == given.id]
    if not isinstance(first, ast.Name) or first.id != given.id or len(mentions) != 2:
        return words, ()
    whole = file.text(softmax)
    start = len(file.text(softmax.func)) + 1
    if whole[start : start + len(given.id)] != given.id:
        return words, ()
    over_all = whole[:start] + file.text(scores) + whole[start + len(given.id) :]
    return (
        f"`{over_all}` in place of `{file.text(scores)}` ({where(at)}), and `{given.id}` as it is ({where(place)})",
        (here.replace(scores, over_all) + here.replace(softmax, given.id)),
    )
