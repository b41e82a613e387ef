"""A network that is to find the noise in its input is compared with other noise, drawn anew.

Why: what was drawn for the target has nothing to do with what the network was given. The best that it can answer is
the mean of such noise, 0: the loss stays at its variance, and what is learned takes no noise out.

Fix: draw the noise once, give it a name, mix it in and compare with it.

Measured: the prediction was computed from data that noise was added to, by a share that was looked up in a schedule or
that the network is told, and the target is another draw of the same shape, which nothing else reads.
Silent on: targets that are made of data, and of the noise that was mixed in.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located, variable
from gradscope.fixes.calls import with_argument
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.rules.numbers._losses import loss_event
from gradscope.rules.numbers._noising import DRAWS, MIXING, compared, mixed, name_of, readers
from gradscope.source import FUNCTIONS, arguments
from gradscope.store import Trace

MOST = 500  # values behind a prediction that are looked at


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
        noised = share.sqrt() * clean + (1 - share).sqrt() * noise  # effect: GS436
        loss = nn.functional.mse_loss(model(noised), torch.randn_like(noise))  # cause: GS436
        opt.zero_grad()
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
        loss = nn.functional.mse_loss(model(noised), noise)
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS436", name="compared-with-other-noise", severity="warning")
def compared_with_other_noise(trace: Trace) -> Iterator[Finding]:
    if trace.op_names.isdisjoint(DRAWS):
        return
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for prediction, given, op in compared(known):
        target = known.made(given)
        drawn = known.maker(target)
        if drawn is None or drawn.name not in DRAWS or readers(known, target) != 1:
            continue
        found = _mixed_in(known, prediction, known.value(target).shape)
        if found is not None and op.site.user.location() not in told:
            told.add(op.site.user.location())
            yield _finding(trace, known, op, drawn, *found)


def _mixed_in(known: Paths, prediction: Key, shape: tuple[int, ...]) -> tuple[Op, Key] | None:
    """The call that added noise of that shape to what the prediction was computed from, and the noise."""
    for key in list(known.flow([prediction]).order)[:MOST]:
        op = known.maker(key)
        found = mixed(known, op) if op is not None and op.name in MIXING else None
        if op is not None and found is not None and known.value(found[1]).shape == shape:
            return op, found[1]
    return None


def _finding(trace: Trace, known: Paths, op: Op, drawn: Op, mixing: Op, noise: Key) -> Finding:
    event, name = loss_event(known, op), name_of(trace, *noise)
    place = drawn.site.user
    fix = f"compare with {name or 'the noise that was mixed in'} in place of {located(trace, place)}"
    edits = _named(trace, drawn, name.strip("`"))
    call = _call_between(place, mixing.site)
    if call is not None:
        fix, edits = _handed_over(trace, known.maker(noise), call, place, mixing)
    return Finding(
        message=f"{code(trace, op.site.user, 'the loss')} compares with noise that was drawn anew, not with"
        f" {name or 'the noise'} that was mixed in",
        cause=place,
        cause_label="other noise, which the network was never given",
        effect=mixing.site.user,
        effect_label="mixes the noise in that is to be found",
        related=((event.site.user, "learns from it"),) if event is not None else (),
        seen=(
            f"nothing but the loss reads what {code(trace, place, 'the draw')} gave, and what was mixed into the"
            " network's input came from another draw of the same shape",
        ),
        fix=fix,
        edits=edits,
        subjects=frozenset({("loss", op.site.user.location())}),
    )


def _call_between(place: Site, mixing: Site) -> Site | None:
    """The call in the function of `place` that leads to the mixing, where that is another function's: its names mean
    nothing at `place`."""
    if (mixing.user.path, mixing.user.function) == (place.path, place.function):
        return None
    frames = mixing.frames_in(place)
    return next(frames, None)


def _handed_over(trace: Trace, noise: Op | None, call: Site, place: Site, mixing: Op) -> tuple[str, Edits]:
    """The function that mixes takes noise, if it is given some: the draw that the loss compares with, which is made
    before it is called. Else it is to give the noise back as well."""
    own = variable(trace, place)
    there = trace.source_file(mixing.site.user.path)
    scope = there.scope(mixing.site.user)
    taken = [a.arg for a in arguments(scope)] if isinstance(scope, FUNCTIONS) else []
    name = variable(trace, noise.site.user) if noise is not None else ""
    if own and name in taken and place.line < call.line:
        edits = with_argument(trace, call, name, own)
        return f"mix that noise in: give `{name}={own}` to {located(trace, call)}", edits
    back = f"let {located(trace, call)} give back the noise that it mixes in as well, and compare with that"
    return f"{back} in place of {located(trace, place)}", ()


def _named(trace: Trace, drawn: Op, name: str) -> Edits:
    here = Source(trace, drawn.site.user.path)
    node = here.file.at(drawn.site.user)
    return here.replace(node, name) if name.isidentifier() and isinstance(node, ast.expr) else ()
