"""The sum over a whole batch is taken for the number of each sample.

Why: `torch.sum` without `dim` adds up all samples. Broadcast over a mask, over weights or over the other numbers of the
samples, that one number stands in each sample's place: a mask no longer says whose term counts, and the term weighs
as many times too much as there are samples.

Fix: sum over the axes of one sample only, `dim=-1`, so that each sample keeps its own number; where there is one for
each sample already, leave the sum out.

Measured: the result of a sum to a single number meets a tensor that has the same size along the first axis as what
was summed, and both are reduced together; or a mean over dimension 0 is taken of that single number, which has none:
the mean does nothing, and the term grows with the batch.
Silent on: sums over parameters, as in a weight decay; means of a single number that name no dimension; totals that are
divided by; what is left of a total without the sample itself; sums that meet other single numbers.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from gradscope.analysis.axes import axes
from gradscope.analysis.names import names_of
from gradscope.analysis.ops import ADDITIONS, MEANS, MULTIPLICATIONS, NEGATIONS, SCALES, SUMS
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located, plural
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace

_ALONG = SUMS | SCALES | {"neg", "sum", "mean"}  # from the product to the loss
_FAR = 8
_MANY = 4096  # samples that are added one by one


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Linear(4, 3)
    opt = torch.optim.SGD(encoder.parameters(), lr=0.001)
    for _ in range(3):
        counts = (torch.rand(8, 3) > 0.5).float()
        latent = encoder(torch.randn(8, 4))
        opt.zero_grad()
        prior = latent.pow(2).sum() * counts  # cause: GS735
        prior.mean().backward()  # effect: GS735
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Linear(4, 3)
    opt = torch.optim.SGD(encoder.parameters(), lr=0.001)
    for _ in range(3):
        counts = (torch.rand(8, 3) > 0.5).float()
        latent = encoder(torch.randn(8, 4))
        opt.zero_grad()
        prior = latent.pow(2).sum(dim=-1, keepdim=True) * counts
        prior.mean().backward()
        opt.step()


@dataclass
class _Total:
    """A single number that adds up a batch, where it meets the numbers of each sample."""

    meets: Op
    sum: Op
    summed: Key
    beside: Key


@rule("GS735", name="whole-batch-for-each-sample", severity="warning")
def whole_batch_for_each_sample(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: dict[tuple[str, int], list[_Total]] = {}
    for _, op in known.used_calls(MULTIPLICATIONS | SUMS):
        found = _total(known, op)
        if found is not None:
            told.setdefault(found.sum.site.user.location(), []).append(found)
    for totals in told.values():
        yield _finding(trace, known, totals[0])
    means: dict[tuple[str, int], tuple[Op, Op, Key]] = {}
    for _, op in known.used_calls(MEANS):
        mean = _mean_of_one(known, op)
        if mean is not None:
            means.setdefault(mean[0].site.user.location(), (op, *mean))
    for place, (op, made, summed) in means.items():
        if place not in told:
            yield _of_one_number(trace, known, op, made, summed)


def _mean_of_one(known: Paths, op: Op) -> tuple[Op, Key] | None:
    """Of a mean over a named dimension of a single number: the sum of a batch that this number is, and what it adds."""
    graph = known.graph(op.graph)
    if op.extra.get("dims") not in ([0], [-1]) or graph.values[op.inputs[0]].shape:
        return None
    found = _sum(known, (graph.id, op.inputs[0]))
    if found is None:
        return None
    before = known.value(found[1])
    weights = before.kind == "parameter" or axes(known.trace).given(axes(known.trace).of(found[1])[0])
    return found if before.shape[0] > 1 and before.requires_grad and not weights else None


def _total(known: Paths, op: Op) -> _Total | None:
    graph = known.graph(op.graph)
    if len(op.inputs) != 2 or op.writes:
        return None
    for single, beside in (op.inputs, op.inputs[::-1]):
        one, many = graph.values[single], graph.values[beside]
        if one.shape or not many.shape or not one.requires_grad or many.kind in ("parameter", "buffer"):
            continue
        found = _sum(known, (graph.id, single))
        if found is None:
            return None
        made, summed = found
        before = known.value(summed)
        if many.shape[0] != before.shape[0] or many.shape[0] < 2 or before.kind == "parameter":
            return None
        if axes(known.trace).given(axes(known.trace).of(summed)[0]):
            return None  # a penalty on weights
        if op.name in MULTIPLICATIONS:
            fits = not many.requires_grad
        else:  # one number for each sample on both sides, and not the total without this one
            fits = many.requires_grad and many.shape == before.shape and len(many.shape) == 1
            fits = fits and summed not in known.flow([(graph.id, beside)]).order
        if fits and known.becomes_number((graph.id, op.outputs[0]), _ALONG, _ALONG, _FAR):
            return _Total(op, made, summed, (graph.id, beside))
    return None


def _sum(known: Paths, key: Key) -> tuple[Op, Key] | None:
    """The sum of a whole tensor that a single number is, times a factor; its op, and what it adds up."""
    for _ in range(_FAR):
        sources, op = known.sources(key)
        if op is None or op.site.kind != "user":
            return None
        if op.name == "sum" and len(sources) == 1:
            shape = known.graph(sources[0][0]).values[sources[0][1]].shape
            return (op, sources[0]) if shape else None
        if op.name in ADDITIONS:
            return _one_by_one(known, key, op)
        if op.name not in SCALES | NEGATIONS or len(sources) != 1:
            return None
        key = sources[0]
    return None


def _one_by_one(known: Paths, key: Key, last: Op) -> tuple[Op, Key] | None:
    """The same of Python's `sum(x)`, which adds up the elements of a tensor."""
    found: set[Key] = set()
    unbound: Op | None = None
    for _ in range(_MANY):
        sources, op = known.sources(key)
        if op is None or op.name not in ADDITIONS or op.site.id != last.site.id:
            return None
        ends = [source for source in sources if _unbinds(known, source) is not None]
        rest = [source for source in sources if source not in ends]
        if not ends or len(rest) > 1:
            return None
        unbound = _unbinds(known, ends[0])
        found.update(ends)
        if not rest:
            break
        key = rest[0]
    if unbound is None or {(unbound.graph, i) for i in unbound.outputs} != found:
        return None
    return last, (unbound.graph, unbound.inputs[0])


def _unbinds(known: Paths, key: Key) -> Op | None:
    _, op = known.sources(key)
    return op if op is not None and op.name in ("unbind", "__iter__") else None


def _finding(trace: Trace, known: Paths, found: _Total) -> Finding:
    made, meets = found.sum.site.user, found.meets.site.user
    event = known.loss_of((found.meets.graph, found.meets.outputs[0]))
    before = known.graph(found.summed[0]).values[found.summed[1]].shape
    beside = known.graph(found.beside[0]).values[found.beside[1]].shape
    name = names_of(trace).name(known.graph(found.beside[0]), found.beside[1])
    other = f"`{name}`" if name else "the other side"
    times = found.meets.name in MULTIPLICATIONS
    what = code(trace, made, "a sum")
    fix, edits = _fix(trace, made, before, beside)
    places = prod(beside)
    several = places > before[0]  # numbers for each sample
    all_of, each = (
        ("the whole batch", f"each of the {places} numbers of {other}")
        if several
        else (f"all {before[0]} samples", "each sample's number")
    )
    return Finding(
        message=f"{what} adds up {all_of}, and {each} is {'multiplied by' if times else 'put together with'} that"
        " total",
        cause=made,
        cause_label=f"one number of {before}",
        effect=event.site.user if event is not None else None,
        effect_label=f"learns from the total in each {'number' if several else 'sample'}'s place",
        related=((meets, f"meets {other} {beside}"),) if meets.line != made.line else (),
        seen=(
            f"{before} is summed to a single number, which then meets {other} {beside} and stands in"
            f" {plural(places, 'place')}",
        ),
        fix=fix,
        edits=edits,
        count=known.alike(event) if event is not None else 1,
    )


def _of_one_number(trace: Trace, known: Paths, mean: Op, made: Op, summed: Key) -> Finding:
    site, before = made.site.user, known.value(summed).shape
    event = known.loss_of((mean.graph, mean.outputs[0]))
    fix, edits = _fix(trace, site, before, before[:1])
    result, of = code(trace, mean.site.user, "a mean"), code(trace, site, "a sum")
    return Finding(
        message=f"{of} adds up all {before[0]} samples, so that {result} is the mean of a single number: it does"
        " nothing",
        cause=site,
        cause_label=f"one number of {before}",
        effect=mean.site.user,
        effect_label="the mean of one number is that number",
        related=((event.site.user, "learns from the total"),) if event is not None else (),
        seen=(
            f"{before} is summed to a single number before the mean over dimension {mean.extra['dims'][0]}, which"
            f" divides by 1 and not by {before[0]}: the term grows with the size of the batch",
        ),
        fix=fix,
        edits=edits,
        count=known.alike(event) if event is not None else 1,
    )


def _fix(trace: Trace, made: Site, before: tuple[int, ...], beside: tuple[int, ...]) -> tuple[str, Edits]:
    where = located(trace, made, "the sum")
    here = Source(trace, made.path)
    call = here.file.at(made)
    pairs = enumerate(zip(before, beside, strict=False))
    own = next((i for i, (a, b) in pairs if a != b), min(len(before), len(beside)))
    if not isinstance(call, ast.Call):
        return f"keep one number for each sample: {where}", ()
    plain = not call.keywords
    method = isinstance(call.func, ast.Attribute) and not here.file.is_imported(call.func)
    if own == len(before):
        left = call.func.value if method and isinstance(call.func, ast.Attribute) else (*call.args, None)[0]
        text = here.file.text(left) if isinstance(left, (ast.Name, ast.Attribute, ast.Call)) and plain else ""
        fix = f"leave the sum out, there is one number for each sample already: {where}"
        return fix, here.replace(call, text) if text else ()
    dims = list(range(own, len(before)))
    dim = "-1" if len(dims) == 1 else f"{tuple(dims)}"
    kept = len(before) == len(beside)
    given = f"dim={dim}, keepdim=True" if kept else f"dim={dim}"
    fix = f"sum over the axes of one sample only, `{given}`: {where}"
    if not plain or not (kept or len(beside) == own):
        return fix, ()
    if method and not call.args:
        return fix, here.replace(call, here.file.text(call)[:-1].rstrip() + given + ")")
    return fix, here.append(call.args[0], f", {given}") if not method and len(call.args) == 1 else ()
