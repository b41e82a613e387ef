"""A hinge loss asks a sigmoid's output for less than it can give: the hinge never lets go.

Why: a hinge wants a score above 1 for the one class and below -1 for the other, and is 0 from there on. A probability
lies between 0 and 1: half of the samples ask it for -1 and keep a loss of at least 1, and the others are content only
where the sigmoid is flat. So is the hinge loss of a discriminator that ends in a sigmoid.

Fix: give the hinge the scores themselves: leave the sigmoid out, or take `binary_cross_entropy`.

Measured: what the ReLU (or the `clamp`, or the maximum with zeros) of the hinge was given never was 0 or below, and was
above 1 for some.
Silent on: differences of two probabilities, margins that they reach, what is scaled before, hinges that are no part
of a loss.
"""

from collections import deque
from collections.abc import Iterator

from gradscope.analysis.made import layer_site
from gradscope.analysis.ops import (
    ADDITIONS,
    MEANS,
    MULTIPLICATIONS,
    NEGATIONS,
    PASSING,
    POWERS,
    SCALES,
    SUBTRACTIONS,
    SUMS,
)
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import located, parameter_subjects, plural
from gradscope.events import Hinge
from gradscope.fixes.calls import unwrapped, without_last_layer
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.store import Trace

SQUASHED = {"sigmoid", "sigmoid_", "expit", "hardsigmoid"}
BEFORE = PASSING | SUMS | MULTIPLICATIONS | NEGATIONS
AFTER = PASSING | ADDITIONS | SUBTRACTIONS | SCALES | MEANS | POWERS | {"sum"}
DEEP = 12
ABOVE = 1.01  # what is asked of some sample, at least: with 1 a probability of 1 would do


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    scorer = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1), nn.Sigmoid())  # cause: GS790
    opt = torch.optim.SGD(scorer.parameters(), lr=0.1)
    for _ in range(6):
        x = torch.randn(16, 4)
        y = torch.where(x[:, :1] > 0, 1.0, -1.0)
        loss = torch.clamp(1 - y * scorer(x), min=0).mean()  # effect: GS790
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        x = torch.randn(16, 4)
        y = torch.where(x[:, :1] > 0, 1.0, -1.0)
        loss = torch.clamp(1 - y * model(x), min=0).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS790", name="hinge-out-of-reach", severity="warning", needs=Hinge)
def hinge_out_of_reach(trace: Trace) -> Iterator[Finding]:
    events = {event.site.user.span(): event for event in trace.of(Hinge) if event.high >= ABOVE}
    if not events:
        return
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for key, op in known.used_calls({event.name for event in events.values()}):
        event = events.get(op.site.user.span())
        given = [one for value in op.inputs if known.value(one := (op.graph, value)).requires_grad]
        squashed = _squashed(known, given[0]) if event is not None and given else None
        if event is None or squashed is None or squashed.site.user.location() in told:
            continue
        if _is_a_loss(known, key):
            told.add(squashed.site.user.location())
            yield _finding(trace, known, op, squashed, event)


def _squashed(known: Paths, key: Key) -> Op | None:
    """The one sigmoid whose result, shifted and with another sign, a value is."""
    for _ in range(DEEP):
        sources, op = known.sources(key)
        if op is not None and op.name in SQUASHED:
            return op
        if op is not None and op.name not in BEFORE:
            return None
        trained = [one for one in sources if known.value(one).requires_grad]
        if len(trained) != 1:
            return None
        key = trained[0]
    return None


def _is_a_loss(known: Paths, key: Key) -> bool:
    """Whether nothing but a mean or a sum, weights and other terms come between a value and a backward pass."""
    seen, todo = {key}, deque([key])
    while todo and len(seen) < DEEP * DEEP:
        current = todo.popleft()
        if current in known.roots:
            return True
        for target, op in known.used.feeds.get(current, ()):
            if (op is None or op.name in AFTER) and target not in seen:
                seen.add(target)
                todo.append(target)
    return False


def _finding(trace: Trace, known: Paths, hinge: Op, squashed: Op, event: Hinge) -> Finding:
    effect = hinge.site.user
    layer = layer_site(trace, squashed)
    cause = layer or squashed.site.user
    return Finding(
        message=f"a hinge loss is taken of `{squashed.name}`, which gives 0 to 1: the hinge asks some samples for less"
        " than 0, and never lets go",
        cause=cause,
        cause_label="gives nothing below 0",
        effect=effect,
        effect_label=f"`{event.name}` never cut anything off",
        seen=(
            f"in {plural(event.calls, 'call')} looked at `{event.name}` was given {event.low:.4g} to {event.high:.4g}:"
            f" of a score it would be 0 or less wherever the margin is kept",
        ),
        fix=f"leave {located(trace, cause)} out: the hinge wants the plain score, on both sides of 0",
        edits=unwrapped(trace, squashed.site.user) or without_last_layer(trace, squashed),
        subjects=parameter_subjects(known.reach([(hinge.graph, hinge.outputs[0])]).parameters),
    )
