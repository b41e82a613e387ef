"""What to write so that a computation stays finite that has made NaN or infinity, and the edits where they are plain.

One function for each kind of operation. Which numbers it was computed from decides between them: a divisor that was 0
needs another repair than one that was NaN.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from math import prod
from typing import Any, NamedTuple

from gradscope.analysis.delicate import divide_too, exponents, idle_guard, root_of_divisor
from gradscope.analysis.names import op_name
from gradscope.analysis.non_finite import (
    LeftOut,
    LogOfSum,
    call_like,
    call_of,
    empty_sum,
    infinite_dividend,
    last_of_one,
    left_out_by,
    log_behind,
    logarithm_of,
)
from gradscope.analysis.ops import (
    ADDITIONS,
    EXPONENTIALS,
    INVERSES,
    JOINING,
    LAYERS,
    LOGARITHMS,
    NORMS,
    PASSING,
    POWERS,
    QUOTIENTS,
    REDUCTIONS,
    ROOTS,
    SPREADS,
    STATISTICS,
)
from gradscope.analysis.text import written_input
from gradscope.analysis.words import listed, located
from gradscope.events import NonFinite
from gradscope.fixes.calls import call_at, kept_inside, kept_positive, with_argument
from gradscope.fixes.logarithms import with_others, with_softmax, with_sum
from gradscope.fixes.source import Edits, Source
from gradscope.model import Graph, Op, Site, Value
from gradscope.store import Trace

CLAMP = "clamp(max=10)"  # far above what an exponent is in a program that learns, far below an overflow
HALF_A_STEP = {"float16": 2.0**-12, "bfloat16": 2.0**-9}  # below 1: what is nearer to that is rounded to it
FEW = 4  # places that a sentence names
NO_CLAMP = "A `clamp` between them would pass no gradient where it holds"
CHOSEN = "; a `torch.where` must choose before the operation, not after it"


class Repair(NamedTuple):
    text: str
    edits: Edits = ()


class Made(NamedTuple):
    """The call that made the number, or what is known of it."""

    name: str  # of the operation or of the node in its backward; "" where none is known
    site: Site | None
    where: str  # as in `NonFinite`
    value: str = ""  # what it was computed from, as the program calls it
    inputs: tuple[Mapping[str, Any], ...] = ()  # what was measured of these, as in `NonFinite`
    looked_at: bool = True  # the event is of this call, not of one that only read what it gave

    @property
    def operation(self) -> str:
        return self.name.removesuffix("Backward0").removesuffix("Backward1").lower()

    @property
    def first(self) -> Mapping[str, Any]:
        return self.inputs[0] if self.inputs else {}

    @property
    def given(self) -> str:
        return self.value or "the input"

    def called(self, trace: Trace) -> str:
        return located(trace, self.site, f"`{op_name(self.operation)}`")


def kept_finite(trace: Trace, event: NonFinite, made: Made) -> Repair:
    """How to keep that call from making it."""
    name, whole = made.operation, made.called(trace)
    after = CHOSEN if made.where == "backward" else ""
    overflows = (
        name == "pow" and made.where == "forward" and event.made == "inf" and not made.first.get("zeros")
    )
    if made.where == "input":
        return Repair(f"clean {made.given} before it is used: find those rows with `isnan()`")
    if made.where == "parameter" or not name:
        return _where_it_begins(trace)
    if (short := next((data for data in made.inputs if "needed" in data), None)) is not None:
        return Repair(
            f"give {whole} an input of at least {2 * short['labels'] - 1} steps, twice the labels of a target less"
            " one: pool or stride less along it, or take longer inputs; `zero_infinity=True` would only leave such"
            " targets out"
        )
    if any("equal" in data for data in made.inputs):
        return _equal(trace, event, made)
    if name in STATISTICS and made.first.get("elements") == 0:
        return Repair(f"leave {whole} out where nothing is selected: the mean of no elements is NaN")
    if name in SPREADS and (one := _spread_of_one(trace, event, made)) is not None:
        return one
    if name in STATISTICS:
        return Repair(f"{whole} needs two elements that differ: add a small constant under its root")
    if name in LOGARITHMS:
        return _logarithm(trace, event, made, after)
    if name in ROOTS - NORMS - {"cdist"} and not overflows and _far_below_zero(made):
        return _root_of_negative(trace, event, made, after)
    if name in ROOTS and not overflows:
        text = f"keep {made.given} above 0 in {whole}: add a small constant (1e-8) before the root{after}"
        return Repair(text, _above_zero(trace, made))
    if name in INVERSES:
        return _inverse(trace, event, made)
    if name in QUOTIENTS:
        return _quotient(trace, event, made, after)
    if name in ("softmax", "log_softmax") and made.first.get("masked_rows"):
        return _masked_rows(trace, event, made)
    if name in EXPONENTIALS or overflows:
        log = log_behind(trace, event) if made.looked_at and made.where == "forward" else None
        return _exponential(trace, made, after) if log is None else _in_a_sum(trace, made, log)
    return Repair(f"look at the range of what goes into {whole}{after}")


def of_several(trace: Trace, makers: list[Op]) -> Repair:
    """What to do where several calls can have made the number, and none was looked at when it did."""
    places = listed([located(trace, op.site.user, f"`{op.name}`") for op in makers], FEW)
    quotients = all(op.name in QUOTIENTS for op in makers)
    guard = "keep its divisor away from 0" if quotients else "bound what goes into it"
    return Repair(
        f"see by `isfinite()` which of {places} gives it, and {guard}: `clamp(min=1e-8)`, or a small constant added"
    )


def _spread_of_one(trace: Trace, event: NonFinite, made: Made) -> Repair | None:
    """A variance that is taken of one element, and divided by their number less one. None where it is of more."""
    op = call_like(trace, event) if made.looked_at else None
    graph = trace.graph(op.graph) if op is not None else None
    # a later call of the line may be given fewer than the one that was kept
    shape = made.first.get("shape", [])
    kept: list[int] | None = []
    if op is not None and graph is not None and op.outputs:
        kept = _axes_kept(graph, op)
    given = made.first.get("elements", 0)
    results = prod(shape[axis] for axis in kept) if kept is not None else 0
    if made.where != "forward" or not given or given != results:
        return None
    of = (
        f"{made.called(trace)} is taken of one element{f' for each of {results} results' if results > 1 else ''}, and"
        " divided by the number of elements less one, which is 0"
    )
    zero = "`unbiased=False` (`correction=0`) divides by their number and gives 0"
    if op is not None and (last := last_of_one(trace, op, shape)) is not None:
        return Repair(
            f"{of}: leave such a batch out. The last one of {located(trace, last.made, 'the loader')} has one of its"
            f" {last.samples} samples, and `drop_last=True` leaves it out; or keep it: {zero}",
            with_argument(trace, last.made, "drop_last", "True"),
        )
    text = f"{of}: {zero}"
    if graph is not None and op is not None and _needs_more_than_zero(graph, op):
        return Repair(
            f"{text}; what is divided by it, or its root, needs a small constant added to that 0, too"
        )
    return Repair(f"{text}; or leave it out where there is only one", _without_correction(trace, made.site))


def _axes_kept(graph: Graph, op: Op) -> list[int] | None:
    """The axes that a statistic is not taken over; None where the shapes alone can't tell."""
    given, made = (list(graph.values[i].shape) for i in (op.inputs[0], op.outputs[0]))
    dims = {dim % len(given) for dim in op.extra.get("dims", ()) if -len(given) <= dim < len(given)}
    if not dims and prod(made) > 1:
        ways = [{dim} for dim in range(len(given)) if made in (_with(given, dim), _with(given, dim, 1))]
        if len(ways) != 1:
            return None
        (dims,) = ways
    return [dim for dim in range(len(given)) if dim not in dims] if dims else []


def _with(shape: list[int], dim: int, *sizes: int) -> list[int]:
    return [*shape[:dim], *sizes, *shape[dim + 1 :]]


def _needs_more_than_zero(graph: Graph, op: Op) -> bool:
    """Whether a root, logarithm or quotient is taken of a result before anything is added to it."""
    through = graph.readers_behind(
        op.outputs[:1], lambda op: len(op.inputs) == 1 and op.name not in ADDITIONS
    )
    return any(
        reader.name in ROOTS | LOGARITHMS | {"reciprocal"}
        or (reader.name in QUOTIENTS and reader.inputs[-1] == value)
        for value, reader in through
    )


def _without_correction(trace: Trace, site: Site | None) -> Edits:
    """`unbiased=False` for the call of a variance or a standard deviation, which says nothing else of it."""
    node = call_at(trace, site)
    if site is None or node is None:
        return ()
    if any(keyword.arg == "correction" for keyword in node.keywords):
        return with_argument(trace, site, "correction", "0")
    own = int(trace.source_file(site.path).is_imported(node.func))
    plain = len(node.args) <= own + 1 and not any(_is_flag(argument) for argument in node.args)
    return with_argument(trace, site, "unbiased", "False") if plain else ()


def _is_flag(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, bool)


def _where_it_begins(trace: Trace) -> Repair:
    if (trace.program.get("command") or {}).get("sample", True):
        return Repair("look at every step with `gradscope run --full`, to find the pass in which it begins")
    return Repair(
        "ask `isfinite()` of the parameters after each step, and of what is made of them: where does it begin?"
    )


def _above_zero(trace: Trace, made: Made) -> Edits:
    """A small constant where some of what was computed from is 0, and the rest above it; for a logarithm not where all
    is."""
    data = made.first
    touches = data.get("min") == 0 and not data.get("not_finite")
    touches = touches and (made.operation in ROOTS or data.get("zeros", 0) < data["elements"])
    return kept_positive(trace, made.site) if touches else ()


# -- logarithms, decompositions, exponentials ------------------------------------------------


def _inverse(trace: Trace, event: NonFinite, made: Made) -> Repair:
    """Keeps an inverse of a cosine, sine or hyperbolic tangent off the ends of its domain. Where its input is far
    beyond them it is not by rounding, and a bound would hide what is wrong with it."""
    low, high = made.first.get("min"), made.first.get("max")
    if low is not None and high is not None and max(-low, high) > 1.01:
        return Repair(
            f"{made.given} is to be within -1 and 1 in {made.called(trace)}, and is far outside, not by rounding:"
            " look at what it is computed from (are both vectors divided by their lengths?)"
        )
    coarse = made.looked_at and _dtype(trace, event) in ("float16", "bfloat16")
    bounds = ("-0.99", "0.99") if coarse else ("-1 + 1e-6", "1 - 1e-6")
    return Repair(
        f"keep {made.given} inside of -1 and 1 in {made.called(trace)}, by `clamp({', '.join(bounds)})` before it: its"
        f" derivative is infinite at both ends, where a clamp to -1 and 1 would leave it{CHOSEN}",
        kept_inside(trace, made.site, *bounds),
    )


def _dtype(trace: Trace, event: NonFinite) -> str:
    """That of the first input of the call of the event; "" where it is not known."""
    first = _first_given(trace, event)
    return first.dtype if first is not None else ""


def _logarithm(trace: Trace, event: NonFinite, made: Made, after: str) -> Repair:
    """The one call that stays finite, for the logarithm of a softmax or of a sum of exponentials; else a bound."""
    if made.operation == "log1p":
        return _near_minus_one(trace, made, after)
    found = logarithm_of(trace, event, made.site) if made.looked_at else None
    if found is None and _far_below_zero(made):
        return Repair(_never_negative(trace, event, made, after))
    if found is None:
        text = f"keep {made.given} above 0 in {made.called(trace)}: `clamp(min=1e-8)`, or `log_softmax` and"
        return Repair(f"{text} `logsigmoid` on scores{after}", _above_zero(trace, made))
    log = found.log.site.user
    if isinstance(found, LogOfSum):
        call, edits = with_sum(trace, log)
        instead = f"take `{call}` in place of {located(trace, log)}"
        if not call:
            exponential = located(trace, found.exponential.site.user)
            instead = (
                f"take `torch.logsumexp` of the exponent of {exponential} in place of the exponential, the sum and the"
                f" logarithm in {located(trace, log)}"
            )
        why = "it takes the largest exponent out before it adds, so nothing over- or underflows"
        return Repair(f"{instead}: {why}", edits)
    softmax = found.softmax.site.user
    text = (
        f"take both in one: `log_softmax` in place of the softmax of {located(trace, softmax)}, and leave the"
        f" logarithm of {located(trace, log)} out; it is finite where the softmax is 0"
    )
    if found.alone:
        return Repair(f"{text}. {NO_CLAMP}", with_softmax(trace, softmax, log))
    name, edits = with_others(trace, softmax, log)
    if not found.others:
        return Repair(f"{text}. {NO_CLAMP}", edits)
    readers = listed([located(trace, op.site.user, f"`{op.name}`") for op in found.others], FEW)
    text += f". {readers} take{'s' if len(found.others) == 1 else ''} the probabilities themselves: `.exp()` of it"
    if edits:
        return Repair(f"{text}, as `{name}.exp()`" if name else text, edits)
    return Repair(
        f"{text}; or bound what the logarithm is taken of, `clamp(min=1e-8)`, which passes no gradient where it holds",
        kept_positive(trace, log),
    )


def _near_minus_one(trace: Trace, made: Made, after: str) -> Repair:
    """A bound for the input of `log1p`, which is infinite at -1: one that its type tells from that."""
    graphs = trace.graphs if made.site is not None else ()
    calls = (op for graph in graphs for op in graph.called({"log1p"}) if op.site.user == made.site)
    call = next((op for op in calls if op.inputs), None)
    dtype = trace.graph(call.graph).values[call.inputs[0]].dtype if call is not None else ""
    text = f"keep {made.given} above -1 in {made.called(trace)}, where `log1p` is infinite"
    if made.site is None or dtype not in HALF_A_STEP:
        return Repair(f"{text}: `clamp(min=-1 + 1e-6)`{after}")
    here = Source(trace, made.site.path)
    node = here.file.at(made.site)
    bounds = [
        (inner.func.value, keyword.value)
        for inner in (ast.walk(node) if node is not None else ())
        if isinstance(inner, ast.Call)
        and isinstance(inner.func, ast.Attribute)
        and inner.func.attr == "clamp"
        for keyword in inner.keywords
        if keyword.arg == "max" and 1 - HALF_A_STEP[dtype] <= _constant(keyword.value) < 1
    ]
    if len(bounds) != 1:
        return Repair(
            f"{text}: `clamp(min=-1 + torch.finfo(torch.{dtype}).eps)`, since 1e-6 is too near to 1 for {dtype}"
        )
    (value, bound) = bounds[0]
    new = f"1.0 - torch.finfo({here.file.text(value)}.dtype).eps"
    return Repair(
        f"{text}: `{new}` in place of `{here.file.text(bound)}`, which {dtype} rounds to 1; or compute it in float32",
        here.replace(bound, new),
    )


def _constant(node: ast.expr) -> float:
    """The number of `0.99` or `1.0 - 1e-6`; 0 where it is no such."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        return _constant(node.left) - _constant(node.right)
    return (
        float(node.value) if isinstance(node, ast.Constant) and isinstance(node.value, int | float) else 0.0
    )


def _root_of_negative(trace: Trace, event: NonFinite, made: Made, after: str) -> Repair:
    """A bound where a layer gives the number, which may have either sign, and before a power that is averaged; else the
    number is computed wrongly."""
    power = _power_behind(trace, event) if made.looked_at else None
    if power is not None:
        return _positive_before(trace, power, made, after)
    layer = _layer_behind(trace, event) if made.looked_at else None
    if layer is None:
        return Repair(_never_negative(trace, event, made, after))
    text = (
        f"{made.given} is what {located(trace, layer.site.user, 'a layer')} gives, of either sign: bound it in"
        f" {made.called(trace)} by `clamp(min=1e-8)`, which passes no gradient below that; or let the layer give the"
        f" root itself, and leave this one out{after}"
    )
    return Repair(text, kept_inside(trace, made.site, "min=1e-8"))


def _power_behind(trace: Trace, event: NonFinite) -> Op | None:
    """The power whose sum or mean, with a constant added, is the input of the event's call."""
    called = call_of(trace, event)
    if called is None or not called[1].inputs:
        return None
    graph, op = called
    total = graph.maker_behind(op.inputs[0], PASSING - JOINING)
    while total is not None and total.name in ADDITIONS and len(total.inputs) == 1:
        total = graph.maker_behind(total.inputs[0], PASSING - JOINING)
    if total is None or not (total.name in REDUCTIONS or "avg_pool" in total.name):
        return None
    power = graph.maker_behind(total.inputs[0], PASSING - JOINING)
    return power if power is not None and power.name in POWERS and len(power.inputs) == 1 else None


def _positive_before(trace: Trace, power: Op, made: Made, after: str) -> Repair:
    """What is raised to an odd power is bounded: the root has no meaning for what is negative."""
    site = power.site.user
    here = Source(trace, site.path)
    node = here.file.at(site)
    base: ast.expr | None = None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        base = node.left
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        base = node.args[0] if here.file.is_imported(node.func) else node.func.value
    name = here.part(base) if base is not None else "what is raised"
    bound = f"{name}.clamp(min=1e-6)"
    text = (
        f"{located(trace, site, 'an odd power')} keeps the sign of {f'`{name}`' if base is not None else name}, and"
        f" {made.called(trace)} has no root of what is negative: write `{bound}` there, where only what is positive is"
        f" to count, or take the root of `.abs()` and put the sign back{after}"
    )
    return Repair(text, here.replace(base, bound) if base is not None else ())


def _layer_behind(trace: Trace, event: NonFinite) -> Op | None:
    """The layer whose output, or a part of it, is the input of the event's call."""
    called = call_of(trace, event)
    if called is None:
        return None
    graph, op = called
    layer = graph.maker_behind(op.inputs[0], PASSING - JOINING) if op.inputs else None
    return layer if layer is not None and layer.name in LAYERS else None


def _far_below_zero(made: Made) -> bool:
    """Whether the lowest number is below zero by more than rounding can make of what is not negative."""
    low, high = made.first.get("min"), made.first.get("max")
    return low is not None and high is not None and low < -1e-3 * max(abs(low), abs(high), 1e-30)


def _never_negative(trace: Trace, event: NonFinite, made: Made, after: str) -> str:
    """What to do where a bound would only hide that something is computed wrongly."""
    text = (
        f"{made.given} should never be negative in {made.called(trace)}, and is far below 0, not by rounding: a bound"
        " would hide that. Look at what it is computed from"
    )
    scaled = _scaled_tanh(trace, event) if made.looked_at else None
    if scaled is not None:
        text += (
            f": {located(trace, scaled.site.user, 'the product')} takes a `tanh` out of -1 to 1 before it is used here;"
            " compute with the `tanh` itself"
        )
    return text + after


def _scaled_tanh(trace: Trace, event: NonFinite) -> Op | None:
    """The product of a `tanh` and a plain number from which the call of the event was computed."""
    called = call_of(trace, event)
    if called is None:
        return None
    graph, made = called
    for value in graph.upstream(made.inputs[0]):
        op = graph.maker(value)
        if op is not None and op.name == "mul" and len(op.inputs) == 1:
            before = graph.maker(op.inputs[0])
            if before is not None and before.name == "tanh":
                return op
    return None


def _equal(trace: Trace, event: NonFinite, made: Made) -> Repair:
    """A decomposition with equal values, whose vectors have no derivative."""
    data = next(data for data in made.inputs if "equal" in data)
    whole, size = located(trace, made.site, f"`{event.name}`"), data["elements"]
    values = "eigvalsh" if data["of"] == "eigenvalues" else "svdvals"
    node = trace.source_file(made.site.path).at(made.site) if made.site is not None else None
    given = "A"
    if made.site is not None and isinstance(node, ast.Call) and node.args:
        given = Source(trace, made.site.path).file.operand(node.args[0])
    split = f"{given} + 1e-4 * torch.diag(torch.arange({size}.0))"
    return Repair(
        f"the derivative of the vectors divides by the differences of the {data['of']}: split those that are equal"
        f" before {whole}, by numbers that differ (`{split}`), decompose the independent blocks apart, or use the"
        f" {data['of']} alone (`torch.linalg.{values}`)"
    )


def _in_a_sum(trace: Trace, made: Made, log: Op) -> Repair:
    """An exponential of which a sum is taken, and of that a logarithm: torch has all three in one."""
    at = log.site.user
    call, edits = with_sum(trace, at)
    given = f"`{call}`" if call else f"`torch.logsumexp` of {made.given}"
    return Repair(
        f"take {given} in place of the exponential in {made.called(trace)}, the sum and the logarithm in"
        f" {located(trace, at)}: it takes the largest exponent out before it adds, so nothing overflows"
        f"{'' if call else '; what the sum leaves out gets -inf before it (`masked_fill`)'}",
        edits,
    )


def _exponential(trace: Trace, made: Made, after: str) -> Repair:
    base, site, others = exponents(trace, made.site)
    if not others:
        return Repair(
            f"bound {made.given} from above before {made.called(trace)}, with `clamp(max=…)`{after}"
        )
    if site is None:
        takers = [one for one in (made.site, *others) if one is not None]
        bounded = [_bounded(trace, one) for one in takers]
        return Repair(
            f"bound {f'`{base}`' if base else 'what goes in'} from above, with `{CLAMP}`, before each exponential of"
            f" it: {' and '.join(dict.fromkeys(located(trace, one) for one in takers))}{after}",
            tuple(edit for edits in bounded for edit in edits) if all(bounded) else (),
        )
    also = " and ".join(dict.fromkeys(located(trace, other) for other in others))
    text = (
        f"bound {f'`{base}`' if base else 'what goes in'} from above where it is made, `{CLAMP}` behind"
        f" {located(trace, site)}: {also} take{'s' if len(others) == 1 else ''} it too, beside"
        f" {made.called(trace)}{after}"
    )
    here = Source(trace, site.path)
    node = here.file.at(site)
    plain = isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Call))
    return Repair(text, here.behind(node, f".{CLAMP}") if plain and isinstance(node, ast.expr) else ())


def _bounded(trace: Trace, site: Site) -> Edits:
    """The exponential there of what has a bound."""
    here = Source(trace, site.path)
    given = here.file.asked_of(here.file.at(site))
    return here.behind(given, f".{CLAMP}") if given is not None else ()


def _masked_rows(trace: Trace, event: NonFinite, made: Made) -> Repair:
    """What to do where a softmax got rows that are -inf throughout, and the edit where a fill put them there."""
    maker, keep = _maker(trace, event), "or leave something in each row unmasked"
    if maker is None or maker.name not in ("masked_fill", "masked_fill_"):
        gave = f", which {located(trace, maker.site.user)} gave," if maker is not None else ""
        return Repair(f"mask {made.given}{gave} with a large finite number (-1e9) in place of -inf, {keep}")
    number = "-1e4" if _dtype(trace, event) == "float16" else "-1e9"
    filled = located(trace, maker.site.user)
    return Repair(
        f"fill with a large finite number (`{number}`) in place of -inf in {filled}, {keep}",
        with_argument(trace, maker.site.user, "value", number, position=1),
    )


def _maker(trace: Trace, event: NonFinite) -> Op | None:
    """The call that made the first input."""
    first = _first_given(trace, event)
    return trace.graph(event.graph).maker(first.index) if first is not None else None


def _first_given(trace: Trace, event: NonFinite) -> Value | None:
    """The first input of the call of the event."""
    values = trace.graph(event.graph).values if event.graph >= 0 else []
    return values[event.values[0]] if event.values and event.values[0] < len(values) else None


def chosen_before(trace: Trace, late: LeftOut) -> Repair:
    """Data without NaN for the call that computes with it; the mask that leaves it out is made before."""
    site = late.reader.site.user
    here, reader = Source(trace, site.path), located(trace, site)
    node = written_input(trace, late.reader, late.place)
    data = here.part(node) if node is not None else "y"
    if late.of_itself or late.choice is None:
        return Repair(
            f"make the mask of the data, and choose before {reader}: with `there = ~{data}.isnan()` (of whole rows"
            f" `~{data}.isnan().any(-1)`) compute with `{data}[there]` and the same part of the prediction"
        )
    choice = located(trace, late.choice.site.user)
    return Repair(
        f"give {reader} another number in place of NaN, `{data}.nan_to_num()`: {choice} leaves it out as before",
        here.behind(node, ".nan_to_num()") if node is not None else (),
    )


# -- quotients -------------------------------------------------------------------------------


def _quotient(trace: Trace, event: NonFinite, made: Made, after: str) -> Repair:
    """How to keep a divisor away from 0, or what else is wrong with it."""
    if made.looked_at:
        for other in (_empty_count(trace, event), _infinite_dividend(trace, event, made)):
            if other is not None:
                return other
    whole, chooser = made.called(trace), left_out_by(trace, event)
    divisor = _divisor(made)
    if chooser is not None and after and divisor.get("not_finite") and not divisor.get("zeros"):
        chosen = chooser.site.user
        return Repair(
            f"the divisor of {whole} is not 0: {divisor['not_finite']} of its numbers are not finite, at places that"
            f" {located(trace, chosen, '`where`')} leaves out, and 0 times NaN is NaN in the backward. Give each branch"
            " only numbers of its domain: put another one there before the root or logarithm that makes them"
            f"{_chosen_before(trace, chosen)}"
        )
    guard = idle_guard(trace, event)
    if guard is not None:
        new, edits = _of_sign(trace, guard)
        at = located(trace, guard.site.user)
        return Repair(
            f"{at} is 0 where its input is 0, and guards nothing there: take"
            f" `{new or 'one that is 1 or -1 everywhere'}`",
            edits,
        )
    number = _plain_number(trace, made)
    if number is not None:
        return number
    if chooser is not None and after and divisor.get("zeros"):
        text, edits = _divided_by_one(trace, made, chooser.site.user)
        if text:
            return Repair(
                f"divide by 1 where {located(trace, chooser.site.user, '`where`')} leaves the quotient out:"
                f" `{text}` in {whole}",
                edits,
            )
    if divisor.get("min", 0) < 0 and divisor.get("max", 0) == 0:
        return Repair(
            f"keep the divisor of {whole} away from 0, which is never above it: `clamp(max=-1e-8)`, or subtract a"
            f" small constant{after}"
        )
    if divisor.get("min", 0) < 0 < divisor.get("max", 0):
        return Repair(
            f"keep the divisor of {whole} away from 0 on both sides, by a small constant with its own sign:"
            " `d + torch.where(d >= 0, 1e-8, -1e-8)`"
        )
    root = root_of_divisor(trace, event) if divisor.get("zeros") else None
    if root is not None and root.site.user.kind == "user":
        site = root.site.user
        return Repair(
            f"add a small constant (1e-8) under the root of {located(trace, site)}, which is the divisor of {whole}:"
            " that keeps both away from 0. A constant behind the root would leave its derivative infinite at 0"
            f"{after}",
            kept_positive(trace, site),
        )
    quotients = [located(trace, op.site.user, f"`{op.name}`") for op in divide_too(trace, event)]
    if quotients:
        return Repair(
            f"{listed(quotients, FEW)} divide by the same values: keep them away from 0 before the first of these,"
            f" by `clamp(min=1e-8)` or a small constant{after}"
        )
    return Repair(
        f"keep the divisor of {whole} away from 0: `clamp(min=1e-8)`, or add a small constant{after}"
    )


def _divisor(made: Made) -> Mapping[str, Any]:
    """What was measured of the divisor. A reciprocal keeps its result alone: where that is infinite, the divisor is
    0, and its other numbers have the signs of the divisor's."""
    data: Mapping[str, Any] = made.inputs[-1] if made.inputs else {}
    if data.get("of") != "result":
        return data
    zeros = data.get("infinite", 0)
    ends = [1 / data[end] for end in ("min", "max") if data.get(end)] + [0.0] * bool(zeros)
    found = {"zeros": zeros, "not_finite": data.get("not_finite", 0) - zeros}
    return found | ({"min": min(ends), "max": max(ends)} if ends else {})


def _divided_by_one(trace: Trace, made: Made, chosen: Site) -> tuple[str, Edits]:
    """The divisor with 1 in it at the places for which a `torch.where` around the quotient takes its first branch,
    and the edit."""
    if made.site is None or made.site.path != chosen.path:
        return "", ()
    here = Source(trace, chosen.path)
    call, quotient = here.file.at(chosen), here.file.at(made.site)
    divides = isinstance(quotient, ast.BinOp) and isinstance(quotient.op, ast.Div)
    if (
        not divides
        or not isinstance(call, ast.Call)
        or len(call.args) != 3
        or not here.file.is_imported(call.func)
    ):
        return "", ()
    assert isinstance(quotient, ast.BinOp)
    if not any(part is quotient for part in ast.walk(call.args[2])):
        return "", ()
    text = f"{ast.unparse(call.func)}({here.file.text(call.args[0])}, 1.0, {ast.unparse(quotient.right)})"
    return text, here.replace(quotient.right, text)


def _empty_count(trace: Trace, event: NonFinite) -> Repair | None:
    """A count of targets, or of what a mask lets in, that may be 0."""
    count = empty_sum(trace, event)
    if count is None:
        return None
    site = count.site.user
    node = trace.source_file(site.path).at(site)
    return Repair(
        f"{located(trace, site, f'`{count.name}`')} counts nothing in such a batch, and what is divided is not 0"
        " there: a small constant would give a huge number, so let it be 1 at least, `.clamp(min=1)`",
        Source(trace, site.path).behind(node, ".clamp(min=1)") if isinstance(node, ast.Call) else (),
    )


def _infinite_dividend(trace: Trace, event: NonFinite, made: Made) -> Repair | None:
    """A quotient taken before infinite numbers are put into what is divided, or with large ones in their place."""
    found = infinite_dividend(trace, event)
    if found is None:
        return None
    fill = found.fill
    at = f" before {located(trace, fill.site.user)}" if fill is not None else " before they are put in"
    text = (
        f"{found.entries} entries of what is divided in {made.called(trace)} are not finite, and the divisor's"
        f" gradient is their own, 0, times infinity: divide{at}, or fill with a large finite number (`-1e9`) in place"
        " of -inf"
    )
    if fill is None or fill.name not in ("masked_fill", "masked_fill_"):
        return Repair(text)
    return Repair(text, with_argument(trace, fill.site.user, "value", "-1e9", position=1))


def _plain_number(trace: Trace, made: Made) -> Repair | None:
    """What to do where a plain number was 0 that something was divided by."""
    data = next((data for data in made.inputs if data.get("of") == "divisor"), None)
    if data is None or not data.get("zeros") or made.site is None:
        return None
    node = trace.source_file(made.site.path).at(made.site)
    number = node.right if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) else None
    whole = located(trace, made.site)
    if number is None:
        return Repair(f"give {whole} a number other than 0, or leave it out where there is none")
    here = Source(trace, made.site.path)
    text = here.file.text(number)
    bound = f"max({text}, {'1' if data['whole'] else '1e-8'})"
    plain = number.lineno == number.end_lineno and isinstance(number, (ast.Name, ast.Attribute, ast.Call))
    return Repair(
        f"`{text}` is a plain number, and was 0: divide by `{bound}` in {whole}, or skip what there is nothing of",
        here.replace(number, bound) if plain else (),
    )


def _of_sign(trace: Trace, guard: Op) -> tuple[str, Edits]:
    """What to write in place of a sign that adds nothing where its input is 0, and the edit."""
    site = guard.site.user
    here = Source(trace, site.path)
    node = here.file.at(site)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return "", ()
    given = node.args[0] if node.args else node.func.value
    new = f"torch.where({here.file.operand(given)} >= 0, 1.0, -1.0)"
    return new, here.replace(node, new) if "torch" in here.file.imported else ()


def _chosen_before(trace: Trace, chosen: Site) -> str:
    """What the argument of each branch becomes, where the text of a `torch.where` compares one name with a number."""
    call = trace.source_file(chosen.path).at(chosen)
    test = call.args[0] if isinstance(call, ast.Call) and len(call.args) == 3 else None
    if not isinstance(test, ast.Compare) or not isinstance(test.left, ast.Name):
        return ""
    name, text = test.left.id, ast.unparse(test)
    return (
        f": in the first branch `torch.where({text}, {name}, a)`, in the second `torch.where({text}, b, {name})`, in"
        f" place of `{name}`, where `{text}` holds for the number `a` and does not for `b`"
    )
