"""An operation without a gradient stands between the parameters and the loss.

Why: argmax, comparisons and casts to integers give results that do not change when their
input changes a little: they have no gradient. Rounding and `sign` have one, but it is zero
everywhere. What comes back from a call between ranks (`dist.all_gather`) has no graph. Either way nothing of
the loss arrives at the parameters before it.

Fix: put the loss on the scores before that operation (cross entropy in place of argmax, a
sigmoid in place of a comparison), or write a straight-through estimator on purpose. Between ranks,
`torch.distributed.nn.functional` has calls with a gradient.

Silent on: metrics; masks and indices beside a path that keeps the graph; straight-through
estimators.
At warning: one term of a loss has no gradient, or what the loss takes as it came back from all ranks, while something
else of the loss trains the same parameters.
"""

import ast
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import TypeGuard

from gradscope.analysis.axes import POINTWISE
from gradscope.analysis.cuts import Cut, constant_derivative, cut_words, cuts, differentiates
from gradscope.analysis.names import names_of
from gradscope.analysis.ops import CASTS, CLASS_LOSSES, EXITS, PASSING, QUOTIENTS, TAKING, ZERO_GRADIENT
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.terms import DeadTerm, dead_terms
from gradscope.analysis.words import code, listed, located, parameter_names, parameter_subjects, quoted
from gradscope.events import Backward, Rooted
from gradscope.fixes.calls import with_argument
from gradscope.fixes.soft_marks import soft_marks
from gradscope.fixes.soft_rows import soft_rows
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op, Parameter, Site
from gradscope.rules import rule
from gradscope.store import Trace

_WHOLE = (
    ast.Name,
    ast.Attribute,
    ast.Call,
    ast.Subscript,
    ast.Constant,
)  # need no parentheses behind a minus

BY_LABEL = (
    "eq",
    "ne",
    "__eq__",
    "one_hot",
    "embedding",
    "gather",
    "scatter",
    "scatter_",
    "index_select",
)


def bad_argmax() -> None:  # fix: by hand
    import torch
    from torch import nn

    model, scale = nn.Linear(4, 3), nn.Linear(1, 1)
    opt = torch.optim.SGD([*model.parameters(), *scale.parameters()], lr=0.1)
    target = torch.randint(0, 3, (8, 1)).float()
    for _ in range(3):
        opt.zero_grad()
        guess = model(torch.randn(8, 4)).argmax(dim=1, keepdim=True)  # cause: GS305
        loss = (scale(guess.float()) - target).pow(2).mean()
        loss.backward()  # effect: GS305
        opt.step()


def good_straight_through() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        soft = model(torch.randn(8, 4))
        count = soft + (torch.round(soft) - soft).detach()
        (count - 2).pow(2).mean().backward()
        opt.step()


# Calls between ranks → what torch has in their place with a gradient.
_BETWEEN_RANKS = {
    "all_gather": "all_gather", "all_gather_into_tensor": "all_gather", "all_gather_single": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "reduce_scatter_tensor": "reduce_scatter", "reduce_scatter_single": "reduce_scatter",
    "all_to_all": "all_to_all", "all_to_all_single": "all_to_all_single",
}  # fmt: skip


@rule(
    "GS305",
    name="nondifferentiable-cut",
    severity="error",
    over=("GS301", "GS302", "GS204", "GS315", "GS707"),
)
def nondifferentiable_cut(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told = set()
    for finding in chain(_lost(trace, known), _zero_gradients(trace, known)):
        if finding.cause is not None:
            told.add(finding.cause.location())
        yield finding
    for term in dead_terms(known):
        if term.block.site.user.location() not in told:
            told.add(term.block.site.user.location())
            yield _term(trace, known, term)
    for finding in _gathered(trace, known):
        if finding.cause is not None and finding.cause.location() not in told:
            told.add(finding.cause.location())
            yield finding


def _gathered(trace: Trace, known: Paths) -> Iterator[Finding]:
    """Values with a graph that a loss takes only as they came back from all ranks, where it trains what they were
    computed from in another way."""
    if trace.op_names.isdisjoint(_BETWEEN_RANKS) or not known.reached.complete:
        return
    for number in known.graph_ids:
        for op in known.graph(number).called(_BETWEEN_RANKS.keys()):
            back = [(number, index) for index in (*op.written, *op.outputs)]
            given = [(number, index) for index in op.inputs if known.value((number, index)).node is not None]
            if op.cut != "nondifferentiable" or known.used.order.keys().isdisjoint(back):
                continue
            lost = [key for key in given if (key[0], known.value(key).node) not in known.reached.nodes]
            behind = known.reach(lost).parameters & known.reached.parameters
            loss = _loss_of(known, back)
            if lost and len(lost) == len(given) and behind and loss is not None:
                yield _sent_alone(trace, known, op, lost[0], sorted(behind), loss)


def _loss_of(known: Paths, values: list[Key]) -> Backward | None:
    """The first pass whose loss was computed from one of these values."""
    for root, events in known.roots.items():
        if not known.flow([root]).order.keys().isdisjoint(values):
            return events[0]
    return None


def _sent_alone(trace: Trace, known: Paths, op: Op, value: Key, ids: list[int], loss: Backward) -> Finding:
    name = names_of(trace).name(known.graph(value[0]), value[1])
    subject = f"`{name}`" if name else "what is sent"
    names = parameter_names(trace, ids)
    return Finding(
        message=f"{subject} trains nothing: the loss takes it only as `{op.name}` gives it back, without a graph",
        cause=op.site.user,
        cause_label="what comes back has no graph",
        effect=loss.site.user,
        effect_label=f"no gradient arrives at {subject}",
        seen=(
            f"no gradient of {subject} reaches any parameter; {names} get only that of what else is in the loss",
        ),
        why=f"{subject} was computed from {names}, but no gradient gets past {code(trace, op.site.user, 'this call')}",
        fix=_fix(trace, op)[0],
        count=known.alike(loss),
        severity="warning",
        subjects=frozenset({("term", *op.site.user.location())}),
    )


def _lost(trace: Trace, known: Paths) -> Iterator[Finding]:
    """Parameters that no gradient reaches, those that bound one slice together."""
    groups: dict[object, list[Cut]] = {}
    for cut in cuts(trace):
        if cut.kind == "nondifferentiable" and cut.loss is not None:
            part = _bounded(trace, cut.op)
            groups.setdefault(id(cut) if part is None else (part.graph, part.index), []).append(cut)
    for cut, *others in groups.values():
        if cut.loss is not None:
            parameters = list(dict.fromkeys(p for one in (cut, *others) for p in one.parameters))
            found = _finding(trace, cut.op, parameters, cut.loss, "has no gradient", "is None")
            seen = (cut.known.seen([p.id for p in parameters], found.seen[0]),)
            found = replace(found, seen=seen, count=cut.count, severity=cut.severity(trace), since=cut.since)
            asked = _asked(known, cut.loss)
            yield (
                replace(found, effect=asked, effect_label="makes backward run, without a way back")
                if asked
                else found
            )


def _bounded(trace: Trace, op: Op) -> Op | None:
    """What takes, or writes to, the part of a tensor whose bounds `op` gives as whole numbers: `x[:, low:high]`."""
    graph = trace.graph(op.graph)
    if len(op.outputs) != 1 or not graph.values[op.outputs[0]].dtype.startswith("int"):
        return None
    (reader, *more) = graph.consumers.get(op.outputs[0], ()) or (None,)
    if reader is None or more or reader.name not in ("__getitem__", "__setitem__"):
        return None
    return reader if ":" in reader.extra.get("at", ":") and op.outputs[0] in reader.inputs[1:] else None


def _as_index(trace: Trace, op: Op) -> Op | None:
    """What takes the whole numbers that `op` has made of others for the places of entries."""
    graph = trace.graph(op.graph)
    if op.name not in CASTS | {"long", "int"} or len(op.outputs) != 1:
        return None
    if not graph.values[op.outputs[0]].dtype.startswith("int"):
        return None
    for value, reader in graph.readers_behind(
        op.outputs, lambda one: one.name in POINTWISE or one.name in PASSING
    ):
        if reader.name in TAKING and value in reader.inputs[1:] and value != reader.inputs[0]:
            return reader
    return None


def _other_bounds(trace: Trace, op: Op) -> list[Op]:
    """What else gives bounds of the same part, without a gradient."""
    part = _bounded(trace, op)
    graph = trace.graph(op.graph)
    makers = [graph.maker(index) for index in part.inputs[1:]] if part is not None else []
    return [
        one
        for one in makers
        if one is not None and one is not op and _bounded(trace, one) is part and one.cut
    ]


def _term(trace: Trace, known: Paths, term: DeadTerm) -> Finding:
    graph, index = term.value
    name = names_of(trace).name(known.graph(graph), index)
    site = known.graph(graph).values[index].site
    made = site.entry if site is not None else term.block.site.user
    place = term.block.site.user
    subject = f"the term `{name}`" if name else "a term"
    fault = "has a gradient of zero everywhere" if term.flat else "has no gradient"
    fix, edits = _fix(trace, term.block)
    others, for_all = _as_well(trace, known, term)
    names = parameter_names(trace, sorted(term.parameters))
    return Finding(
        message=f"{subject} of the loss trains nothing: it comes through {_spoken(trace, term.block)}, which {fault}",
        cause=place,
        cause_label=fault,
        effect=term.loss.site.user,
        effect_label="only the other terms of the loss arrive",
        related=(
            *(((made, "the term that is added"),) if made.location() != place.location() else ()),
            *((one, "nor has this one") for one in others if one.location() != made.location()),
        ),
        seen=(f"no gradient of {subject} reaches any parameter in this pass",),
        why=f"it was computed from {names}, but no gradient gets past {code(trace, place, 'this call')}",
        fix=for_all or fix,
        edits=() if for_all else edits,
        count=paths(trace).alike(term.loss),
        severity="warning",
        subjects=frozenset({("term", *place.location())}),
    )


def _as_well(trace: Trace, known: Paths, term: DeadTerm) -> tuple[list[Site], str]:
    """The other lines that have no gradient to give to this term, and what is to become of all."""
    place = term.block.site.user.location()
    taken = [op for op in term.taken_on(known) if op.site.user.location() != place]
    read = [op.site.user for op in taken if op.name in EXITS]
    compared = [op.site.user for op in taken if op.name not in EXITS]
    further = [op.site.user for op in term.others]
    chosen = all(op.name in ("argmax", "max") for op in (term.block, *term.others))
    fixes = []
    if compared:
        instead = (
            "the probability of that class, `p.gather(1, label.unsqueeze(1))`," if chosen else "a soft form"
        )
        fixes.append(f"{instead} in place of {listed([located(trace, one) for one in compared])}")
    if read:
        fixes.append(
            f"a tensor in place of the number that {listed([located(trace, one) for one in read])} takes out"
        )
    if not further and not fixes:
        return [], ""
    itself = "the probabilities that go" if chosen else "what goes"
    ends = listed([located(trace, one) for one in (term.block.site.user, *further)])
    fix = f"compute the term from {itself} into {ends}, not from what comes out"
    if fixes:
        fix += f", and with {', and '.join(fixes)}: each of these lines ends the gradient by itself"
    return [*further, *compared, *read], fix


def _asked(known: Paths, loss: Rooted) -> Site | None:
    """Where the program made the loss itself require a gradient."""
    for root in loss.roots:
        if (site := known.required((loss.graph, root))) is not None:
            return site.user
    return None


def _zero_gradients(trace: Trace, known: Paths) -> Iterator[Finding]:
    """Parameters that backward reaches only through rounding or `sign`."""
    if trace.node_names.isdisjoint(ZERO_GRADIENT) or not known.reached.complete:
        return
    blocks: dict[int, tuple[Op, int]] = {}
    for graph, index in known.reached.nodes:
        node = known.graph(graph).nodes[index]
        if node.name in ZERO_GRADIENT and node.op is not None:
            blocks.setdefault(graph, (known.graph(graph).ops[node.op], index))
    if not blocks:
        return
    open_ways = known.reach(known.roots, ZERO_GRADIENT).parameters
    lost = [
        p
        for i in sorted(known.reached.parameters - open_ways)
        if (p := known.parameters[i]).requires_grad
        and (known.stepped(p) or (not known.stepping and p.registered))
    ]
    groups: dict[tuple[str, int], tuple[Op, Backward, list[Parameter]]] = {}
    for events in known.roots.values():
        event = events[0]
        block = blocks.get(event.graph)
        if block is None:
            continue
        behind = known.reach([(event.graph, root) for root in event.roots]).parameters
        parameters = [p for p in lost if p.id in behind]
        if parameters:
            groups.setdefault(block[0].site.user.location(), (block[0], event, parameters))
    for op, event, parameters in groups.values():
        yield _finding(trace, op, parameters, event, "has a gradient of zero everywhere", "is zero")


def _finding(
    trace: Trace, op: Op, parameters: list[Parameter], loss: Rooted, fault: str, grad: str
) -> Finding:
    ids = [p.id for p in parameters]
    names = parameter_names(trace, ids)
    leaf, part = _leaf_of(trace, op), _bounded(trace, op)
    fix, edits = _fix(trace, op, leaf)
    return Finding(
        message=f"{_spoken(trace, op)} {fault}: {names} cannot learn through it",
        cause=op.site.user,
        cause_label=fault,
        effect=loss.site.user,
        effect_label="no gradient gets past it",
        related=(
            *(((leaf.user, "a new leaf: same numbers, no history"),) if _elsewhere(leaf, op) else ()),
            *((one.site.user, "nor has this one") for one in _other_bounds(trace, op)),
            *(((part.site.user, "takes them for the bounds of a part"),) if part is not None else ()),
        ),
        seen=(f"`.grad` of {names} {grad}",),
        why=(
            f"the loss depends on {names} only through {code(trace, op.site.user, f'`{op.name}`')}, which {fault}"
            if part is None
            else f"the loss depends on {names} only through whole numbers, the bounds of a part: they do not change"
            f" when {names} change a little"
        ),
        fix=fix,
        edits=edits,
        count=paths(trace).alike(loss),
        subjects=parameter_subjects(ids),
    )


def _spoken(trace: Trace, op: Op) -> str:
    """`argmax`, or the comparison as it is written: `x > 0` calls no function of a name."""
    if differentiates(op) or constant_derivative(op):
        return cut_words(op, "nondifferentiable")
    if op.name in QUOTIENTS:
        return f"the rounding of {code(trace, op.site.user, f'`{op.name}`')}"
    node = trace.source_file(op.site.user.path).at(op.site.user)
    return f"the comparison {code(trace, op.site.user)}" if isinstance(node, ast.Compare) else f"`{op.name}`"


def _leaf_of(trace: Trace, op: Op) -> Site | None:
    """Where a new leaf that asks for a gradient was made of what `op` gave."""
    graph, known = trace.graph(op.graph), paths(trace)
    seen, todo = set(op.outputs), list(op.outputs)
    while todo:
        index = todo.pop(0)
        value = graph.values[index]
        if value.is_leaf and (value.requires_grad or known.required((graph.id, index)) is not None):
            asked = known.required((graph.id, index))
            return asked or (graph.ops[value.op].site if value.op is not None else None)
        for reader in graph.consumers.get(index, ()):
            if not reader.nodes:
                todo += [o for o in reader.outputs if o not in seen]
                seen.update(reader.outputs)
    return None


def _elsewhere(leaf: Site | None, op: Op) -> TypeGuard[Site]:
    return leaf is not None and leaf.user.location() != op.site.user.location()


def _difference(trace: Trace, op: Op) -> tuple[str, str]:
    """`x` and `x - threshold` of the comparison `x > threshold`; "" where it is not written so."""
    file = trace.source_file(op.site.user.path)
    node = file.at(op.site.user)
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return "", ""
    sides = [node.left, node.comparators[0]]
    if isinstance(node.ops[0], (ast.Lt, ast.LtE)):
        sides.reverse()
    elif not isinstance(node.ops[0], (ast.Gt, ast.GtE)):
        return "", ""
    right = file.text(sides[1]) if isinstance(sides[1], _WHOLE) else f"({file.text(sides[1])})"
    given = next((s for s in (node.left, node.comparators[0]) if not isinstance(s, ast.Constant)), node.left)
    zero = isinstance(sides[1], ast.Constant) and sides[1].value == 0
    return file.text(given), file.text(sides[0]) if zero else f"{file.text(sides[0])} - {right}"


def _compared(trace: Trace, op: Op, leaf: Site | None) -> tuple[str, Edits]:
    place = located(trace, op.site.user, f"`{op.name}`")
    given, difference = _difference(trace, op)
    soft = quoted(f"torch.sigmoid({difference})") if difference else "a sigmoid of the difference"
    itself = f"{quoted(given)} itself" if given else "what is compared"
    between = _between_0_and_1(trace, op)
    if leaf is None:
        chosen = itself if between and given else soft
        weighed, edits = _weighed(trace, op, f"torch.sigmoid({difference})" if difference else "")
        return f"use {chosen} in place of {place}{weighed}", () if between else edits
    return (
        f"put the loss on {itself}{'' if between else f', or on {soft}'}, without "
        f"{located(trace, leaf.user, 'the new tensor')}, which makes a new leaf without a history of what {place} "
        "gives"
    ), ()


def _weighed(trace: Trace, op: Op, soft: str) -> tuple[str, Edits]:
    """How to use what comes in place of a mask: it chooses nothing, it weighs. The edits where the mask has a name
    and only a mean or sum of what it picks is taken."""
    graph, mask = trace.graph(op.graph), op.outputs[0]
    readers = graph.consumers.get(mask, ())
    for reader in readers:
        chosen = located(trace, reader.site.user, f"`{reader.name}`")
        if reader.name == "where" and reader.inputs[:1] == (mask,) and len(reader.inputs) > 1:
            return f" as a weight `w`: `w * a + (1 - w) * b` in place of {chosen}", ()
        if reader.name not in ("__getitem__", "masked_select") or mask not in reader.inputs[1:]:
            continue
        taken = [graph.ops[i] for i in (r.index for o in reader.outputs for r in graph.consumers.get(o, ()))]
        text, edits = _mean_of_picked(trace, op, taken, soft) if len(taken) == 1 else ("", ())
        if text:
            of = located(trace, taken[0].site.user)
            sharper = "; a factor before the difference makes it sharper"
            return f", and weigh with it: `{text}` in place of {of}{sharper}", edits if len(
                readers
            ) == 1 else ()
        return f" as a weight: multiply by it in place of {chosen}", ()
    return "", ()


def _mean_of_picked(trace: Trace, op: Op, taken: list[Op], soft: str) -> tuple[str, Edits]:
    """`(mask * x).sum() / mask.sum()` for `x[mask].mean()`, where `mask` is what the comparison gives."""
    here = Source(trace, op.site.user.path)
    compared, call = here.file.at(op.site.user), here.file.at(taken[0].site.user)
    name = here.file.variable(op.site.user)
    picked = call.func.value if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else None
    if (
        not isinstance(call, ast.Call)
        or not isinstance(picked, ast.Subscript)
        or call.args
        or call.keywords
        or taken[0].name not in ("mean", "sum")
        or ast.unparse(picked.slice) != name
        or not isinstance(picked.value, _WHOLE)
    ):
        return "", ()
    total = f"({name} * {here.file.text(picked.value)}).sum()"
    text = f"{total} / {name}.sum()" if taken[0].name == "mean" else total
    if not isinstance(compared, ast.Compare) or not soft or "torch" not in here.file.imported:
        return text, ()
    alone = isinstance(here.file.parent.get(id(call)), (ast.stmt, ast.Tuple, ast.Call))
    return text, (*here.replace(compared, soft), *here.replace(call, text if alone else f"({text})"))


def _between_0_and_1(trace: Trace, op: Op) -> bool:
    """Whether what is compared has come out of a sigmoid or softmax: it is the soft mask already."""
    graph = trace.graph(op.graph)
    makers = (graph.values[index].op for index in op.inputs)
    return any(maker is not None and graph.ops[maker].name in ("sigmoid", "softmax") for maker in makers)


def _fix(trace: Trace, op: Op, leaf: Site | None = None) -> tuple[str, Edits]:
    place, name = located(trace, op.site.user, f"`{op.name}`"), op.name.strip("_")
    if differentiates(op):
        return (
            f"add `create_graph=True` to {place}: what it gives is then a part of the graph",
            with_argument(trace, op.site.user, "create_graph", "True"),
        )
    if constant_derivative(op):
        return f"leave the term out: what {place} gives is the same whatever the parameters are", ()
    if (marked := soft_marks(trace, op)) is not None:
        return marked
    if (weighed := soft_rows(trace, op)) is not None:
        return weighed
    if name in ("lt", "le", "gt", "ge", "eq", "ne"):
        return _compared(trace, op, leaf)
    return _other_fix(trace, op, place, name), ()


def _of_two_chances(trace: Trace, op: Op) -> int | None:
    """The axis of an `argmax` over the two probabilities that a softmax gave, where what reads it does not take it
    for a label."""
    graph, dims = trace.graph(op.graph), list(op.extra.get("dims") or ())
    made = graph.maker(op.inputs[0]) if op.inputs else None
    if (
        op.name != "argmax"
        or made is None
        or made.name != "softmax"
        or list(made.extra.get("dims") or ()) != dims
    ):
        return None
    shape: list[int] = list(graph.values[op.inputs[0]].shape)
    axis = int(dims[0]) if len(dims) == 1 else None
    if axis is None or axis not in (-1, *range(len(shape))) or shape[axis] != 2:
        return None
    behind = graph.readers_behind(op.outputs, lambda _: True)
    as_label = any(reader.name in CLASS_LOSSES or reader.name in BY_LABEL for _, reader in behind)
    return None if as_label else axis


def _weighted_mean(trace: Trace, op: Op) -> str | None:
    """`(weights * places).sum(-1) / weights.sum(-1)` where an index into the running sum of weights picks one of places
    without a graph, which lie along the weights' last axis."""
    graph = trace.graph(op.graph)
    summed = graph.maker(op.inputs[0]) if op.inputs else None
    if summed is None or summed.name != "cumsum" or not summed.inputs:
        return None
    weights = graph.values[summed.inputs[0]]
    for value, reader in graph.readers_behind(op.outputs, lambda r: r.name in POINTWISE):
        if reader.name in ("gather", "take_along_dim") and reader.inputs[-1] == value:
            places = graph.values[reader.inputs[0]]
            names = [names_of(trace).name(graph, one.index) for one in (weights, places)]
            if places.shape == weights.shape and not places.requires_grad and all(names):
                return f"`({names[0]} * {names[1]}).sum(-1) / {names[0]}.sum(-1)`"
    return None


def _other_fix(trace: Trace, op: Op, place: str, name: str) -> str:
    if (part := _bounded(trace, op)) is not None:
        taken = located(trace, part.site.user, "the part")
        return (
            f"let the bounds weigh in place of {taken}: with `i = torch.arange(n)` along the axis,"
            " `torch.sigmoid((i - low) / width) * torch.sigmoid((high - i) / width)`, of the numbers before"
            f" {place}, is near 1 within and near 0 outside, and has a gradient; or place the part by"
            " `torch.nn.functional.affine_grid` and `grid_sample`"
        )
    if (entry := _as_index(trace, op)) is not None:
        given = names_of(trace).receiver(op.site.user) or "x"
        return (
            f"let the two entries beside it weigh in place of {located(trace, entry.site.user, 'the entry')}, for an"
            f" index has no gradient: with `low = {given}.detach().floor().long()` and `part = {given} - low` the"
            " entry at `low` times `1 - part`, and that at `low + 1` times `part`"
        )
    if name in ("argmax", "argmin", "max", "min", "topk", "sort", "argsort"):
        scores = names_of(trace).receiver(op.site.user)
        given = f"`{scores}`" if scores else "what goes into it"
        axis = _of_two_chances(trace, op)
        if axis is not None and scores:
            soft = f"{scores}[{':, ' * axis}1]" if axis >= 0 else f"{scores}[..., 1]"
            return (
                f"take `{soft}` in place of {place}: the probability of the second of both, where the index is 0 or 1;"
                " it has a gradient"
            )
        ends = "cross entropy takes the scores themselves"
        if trace.op_names.isdisjoint(CLASS_LOSSES):
            ends = "a loss that is computed from the scores has a gradient"
        return f"put the loss on {given}, without {place}: {ends}"
    if name in ("round", "floor", "ceil", "trunc", "sign"):
        return f"leave {place} out of the loss, or let the gradient past it on purpose: `x + ({name}(x) - x).detach()`"
    if op.name in QUOTIENTS:
        return (
            f"divide without rounding in {place}, or let the gradient past it on purpose: with `y` for the plain"
            " quotient, `y + (torch.floor(y) - y).detach()`"
        )
    if name in _BETWEEN_RANKS:
        own = f"`torch.distributed.nn.functional.{_BETWEEN_RANKS[name]}`"
        kept = "; or put this rank's own part, with its graph, in the place of what came back"
        return f"call {own} in place of {place}: it sends gradients back to the ranks{kept if 'gather' in name else ''}"
    if name in ("normal", "normal_"):
        return f"draw so that the gradient gets through: `mean + std * torch.randn_like(mean)` in place of {place}"
    mean = _weighted_mean(trace, op) if name == "searchsorted" else None
    if mean is not None:
        return (
            f"take the mean in place of the quantile that {place} looks up: {mean} has a gradient"
            " to the weights"
        )
    return f"put the loss on what goes into {place}, or write a straight-through estimator on purpose"
