"""A sample is drawn with one spread, and the divergence in the loss is of another one.

Why: noise is multiplied by the standard deviation s, and a divergence from the standard normal distribution is
`0.5 * (s**2 + mu**2 - 1 - log(s**2))`, whatever number the network gives for it. Where the two take different functions
of that number (the square of a log variance for a variance, the exponential of a deviation for one), the loss pulls
towards a spread at which what is drawn is no standard normal distribution.

Fix: one function for both: with `t` the logarithm of the variance noise times `exp(t / 2)`, and `exp(t)` and `t` in the
divergence.

Measured: both functions of the number, from the calls of the graph, at four values of it; and that the sum with the
square of the mean has that variance on the one side and its logarithm on the other. Silent on: numbers that reach the
sum by calls that are no functions of one number.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

from gradscope.analysis.gaussians import is_noise, terms_of
from gradscope.analysis.ops import (
    ALIASES,
    CASTS,
    DIVISIONS,
    MULTIPLICATIONS,
    NEGATIONS,
    PARTS,
    PASSING,
    POWERS,
)
from gradscope.analysis.reach import paths
from gradscope.analysis.senses import is_square, plain_factor, seen_from
from gradscope.analysis.text import written_input
from gradscope.analysis.words import code, located
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace

AT = (-1.3, -0.4, 0.5, 1.2)  # values of the number
DEEP = 10  # calls
MOST = 60  # values that are followed
NEAR = 1e-3
FUNCTIONS: dict[str, Callable[[float], float]] = {
    "exp": math.exp,
    "log": lambda x: math.log(x) if x > 0 else math.nan,
    "sqrt": lambda x: math.sqrt(x) if x >= 0 else math.nan,
    "softplus": lambda x: math.log1p(math.exp(x)),
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "square": lambda x: x * x,
}


class Function(NamedTuple):
    """A value as a function of the number, up to a factor that is not known: at `AT`, and the calls on the way."""

    value: int
    at: tuple[float, ...]
    way: tuple[Op, ...]


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(32, 6)
        mu, logvar = encoder(x).chunk(2, dim=1)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)  # effect: GS354
        var = logvar.pow(2)  # cause: GS354
        divergence = 0.5 * (mu.pow(2) + var - torch.log(var + 1e-20) - 1).sum(1).mean()
        loss = (decoder(z) - x).pow(2).sum(1).mean() + divergence
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(32, 6)
        mu, logvar = encoder(x).chunk(2, dim=1)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        var = logvar.exp()
        divergence = 0.5 * (mu.pow(2) + var - torch.log(var + 1e-20) - 1).sum(1).mean()
        loss = (decoder(z) - x).pow(2).sum(1).mean() + divergence
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS354", name="two-spreads", severity="warning")
def two_spreads(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for _, product in known.used_calls(MULTIPLICATIONS):
        graph = known.graph(product.graph)
        noise = [i for i in product.inputs if is_noise(graph, i)]
        if len(product.inputs) != 2 or len(noise) != 1 or product.site.user.location() in told:
            continue
        drawn = next(i for i in product.inputs if i != noise[0])
        functions = _functions(trace, graph, _base(trace, graph, drawn))
        spread = functions.get(drawn)
        if spread is None or not all(x > 0 for x in spread.at):
            continue
        found = _divergence(trace, graph, functions)
        if found is None:
            continue
        variance, logarithm = found
        wrong = _wrong(spread, variance, logarithm)
        if wrong is not None:
            told.add(product.site.user.location())
            yield _finding(trace, graph, product, spread, variance, logarithm, wrong)


def _base(trace: Trace, graph: Graph, value: int) -> int:
    """The number that a value is a function of."""
    for _ in range(DEEP):
        op = graph.maker(value)
        if op is None or op.name in PARTS or len(op.inputs) < 1:
            break
        tracked = [i for i in dict.fromkeys(op.inputs) if graph.values[i].requires_grad]
        if len(tracked) != 1 or _applied(trace, graph, op, tracked[0], AT) is None:
            break
        value = tracked[0]
    return value


def _functions(trace: Trace, graph: Graph, base: int) -> dict[int, Function]:
    found = {base: Function(base, AT, ())}
    todo = [base]
    for value in todo:  # grows while it is walked
        one = found[value]
        for op in graph.consumers.get(value, ()) if len(one.way) < DEEP and len(found) < MOST else ():
            if len(op.outputs) != 1 or op.outputs[0] in found or op.name in PARTS:
                continue
            at = _applied(trace, graph, op, value, one.at)
            if at is not None:
                found[op.outputs[0]] = Function(op.outputs[0], at, (*one.way, op))
                todo.append(op.outputs[0])
    return found


def _applied(
    trace: Trace, graph: Graph, op: Op, value: int, at: tuple[float, ...]
) -> tuple[float, ...] | None:
    """What a call makes of these numbers, up to a factor; None where that is not known."""
    others = [i for i in op.inputs if i != value]
    if any(graph.values[i].requires_grad for i in others):
        return None
    factor: float | None = 1.0
    if op.name in FUNCTIONS and not others:
        return tuple(FUNCTIONS[op.name](x) for x in at)
    if op.name in POWERS:
        power = _exponent(trace, op)
        return tuple(x**power for x in at) if power is not None and power == int(power) else None
    if op.name in NEGATIONS:
        factor = -1.0
    elif op.name in MULTIPLICATIONS and len(op.inputs) == 2 and not others:
        return tuple(x * x for x in at)
    elif op.name in MULTIPLICATIONS | DIVISIONS:
        factor = plain_factor(trace, op) if len(op.inputs) == 1 else 1.0 if op.inputs[0] == value else None
    elif op.name == "add" and len(op.inputs) == 1:
        factor = 1.0 if _is_small(trace, op) else None
    elif op.name not in PASSING | CASTS - ALIASES or others:
        factor = None
    return tuple(factor * x for x in at) if factor is not None else None


def _exponent(trace: Trace, op: Op) -> float | None:
    if op.name == "square":
        return 2.0
    node = trace.source_file(op.site.user.path).at(op.site.user)
    if op.site.kind != "user":
        return 2.0 if any(f.function.startswith("_kl_normal_normal") for f in op.site.stack) else None
    power: ast.expr | None = None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        power = node.right
    elif isinstance(node, ast.Call) and node.args:
        power = node.args[-1]
    return (
        float(power.value)
        if isinstance(power, ast.Constant) and isinstance(power.value, int | float)
        else None
    )


def _is_small(trace: Trace, op: Op) -> bool:
    node = trace.source_file(op.site.user.path).at(op.site.user)
    sides = (node.left, node.right) if isinstance(node, ast.BinOp) else ()
    return any(
        isinstance(s, ast.Constant) and isinstance(s.value, float) and abs(s.value) <= NEAR for s in sides
    )


def _divergence(
    trace: Trace, graph: Graph, functions: dict[int, Function]
) -> tuple[Function, Function] | None:
    """The variance and its logarithm, as terms of one sum with opposite signs, the variance with that of a square of
    something else."""
    sums: dict[int, list[tuple[Function, int]]] = {}
    for value, function in functions.items():
        for total, (_, sign) in terms_of(trace, graph, value).items():
            if total not in functions:
                sums.setdefault(total, []).append((function, sign))
    squares = [
        op.outputs[0]
        for op in graph.called(POWERS | MULTIPLICATIONS)
        if len(op.outputs) == 1 and op.outputs[0] not in functions and is_square(op)
    ]
    signs: dict[int, int] = {}
    for square in squares:
        for total, (_, sign) in terms_of(trace, graph, square).items():
            signs[total] = sign
    for total, terms in sums.items():
        with_square = [f for f, sign in terms if sign == signs.get(total)]
        against = [f for f, sign in terms if sign == -signs.get(total, 0)]
        if len(with_square) == 1 and len(against) == 1 and all(x > 0 for x in with_square[0].at):
            return with_square[0], against[0]
    return None


def _wrong(spread: Function, variance: Function, logarithm: Function) -> Function | None:
    """Which of the two terms is another number's; None where all three are of one."""
    drawn = [2 * math.log(x) for x in spread.at]
    taken = [math.log(x) for x in variance.at]
    if _differ_by_a_number(drawn, taken) and _differ_by_a_number(taken, logarithm.at):
        return None
    if _differ_by_a_number(drawn, taken):
        return logarithm
    half = [x / 2 for x in drawn]  # the variance is drawn with for a deviation: GS769
    of_one = _differ_by_a_number(half, taken) and _differ_by_a_number(taken, logarithm.at)
    return None if of_one else variance


def _differ_by_a_number(one: list[float], other: list[float] | tuple[float, ...]) -> bool:
    apart = [a - b for a, b in zip(one, other, strict=True)]
    return max(apart) - min(apart) < NEAR


def _finding(
    trace: Trace,
    graph: Graph,
    product: Op,
    spread: Function,
    variance: Function,
    logarithm: Function,
    wrong: Function,
) -> Finding:
    place = product.site.user
    inner = [op for op in wrong.way if op not in spread.way]
    cause = seen_from(inner[0] if inner else wrong.way[-1], product.site.user)
    fix, edits = _instead(trace, graph, product, spread, wrong, cause)
    return Finding(
        message=f"noise is multiplied by {code(trace, spread.way[-1].site.user, 'the deviation')}, and the divergence"
        f" in the loss takes {code(trace, wrong.way[-1].site.user, 'another')} for "
        + ("its variance" if wrong is variance else "the logarithm of its variance"),
        cause=cause,
        cause_label="another function of the number than the noise has",
        effect=place if place.location() != cause.location() else None,
        effect_label="draws with this one",
        seen=(
            f"where the number is {AT[0]} and {AT[3]}, the variance of what is drawn changes by a factor of"
            f" {(spread.at[3] / spread.at[0]) ** 2:.3g}; in the divergence the variance does by"
            f" {variance.at[3] / variance.at[0]:.3g}, and its logarithm by {logarithm.at[3] - logarithm.at[0]:.3g}",
        ),
        fix=fix,
        edits=edits,
        subjects=frozenset({("spread", *place.location())}),
    )


def _instead(
    trace: Trace, graph: Graph, product: Op, spread: Function, wrong: Function, cause: Site
) -> tuple[str, Edits]:
    here = Source(trace, cause.path)
    if wrong.way[: len(spread.way)] == spread.way and spread.way and spread.way[-1].name == "exp":
        node = Source(trace, spread.way[-1].site.user.path).file.at(spread.way[-1].site.user)
        inner = node.args[0] if isinstance(node, ast.Call) and node.args else None
        name = here.file.variable(spread.way[-1].site.user)
        if inner is not None and name:
            text = here.file.text(inner)
            call = here.file.at(cause)
            found = [n for n in ast.walk(call) if isinstance(n, ast.Name) and n.id == name] if call else []
            return (
                f"`{name}` is the deviation itself: give its logarithm, `{text}`, in {located(trace, cause)}",
                here.replace(found[0], text) if found else (),
            )
    first = wrong.way[-1]
    slope = 2 * (math.log(spread.at[3]) - math.log(spread.at[0])) / (AT[3] - AT[0])
    node = here.file.at(first.site.user) if first.site.user.path == cause.path else None
    number = written_input(trace, first, 0) if isinstance(node, (ast.Call, ast.BinOp)) else None
    if len(wrong.way) == 1 and isinstance(node, ast.expr) and number is not None:
        text = here.file.operand(number)
        inside = here.file.text(number) if abs(slope - 1) < NEAR else f"{slope:.4g} * {text}"
        return (
            f"write `torch.exp({inside})` in place of {located(trace, first.site.user)}: that is the variance of what"
            " is drawn",
            here.replace(node, f"torch.exp({inside})"),
        )
    return (
        f"take one number for both: the variance is the square of {code(trace, spread.way[-1].site.user)} in"
        f" {located(trace, first.site.user)}",
        (),
    )
