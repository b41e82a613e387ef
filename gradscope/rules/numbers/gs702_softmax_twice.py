"""A loss that applies softmax or sigmoid itself is given what has been through one already.

Why: `cross_entropy` takes scores and applies log-softmax, `binary_cross_entropy_with_logits` applies
a sigmoid. Probabilities lie between 0 and 1: squeezed once more they are all nearly alike, the loss
cannot come near zero and the gradients are small.

Fix: give the loss the scores: leave the softmax (sigmoid) out of the model, or take the loss that
expects probabilities (`nll_loss` of their log, `binary_cross_entropy`). The same of `Categorical(logits=…)`:
what has been through a softmax is `probs=`.

A note where no backward pass depends on it: only the number that an evaluation reports is wrong.
Probabilities that mix one-hot labels (the attention of a matching network) give probabilities too.

Silent on: log-softmax before `cross_entropy` (the same loss), probabilities as targets, distillation
with `kl_div`, scores that are scaled after a softmax.
"""

import ast
import math
from collections.abc import Iterator

from gradscope.analysis.made import layer_site
from gradscope.analysis.ops import (
    ALIASES,
    MEANS,
    ORDERINGS,
    PASSING,
    PROBABILITIES,
    SUMS,
)
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located, numbers
from gradscope.fixes.calls import renamed, taken_out
from gradscope.fixes.source import Binds, Edits, Source
from gradscope.model import Edit, Finding, Op
from gradscope.rules import rule
from gradscope.rules.numbers._chances import sigmoid_of
from gradscope.rules.numbers._losses import (
    evaluated,
    loss_values,
    losses,
    makers,
    shape_of,
    unused,
    weights_of_labels,
)
from gradscope.rules.numbers._written_out import (
    EXP,
    is_cross_entropy,
    is_picked_from,
    of_a_distribution,
    softmax_written_out,
)
from gradscope.store import Trace

APPLIES = {
    "cross_entropy": "softmax", "log_softmax": "softmax", "binary_cross_entropy_with_logits": "sigmoid",
    "multilabel_soft_margin_loss": "sigmoid", "logsumexp": "softmax",
}  # fmt: skip


_SAME = PASSING | ALIASES
_COUNTS = ORDERINGS | MEANS | SUMS | {"round", "mul", "pow", "log"}
_WITHOUT = "binary_cross_entropy"  # `…_with_logits` without its sigmoid


def bad() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        probabilities = model(torch.randn(8, 4))  # cause: GS702
        loss = nn.functional.cross_entropy(probabilities, torch.randint(0, 3, (8,)))  # effect: GS702
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        scores = model(torch.randn(8, 4))
        nn.functional.cross_entropy(scores, torch.randint(0, 3, (8,))).backward()
        opt.step()
        print(scores.softmax(dim=1).max().item())


@rule("GS702", name="softmax-twice", severity="warning")
def softmax_twice(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    groups: dict[tuple[tuple[str, int], str], list[tuple[Key, Op, Op]]] = {}
    for key, op in losses(known, set(APPLIES)):
        _gather(known, key, op, groups)
    trained = {place: list(found) for place, found in groups.items()}
    for key, op in evaluated(known, set(APPLIES)):
        _gather(known, key, op, groups)
    for place, found in groups.items():
        yield _finding(trace, known, trained.get(place, found), "" if place in trained else "note")


def _gather(
    known: Paths, key: Key, op: Op, groups: dict[tuple[tuple[str, int], str], list[tuple[Key, Op, Op]]]
) -> None:
    if op.name == "log_softmax" and not (_ends_in_nll(known, op) or is_picked_from(known, op)):
        return
    if op.name == "logsumexp" and not (of_a_distribution(op) or is_cross_entropy(known, op)):
        return
    for maker in _makers(known, key):
        by_name = maker.name in PROBABILITIES or _exponential(known, maker)
        if by_name or softmax_written_out(known, maker) is not None or sigmoid_of(known, maker) is not None:
            groups.setdefault((maker.site.user.location(), maker.name), []).append((key, op, maker))


def _makers(known: Paths, key: Key) -> Iterator[Op]:
    """The ops that made a loss's input, and what it mixes one-hot labels by."""
    for _, maker in makers(known, key):
        weights = weights_of_labels(known, maker)
        yield from [maker] if weights is None else (op for _, op in makers(known, weights))


def _ends_in_nll(known: Paths, op: Op) -> bool:
    readers = known.used.feeds.get((op.graph, op.outputs[0]), [])
    return any(reader is not None and reader.name == "nll_loss" for _, reader in readers)


def _exponential(known: Paths, op: Op) -> bool:
    """Whether it is the exponential of a log-softmax or log-sigmoid."""
    return op.name in EXP and any(
        maker.name in ("log_softmax", "log_sigmoid") for _, maker in makers(known, (op.graph, op.inputs[0]))
    )


def _finding(trace: Trace, known: Paths, found: list[tuple[Key, Op, Op]], severity: str) -> Finding:
    key, op, maker = found[0]
    applied, cause = APPLIES[op.name], maker.site.user
    places = list(dict.fromkeys(other.site.user for _, other, _ in found))
    mixed = all(maker is not made for _, made in makers(known, key))
    own = softmax_written_out(known, maker)
    through = maker.name if maker.name in PROBABILITIES else f"{maker.name}(log-{applied})"
    through = own.words if own is not None else through
    by_hand = own is None and sigmoid_of(known, maker) is not None
    through = "1 / (1 + exp(-…))" if by_hand else through
    needed = op.name == f"{_WITHOUT}_with_logits" and maker.name in PROBABILITIES and not mixed
    elsewhere = _read_elsewhere(known, maker) if needed else None
    needed = needed and (elsewhere is not None or _read_besides(known, maker))
    kept = (
        op.name == "cross_entropy"
        and maker.name in PROBABILITIES
        and not mixed
        and _read_besides(known, maker)
    )
    edits: Edits = ()
    if needed:
        edits = _plain(trace, op)
    elif kept:
        edits = _of_logarithms(trace, op)
    elif of_a_distribution(op):
        edits = _as_probabilities(trace, op)
    elif maker.name == through and not mixed:
        edits = taken_out(trace, cause, op.site.user)
    layer = layer_site(trace, maker)
    given = code(trace, cause, f"the {maker.name}")
    taken = f"`{through}` out of {located(trace, cause, given)}"
    if own is not None:
        taken = f"softmax ({located(trace, cause, given)}) out"
    if by_hand:
        taken = f"sigmoid ({located(trace, cause, given)}) out"
    if layer is not None:
        taken = f"layer {located(trace, layer)} out"
    if needed:
        fix = _of_probabilities(trace, op, elsewhere)
    else:
        fix = _kept(trace, op) if kept else _fix(trace, op, taken, mixed=mixed)
    return Finding(
        message=f"`{_called(op)}` applies a {applied}, and its input has been through `{through}` already",
        cause=cause,
        cause_label=f"its result has been through `{through}`",
        effect=op.site.user,
        effect_label=f"applies {applied} to it once more",
        related=(
            *([(layer, "the layer that applies it")] if layer is not None else []),
            *((place, "and here") for place in places[1:]),
            *([(elsewhere.site.user, "takes them for probabilities")] if elsewhere is not None else []),
        ),
        seen=(unused(len(found)),) if severity else tuple(_seen(trace, known, key, op)),
        fix=fix,
        count=len(found),
        severity=severity,
        edits=edits,
    )


def _called(op: Op) -> str:
    return "Categorical(logits=…)" if of_a_distribution(op) else op.name


def _as_probabilities(trace: Trace, op: Op) -> Edits:
    """`probs=` in place of `logits=`."""
    here = Source(trace, op.site.user.path)
    call = here.file.at(op.site.user)
    given = (
        next((k for k in call.keywords if k.arg == "logits"), None) if isinstance(call, ast.Call) else None
    )
    if given is None:
        return ()
    line, column, _, _ = here.file.span(given.value)
    written = here.file.lines[line - 1][: column - 1]
    if not written.endswith("logits="):
        return ()
    return (Edit(here.path, line, column - len("logits="), line, column, "probs="),)


def _read_besides(known: Paths, maker: Op) -> bool:
    """Whether a loss takes the probabilities for more than that one argument: `1 - p`, a weight, another term."""
    readers = known.used.feeds.get((maker.graph, maker.outputs[0]), ())
    return len({op.index for _, op in readers if op is not None}) > 1


def _read_elsewhere(known: Paths, maker: Op) -> Op | None:
    """A calculation with the same layer's probabilities where no gradient is asked for: not what only orders them."""
    line = maker.site.user.location()
    for number in known.graph_ids:
        graph = known.graph(number)
        for op in graph.called({maker.name}):
            same = op.module == maker.module if maker.module is not None else op.site.user.location() == line
            if not same or any(graph.values[i].requires_grad for i in op.outputs):
                continue
            for _, reader in graph.readers_behind(op.outputs, lambda op: op.name in _SAME):
                if reader.name in _COUNTS and reader.module is None:
                    return reader
    return None


def _of_probabilities(trace: Trace, op: Op, elsewhere: Op | None) -> str:
    made = layer_site(trace, op, alone=True)
    there = located(trace, made or op.site.user, f"`{op.name}`")
    expects = "`nn.BCELoss()`" if made is not None else f"`{_WITHOUT}`"
    why = "the probabilities are needed besides"
    if elsewhere is not None:
        why = f"{located(trace, elsewhere.site.user, 'a later line')} takes them for probabilities"
    return f"{why}: take {expects}, which expects them, in place of {there}"


def _kept(trace: Trace, op: Op) -> str:
    return (
        "the probabilities are needed besides: give their logarithm to `nll_loss`, `torch.log(… + 1e-9)`, in place of"
        f" {located(trace, op.site.user, f'`{op.name}`')}; or hand the scores on beside them"
    )


def _of_logarithms(trace: Trace, op: Op) -> Edits:
    """`nll_loss` of the logarithm of what `cross_entropy` is given."""
    made, here = layer_site(trace, op, alone=True), Source(trace, op.site.user.path)
    call = here.file.at(op.site.user)
    if not isinstance(call, ast.Call) or not call.args or len(call.args) + len(call.keywords) > 2:
        return ()
    old, new = ("CrossEntropyLoss", "NLLLoss") if made is not None else ("cross_entropy", "nll_loss")
    rename = renamed(trace, made or op.site.user, old, new)
    return (*rename, *here.around(call.args[0], "torch.log(", " + 1e-9)", Binds.SUM)) if rename else ()


def _plain(trace: Trace, op: Op) -> Edits:
    """The call of the loss that expects probabilities, with the same arguments."""
    made = layer_site(trace, op, alone=True)
    call = trace.source_file((made or op.site.user).path).at(made or op.site.user)
    if not isinstance(call, ast.Call) or len(call.args) > (0 if made is not None else 3):
        return ()
    if any(k.arg in (None, "pos_weight") for k in call.keywords):
        return ()
    if made is not None:
        return renamed(trace, made, "BCEWithLogitsLoss", "BCELoss")
    return renamed(trace, op.site.user, f"{_WITHOUT}_with_logits", _WITHOUT)


def _fix(trace: Trace, op: Op, softmax: str, *, mixed: bool) -> str:
    if of_a_distribution(op):
        there = located(trace, op.site.user, "the distribution")
        return f"give them as what they are, `probs=` in place of `logits=` in {there}"
    if mixed:
        return (
            f"the labels mixed by it are probabilities: take their logarithm and `nll_loss` in place of "
            f"{located(trace, op.site.user, f'`{op.name}`')}"
        )
    return f"take the {softmax} and give `{op.name}` the scores themselves"


def _seen(trace: Trace, known: Paths, key: Key, op: Op) -> Iterator[str]:
    shape = shape_of(known, key)
    values = loss_values(trace, known, (op.graph, _loss_of(known, op).outputs[0]))
    finite = [value for value in values if math.isfinite(value)]
    if op.name in ("binary_cross_entropy_with_logits", "multilabel_soft_margin_loss"):
        floor = math.log(1 + 1 / math.e)
        best = _best(finite, math.prod(shape), floor, math.log(1 + math.e))
        yield f"{best}given numbers between 0 and 1 as scores it cannot fall below {floor:.4g} (a mean)"
    if op.name == "logsumexp" and shape:
        highest = math.e / (math.e + shape[-1] - 1)
        yield f"given {shape[-1]} numbers between 0 and 1 as scores it gives none a probability above {highest:.3g}"
    if op.name not in ("cross_entropy", "log_softmax") or not shape:
        return
    classes = shape[1] if len(shape) > 1 else shape[0]
    floor = math.log(1 + (classes - 1) / math.e)
    best = _best(finite, math.prod(shape) // classes, floor, math.log(classes - 1 + math.e))
    yield f"{best}given {classes} numbers between 0 and 1 as scores it cannot fall below {floor:.4g} (a mean)"


def _best(values: list[float], count: int, floor: float, ceiling: float) -> str:
    """The least loss, where it can be compared with the bounds of a mean: one that only its share of each number
    fits is a sum; one that neither fits is of other terms, too, or weighted."""
    if not values:
        return ""
    best = min(values)
    if floor <= best <= ceiling:
        return f"the loss was {numbers(best)} at best; "
    if count > 1 and floor <= best / count <= ceiling:
        return f"the loss was {numbers(best)} at best, a sum: {numbers(best / count)} for each of {count:,}; "
    return ""


def _loss_of(known: Paths, op: Op) -> Op:
    """The `nll_loss` that a `log_softmax` goes into."""
    readers = known.used.feeds.get((op.graph, op.outputs[0]), [])
    return next((reader for _, reader in readers if reader is not None and reader.name == "nll_loss"), op)
