"""A term of the loss is the sum over a whole batch, and another one is a mean over all of its elements.

Why: a mean divides by the samples and by the numbers of each sample, a sum by neither. Added up, the sum counts that
many times more: the divergence of a variational autoencoder outweighs the reconstruction a thousandfold, the code is
pushed to what it is without any input, and nothing is reconstructed.

The same goes for a divergence that is summed over the code of each sample alone and averaged over the samples, where
the other term is the mean over a sample's numbers too: then the divergence counts as many times more as each sample has
numbers.

Fix: reduce both alike, as a sum over what belongs to a sample and a mean over the samples.

A note where the summed term is no divergence. A divergence of each sample is told of only where it has come down to
next to nothing: it is the most that the code can hold of its sample, in nats.
Silent on: sums with a small factor or with one that is not in the text, sums that are divided by a size, penalties on
weights, sums over few numbers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from gradscope.analysis.made import layer_site
from gradscope.analysis.ops import ADDITIONS, BINARY_LOSSES, NEGATIONS, POINTWISE_LOSSES, SCALES
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.senses import plain_factor
from gradscope.analysis.terms import terms
from gradscope.analysis.words import code, located
from gradscope.events import AddedTerms, Backward
from gradscope.fixes.calls import with_argument
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace

STEPS = 100  # until a divergence that is next to nothing is told of
NOTHING = 0.01  # nats
EACH = 16  # numbers of a sample
HALF = 0.4  # a divergence of two normal distributions has one half before it
MANY = 64  # numbers that are added up
SAMPLES = 8
SMALL = 0.1  # a factor from here down is a weight that somebody has chosen
MEANS = POINTWISE_LOSSES | BINARY_LOSSES
OF_A_DIVERGENCE = {"exp", "log"}  # with a square: that of two normal distributions
SQUARES = {"pow", "square", "mul"}


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(40, 8), nn.Linear(4, 40)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(5):
        x = torch.randn(32, 40)
        mean, logvar = encoder(x).chunk(2, dim=1)
        code = mean + torch.randn_like(mean) * (0.5 * logvar).exp()
        error = nn.functional.mse_loss(decoder(code), x)
        divergence = -0.5 * torch.sum(1 + logvar - mean.pow(2) - logvar.exp())  # cause: GS756
        opt.zero_grad()
        (error + divergence).backward()  # effect: GS756
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(40, 8), nn.Linear(4, 40)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(5):
        x = torch.randn(32, 40)
        mean, logvar = encoder(x).chunk(2, dim=1)
        code = mean + torch.randn_like(mean) * (0.5 * logvar).exp()
        error = nn.functional.mse_loss(decoder(code), x, reduction="sum") / len(x)
        divergence = -0.5 * torch.sum(1 + logvar - mean.pow(2) - logvar.exp()) / len(x)
        opt.zero_grad()
        (error + divergence).backward()
        opt.step()


class _Term(NamedTuple):
    """One of the numbers that a loss adds up."""

    op: Op  # that reduces it
    shape: tuple[int, ...]  # of what that is given
    key: Key


@rule("GS756", name="sum-beside-a-mean", severity="warning", needs=Backward)
def sum_beside_a_mean(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for event in trace.of(Backward):
        if event.call != "backward" or event.graph < 0 or len(event.roots) != 1:
            continue
        root = event.graph, event.roots[0]
        parts = terms(known, root)
        sums = [found for key in parts if (found := _sum(known, key)) is not None]
        means = [found for key in parts if (found := _mean(known, key)) is not None]
        for one in sums:
            other = next((m for m in means if m.shape[0] == one.shape[0]), None)
            place = one.op.site.user.location()
            if other is None or place in told or not _weighs_as_it_is(trace, known, one, root):
                continue
            told.add(place)
            yield _finding(trace, known, event, one, other)
        for collapsed in _collapsed(trace, known, parts, means):
            place = collapsed.mean.op.site.user.location()
            if place not in told:
                told.add(place)
                yield _of_collapse(trace, event, collapsed)


def _sum(known: Paths, key: Key) -> _Term | None:
    """The sum over all of a batch's numbers, several for each sample."""
    sources, op = known.sources(key)
    if op is None or op.name != "sum" or not op.nodes or len(sources) != 1:
        return None
    summed = sources[0]
    each = _summed_for_each(known, summed) if len(known.value(summed).shape) == 1 else None
    summed = each[0] if each is not None else summed
    shape = known.value(summed).shape
    whole = len(shape) >= 2 and shape[0] >= SAMPLES and prod(shape) >= MANY and shape[0] < prod(shape)
    return _Term(op, shape, key) if whole and _is_of_data(known, summed) else None


def _summed_for_each(known: Paths, key: Key) -> tuple[Key, Op] | None:
    """What was summed up over each row, to give these numbers, one a row and scaled perhaps; and the sum."""
    rows, op = known.value(key).shape, None
    while op is None or op.name != "sum":
        sources, op = known.sources(key)
        if len(sources) != 1 or (op is not None and op.name not in SCALES | NEGATIONS | {"sum"}):
            return None
        key = sources[0]
    shape = known.value(key).shape
    return (key, op) if len(shape) == 2 and rows[:1] == shape[:1] and prod(rows) == shape[0] else None


def _is_of_data(known: Paths, key: Key) -> bool:
    """Whether its rows are samples: data with as many rows goes into it, and no parameter of its shape, as into a
    penalty on weights."""
    shape = known.value(key).shape
    of_data, todo, seen = False, [key], {key}
    while todo:
        current = todo.pop()
        value = known.value(current)
        if value.shape == shape and known.parameter_of(current) is not None:
            return False
        of_data |= not value.requires_grad and value.shape[:1] == shape[:1]
        fresh = [source for source in known.sources(current)[0] if source not in seen]
        seen.update(fresh)
        todo += fresh
    return of_data


def _mean(known: Paths, key: Key) -> _Term | None:
    """The mean over all numbers of a batch."""
    sources, op = known.sources(key)
    if op is None or not op.nodes or not sources:
        return None
    of_loss = op.name in MEANS and op.extra.get("reduction") == "mean"
    if not of_loss and not (op.name == "mean" and len(sources) == 1):
        return None
    shape = known.graph(sources[0][0]).values[sources[0][1]].shape
    return _Term(op, shape, key) if len(shape) >= 2 else None


# -- how much it counts -----------------------------------------------------------------------


def _weighs_as_it_is(trace: Trace, known: Paths, term: _Term, root: Key) -> bool:
    """Whether nothing but plain numbers that are not small stands before the sum, up to the loss."""
    key, factor = term.key, 1.0
    while key != root:
        readers = known.used.feeds.get(key, [])
        if len(readers) != 1:
            return False
        key, op = readers[0]
        if op is None or op.name not in SCALES:
            continue
        number = plain_factor(trace, op) if len(op.inputs) == 1 else None
        if number is None:
            return False
        factor *= number
    return abs(factor) > SMALL


# -- a divergence of each sample ---------------------------------------------------------------


class _Collapsed(NamedTuple):
    """A divergence that has come down to nothing beside a mean over all numbers of a batch."""

    divergence: _Term
    mean: _Term
    added: Op
    begun: float  # the divergence at the first call
    left: float  # after so many steps
    steps: int


def _collapsed(trace: Trace, known: Paths, parts: list[Key], means: list[_Term]) -> Iterator[_Collapsed]:
    events = {event.site.user.span(): event for event in trace.of(AddedTerms)} if len(parts) > 1 else {}
    for key in parts if events else ():
        one = _sum_of_each(known, key)
        if one is None or not _is_divergence(known, one):
            continue
        added, value, factor = _added(trace, known, (one.op.graph, one.op.outputs[0]))
        event = events.get(added.site.user.span()) if added is not None else None
        if added is None or event is None or event.steps < STEPS or not HALF <= abs(factor) <= 1:
            continue
        place = added.inputs.index(value[1])
        begun, left = event.first[place], event.last[place]
        for mean in means:
            plain = _added(trace, known, mean.key)
            alike = mean.key != key and mean.shape[0] == one.shape[0]
            if alike and plain[0] is not None and plain[2] == 1 and prod(mean.shape) // mean.shape[0] >= EACH:
                if abs(left) <= NOTHING and abs(left) < abs(begun):
                    yield _Collapsed(one, mean, added, begun, left, event.steps)
                break


def _sum_of_each(known: Paths, key: Key) -> _Term | None:
    """A mean over samples of what was summed over each sample's own numbers."""
    sources, op = known.sources(key)
    if op is None or op.name != "mean" or len(sources) != 1:
        return None
    each = _summed_for_each(known, sources[0])
    if each is None:
        return None
    shape = known.value(each[0]).shape
    return _Term(each[1], shape, each[0]) if shape[0] >= SAMPLES else None


def _added(trace: Trace, known: Paths, key: Key) -> tuple[Op | None, Key, float]:
    """The call that adds a term to another one, what it is given for it, and the plain number that stands before it;
    0 where that is not in the text."""
    factor = 1.0
    while True:
        readers = [pair for pair in known.used.feeds.get(key, []) if pair[1] is None or pair[0][0] == key[0]]
        if len(readers) != 1:
            return None, key, 0.0
        following, op = readers[0]
        if op is not None and op.name in ADDITIONS and len(op.inputs) == 2:
            return op, key, factor
        if op is None or op.name not in SCALES | NEGATIONS | {"mean"}:
            return None, key, 0.0
        if op.name in SCALES:
            factor *= (plain_factor(trace, op) if len(op.inputs) == 1 else None) or 0.0
        key = following


# -- what is told ------------------------------------------------------------------------------


def _is_divergence(known: Paths, term: _Term) -> bool:
    """Whether exponentials or logarithms and squares are added up in it, as in that of two normal distributions, or
    torch's own `kl_divergence` has made it."""
    graph = known.graph(term.op.graph)
    names, todo, seen = set[str](), list(term.op.inputs), set[int]()
    for _ in range(12):
        makers = [op for index in todo if (op := graph.maker(index)) is not None and op.nodes]
        if any(op.site.under("distributions/kl.py") for op in makers):
            return True
        names |= {op.name for op in makers if op.name not in ("linear", "chunk")}
        seen.update(todo)
        todo = [i for op in makers if op.name not in ("linear", "conv2d") for i in op.inputs if i not in seen]
    return bool(names & OF_A_DIVERGENCE) and bool(names & SQUARES)


def _finding(trace: Trace, known: Paths, event: Backward, one: _Term, other: _Term) -> Finding:
    summed, mean = one.op.site.user, other.op.site.user
    samples, each = one.shape[0], prod(other.shape) // other.shape[0]
    edits = _summed(trace, other.op)
    both = (
        f"`reduction='sum'` in {located(trace, mean)}"
        if edits
        else f"a sum in place of {located(trace, mean)}"
    )
    return Finding(
        message=f"{code(trace, summed, 'a term')} is a sum over {samples} samples, beside a mean over all"
        f" {prod(other.shape)} numbers of the batch",
        cause=summed,
        cause_label=f"adds up {prod(one.shape)} numbers",
        effect=event.site.user,
        effect_label="adds up both",
        related=((mean, f"divides by {samples} samples and by {each} numbers of each"),),
        severity="" if _is_divergence(known, one) else "note",
        seen=(
            f"of shape {one.shape} a sum, of shape {other.shape} a mean: reduced alike the second would count"
            f" {prod(other.shape)} times as much beside the first",
        ),
        fix=f"reduce both alike: {both}, and both divided by the number of samples ({samples} here) where the"
        " learning rate is to stay",
        edits=edits,
        count=event.count,
    )


def _summed(trace: Trace, op: Op) -> Edits:
    """The loss with `reduction="sum"`: at its call, or where its layer was made."""
    site = op.site.user
    node = trace.source_file(site.path).at(site)
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(op.name):
        return with_argument(trace, site, "reduction", '"sum"')
    made: Site | None = layer_site(trace, op, alone=True)
    return with_argument(trace, made, "reduction", '"sum"') if made is not None else ()


def _of_collapse(trace: Trace, event: Backward, found: _Collapsed) -> Finding:
    one, mean = found.divergence, found.mean
    samples, each = mean.shape[0], prod(mean.shape) // mean.shape[0]
    summed, place = one.op.site.user, mean.op.site.user
    return Finding(
        message=f"{code(trace, place, 'a term')} is a mean over the {each} numbers of each sample, beside a divergence"
        " that is summed for each sample: the divergence has come down to nothing",
        cause=place,
        cause_label=f"divides by {samples} samples and by {each} numbers of each",
        effect=found.added.site.user,
        effect_label="adds up both",
        related=((summed, f"adds up {one.shape[1]} numbers of each sample, divided by the samples alone"),),
        seen=(
            f"of shape {mean.shape} a mean over all, of shape {one.shape} a sum over each row: reduced alike the first"
            f" would count {each} times as much beside the second",
            f"the divergence was {abs(found.begun):.3g} at first and {abs(found.left):.2g} after"
            f" {found.steps} steps: the code of a sample holds no more of it than that, in nats",
        ),
        why="the bound that such a loss is made of has the error of a whole sample, summed over its numbers. Divided by"
        " their number it is outweighed: the code is drawn to what it is without any input, and the decoder gives the"
        " same for all",
        fix=f"sum the error over each sample's numbers as well: `reduction='sum'` in {located(trace, place)}, divided"
        f" by the {samples} samples, or that mean times {each}; a weight that was chosen for the divergence belongs"
        " before it by name",
        edits=_summed_by_sample(trace, mean.op),
        count=event.count,
    )


def _summed_by_sample(trace: Trace, op: Op) -> Edits:
    """The loss summed, divided by the length of its target, where its call stands by itself or in a sum."""
    site = op.site.user
    here = Source(trace, site.path)
    node = here.file.at(site)
    edits = _summed(trace, op)
    if not isinstance(node, ast.Call) or not edits or len(node.args) < 2:
        return ()
    target, above = node.args[1], here.file.parent.get(id(node))
    added = isinstance(above, ast.BinOp) and isinstance(above.op, ast.Add)
    if not isinstance(target, ast.Name) or not (added or isinstance(above, ast.Assign)):
        return ()
    return (*edits, *here.append(node, f" / len({target.id})"))
