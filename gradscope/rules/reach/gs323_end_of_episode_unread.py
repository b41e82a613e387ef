"""A target that a network makes of its own estimate for the next state has it after the end of an episode, too.

Why: where an episode has ended nothing follows, and the return from there is 0. A target that adds the discounted
estimate to every reward carries values on past the end, where no reward ever corrects them: they grow, or settle at a
level that the rewards do not have.

Fix: multiply the estimate by 0 where the episode has ended.

Measured: the function that makes the target also makes a tensor of zeros and ones, one for each transition, in every
step, and nothing reads it: no operation, and no line after it.
A note where another function makes them and the one that makes the target has one argument that no line of it reads:
that may be what says that an episode was cut off, which is no end.
Silent on: flags that are used anywhere, also as an index; batches without flags; flags that come from elsewhere.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.bootstraps import sums
from gradscope.analysis.intent import says_unused
from gradscope.analysis.loop import settled
from gradscope.analysis.never_read import Unread, read_again, unread_at, unread_value
from gradscope.analysis.ops import ALIASES, PASSING, SCALES
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.text import site_of
from gradscope.analysis.words import code, located, percent
from gradscope.events import Flags
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.source import FUNCTIONS, SourceFile, names_in
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, frozen = nn.Linear(4, 2), nn.Linear(4, 2)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)

    def learn(rows: list[tuple[list[float], float, list[float], bool]]) -> None:
        states, rewards, after, ended = zip(*rows, strict=True)
        x, y = torch.tensor(states), torch.tensor(after)
        reward, over = torch.tensor(rewards), torch.tensor(ended, dtype=torch.float32)  # effect: GS323
        with torch.no_grad():
            best = frozen(y).max(1).values
        target = reward + 0.9 * best  # cause: GS323
        loss = nn.functional.mse_loss(model(x)[:, 0], target)
        opt.zero_grad()
        loss.backward()
        opt.step()

    for step in range(6):
        learn([([0.1, 0.2, 0.3, float(i)], 1.0, [0.1, 0.2, 0.3, i + 1.0], i % 5 == step) for i in range(16)])


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, frozen = nn.Linear(4, 2), nn.Linear(4, 2)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)

    def learn(rows: list[tuple[list[float], float, list[float], bool]]) -> None:
        states, rewards, after, ended = zip(*rows, strict=True)
        x, y = torch.tensor(states), torch.tensor(after)
        reward, over = torch.tensor(rewards), torch.tensor(ended, dtype=torch.float32)
        with torch.no_grad():
            best = frozen(y).max(1).values
        target = reward + 0.9 * best * (1 - over)
        loss = nn.functional.mse_loss(model(x)[:, 0], target)
        opt.zero_grad()
        loss.backward()
        opt.step()

    for step in range(6):
        learn([([0.1, 0.2, 0.3, float(i)], 1.0, [0.1, 0.2, 0.3, i + 1.0], i % 5 == step) for i in range(16)])


class _Target(NamedTuple):
    """The sum of data and of a network's discounted estimate, which a loss compares with a prediction."""

    made: Op
    scaled: Op  # the discount
    shape: tuple[int, ...]  # of the estimate


@rule("GS323", name="end-of-episode-unread", severity="warning", needs=Flags)
def end_of_episode_unread(trace: Trace) -> Iterator[Finding]:
    flags = [event for event in trace.of(Flags) if event.site.kind == "user"]
    if not flags or not settled(trace):
        return
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for target in _targets(known):
        place = target.made.site.user
        for event in flags if place.location() not in told else ():
            here = event.site.user
            if (here.path, here.function) != (place.path, place.function):
                continue
            unread = unread_at(trace, event.site)
            if unread is not None and _size(unread.shape) == _size(target.shape):
                told.add(place.location())
                yield _finding(trace, target, event, unread)
                break
        returned = _returned(trace, target, flags) if place.location() not in told else None
        if returned is not None:
            told.add(place.location())
            yield _finding(trace, target, *returned)
        handed = _handed(trace, target, flags) if place.location() not in told else None
        if handed is not None:
            told.add(place.location())
            yield _finding(trace, target, *handed, argument=True)


def _returned(trace: Trace, target: _Target, flags: list[Flags]) -> tuple[Flags, Unread] | None:
    """Flags that a function makes and gives back, among others, to the one that makes the target, which does not read
    the name that it gives them."""
    place = target.made.site.user
    file = trace.source_file(place.path)
    for event in flags:
        here = event.site.user
        callers = here.frames_in(place)
        call = next(callers, None)
        if call is None or here.path != place.path or call == here:
            continue
        within = here.stack[here.stack.index(call) + 1 :]  # a helper of the function's own may make it
        inner = next((f for f in within if f.kind == "user"), here)
        name, statement = _unpacked(file, call, inner)
        if statement is None or statement.lineno > place.line or read_again(file, statement, name):
            continue
        made = unread_value(trace, event.site)
        if made is not None and _size(made[0]) == _size(target.shape):
            return event, Unread(site_of(place.path, place.function, statement), name, statement, *made)
    return None


def _unpacked(file: SourceFile, call: Site, made: Site) -> tuple[str, ast.Assign | None]:
    """The name that what is made in a function's `return a, b` gets in the caller's `x, y = f()`."""
    statement, given = file.statement(call), file.statement(made)
    if (
        not isinstance(statement, ast.Assign)
        or len(statement.targets) != 1
        or not isinstance(given, ast.Return)
    ):
        return "", None
    names, values = statement.targets[0], given.value
    if (
        not isinstance(names, ast.Tuple)
        or not isinstance(values, ast.Tuple)
        or len(names.elts) != len(values.elts)
    ):
        return "", None
    node = file.at(made)
    for name, value in zip(names.elts, values.elts, strict=True):
        if isinstance(name, ast.Name) and any(part is node for part in ast.walk(value)):
            return ("", None) if says_unused(name.id) else (name.id, statement)
    return "", None


def _handed(trace: Trace, target: _Target, flags: list[Flags]) -> tuple[Flags, Unread] | None:
    """Flags that another function makes and nothing reads, and the one argument of the function that makes the target
    which no line of it reads."""
    place = target.made.site.user
    file = trace.source_file(place.path)
    function = next((node for node in file.around(place) if isinstance(node, FUNCTIONS)), None)
    if function is None or function.decorator_list or {"locals", "vars"} & names_in(function):
        return None
    given = [a for a in (*function.args.posonlyargs, *function.args.args) if a.arg not in ("self", "cls")]
    unread = [a for a in given if a.arg not in names_in(function)]
    if len(unread) != 1 or says_unused(unread[0].arg):
        return None
    found = []
    for event in flags:
        here = event.site.user
        made = (
            unread_value(trace, event.site)
            if (here.path, here.function) != (place.path, place.function)
            else None
        )
        if made is not None and _size(made[0]) == _size(target.shape):
            found.append((event, made))
    lines = {event.site.user.location() for event, _ in found}
    if len(lines) != 1:
        return None
    event, made = max(found, key=lambda pair: pair[0].site.user.span())  # in its last form
    site = site_of(place.path, place.function, unread[0])
    return event, Unread(site, unread[0].arg, function, *made)


def _size(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n for n in shape if n != 1)


def _targets(known: Paths) -> Iterator[_Target]:
    for target in sums(known, with_graph=True):
        scaled = _scaled(known, target.estimate)
        if _weighed_in_the_sum(known.trace, target.made) is not None:
            yield _Target(target.made, target.made, known.value(target.estimate).shape)
        elif (
            scaled is not None and scaled.module is None and scaled.name in SCALES and len(scaled.inputs) == 1
        ):
            yield _Target(target.made, scaled, known.value(target.estimate).shape)


def _weighed_in_the_sum(trace: Trace, made: Op) -> ast.expr | None:
    """The estimate of `torch.add(reward, estimate, alpha=discount)` or `reward.add(estimate, alpha=discount)`."""
    call = trace.source_file(made.site.user.path).at(made.site.user)
    if isinstance(call, ast.Call) and any(word.arg == "alpha" for word in call.keywords):
        return call.args[-1] if call.args else None
    return None


def _scaled(known: Paths, estimate: Key) -> Op | None:
    """What made the estimate, before it was detached or took another form."""
    while True:
        sources, op = known.sources(estimate)
        if not sources or not (op is None or op.name in PASSING | ALIASES):
            return op
        estimate = sources[0]


def _finding(
    trace: Trace, target: _Target, event: Flags, unread: Unread, *, argument: bool = False
) -> Finding:
    place, name = target.made.site.user, unread.name
    estimate, edits = _masked(trace, target, event, unread)
    rare = "1" if event.share < 0.5 else "0"
    factor = _factor(event, unread)
    flags = code(trace, event.site.user, "the flags") if argument else f"`{name}`"
    flags += " gave" if argument else " holds"
    return Finding(
        message=f"{code(trace, place, 'the target')} adds the next value after the end of an episode, too:"
        f" nothing reads `{name}`",
        cause=place,
        cause_label="the estimate is added for every transition alike",
        effect=unread.site,
        effect_label="handed over, and read by nothing"
        if argument
        else "made in each step, and read by nothing",
        related=((event.site.user, "the flags that nothing reads"),) if argument else (),
        seen=(
            f"{flags} 0 and 1 only, {percent(event.share, 1)} of them 1, one for each of the"
            f" {max(_size(target.shape), default=1)} transitions, and no operation of the run takes them",
            *(
                (f"no line of `{place.function.rpartition('.')[2]}()` reads its argument `{name}`",)
                if argument
                else ()
            ),
        ),
        why=f"if it is {rare} where the episode has ended, nothing follows there: the return is the reward alone. With"
        " the estimate added values grow past what the rewards allow",
        fix=f"multiply {estimate} by `{factor}` in {located(trace, place)}, so that it is 0 where `{name}` is {rare}",
        edits=edits,
        severity="note" if argument else "",
        count=max(event.count, event.calls),
        subjects=frozenset({("target", *place.location())}),
    )


def _factor(event: Flags, unread: Unread) -> str:
    """What is 0 for the rare ones: those at which an episode has ended."""
    if event.share >= 0.5:
        return unread.name
    return f"~{unread.name}" if unread.dtype == "bool" else f"(1 - {unread.name})"


def _masked(trace: Trace, target: _Target, event: Flags, unread: Unread) -> tuple[str, Edits]:
    """The estimate as it is written, and the edit that multiplies it."""
    site = target.scaled.site.user
    here = Source(trace, site.path)
    node = here.file.at(site)
    weighed = _weighed_in_the_sum(trace, target.scaled)
    if weighed is not None:
        text, factor = f"`{ast.unparse(weighed)}`", _factor(event, unread)
        fits = unread.shape == target.shape and unread.site.function == site.function
        return text, here.replace(weighed, f"{here.file.operand(weighed)} * {factor}") if fits else ()
    text = code(trace, site, "the estimate")
    same = unread.shape == target.shape and (site.path, site.function) == (
        unread.site.path,
        unread.site.function,
    )
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult) or not same:
        return text, ()
    return text, here.append(node, f" * {_factor(event, unread)}")
