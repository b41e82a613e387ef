"""Losses in which one network's probabilities are the target of another one's, with their graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.ops import (
    CLASS_LOSSES,
    CLIPS,
    COMPARING_LOSSES,
    JOINING,
    LOGARITHMS,
    MULTIPLICATIONS,
    PASSING,
    SCALES,
    SUMS,
)
from gradscope.analysis.reach import Key, Paths
from gradscope.model import Op

FORMS = PASSING - JOINING - CLIPS
LOGS = ("log_softmax", *LOGARITHMS)
FAR = 12  # values of a sum of logarithms


class SoftTarget(NamedTuple):
    """`product` compares what a network says with what another one does, which learns from labels."""

    product: Op
    made: Op  # the target: a softmax, or the last call that made the scores
    target: Key
    labelled: Op  # the loss that the target's network learns from
    own: frozenset[int]  # parameters that only the target is made of
    both: bool  # the target's own logarithm is in the product, too
    alone: bool  # nothing else reads the target
    side: int  # which of the product's inputs it is


class _Pair(NamedTuple):
    product: Op
    target: Key
    wanted: Key  # the scores that the target was made of
    said: Key  # those that are compared with it
    both: bool
    scores: bool  # scores are compared, no probabilities


def soft_targets(known: Paths) -> Iterator[SoftTarget]:
    """Once per line; not where each of the two networks is the other one's target."""
    pairs = list(_pairs(known))
    if not pairs:
        return
    labelled = dict(_labelled(known))
    mirrored = {(pair.wanted, pair.said) for pair in pairs if not pair.scores}
    told: set[tuple[str, int]] = set()
    for pair in pairs:
        place = pair.product.site.user.location()
        loss = labelled.get(pair.wanted)
        if loss is None or place in told or (pair.said, pair.wanted) in mirrored:
            continue
        if pair.scores and pair.said in labelled:
            continue  # each has its own labels: they are to agree, it may be
        wanted, said = known.behind(pair.wanted), known.behind(pair.said)
        own = frozenset(id for id in wanted - said if known.stepped(known.parameters[id]))
        made = known.maker(known.source_behind(pair.target, FORMS))
        if own and said - wanted and made is not None:
            told.add(place)
            alone = len(known.used.feeds.get(known.made(pair.target), ())) == 1
            side = pair.product.inputs.index(pair.target[1])
            yield SoftTarget(pair.product, made, pair.target, loss, own, pair.both, alone, side)


def _pairs(known: Paths) -> Iterator[_Pair]:
    names = MULTIPLICATIONS | COMPARING_LOSSES | {"kl_div", "cross_entropy", "einsum"}
    for (number, _), op in known.used_calls(names):
        sides = [(number, index) for index in op.inputs]
        if len(sides) != 2 or not all(known.value(side).requires_grad for side in sides):
            continue
        for target, other in (
            (sides, sides[::-1]) if op.name not in ("kl_div", "cross_entropy") else (sides[::-1],)
        ):
            yield from _pair(known, op, target, other)


def _pair(known: Paths, op: Op, target: Key, other: Key) -> Iterator[_Pair]:
    wanted = scores(known, target, "softmax")
    if op.name in COMPARING_LOSSES:
        said = scores(known, other, "softmax")
        if wanted is None and said is None:
            yield _Pair(op, target, plain(known, target), plain(known, other), False, True)
        elif wanted is not None and said is not None and wanted != said:
            yield _Pair(op, target, wanted, said, False, True)
        return
    if wanted is None:
        return
    logs = [plain(known, other)] if op.name == "cross_entropy" else list(_logarithms(known, other))
    others = [said for said in logs if said != wanted]
    if len(others) == 1:
        yield _Pair(op, target, wanted, others[0], wanted in logs, False)


def plain(known: Paths, key: Key) -> Key:
    """Scores as the network gave them: before they got another form or a temperature."""
    return known.made(known.source_behind(key, FORMS | SCALES))


def scores(known: Paths, key: Key, *names: str) -> Key | None:
    """What the scores were that a value is a softmax of; None of anything else."""
    maker = known.maker_behind(key, FORMS)
    return plain(known, (maker.graph, maker.inputs[0])) if maker is not None and maker.name in names else None


def _logarithms(known: Paths, key: Key) -> Iterator[Key]:
    """The scores whose log-probabilities a value adds up."""
    todo, seen = [key], {key}
    for at in todo:  # grows while it is walked
        maker = known.maker_behind(at, FORMS)
        if maker is None or len(seen) > FAR:
            continue
        if maker.name in LOGS:
            given = (maker.graph, maker.inputs[0])
            found = plain(known, given) if maker.name == "log_softmax" else scores(known, given, "softmax")
            if found is not None:
                yield found
        elif maker.name in SUMS | SCALES | {"neg"}:
            new = [(maker.graph, i) for i in maker.inputs if (maker.graph, i) not in seen]
            seen.update(new)
            todo += new


def _labelled(known: Paths) -> Iterator[tuple[Key, Op]]:
    """The scores that a loss compares with labels."""
    for (number, _), op in known.used_calls(CLASS_LOSSES):
        if len(op.inputs) < 2 or "int" not in known.value((number, op.inputs[1])).dtype:
            continue
        given = (number, op.inputs[0])
        found = plain(known, given) if op.name == "cross_entropy" else scores(known, given, "log_softmax")
        if found is not None:
            yield found, op
