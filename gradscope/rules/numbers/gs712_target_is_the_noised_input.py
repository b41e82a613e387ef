"""The target of a loss is the noised input itself, which the network was given.

Why: a network that is to take noise out is told by its target what was there before, or which noise
was added. Where the target is what it has been given, it learns to hand that on, noise and all.

Fix: compare with the clean data, or with the noise.

Measured: the share of the noise was looked up in a schedule, or the network is told it.
Silent on: autoencoders of data that was noised by an amount that the network does not know, losses that take the clean
data or the noise in another term.
"""

from collections.abc import Iterator

from gradscope.analysis.bootstraps import squared
from gradscope.analysis.names import names_of
from gradscope.analysis.ops import MULTIPLICATIONS, POINTWISE_LOSSES, SUBTRACTIONS
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
    for prediction, given, op in _compared(known):
        if op.site.user.location() in told:
            continue
        target = known.made(given)
        clean = _noised(known, target)
        if clean is None or target not in {known.made(key) for key in known.flow([prediction]).order}:
            continue
        told.add(op.site.user.location())
        yield _finding(trace, known, op, given, target, clean)


def _compared(known: Paths) -> Iterator[tuple[Key, Key, Op]]:
    """(prediction, target, call) of losses, and of differences that are squared or made absolute."""
    for prediction, op in losses(known, POINTWISE_LOSSES):
        if len(op.inputs) > 1:
            yield prediction, (op.graph, op.inputs[1]), op
    for _, op in known.used_calls(SUBTRACTIONS):
        graph = known.graph(op.graph)
        tracked = [i for i in op.inputs if graph.values[i].requires_grad]
        if len(op.inputs) == 2 and len(tracked) == 1 and squared(known, op):
            other = op.inputs[1 - op.inputs.index(tracked[0])]
            yield (op.graph, tracked[0]), (op.graph, other), op


def _noised(known: Paths, target: Key) -> Key | None:
    """What a tensor was before noise was added to it, by a share that was looked up or that the network is told:
    neither that nor the noise has another use in a loss."""
    made = known.maker(target)
    mixed = _mixed(known, made) if made is not None else None
    if mixed is None:
        return None
    other, noise = mixed
    factors = _factors(known, other)
    plain = [key for key in factors if not _looked_up(known, key)]
    clean = plain[0] if len(factors) == 2 and len(plain) == 1 else other
    return clean if _readers(known, noise) == _readers(known, clean) == 1 else None


def _mixed(known: Paths, made: Op) -> tuple[Key, Key] | None:
    """(what noise is added to, the noise) of `a + share * noise`, `addcmul(a, share, noise)` and
    `lerp(a, noise, share)`."""
    sides = [known.made((made.graph, i)) for i in made.inputs]
    if made.name in SUMS and len(sides) == 2:
        drawn = [
            (side, noise) for side in sides if (noise := _noise(known, _factors(known, side))) is not None
        ]
        other = [side for side in sides if all(side != one for one, _ in drawn)]
        return (other[0], drawn[0][1]) if len(drawn) == len(other) == 1 else None
    if made.name == "addcmul" and len(sides) == 3:
        noise = _noise(known, sides[1:])
        return (sides[0], noise) if noise is not None else None
    if made.name == "lerp" and len(sides) == 3:
        found = [(sides[1 - i], n) for i in (0, 1) if (n := _noise(known, [sides[i], sides[2]])) is not None]
        return found[0] if len(found) == 1 else None
    return None


def _factors(known: Paths, key: Key) -> list[Key]:
    op = known.maker(key)
    if op is None or op.name not in MULTIPLICATIONS or len(op.inputs) != 2:
        return []
    return [known.made((op.graph, i)) for i in op.inputs]


def _noise(known: Paths, factors: list[Key]) -> Key | None:
    """The noise among these, where the other one is the entry of a schedule, or is told to the network as well."""
    drawn = [f for f in factors if (op := known.maker(f)) is not None and op.name in DRAWS]
    shares = [f for f in factors if f not in drawn[-1:]]
    if len(factors) != 2 or len(shares) != 1:
        return None
    if len(drawn) == 1 and _looked_up(known, shares[0]):
        return drawn[0]
    told = [f for f in factors if _readers(known, f) > 1]
    left = [f for f in drawn if f not in told]
    return left[0] if len(told) == len(left) == 1 else None


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


def _finding(trace: Trace, known: Paths, op: Op, given: Key, target: Key, clean: Key) -> Finding:
    event = loss_event(known, op)
    made = known.maker(target)
    noised = _name(trace, *given) or _name(trace, *target) or "the noised input"
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
