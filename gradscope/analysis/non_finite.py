"""What an operation that gave no finite number was computed from, where the same can be had another way."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from gradscope.analysis.ops import (
    ADDITIONS,
    CASTS,
    FILLED,
    FILLED_WHERE,
    LOGARITHMS,
    MASKING,
    MULTIPLICATIONS,
    POWERS,
    QUOTIENTS,
)
from gradscope.analysis.reach import paths
from gradscope.analysis.samples import calls_at
from gradscope.analysis.text import site_of
from gradscope.analysis.words import parameter_subjects
from gradscope.events import LabelsIgnored, Loader, LoaderPassed, NonFinite, PassTime
from gradscope.model import Graph, Op, Site, Span
from gradscope.source import SourceFile, own_name
from gradscope.store import Trace

SELECTIONS = {"__getitem__", "gather", "view", "reshape", "squeeze", "unsqueeze", "select", "index_select"}
SAME_OF_BOTH = {"argmax"}  # gives of the logarithm what it gives of the probability


class LogOfSoftmax(NamedTuple):
    """A logarithm of probabilities, or of some of them."""

    log: Op
    softmax: Op
    alone: bool  # nothing but the logarithm reads the probabilities, as they are
    others: tuple[Op, ...] = ()  # what else reads them, or those of them that the logarithm is taken of


class LogOfSum(NamedTuple):
    """A logarithm of a sum of exponentials."""

    log: Op
    exponential: Op


class InfiniteDividend(NamedTuple):
    """A quotient by what is finite and not 0, of numbers of which some are infinite: their gradient of 0 times
    infinity is the NaN of the divisor's."""

    entries: object  # how many are not finite
    fill: Op | None  # the one call that put them in


def subjects_of(event: NonFinite) -> frozenset[object]:
    """What a finding of it is about: the parameters; of a loss that is not finite by itself, its line."""
    loss = ("loss", event.site.user.location())
    return parameter_subjects(event.parameters) if event.parameters else frozenset({loss})


def begun_at(trace: Trace, site: Site) -> NonFinite | None:
    """The first of them that began with what the call at `site` gave."""
    for event in trace.of(NonFinite):
        origin = trace.site(event.origin)
        if event.where == "forward" and origin is not None and origin.user.location() == site.location():
            return event
    return None


def logarithm_of(trace: Trace, event: NonFinite, origin: Site | None) -> LogOfSoftmax | LogOfSum | None:
    """What the logarithm was taken of that the event tells of, or that stands at `origin`."""
    found = next(_logarithms(trace, event, origin), None)
    if found is None:
        return None
    graph, log = found
    made = graph.maker(log.inputs[0])
    if made is not None and made.name == "sum" and made.inputs:
        exponential = graph.maker(made.inputs[0])
        if exponential is not None and exponential.name == "exp":
            return LogOfSum(log, exponential)
    made = graph.maker_behind(log.inputs[0], SELECTIONS)
    if made is None or made.name != "softmax":
        return None
    direct = made.index == graph.values[log.inputs[0]].op
    return LogOfSoftmax(log, made, direct and _read_only_by(trace, made, log), _others(graph, made, log))


def _logarithms(trace: Trace, event: NonFinite, origin: Site | None) -> Iterator[tuple[Graph, Op]]:
    """The op that the event tells of, or others of its line where the pass was not looked at."""
    if event.graph >= 0 and event.op is not None and event.op < len(trace.graph(event.graph).ops):
        op = trace.graph(event.graph).ops[event.op]
        if op.name in LOGARITHMS and op.inputs:
            yield trace.graph(event.graph), op
        return
    for number in reversed(paths(trace).graph_ids) if origin is not None else ():
        for op in trace.graph(number).called(LOGARITHMS):
            if op.inputs and op.nodes and op.site.user == origin:
                yield trace.graph(number), op


def _read_only_by(trace: Trace, made: Op, log: Op) -> bool:
    """Whether what this line gives is read by this logarithm alone, or by what does not tell the two apart."""
    place, reader = made.site.user.location(), log.site.user.location()
    return all(
        op.name in SAME_OF_BOTH or (op.name == log.name and op.site.user.location() == reader)
        for graph in trace.graphs
        for one in graph.called({made.name})
        if one.site.user.location() == place
        for value in one.outputs
        for op in graph.consumers.get(value, ())
    )


def _others(graph: Graph, made: Op, log: Op) -> tuple[Op, ...]:
    """What reads the probabilities, or some that were picked of them, beside the logarithms; once for each line."""
    places: set[Span] = set()
    found: list[Op] = []
    for _, op in graph.readers_behind(made.outputs, lambda one: one.name in SELECTIONS):
        if op.name not in SELECTIONS | SAME_OF_BOTH | {log.name} and op.site.user.span() not in places:
            places.add(op.site.user.span())
            found.append(op)
    return tuple(found)


def call_of(trace: Trace, event: NonFinite) -> tuple[Graph, Op] | None:
    """The call that the event tells of, with its graph; None where it was not kept."""
    if event.graph < 0 or event.op is None:
        return None
    graph = trace.graph(event.graph)
    return (graph, graph.ops[event.op]) if event.op < len(graph.ops) else None


def call_like(trace: Trace, event: NonFinite) -> Op | None:
    """The call that made the number, or one of its line that was given the same axes: of where it was made, or of the
    only line of the program's with such a call, where its own pass was not kept call by call."""
    shape = event.inputs[0].get("shape") if event.inputs else None
    if event.where != "forward" or not shape:
        return None
    called, origin = call_of(trace, event), trace.site(event.origin)
    name = event.name.removesuffix("Backward0").lower()
    calls = [(graph, op) for graph in trace.graphs for op in graph.called({name}) if op.inputs]
    calls = [called] if called is not None else calls
    if origin is not None:
        calls = [(graph, op) for graph, op in calls if op.site.user.span() == origin.user.span()]
    if len({op.site.user.span() for _, op in calls}) != 1:
        return None
    graph, op = calls[0]
    alike = op.inputs and len(graph.values[op.inputs[0]].shape) == len(shape)
    return op if alike and op.site.user.kind == "user" else None


class LastOfOne(NamedTuple):
    """A loader whose last batch has one sample: where it was made, how many it has, and how many a batch."""

    made: Site
    samples: int
    batch: int


def last_of_one(trace: Trace, op: Op, shape: Sequence[int]) -> LastOfOne | None:
    """The only loader of the run that was gone through with gradients and whose last batch is a single sample, where
    the line of this call was given its other batches as well: it has a 1 there now."""
    loops = {event.loop for event in trace.of(Loader) if event.grad}
    passed = {(e.site.id, e.loop): e for e in trace.of(LoaderPassed) if e.loop in loops}
    single = [e for e in passed.values() if e.last == 1 and e.first > 1 and e.batches > 1]
    if len(single) != 1:
        return None
    (event,) = single
    calls = [(graph, one) for graph in trace.graphs for one in graph.called({op.name}) if one.inputs]
    given = [graph.values[one.inputs[0]].shape for graph, one in calls if one.site.user == op.site.user]
    if not any(
        (now, then) == (1, event.first) for whole in given for now, then in zip(shape, whole, strict=False)
    ):
        return None
    return LastOfOne(event.site.user, event.first * (event.batches - 1) + 1, event.first)


def log_behind(trace: Trace, event: NonFinite) -> Op | None:
    """The logarithm that is taken of the sum of the exponentials that the event tells of, perhaps without some."""
    called = call_of(trace, event)
    if called is None or called[1].name != "exp":
        return None
    graph, exponential = called
    between = MULTIPLICATIONS | FILLED_WHERE | SELECTIONS | {"masked_select"}
    for _, op in graph.readers_behind(exponential.outputs, lambda op: op.name in between):
        if op.name == "sum":
            after = graph.readers_behind(op.outputs, lambda op: op.name in SELECTIONS | ADDITIONS)
            log = next((one for _, one in after if one.name == "log"), None)
            if log is not None:
                return log
    return None


def infinite_dividend(trace: Trace, event: NonFinite) -> InfiniteDividend | None:
    """Where the event tells of such a quotient."""
    called = call_of(trace, event)
    if called is None:
        return None
    (graph, op), data = called, event.inputs
    if op.name not in QUOTIENTS or len(op.inputs) != 2 or len(data) != 2 or not data[0].get("not_finite"):
        return None
    if not _away_from_zero(data[1]):
        return None
    made = [graph.maker(i) for i in graph.upstream(op.inputs[0])]
    fills = {one.site.user.location(): one for one in made if one is not None and one.name in FILLED_WHERE}
    return InfiniteDividend(data[0]["not_finite"], next(iter(fills.values())) if len(fills) == 1 else None)


class LateMask(NamedTuple):
    """Infinities that are put into weights after the softmax that made them."""

    fill: Op
    softmax: Op


BETWEEN = {"dropout", "to", "float", "half", "bfloat16", "type_as", "contiguous", "clone"}


def late_mask(trace: Trace, event: NonFinite, origin: Site | None) -> LateMask | None:
    """Where the call of the event was given such weights."""
    for number in reversed(paths(trace).graph_ids) if origin is not None else ():
        graph = trace.graph(number)
        for op in graph.called({event.name}):
            if op.site.user != origin:
                continue
            for value in op.inputs:
                fill = graph.maker_behind(value, BETWEEN)
                given = fill.inputs[0] if fill is not None and fill.name in MASKING and fill.inputs else None
                made = graph.maker_behind(given, BETWEEN | SHAPES) if given is not None else None
                if fill is not None and made is not None and made.name == "softmax":
                    return LateMask(fill, made)
    return None


SHAPES = {"view", "reshape", "unsqueeze", "squeeze", "transpose", "permute"}


class WrongFill(NamedTuple):
    """A mask that fills scores with +infinity."""

    op: Op
    value: Site  # the expression that is +infinity


def filled_with_infinity(trace: Trace, event: NonFinite) -> WrongFill | None:
    """Where a softmax was given such scores, and nothing else in them is not finite: the call of the mask, and what
    the program's text gives it to fill with."""
    data = event.inputs[0] if event.inputs else {}
    if event.name not in ("softmax", "log_softmax") or event.graph < 0 or not event.values:
        return None
    if not data.get("infinite") or data["infinite"] != data.get("not_finite"):
        return None
    graph = trace.graph(event.graph)
    fill = graph.maker_behind(event.values[0], BETWEEN | SHAPES)
    if fill is None or fill.name not in MASKING:
        return None
    place = fill.site.user
    file = trace.source_file(place.path)
    call = file.at(place)
    if not isinstance(call, ast.Call):
        return None
    given = next((k.value for k in call.keywords if k.arg == "value"), call.args[-1] if call.args else None)
    if isinstance(given, ast.Name):
        values = [
            n.value
            for n in ast.walk(file.scope(place))
            if isinstance(n, ast.Assign) and [ast.unparse(t) for t in n.targets] == [given.id]
        ]
        given = values[0] if len(values) == 1 else None
    if given is None or not _is_infinity(given):
        return None
    return WrongFill(fill, site_of(place.path, place.function, given))


def no_probabilities(event: NonFinite) -> bool:
    """Whether a divergence made NaN of finite numbers because its target has some below 0."""
    if event.name != "kl_div" or event.made != "nan" or len(event.inputs) != 2:
        return False
    whole = all("min" in data and data.get("shape") and not data.get("not_finite") for data in event.inputs)
    return whole and event.inputs[1]["min"] < 0


def _is_infinity(node: ast.expr) -> bool:
    """Whether an expression is +infinity in whatever way that can be written."""
    sign = 1
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        sign *= -1 if isinstance(node.op, ast.USub) else 1
        node = node.operand
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "float" and len(node.args) == 1:
        text = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
        try:
            return isinstance(text, str) and math.isinf(float(text)) and sign * float(text) > 0
        except ValueError:
            return False
    return ast.unparse(node) in ("math.inf", "torch.inf", "np.inf", "numpy.inf") and sign > 0


def empty_sum(trace: Trace, event: NonFinite) -> Op | None:
    """The sum or count that a quotient was divided by where that was 0 and what is divided was not: it has no gradient,
    as that of a mask or of targets."""
    called = call_of(trace, event)
    if called is None:
        return None
    graph, op = called
    if op.name not in QUOTIENTS or len(op.inputs) != 2 or event.made not in ("inf", "-inf"):
        return None  # NaN: what is divided was 0 there too
    by = graph.values[op.inputs[1]]
    measured = event.inputs[1] if len(event.inputs) == 2 else {}  # integers are not
    if by.requires_grad or (
        by.dtype.startswith("float") and (not measured.get("zeros") or measured["min"] < 0)
    ):
        return None
    made = paths(trace).maker_behind((graph.id, op.inputs[1]), CASTS)
    return made if made is not None and made.name in ("sum", "count_nonzero") else None


def _away_from_zero(data: dict[str, object]) -> bool:
    """Whether all that was measured of a tensor is finite and on one side of 0."""
    low, high = data.get("min"), data.get("max")
    if not isinstance(low, float) or not isinstance(high, float) or data.get("not_finite"):
        return False
    return low > 0 or high < 0


def roots_before(trace: Trace, event: NonFinite) -> list[Op]:
    """The square roots that the gradient goes on to behind the one that made it infinite, of each place one."""
    if event.graph < 0 or not event.values or event.values[0] >= len(trace.graph(event.graph).values):
        return []
    graph = trace.graph(event.graph)
    found: dict[object, Op] = {}
    for index in graph.upstream(event.values[0]):
        op = graph.maker(index)
        if op is not None and op.name == "sqrt" and op.nodes and op.site.user.kind == "user":
            found.setdefault(op.site.user.span(), op)
    return list(found.values())


def lengths_beside(trace: Trace, site: Site) -> list[Op]:
    """The other roots of sums of squares in the graph of the one at `site`, of each place one: each is zero where what
    is squared is, in another batch perhaps."""
    found: dict[object, Op] = {}
    for graph in trace.graphs:
        roots = [op for op in graph.called({"sqrt"}) if op.nodes and op.inputs and _of_squares(graph, op)]
        if any(op.site.user.span() == site.span() for op in roots):
            for op in roots:
                if op.site.user.kind == "user" and op.site.user.span() != site.span():
                    found.setdefault(op.site.user.span(), op)
    return list(found.values())


def _of_squares(graph: Graph, root: Op) -> bool:
    total = graph.maker(root.inputs[0])
    squares = (
        graph.maker(total.inputs[0]) if total is not None and total.name == "sum" and total.inputs else None
    )
    return squares is not None and squares.name in POWERS


class Unlabelled(NamedTuple):
    """Passes whose loss ignored all its labels, of all at one line."""

    passes: int
    of: int
    writes: list[Site]  # statements that put what it ignores into the labels

    @property
    def whole(self) -> bool:
        """Whether that was so in every pass, which is no odd batch."""
        return SOME <= self.passes == self.of

    @property
    def mostly(self) -> bool:
        return self.passes >= SOME and self.passes >= MOST * self.of


AVERAGING = ("cross_entropy", "nll_loss")
SOME = 2  # passes: one alone may be a batch
MOST = 0.9  # of the passes
LABELLED = {"masked_fill", "masked_fill_", "where", "__setitem__", "fill_", "index_fill", "index_fill_",
            *FILLED, "full_like", "tensor", "new_tensor"}  # fmt: skip


def unlabelled(trace: Trace, event: NonFinite, ignored: int, loss: Site) -> Unlabelled:
    """ignored: what all labels of the batch were that the event tells of; loss: the call that was given them."""
    line = event.site.user.location()

    def passes(kind: type[LabelsIgnored] | type[PassTime]) -> int:
        return sum(one.passes for one in trace.of(kind) if one.site.user.location() == line)

    known = paths(trace)
    calls = [op for name in AVERAGING for op in calls_at(known, name, loss)]
    labels = [(op.graph, op.inputs[1]) for op in calls if len(op.inputs) > 1]
    writes: dict[object, Site] = {}  # by span
    for op in map(known.maker, known.flow(labels).order):
        site = op.site.user if op is not None and op.name in LABELLED else None
        if site is not None and site.kind == "user" and _gives(trace, site, ignored):
            writes.setdefault(site.span(), site)
    return Unlabelled(passes(LabelsIgnored), passes(PassTime), list(writes.values()))


def _gives(trace: Trace, site: Site, number: int) -> bool:
    """Whether a call or an assignment has this number in what it is given, by itself or by a name of one value."""
    file = trace.source_file(site.path)
    node, statement = file.at(site), file.statement(site)
    if isinstance(statement, ast.Assign) and statement.targets == [node]:
        given: list[ast.AST] = [statement.value]
    elif isinstance(node, ast.Call):
        given = [*node.args, *(word.value for word in node.keywords)]
    else:
        return False
    return any(_is_number(file, one, number) for part in given for one in ast.walk(part))


def _is_number(file: SourceFile, node: ast.AST, number: int) -> bool:
    if name := own_name(node):
        values = file.assigned.get(ast.unparse(node), []) or file.assigned.get(name, [])
        return len(values) == 1 and not own_name(values[0]) and _is_number(file, values[0], number)
    try:
        value = ast.literal_eval(node) if isinstance(node, ast.expr) else None
    except (ValueError, TypeError):
        return False
    return type(value) is int and value == number


class LeftOut(NamedTuple):
    """Data that holds NaN, and the calls between which it has a part in a loss that does not hold it."""

    graph: Graph
    value: int
    reader: Op  # the first with a derivative
    place: int  # of its inputs, which is the data
    choice: Op | None  # takes what is finite of what came of it
    of_itself: bool  # by that itself, or by a mask that was made of it


def left_out(trace: Trace, event: NonFinite) -> LeftOut | None:
    """Where the event tells of numbers that came in and are not finite, while the loss was: one input of its call, or
    of the call that made what was looked at first."""
    if event.where != "left_out" or event.graph < 0:
        return None
    graph, called = trace.graph(event.graph), call_of(trace, event)
    data = [] if called is None else called[1].inputs
    data = [i for i in data if not graph.values[i].requires_grad and graph.values[i].shape]
    value = next(iter(event.values or data), None)
    if value is None or value >= len(graph.values) or (not event.values and len(data) > 1):
        return None
    behind = graph.readers_behind([value], lambda op: not op.nodes and op.name in CASTS | SELECTIONS)
    given, reader = next(((index, op) for index, op in behind if op.nodes), (value, None))
    if reader is None:
        return None
    behind = graph.readers_behind(reader.outputs, lambda op: op.name not in CHOICES)
    choices = ((index, op) for index, op in behind if op.name in CHOICES and op.nodes)
    choice = next((op for index, op in choices if index != _mask_of(op)), None)
    mask = _mask_of(choice) if choice is not None else None
    of_itself = mask is None or not set(reader.outputs).isdisjoint(graph.upstream(mask))
    return LeftOut(graph, value, reader, reader.inputs.index(given), choice, of_itself)


CHOICES = {"masked_select", "__getitem__", "index", "where", "masked_fill", "masked_fill_", "nanmean", "nansum",
           "nan_to_num", "nan_to_num_", "__setitem__", "index_select"}  # fmt: skip


def _mask_of(op: Op) -> int | None:
    """The mask that such a call is given, or the indices; None where it chooses by what it finds."""
    if op.name == "where":
        return op.inputs[0] if op.inputs else None
    return op.inputs[1] if len(op.inputs) > 1 else None


def left_out_by(trace: Trace, event: NonFinite) -> Op | None:
    """The `torch.where` that the result of the event's call is a branch of, perhaps through operations of one input."""
    called = call_of(trace, event)
    if called is None:
        return None
    graph, made = called
    behind = graph.readers_behind(made.outputs, lambda op: len(op.inputs) == 1)
    return next(
        (op for index, op in islice(behind, 8) if op.name == "where" and index in op.inputs[1:]), None
    )
