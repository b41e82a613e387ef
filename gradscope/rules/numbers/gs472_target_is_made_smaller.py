"""The target of a loss is data times weights that the very loss trains: making them smaller makes the loss smaller.

Why: a loss that compares an answer with `gamma * x` is at its least where `gamma` is 0 and the answer, too. The steps
take that way: the loss falls, because the target shrinks, and less is learned than it says.

Fix: let what makes the target have no weights of its own (`affine=False` of a normalisation), or `detach()` it.

Measured: every term of the losses that train these weights compares an answer with a target that is data, brought into
another form, normalised, shifted, and multiplied with the weights, with its graph; the answer has further weights.
Silent on: losses with another term for these weights, targets that are normalised behind them, that are made by a
layer which mixes its inputs, or whose weights have no step.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.calls import calls
from gradscope.analysis.drawn_together import Drawn, Pair, drawn_together
from gradscope.analysis.made import layer_site
from gradscope.analysis.names import names_of
from gradscope.analysis.ops import (
    ADDITIONS,
    CLIPS,
    COMPARING_LOSSES,
    EXPONENTIALS,
    JOINING,
    NORMING,
    PASSING,
    SCALES,
    SUBTRACTIONS,
)
from gradscope.analysis.reach import Key, Paths
from gradscope.analysis.text import written_input
from gradscope.analysis.words import code, located, parameter_names, parameter_subjects
from gradscope.fixes.calls import with_argument
from gradscope.fixes.source import Edits, Source, is_name
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace

FORMS = PASSING - JOINING - CLIPS | {"unfold", "pad", "where", "masked_fill"}
KEPT_ABOVE_ZERO = EXPONENTIALS | {"softplus", "abs"}
WEIGHTS_OFF = {  # class of a layer → what switches its weights off
    "BatchNorm1d": "affine", "BatchNorm2d": "affine", "BatchNorm3d": "affine", "SyncBatchNorm": "affine",
    "InstanceNorm1d": "affine", "InstanceNorm2d": "affine", "InstanceNorm3d": "affine", "GroupNorm": "affine",
    "LayerNorm": "elementwise_affine", "RMSNorm": "elementwise_affine",
}  # fmt: skip
FAR = 40  # ops between a target and its data


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    norm = nn.BatchNorm1d(8)  # cause: GS472
    body = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
    opt = torch.optim.Adam([*norm.parameters(), *body.parameters()], lr=0.02)
    for _ in range(8):
        clean = norm(torch.randn(32, 8) * 4 - 7)
        hidden = clean * (torch.rand(32, 8) > 0.5)
        loss = ((body(hidden) - clean) ** 2).mean()  # effect: GS472
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    norm = nn.BatchNorm1d(8, affine=False)
    body = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
    opt = torch.optim.Adam(body.parameters(), lr=0.02)
    for _ in range(8):
        clean = norm(torch.randn(32, 8) * 4 - 7)
        hidden = clean * (torch.rand(32, 8) > 0.5)
        loss = ((body(hidden) - clean) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


class _Scaled(NamedTuple):
    """`op` multiplies data with trained weights; `side`: which side of the comparison the result is."""

    op: Op
    weights: frozenset[int]
    side: int


@rule("GS472", name="target-is-made-smaller", severity="warning", over=("GS373",))
def target_is_made_smaller(trace: Trace) -> Iterator[Finding]:
    known = calls(trace)
    told: set[tuple[str, int]] = set()
    for drawn in drawn_together(known.paths, known.trained):
        found = [_scaled(known.paths, drawn, pair) for pair in drawn.pairs]
        first = found[0] if all(found) else None
        if first is not None and first.op.site.user.location() not in told:
            told.add(first.op.site.user.location())
            yield _finding(known.paths, drawn, drawn.pairs[0], first)


def _scaled(known: Paths, drawn: Drawn, pair: Pair) -> _Scaled | None:
    if pair.op.name not in COMPARING_LOSSES | SUBTRACTIONS:
        return None
    for side, answer in ((0, 1), (1, 0)):
        found = _weighed(known, pair.sides[side])
        if found is None:
            continue
        op, weights = found
        behind = known.behind(pair.sides[side])
        stepped = frozenset(id for id in weights & drawn.parameters if known.stepped(known.parameters[id]))
        if stepped and behind < known.behind(pair.sides[answer]):
            return _Scaled(op, stepped, side)
    return None


def _weighed(known: Paths, key: Key) -> tuple[Op, frozenset[int]] | None:
    """The call that multiplies data with weights, behind calls that leave it at that."""
    found: Op | None = None
    weights: set[int] = set()
    for _ in range(FAR):
        if not known.value(key).requires_grad:
            return (found, frozenset(weights)) if found is not None and not known.fed_by(key) else None
        op = known.maker(key)
        if op is None or not op.inputs:
            return None
        first, *others = [(op.graph, index) for index in op.inputs]
        if op.name in NORMING:
            scale = [id for one in others if (id := _weight(known, one)) is not None]
            if known.value(first).requires_grad or not scale:
                return None  # what is normalised behind its weights is as large as before
            weights.add(scale[0])
            found, key = op, first
        elif op.name in SCALES | ADDITIONS | SUBTRACTIONS:
            both = [first, *others]
            held = {one: id for one in both if (id := _weight(known, one)) is not None}
            left = [one for one in both if one not in held and known.value(one).shape not in ((), (1,))]
            if len(left) != 1 or any(
                one != left[0] and known.value(one).requires_grad and one not in held for one in both
            ):
                return None
            if held and op.name in SCALES:
                found = op
                weights |= set(held.values())
            key = left[0]
        elif op.name in FORMS and not any(known.value(one).requires_grad for one in others):
            key = first
        else:
            return None
    return None


def _weight(known: Paths, key: Key) -> int | None:
    """The parameter that a value is, in another form or kept above zero."""
    source = known.source_behind(key, FORMS | KEPT_ABOVE_ZERO)
    parameter = known.parameter_of(source)
    return parameter.id if parameter is not None else None


def _finding(known: Paths, drawn: Drawn, pair: Pair, found: _Scaled) -> Finding:
    trace, compared, scaled = known.trace, pair.op.site.user, found.op.site.user
    target = pair.sides[found.side]
    name = names_of(trace).name(trace.graph(target[0]), target[1]) or ""
    subject = f"the target `{name}`" if name else "the target"
    names = parameter_names(trace, sorted(found.weights))
    cause, fix, edits = _without(known, pair, found)
    return Finding(
        message=f"{subject} is data times {names}, which the loss trains: it falls when the target shrinks",
        cause=cause,
        cause_label="has weights that scale the target",
        effect=compared if compared.location() != cause.location() else None,
        effect_label="compares the answer with it, with its graph",
        related=((scaled, "multiplies with them"),)
        if scaled.location() not in (cause.location(), compared.location())
        else (),
        seen=(
            f"all that trains {names} compares answers with what {code(trace, scaled, 'the call')} makes of data: both"
            " sides can become 0 together",
        ),
        fix=fix,
        edits=edits,
        count=known.alike(drawn.loss),
        subjects=parameter_subjects(found.weights),
    )


def _without(known: Paths, pair: Pair, found: _Scaled) -> tuple[Site, str, Edits]:
    """The layer without its weights; else the target without its graph."""
    trace, op = known.trace, found.op
    module = trace.modules.get(op.module) if op.module is not None else None
    made = layer_site(trace, op, alone=True)
    if made is not None and module is not None and module.cls in WEIGHTS_OFF:
        setting = WEIGHTS_OFF[module.cls]
        fix = f"make it without weights: `{setting}=False` in {located(trace, made)}"
        return made, fix, with_argument(trace, made, setting, "False")
    node = written_input(trace, pair.op, found.side)
    here = Source(trace, pair.op.site.user.path)
    text = here.text_of(node) if node is not None else "target"
    fix = f"compare with `{text}.detach()` in {located(trace, pair.op.site.user)}"
    return op.site.user, fix, here.append(node, ".detach()") if node is not None and is_name(node) else ()
