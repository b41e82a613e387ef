"""The target of a loss is the noised input itself, which the network was given.

Why: a network that is to take noise out is told by its target what was there before, or which noise
was added. Where the target is what it has been given, it learns to hand that on, noise and all.

Fix: compare with the clean data, or with the noise.

Measured: the share of the noise was looked up in a schedule, or the network is told it.
Silent on: autoencoders of data that was noised by an amount that the network does not know, losses that take the clean
data or the noise in another term.
"""

from collections.abc import Iterator

from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.rules.numbers._losses import loss_event
from gradscope.rules.numbers._noising import compared, factors, looked_up, mixed, name_of, readers
from gradscope.store import Trace


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
    for prediction, given, op in compared(known):
        if op.site.user.location() in told:
            continue
        target = known.made(given)
        clean = _noised(known, target)
        if clean is None or target not in {known.made(key) for key in known.flow([prediction]).order}:
            continue
        told.add(op.site.user.location())
        yield _finding(trace, known, op, given, target, clean)


def _noised(known: Paths, target: Key) -> Key | None:
    """What a tensor was before noise was added to it, by a share that was looked up or that the network is told:
    neither that nor the noise has another use in a loss."""
    made = known.maker(target)
    found = mixed(known, made) if made is not None else None
    if found is None:
        return None
    other, noise = found
    shares = factors(known, other)
    plain = [key for key in shares if not looked_up(known, key)]
    clean = plain[0] if len(shares) == 2 and len(plain) == 1 else other
    return clean if readers(known, noise) == readers(known, clean) == 1 else None


def _finding(trace: Trace, known: Paths, op: Op, given: Key, target: Key, clean: Key) -> Finding:
    event = loss_event(known, op)
    made = known.maker(target)
    noised = name_of(trace, *given) or name_of(trace, *target) or "the noised input"
    before = name_of(trace, *clean)
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
