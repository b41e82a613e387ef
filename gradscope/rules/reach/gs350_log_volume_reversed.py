"""The log-determinant of a flow has the wrong sign: the loss rewards a map that squeezes everything together.

Why: a flow that multiplies by `exp(s)` spreads what goes through it, and the density there is lower by `s`: a negative
log-likelihood, or a divergence of the samples, has `-s.sum()` in it. With the other sign the loss is made smaller by
making the stretch ever more extreme; the numbers look better and better, and the density is none.

Fix: `s.sum(-1)` for the direction that multiplies by `exp(s)`, `-s.sum(-1)` for the one that divides by it.

Measured: a value, or what a graph has for it before it was turned round, is the exponent of a factor of what the loss
is made of, and a term of the same loss by sums, means and numbers alone, with the sign that rewards the factor.
Silent on: terms that are weighted by tensors (advantages), values that the loss has with both signs, likelihoods that
are turned round as a whole.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.log_volumes import factor_of
from gradscope.analysis.ops import (
    ADDITIONS,
    DIVISIONS,
    LOGARITHMS,
    MULTIPLICATIONS,
    NEGATIONS,
    PARTS,
    PASSING,
    REDUCTIONS,
    SUBTRACTIONS,
)
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.senses import is_square, plain_factor, senses
from gradscope.analysis.words import code, located
from gradscope.events import Backward
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.store import Trace

LINEAR = ADDITIONS | SUBTRACTIONS | NEGATIONS | MULTIPLICATIONS | (REDUCTIONS - {"norm"})
MOST = 4000  # terms of a loss that are looked at
BACK = 6  # calls between an exponent and the term that it is


class Term(NamedTuple):
    """What a loss is a sum of: whether it rises (1) or falls (-1) with it, the calls that turn it round from the term
    to the loss, the call that takes it first, and whether that takes a part of it only."""

    sign: int
    turns: tuple[Op, ...]
    first: Op | None
    part: bool


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 2))
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(5):
        a, b = (torch.randn(64, 2) * torch.tensor([1.0, 3.0])).chunk(2, dim=1)
        stretch, shift = net(a).chunk(2, dim=1)
        y = b * torch.exp(stretch) + shift
        volume = -stretch.sum(1)  # cause: GS350
        likelihood = -0.5 * (a.pow(2) + y.pow(2)).sum(1) + volume
        loss = -likelihood.mean()
        opt.zero_grad()
        loss.backward()  # effect: GS350
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 2))
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(5):
        a, b = (torch.randn(64, 2) * torch.tensor([1.0, 3.0])).chunk(2, dim=1)
        stretch, shift = net(a).chunk(2, dim=1)
        y = b * torch.exp(stretch) + shift
        volume = stretch.sum(1)
        likelihood = -0.5 * (a.pow(2) + y.pow(2)).sum(1) + volume
        loss = -likelihood.mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS350", name="log-volume-reversed", severity="warning")
def log_volume_reversed(trace: Trace) -> Iterator[Finding]:
    if trace.op_names.isdisjoint(LOGARITHMS | {"exp", "log_sigmoid"}):
        return
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for root, events in known.roots.items():
        event = events[0]
        if event.call != "backward" or event.sense != 1 or event.weights:
            continue
        terms, squares = _terms(known, root)
        if squares != {1}:
            continue
        for factor, stretched, term in _stretches(known, terms):
            cause = _cause(term)
            if cause is not None and cause.site.user.location() not in told:
                told.add(cause.site.user.location())
                yield _finding(trace, event, factor, stretched, term, cause)


def _terms(known: Paths, root: Key) -> tuple[dict[Key, Term], set[int]]:
    """What a loss is the sum of, by where it was made, and the signs of the squares among that."""
    found: dict[Key, Term | None] = {}
    squares: set[int] = set()
    todo = [(root, Term(1, (), None, part=False))]
    for key, term in todo:  # grows while it is walked
        key = known.made(key)
        if key in found:
            before = found[key]
            if before is not None and before.sign != term.sign:
                found[key] = None  # both ways
            continue
        found[key] = term
        op = known.maker(key)
        if op is None or len(found) > MOST:
            continue
        tracked = [(op.graph, i) for i in dict.fromkeys((*op.inputs, *op.writes))]
        tracked = [source for source in tracked if known.value(source).requires_grad]
        if is_square(op):
            squares.add(term.sign)
        ways = _ways(known, op, tracked)
        for source, way in zip(tracked, ways, strict=False):
            turns = (op, *term.turns) if way < 0 else term.turns
            todo.append((source, Term(term.sign * way, turns, op, op.name in PARTS)))
    return {key: term for key, term in found.items() if term is not None}, squares


def _ways(known: Paths, op: Op, tracked: list[Key]) -> list[int]:
    if op.name in PASSING:
        return [1] * len(tracked)
    if op.name in DIVISIONS and len(op.inputs) == 1:
        factor = plain_factor(known.trace, op)
        return [-1 if factor is not None and factor < 0 else 1]  # by a size, or a number of samples
    if op.name in DIVISIONS and len(tracked) == 1 and tracked[0][1] == op.inputs[0]:
        return [1] if _is_positive(known, (op.graph, op.inputs[1])) else []  # by a variance of the base
    if op.name in LINEAR:
        return senses(known.trace, op, tracked) or []
    return []


def _is_positive(known: Paths, key: Key) -> bool:
    """Whether a value without a graph is a square or an exponential, or some such times a positive number."""
    op = known.maker(key)
    if op is not None and op.name in MULTIPLICATIONS and len(op.inputs) == 1 and op.extra.get("sign") == 1:
        op = known.maker((op.graph, op.inputs[0]))
    return op is not None and (is_square(op) or op.name == "exp")


def _stretches(known: Paths, terms: dict[Key, Term]) -> Iterator[tuple[Op, Op, Term]]:
    """The calls that make a factor, those that multiply with it, and the term that rewards the factor."""
    for key, op in known.used_calls({"exp"}):
        product, way = factor_of(known, key)
        term = _reward(known, terms, (op.graph, op.inputs[0]), way) if product is not None else None
        if product is not None and term is not None:
            yield op, product, term
    for key, op in known.used_calls(LOGARITHMS - {"log1p", "logit", "xlogy"}):
        term = terms.get(known.made(key))
        factor = known.maker_behind((op.graph, op.inputs[0]), {"abs"})
        if term is None or factor is None or len(factor.outputs) != 1:
            continue
        product, way = factor_of(known, (factor.graph, factor.outputs[0]))
        if product is not None and term.sign * way > 0 and not term.part:
            yield factor, product, term


def _reward(known: Paths, terms: dict[Key, Term], key: Key, way: int) -> Term | None:
    """The term that an exponent is, or is a part of, where the loss rises with its factor."""
    for back in range(BACK):
        term = terms.get(known.made(key))
        if term is not None and not (back and term.part):
            return term if term.sign * way > 0 else None
        op = known.maker(key)
        if (
            op is None
            or len(op.inputs) != 1
            or op.name not in NEGATIONS | PASSING - {"chunk", "split", "unbind"}
        ):
            return None
        way = -way if op.name in NEGATIONS else way
        key = op.graph, op.inputs[0]
    return None


def _cause(term: Term) -> Op | None:
    """The call that turns the term round once too often, or, where none is, the one that takes it first."""
    if len(term.turns) > 1 and len(term.turns) % 2 == 0:
        return term.turns[0]
    return term.first


def _finding(trace: Trace, event: Backward, factor: Op, stretched: Op, term: Term, cause: Op) -> Finding:
    place = cause.site.user
    turned = cause in term.turns
    edits, instead = _turned_back(trace, cause) if turned else _turned(trace, cause)
    fix = (
        f"write `{instead}` in place of {located(trace, place)}"
        if instead
        else f"turn the sign of the term round in {located(trace, place)}"
    )
    divides = stretched.name in DIVISIONS
    does, way = ("divides by", "larger") if divides else ("multiplies with", "smaller")
    written = code(trace, factor.site.user, "the factor")
    return Finding(
        message=f"{code(trace, place, 'the log-determinant')} has the wrong sign: the loss rewards an ever {way}"
        f" {written}",
        cause=place,
        cause_label="turns the logarithm of the factor round" if turned else "the logarithm of the factor",
        effect=event.site.user,
        effect_label="the loss that rises with it",
        related=((stretched.site.user, f"{does} the factor"),),
        seen=(
            f"{code(trace, stretched.site.user, 'the map')} {does} {written}, and the loss has the logarithm of that"
            f" as a term, by sums and means alone, with the sign of the squares of what comes of it: both fall as the"
            " values are squeezed together, and nothing holds that up",
        ),
        fix=fix,
        edits=edits,
        subjects=frozenset({("log-volume", *place.location())}),
    )


def _turned_back(trace: Trace, op: Op) -> tuple[Edits, str]:
    """The call without its minus."""
    here = Source(trace, op.site.user.path)
    node = here.file.at(op.site.user)
    if isinstance(node, ast.UnaryOp):
        new = here.text_of(node.operand)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        new = f"{here.text_of(node.left)} + {here.part(node.right)}"
    elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Sub):
        new = f"{here.text_of(node.target)} += {here.text_of(node.value)}"
    else:
        return (), ""
    return here.replace(node, new), new


def _turned(trace: Trace, op: Op) -> tuple[Edits, str]:
    """The call with a minus before it."""
    here = Source(trace, op.site.user.path)
    node = here.file.at(op.site.user)
    if not isinstance(node, ast.Call):
        return (), ""
    return here.around(node, "-", ""), f"-{here.text_of(node)}"
