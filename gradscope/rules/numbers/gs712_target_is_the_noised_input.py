"""The target of a loss is the noised input itself, which the network was given.

Why: a network that is to take noise out is told by its target what was there before, or which noise
was added. Where the target is what it has been given, it learns to hand that on, noise and all.

Fix: compare with the clean data, or with the noise.

Silent on: autoencoders of data that was noised by a fixed amount, losses that take the clean data or the noise
in another term.
"""

from collections.abc import Iterator

from gradscope.analysis.names import names_of
from gradscope.analysis.ops import MULTIPLICATIONS, POINTWISE_LOSSES
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.rules.numbers._losses import loss_event, losses
from gradscope.store import Trace

DRAWS = {"randn_like", "randn", "rand_like", "rand", "normal", "normal_"}
SUMS = {"add", "__add__", "__radd__", "sub", "__sub__"}
LOOKED_UP = {"__getitem__", "gather", "index_select", "take"}
NEAR = 6  # calls between the schedule's entry and the factor


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    kept = torch.linspace(0.9, 0.1, 10)
    for _ in range(3):
        clean, noise = torch.rand(8, 4).cumsum(1), torch.randn(8, 4)
        share = kept[torch.randint(0, 10, (8,))].unsqueeze(1)
        noised = share.sqrt() * clean + (1 - share).sqrt() * noise  # effect: GS712
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(noised), noised)  # cause: GS712
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    kept = torch.linspace(0.9, 0.1, 10)
    for _ in range(3):
        clean, noise = torch.rand(8, 4).cumsum(1), torch.randn(8, 4)
        share = kept[torch.randint(0, 10, (8,))].unsqueeze(1)
        noised = share.sqrt() * clean + (1 - share).sqrt() * noise
        opt.zero_grad()
        nn.functional.mse_loss(model(noised), noise).backward()
        opt.step()


@rule("GS712", name="target-is-the-noised-input", severity="note")
def target_is_the_noised_input(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for prediction, op in losses(known, POINTWISE_LOSSES):
        if len(op.inputs) < 2 or op.site.user.location() in told:
            continue
        target = known.made((op.graph, op.inputs[1]))
        clean = _noised(known, target)
        if clean is None or target not in {known.made(key) for key in known.flow([prediction]).order}:
            continue
        told.add(op.site.user.location())
        yield _finding(trace, known, op, target, clean)


def _noised(known: Paths, target: Key) -> Key | None:
    """What a tensor was before noise was added to it, by a share that was looked up: neither that nor the
    noise has another use in a loss."""
    made = known.maker(target)
    if made is None or made.name not in SUMS or len(made.inputs) != 2:
        return None
    sides = [known.made((made.graph, i)) for i in made.inputs]
    drawn = [side for side in sides if _drawn(known, side) is not None]
    if len(drawn) != 1:
        return None
    other = next(side for side in sides if side not in drawn)
    noise = _drawn(known, drawn[0])
    factors = _factors(known, other)
    plain = [key for key in factors if not _looked_up(known, key)]
    clean = plain[0] if len(factors) == 2 and len(plain) == 1 else other
    if noise is None or _readers(known, noise) != 1 or _readers(known, clean) != 1:
        return None
    return clean


def _factors(known: Paths, key: Key) -> list[Key]:
    op = known.maker(key)
    if op is None or op.name not in MULTIPLICATIONS or len(op.inputs) != 2:
        return []
    return [known.made((op.graph, i)) for i in op.inputs]


def _drawn(known: Paths, key: Key) -> Key | None:
    """The noise, where a value is that times an entry of a schedule."""
    factors = _factors(known, key)
    drawn = [f for f in factors if (op := known.maker(f)) is not None and op.name in DRAWS]
    return (
        drawn[0] if len(drawn) == 1 and any(_looked_up(known, f) for f in factors if f != drawn[0]) else None
    )


def _looked_up(known: Paths, key: Key) -> bool:
    for _ in range(NEAR):
        op = known.maker(key)
        if op is None or not op.inputs:
            return False
        if op.name in LOOKED_UP and len(op.inputs) > 1:
            return True
        key = known.made((op.graph, op.inputs[0]))
    return False


def _readers(known: Paths, key: Key) -> int:
    """How many calls on the way to a loss read a value, in whatever graph."""
    calls = {
        (op.graph, op.index)
        for source, readers in known.used.feeds.items()
        if known.made(source) == key
        for _, op in readers
        if op is not None
    }
    return len(calls)


def _finding(trace: Trace, known: Paths, op: Op, target: Key, clean: Key) -> Finding:
    event = loss_event(known, op)
    made = known.maker(target)
    noised = _name(trace, op.graph, op.inputs[1]) or _name(trace, *target) or "the noised input"
    before = _name(trace, *clean)
    where: Site | None = made.site.user if made is not None else None
    return Finding(
        message=f"the target of {code(trace, op.site.user, 'the loss')} is {noised}, which the network was given:"
        " it learns to hand the noise on",
        cause=op.site.user,
        cause_label="compares with the network's own input",
        effect=where,
        effect_label="noise is added here",
        related=((event.site.user, "learns from it"),) if event is not None else (),
        seen=(
            f"the prediction is computed from the very tensor that it is compared with; {before or 'the clean data'}"
            " and the noise have no other part in a loss",
        ),
        fix=f"compare with {before or 'what was there before the noise'}, or with the noise",
        subjects=frozenset({("loss", op.site.user.location())}),
    )


def _name(trace: Trace, graph: int, index: int) -> str:
    name = names_of(trace).name(trace.graph(graph), index)
    return f"`{name}`" if name else ""
