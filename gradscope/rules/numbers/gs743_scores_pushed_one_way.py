"""A critic's score of generated samples is pushed the wrong way, like that of real ones or by both networks alike.

Why: a critic learns to tell real from generated samples when its loss falls with the score of the one and rises with
that of the other, and the generator learns from it when it pushes the score of its samples against the critic. A sign,
a parenthesis or a label that is wrong lets both be pushed the same way: the critic gives every sample the same score,
which grows without bound, or the generator helps the critic to know its samples.

Fix: opposite signs, or opposite labels, for real and generated samples in the critic's loss; in the generator's the
sign of the real ones.

Measured: which steps used whose gradients, which of the critic's inputs were computed by another network, and the way
from each score to its loss: sums, negations, functions that only rise, losses with labels of `ones_like` and
`zeros_like`, squares of a score less its label. Silent on: anything else on that way, scales that are not written as a
number, critics that see no samples but generated ones, or give a loss where others give a score.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from gradscope.analysis.calls import Calls, calls
from gradscope.analysis.counted import at_least
from gradscope.analysis.gradients import Fill, Turn, gradients
from gradscope.analysis.memo import once
from gradscope.analysis.ops import (
    BINARY_LOSSES,
    LAYERS,
    LOSS_FUNCTIONS,
    NEGATIONS,
    PASSING,
    POWERS,
    REVERSED_SUBTRACTIONS,
    SIGMOIDS,
    SUBTRACTIONS,
)
from gradscope.analysis.reach import Key
from gradscope.analysis.senses import senses
from gradscope.analysis.text import written_input
from gradscope.analysis.words import code, located
from gradscope.events import Backward, Called, Targets
from gradscope.fixes.calls import renamed
from gradscope.fixes.source import Source
from gradscope.model import Edit, Finding, Op, Site
from gradscope.rules import rule
from gradscope.source import method_name
from gradscope.store import Trace

HALF = 0.5
LABELLED = BINARY_LOSSES | {"mse_loss"}
LABELS = {"ones": -1, "ones_like": -1, "new_ones": -1, "zeros": 1, "zeros_like": 1, "new_zeros": 1}
OTHER_LABEL = {"ones": "zeros", "ones_like": "zeros_like", "new_ones": "new_zeros",
               "zeros": "ones", "zeros_like": "ones_like", "new_zeros": "new_ones"}  # fmt: skip
DEEP = 200  # ops that are followed from a loss to its scores
MANY = 2  # steps of the critic


def bad() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator, critic = nn.Linear(2, 4), nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt_g = torch.optim.RMSprop(generator.parameters(), lr=0.01)
    opt_c = torch.optim.RMSprop(critic.parameters(), lr=0.01)
    for _ in range(4):
        fake = generator(torch.randn(16, 2)).detach()
        scores = critic(torch.randn(16, 4) + 2)
        loss = -torch.mean(scores + torch.mean(critic(fake)))  # cause: GS743
        opt_c.zero_grad()
        loss.backward()  # effect: GS743
        opt_c.step()
        opt_g.zero_grad()
        (-critic(generator(torch.randn(16, 2))).mean()).backward()
        opt_g.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator, critic = nn.Linear(2, 4), nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt_g = torch.optim.RMSprop(generator.parameters(), lr=0.01)
    opt_c = torch.optim.RMSprop(critic.parameters(), lr=0.01)
    for _ in range(4):
        fake = generator(torch.randn(16, 2)).detach()
        loss = -torch.mean(critic(torch.randn(16, 4) + 2)) + torch.mean(critic(fake))
        opt_c.zero_grad()
        loss.backward()
        opt_c.step()
        opt_g.zero_grad()
        (-critic(generator(torch.randn(16, 2))).mean()).backward()
        opt_g.step()


class Score(NamedTuple):
    """What a critic gave, on its way into a loss. `sign`: 1 where the loss rises with it. `makers`: the parameters
    of other networks that its input was computed with. `at`: the call that says which way; `label`: what made the
    label it is compared with."""

    call: Called
    sign: int
    makers: frozenset[int]
    at: Op
    label: Op | None
    event: Backward


@rule("GS743", name="scores-pushed-one-way", severity="warning", over=("GS707",))
def scores_pushed_one_way(trace: Trace) -> Iterator[Finding]:
    known = calls(trace)
    taught: dict[int, list[tuple[Turn, list[Score]]]] = {}  # the critic → each step of its own
    helped: dict[int, list[Score]] = {}  # the critic → scores by which others are trained
    events = [*(call.event for call in known.all), *known.inner]
    outputs = {key: event for event in events if known.parameters(event) for key in known.outputs(event)}
    turns = gradients(trace).turns
    users: dict[Fill, set[int | None]] = {}  # a pass that two steps use has been left behind by one of them
    for turn in turns:
        for fill in turn.fills:
            users.setdefault(fill, set()).add(turn.step.optimizer)
    for turn in turns:
        if any(len(users[fill]) > 1 for fill in turn.fills):
            continue
        for critic, scores, own in _scores(known, outputs, turn):
            if own:
                taught.setdefault(critic, []).append((turn, scores))
            else:
                helped.setdefault(critic, []).extend(scores)
    for critic, own_turns in taught.items():
        if _times(own_turns) < MANY:
            continue
        real = {score.sign for _, scores in own_turns for score in scores if not score.makers}
        made = {score.sign for _, scores in own_turns for score in scores if score.makers}
        if len(real) != 1 or len(made) != 1:
            continue
        if real == made:
            yield _alike(trace, known, own_turns)
        else:
            wrong = [s for s in helped.get(critic, ()) if s.makers]
            if wrong and all({score.sign} == made for score in wrong):
                yield _helping(trace, known, wrong[0], own_turns)


def _scores(known: Calls, outputs: dict[Key, Called], turn: Turn) -> Iterator[tuple[int, list[Score], bool]]:
    """(critic, its scores in the passes that this step used, whether it is the critic that the step changes); only
    where the whole way to each score is known."""
    found: dict[int, list[Score]] = {}
    ids = frozenset(id for own in turn.fills.values() for id in own)
    unknown: list[Key] = []
    for fill in turn.fills:
        event = fill.event
        sense = _sense(known.trace, event) if event.graph >= 0 and event.call == "backward" else 0
        if not sense:
            return
        for score, key in _ways(known, outputs, event, sense):
            if score is not None:
                found.setdefault(known.called(score.call), []).append(score)
            else:
                unknown.append(key)
    open_ways = known.paths.reach(unknown).parameters if found else frozenset()
    for critic, scores in found.items():
        own = {p.id for p in known.parameters(scores[0].call)}
        if not own & open_ways:
            yield critic, scores, bool(own & ids)


def _sense(trace: Trace, event: Backward) -> int:
    """The sign of the gradient that a pass begins with; 0 where it is not known."""
    given = _given(trace, event)
    return event.sense or int(given is not None and not given)


def _given(trace: Trace, event: Backward) -> list[ast.expr] | None:
    """The gradient that `backward` is given: none in `loss.backward()`; None where it is another call."""
    site = event.site.user
    node = trace.source_file(site.path).at(site)
    if method_name(node) != "backward" or not isinstance(node, ast.Call):
        return None
    return [*node.args[:1], *(word.value for word in node.keywords if word.arg == "gradient")]


def _ways(
    known: Calls, outputs: dict[Key, Called], event: Backward, sense: int
) -> Iterator[tuple[Score | None, Key]]:
    """The scores that a pass begins behind, and the values past which it is not known which way they go."""
    paths = known.paths
    todo: list[tuple[Key, int, Op | None, Op | None]] = [
        ((event.graph, root), sense, None, None) for root in event.roots
    ]
    for number, (key, sign, at, label) in enumerate(todo):  # grows while it is walked
        call = outputs.get(key)
        if call is not None and at is not None and paths.all_seen(*_inputs(call)):
            if _decides_within(known, key):
                yield None, key
                continue
            own = {p.id for p in known.parameters(call)}
            before = paths.fed_by(*_inputs(call)) - own
            yield Score(call, sign, frozenset(before), at, label, event), key
            continue
        sources, op = paths.sources(key)
        sources = [source for source in sources if paths.value(source).requires_grad]
        signs = None if op is None or number > DEEP else _signs(known, op, sources)
        if op is None and sources:
            todo += [(source, sign, at, label) for source in sources]
        elif signs is not None and op is not None:
            made = _label(known, op)
            turns = at is not None and (
                at.name in LABELLED | POWERS or (at.name in NEGATIONS and made is None)
            )
            turning = at if turns else op
            todo += [
                (source, sign * own_sign, turning, made or label)
                for source, own_sign in zip(sources, signs, strict=True)
            ]
        else:
            yield None, key


def _decides_within(known: Calls, key: Key) -> bool:
    """Whether what a network gives is no score, but has gone through a loss or been turned round within: which way its
    loss goes with a score is decided there, call by call."""
    for _ in range(DEEP):
        sources, op = known.paths.sources(key)
        sources = [source for source in sources if known.paths.value(source).requires_grad]
        if op is not None and op.name in LOSS_FUNCTIONS:
            return True
        signs = [1] if op is None else senses(known.trace, op, sources)
        if signs is None or len(sources) != 1:
            return False
        if signs[0] < 0:
            return True
        key = sources[0]
    return False


def _inputs(call: Called) -> list[Key]:
    return [(call.graph, i) for i in call.inputs]


def _label(known: Calls, op: Op) -> Op | None:
    """The call that made the label of a loss, where it is the same for all samples."""
    if op.name not in LABELLED or len(op.inputs) < 2:
        return None
    maker = known.paths.maker((op.graph, op.inputs[1]))
    return maker if maker is not None and maker.name in LABELS else None


def _signs(known: Calls, op: Op, sources: list[Key]) -> list[int] | None:
    """As `senses`; a loss falls with a score whose label is one."""
    if op.name in LABELLED:
        label = _label(known, op)
        sign = (
            LABELS[label.name] if label is not None else _measured(known.trace).get((op.site.id, op.name), 0)
        )
        return [sign] if sign and sources == [(op.graph, op.inputs[0])] else None
    if op.name in POWERS and len(op.inputs) == len(sources) == 1:
        sign = _of_square(known, op)
        return [sign] if sign else None
    return senses(known.trace, op, sources)


def _of_square(known: Calls, op: Op) -> int:
    """Which way a square goes with what it is of, where that is a score less its label, between 0 and 1, or a score
    alone, whose label is 0; 0 where it is not known."""
    node = known.trace.source_file(op.site.user.path).at(op.site.user)
    if op.name != "square" and not _is_two(node):
        return 0
    less = known.paths.maker_behind((op.graph, op.inputs[0]), PASSING)
    if less is None or not _is_score(known, less) or less.name not in SUBTRACTIONS:
        return int(less is not None and _is_score(known, less))
    label = None
    if len(less.inputs) == 1:
        label = _number(known.trace.source_file(less.site.user.path).at(less.site.user))
    elif (maker := known.paths.maker((less.graph, less.inputs[1]))) is not None and maker.name in LABELS:
        label = float(LABELS[maker.name] < 0)
    if label is None or not 0 <= label <= 1 or label == HALF:
        return 0
    below = -1 if label > HALF else 1
    return -below if less.name in REVERSED_SUBTRACTIONS else below


def _is_score(known: Calls, op: Op) -> bool:
    """Whether a layer gave it, perhaps less something, or between 0 and 1."""
    own = known.paths.maker_behind((op.graph, op.inputs[0]), PASSING) if op.name in SUBTRACTIONS else op
    return own is not None and own.name in LAYERS | SIGMOIDS


def _is_two(node: ast.AST | None) -> bool:
    """Whether the power is the second: `x ** 2`, `x.pow(2)`, `torch.pow(x, 2)`."""
    power = (
        node.right
        if isinstance(node, ast.BinOp)
        else node.args[-1]
        if isinstance(node, ast.Call) and node.args
        else None
    )
    return isinstance(power, ast.Constant) and power.value == 2


def _number(node: ast.AST | None) -> float | None:
    """The number that is written in a difference: `x - 1`, `1 - x`, `x.sub(1)`."""
    sides = (
        [node.left, node.right]
        if isinstance(node, ast.BinOp)
        else node.args
        if isinstance(node, ast.Call)
        else []
    )
    numbers = [side.value for side in sides if isinstance(side, ast.Constant)]
    return float(numbers[0]) if len(numbers) == 1 and isinstance(numbers[0], int | float) else None


@once
def _measured(trace: Trace) -> dict[tuple[int, str], int]:
    """The same of labels that were found alike for all samples: by call and name of the loss."""
    return {
        (event.site.id, event.name): -1 if event.high > HALF else 1
        for event in trace.of(Targets)
        if event.low == event.high and 0 <= event.high <= 1 and event.high != HALF
    }


def _alike(trace: Trace, known: Calls, turns: list[tuple[Turn, list[Score]]]) -> Finding:
    real, made = next(
        (real, made)
        for _, scores in turns
        for real, made in product(scores, scores)
        if made.makers and not real.makers
    )
    name = known.name(made.call)
    way = "falls" if made.sign < 0 else "rises"
    fix, edits = _other(trace, made)
    return Finding(
        message=f"{name} is trained to give real and generated samples the same score: its loss {way} with both",
        cause=made.at.site.user,
        cause_label=f"{way} with the score of the generated samples, as with that of the real ones",
        effect=made.event.site.user,
        effect_label="pushes both scores the same way",
        related=((real.at.site.user, f"{way} with the score of the real samples"),)
        if real.at.site.user.location() not in (made.at.site.user.location(), made.event.site.user.location())
        else (),
        seen=(
            f"in {at_least(trace, _times(turns), 'step')} of {name} the loss {way} with the scores of both calls",
        ),
        why=f"a critic that raises or lowers every score alike tells nothing apart: {name} learns a constant, and what "
        "the generator gets from it leads nowhere",
        fix=fix,
        edits=edits,
        count=_times(turns),
        subjects=frozenset({("module", known.called(made.call))}),
    )


def _times(turns: list[tuple[Turn, list[Score]]]) -> int:
    return sum(turn.times for turn, _ in turns)


def _other(trace: Trace, score: Score) -> tuple[str, tuple[Edit, ...]]:
    """How a score comes to be pushed the other way, and the edit."""
    place = located(trace, score.at.site.user)
    if score.label is None and score.at.name in LABELLED:
        given = written_input(trace, score.at, 1)
        here = Source(trace, score.at.site.user.path)
        other = "zeros_like" if score.sign < 0 else "ones_like"
        text = f"torch.{other}({here.file.text(given)})" if given is not None else f"torch.{other}(labels)"
        edits = here.replace(given, text) if given is not None and "torch" in here.file.imported else ()
        return f"give it the other label: `{text}` in {place}", edits
    if score.label is None and score.at.name in POWERS:
        other = "(score - 1) ** 2" if score.sign > 0 else "score ** 2"
        return f"give it the other label: `{other}` in {place}", ()
    if score.label is None:
        one = "-score(real).mean() + score(generated).mean()"
        return f"give one of the two the other sign in {place}: `{one}`", ()
    site, name = score.label.site.user, score.label.name
    text = code(trace, site, f"`{name}`").strip("`").replace(name, OTHER_LABEL[name], 1)
    return f"take `{text}` for the label in {place}", renamed(trace, site, name, OTHER_LABEL[name])


def _turned(trace: Trace, wrong: Score) -> tuple[str, tuple[Edit, ...]]:
    """How the generator's loss comes to push the score the other way, and the edit."""
    site = wrong.event.site.user
    given = _given(trace, wrong.event)
    if wrong.label is not None or wrong.at.name in LABELLED | POWERS:
        return _other(trace, wrong)
    if not given:
        return f"give the score the other sign in {located(trace, wrong.at.site.user)}", ()
    here = Source(trace, site.path)
    sign = (
        given[0].operand if isinstance(given[0], ast.UnaryOp) and isinstance(given[0].op, ast.USub) else None
    )
    text = ast.unparse(sign) if sign is not None else f"-{here.file.operand(given[0])}"
    return (
        f"begin with a gradient of the other sign, as for the real samples: `{text}` in {located(trace, site)}",
        here.replace(given[0], text),
    )


def _callers(wrong: Score, others: list[Score]) -> tuple[Site, Site] | None:
    """Where a function was called that gives this score and the critic's own its label alike, each."""
    for other in others:
        if other.at.site.user.location() == wrong.at.site.user.location():
            pairs = zip(wrong.at.site.stack, other.at.site.stack, strict=False)
            return next(((a, b) for a, b in pairs if a.location() != b.location()), None)
    return None


def _told_apart(trace: Trace, one: Site, other: Site) -> tuple[str, tuple[Edit, ...]]:
    """The other label for one of two calls of a function; the edit where a single True or False asks for it."""
    here = Source(trace, one.path)
    call = here.file.at(one)
    given = [*call.args, *(word.value for word in call.keywords)] if isinstance(call, ast.Call) else []
    flags = [node for node in given if isinstance(node, ast.Constant) and isinstance(node.value, bool)]
    text = (
        f"ask for the other label in {located(trace, one)}, or in {located(trace, other)}: they get the same"
    )
    if len(flags) != 1:
        return text, ()
    return f"{text} (`{not flags[0].value}` in the first)", here.replace(flags[0], str(not flags[0].value))


def _helping(trace: Trace, known: Calls, wrong: Score, turns: list[tuple[Turn, list[Score]]]) -> Finding:
    name = known.name(wrong.call)
    way = "falls" if wrong.sign < 0 else "rises"
    both = _callers(wrong, [score for _, scores in turns for score in scores if score.makers])
    fix, edits = _told_apart(trace, *both) if both is not None else _turned(trace, wrong)
    return Finding(
        message=f"the generator pushes the score of its samples as {name} does: both"
        f" {'lower' if wrong.sign > 0 else 'raise'} it",
        cause=both[0] if both is not None else wrong.at.site.user,
        cause_label=f"the generator's loss {way} with the score of its samples",
        related=((both[1], f"the loss of {name} too, with the same function"),) if both is not None else (),
        effect=wrong.event.site.user,
        effect_label="trains what made the samples, and not what scores them",
        seen=(
            f"in {at_least(trace, _times(turns), 'step')} the loss of {name} {way} with the score of generated samples"
            " too",
        ),
        why=f"{name} learns to know generated samples by that score; a generator that pushes it the same way makes "
        "them ever easier to know",
        fix=fix,
        edits=edits,
        count=wrong.event.count,
        subjects=frozenset({("module", known.called(wrong.call))}),
    )
