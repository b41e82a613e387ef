"""An expectation over probabilities is averaged where it is to be summed: it is divided by the number of choices.

Why: what a softmax gives sums to 1, so that the sum of probability times value is the expected value already. A mean
over that axis divides it by the number of choices once more. Beside a term that is not divided, such as a reward, the
expected value counts for a fraction of what it should.

Fix: sum over the axis of the softmax: `(probabilities * values).sum(dim=1)`.

Measured: the axes, in the graph of the run; `exp` of a `log_softmax`, and exponentials divided by their own sum, are a
softmax too.

Silent on: means over other axes, products that go into a loss by themselves (a factor of its rate only), entropies.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.ops import CASTS, MULTIPLICATIONS, SCALES, SOFTMAXES, SUMS
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, listed, located
from gradscope.fixes.calls import renamed
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.rules.numbers._chances import chances
from gradscope.rules.numbers._losses import shape_of
from gradscope.store import Trace

SAME = CASTS | SCALES | {"neg", "squeeze", "unsqueeze", "view", "reshape", "__getitem__", "detach"}
OF_CHANCES = {"log", "log_softmax", "softmax", "add", "clamp", "exp"}


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy, critic = nn.Linear(4, 5), nn.Linear(4, 5)
    opt = torch.optim.SGD(critic.parameters(), lr=0.1)
    for _ in range(4):
        x, after, reward = torch.randn(16, 4), torch.randn(16, 4), torch.rand(16)
        with torch.no_grad():
            chance = torch.softmax(policy(after), dim=1)
            value = (chance * critic(after)).mean(dim=1)  # cause: GS754
            target = reward + 0.9 * value  # effect: GS754
        loss = (critic(x)[:, 0] - target).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy, critic = nn.Linear(4, 5), nn.Linear(4, 5)
    opt = torch.optim.SGD(critic.parameters(), lr=0.1)
    for _ in range(4):
        x, after, reward = torch.randn(16, 4), torch.randn(16, 4), torch.rand(16)
        with torch.no_grad():
            chance = torch.softmax(policy(after), dim=1)
            value = (chance * critic(after)).sum(dim=1)
            target = reward + 0.9 * value
        loss = (critic(x)[:, 0] - target).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS754", name="expectation-divided-again", severity="warning")
def expectation_divided_again(trace: Trace) -> Iterator[Finding]:
    if trace.op_names.isdisjoint(SOFTMAXES | {"exp"}) or "mean" not in trace.op_names:
        return
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for key, mean in known.used_calls({"mean"}):
        place = mean.site.user.location()
        given = (mean.graph, mean.inputs[0]) if mean.inputs else key
        dims, form = mean.extra.get("dims"), shape_of(known, given)
        if place in told or not isinstance(dims, list) or len(dims) != 1 or len(form) < 2 or not form[0] > 1:
            continue
        axis = dims[0] % len(form)
        weighted = _weighted(known, given, axis) if axis else None
        if weighted is None or form[axis] < 2:
            continue
        added = _added(known, key)
        if added is not None:
            told.add(place)
            yield _finding(trace, mean, *weighted, added, form[axis], axis, _whole_means(known))


def _whole_means(known: Paths) -> list[tuple[Op, int]]:
    """The means over all axes of such products, with the axis of their softmax: there it changes a factor only."""
    found: dict[tuple[str, int], tuple[Op, int]] = {}
    for key, mean in known.used_calls({"mean"}):
        given = (mean.graph, mean.inputs[0]) if mean.inputs else key
        form = shape_of(known, given)
        if shape_of(known, key) or len(form) < 2 or mean.site.user.location() in found:
            continue
        axis = next((a for a in range(1, len(form)) if form[a] > 1 and _weighted(known, given, a)), None)
        if axis is not None:
            found[mean.site.user.location()] = (mean, axis)
    return list(found.values())


def _weighted(known: Paths, key: Key, axis: int) -> tuple[Op, Op] | None:
    """The product that a value is, and the softmax along this axis whose result is one of its factors, where the other
    factor is more than a logarithm of the same."""
    product = known.maker(key)
    if product is None or product.name not in MULTIPLICATIONS or len(product.inputs) != 2:
        return None
    keys = [(product.graph, index) for index in product.inputs]
    if shape_of(known, keys[0]) != shape_of(known, keys[1]):
        return None
    for one, other in (keys, keys[::-1]):
        made = chances(known, one)
        if made is not None and made.axis == axis:
            if not _of_the_chances(known, other, known.made(made.scores)):
                return product, made.op
    return None


def _of_the_chances(known: Paths, key: Key, scores: Key) -> bool:
    """Whether a factor is a function of the probabilities alone, as the logarithm in an entropy."""
    for _ in range(6):
        op = known.maker(key)
        if op is None or op.name not in OF_CHANCES or not op.inputs:
            return False
        key = (op.graph, op.inputs[0])
        if known.made(key) == scores:
            return True
    return False


def _added(known: Paths, key: Key) -> Op | None:
    """The sum with another tensor, not made by a mean, which the result goes into, scaled or reshaped at most."""
    todo = [key]
    for one in todo:  # grows while it is walked
        for given, op in known.used.feeds.get(one, ()):
            if op is None or len(todo) > 30:
                continue
            if op.name in SUMS and len(op.inputs) == 2:
                others = [(op.graph, i) for i in op.inputs if (op.graph, i) != one]
                maker = known.maker(others[0]) if others else None
                if (
                    others
                    and shape_of(known, others[0])
                    and (maker is None or maker.name not in ("mean", "sum"))
                ):
                    return op
            elif op.name in SAME and shape_of(known, given)[:1] == shape_of(known, key)[:1]:
                todo += [given] if given not in todo else []
    return None


def _finding(
    trace: Trace,
    mean: Op,
    product: Op,
    softmax: Op,
    added: Op,
    choices: int,
    axis: int,
    wholes: list[tuple[Op, int]],
) -> Finding:
    sites = [op.site.user for op, _ in wholes]
    too = listed([located(trace, site) for site in sites], 3)
    whole = code(trace, mean.site.user, "`mean`")
    return Finding(
        message=f"{whole} averages an expected value over the {choices} choices of its softmax: it is divided by"
        f" {choices} once more",
        cause=mean.site.user,
        cause_label="probabilities sum to 1: their products are to be summed",
        effect=added.site.user,
        effect_label="adds it to what is not divided",
        related=(
            (softmax.site.user, f"makes the probabilities, along axis {axis}"),
            *((site, "divides by the choices, too") for site in sites),
        ),
        seen=(
            f"{code(trace, product.site.user, 'the product')} of a softmax along axis {axis} was averaged over it,"
            f" of {choices} choices",
        ),
        fix=f"sum over that axis: `sum` in place of `mean` in {located(trace, mean.site.user)}"
        + (f"; before the mean of all in {too}: `.sum(dim={wholes[0][1]}).mean()`" if wholes else ""),
        edits=(
            *renamed(trace, mean.site.user, "mean", "sum"),
            *(edit for op, its in wholes for edit in _summed_first(trace, op, its)),
        ),
    )


def _summed_first(trace: Trace, mean: Op, axis: int) -> Edits:
    """`x.sum(dim=1).mean()` for `x.mean()`."""
    here = Source(trace, mean.site.user.path)
    call = here.file.at(mean.site.user)
    if (
        not isinstance(call, ast.Call)
        or call.args
        or call.keywords
        or not isinstance(call.func, ast.Attribute)
    ):
        return ()
    text = here.file.text(call)
    if not text.endswith(".mean()"):
        return ()
    return here.replace(call, f"{text.removesuffix('mean()')}sum(dim={axis}).mean()")
