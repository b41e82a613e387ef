"""The weights of a softmax are summed over the dimension in which they are 1 together: the result is 1 everywhere.

Why: a softmax over a dimension makes numbers that add up to 1 along it, whatever they were computed from. Their sum
along the same dimension says nothing any more: what is multiplied by it stays as it was, and the layers behind the
softmax get a gradient of zero (of rounding, in practice).

Fix: sum over another dimension (what each position is given by all others), or leave the sum out.

Measured: the sum took the softmax's own result, over the softmax's dimension, in a pass that a step used.
Silent on: sums that something is divided by, weights that are read by something else, too, or masked before.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.ops import DIVISIONS
from gradscope.analysis.reach import Key, Paths, passes, paths
from gradscope.analysis.words import code, located, parameter_names, parameter_subjects
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    query, key, head = nn.Linear(4, 8), nn.Linear(4, 8), nn.Linear(4, 1)
    opt = torch.optim.SGD([*query.parameters(), *key.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 5, 4)
        scores = query(x) @ key(x).transpose(1, 2)
        received = torch.softmax(scores, dim=-1).sum(dim=-1)  # cause: GS780
        opt.zero_grad()
        head((x * received.unsqueeze(2)).mean(1)).pow(2).mean().backward()  # effect: GS780
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    query, key, head = nn.Linear(4, 8), nn.Linear(4, 8), nn.Linear(4, 1)
    opt = torch.optim.SGD([*query.parameters(), *key.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 5, 4)
        scores = query(x) @ key(x).transpose(1, 2)
        received = torch.softmax(scores, dim=-1).sum(dim=1)
        opt.zero_grad()
        head((x * received.unsqueeze(2)).mean(1)).pow(2).mean().backward()
        opt.step()


@rule("GS780", name="softmax-summed-away", severity="warning")
def softmax_summed_away(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    lines: dict[tuple[str, int], tuple[Key, Op, Op, int]] = {}
    for key, op in known.used_calls({"sum"}):
        made = known.sources((op.graph, op.inputs[0]))[1] if op.inputs else None
        if made is None or made.name != "softmax" or not _is_the_only_reader(known, made, op):
            continue
        rank = len(known.graph(op.graph).values[op.inputs[0]].shape)
        along, over = ({d % rank for d in one.extra.get("dims", ())} for one in (made, op))
        if rank > 1 and along and along <= over and not _divides(known, key):
            lines.setdefault(op.site.user.location(), (key, op, made, rank))
    for key, op, made, rank in lines.values():
        yield _finding(trace, known, key, op, made, rank)


def _is_the_only_reader(known: Paths, softmax: Op, op: Op) -> bool:
    return known.graph(softmax.graph).consumers.get(softmax.outputs[0]) == [op]


def _divides(known: Paths, key: Key) -> bool:
    return any(
        op is not None and op.name in DIVISIONS and op.inputs[-1:] == (key[1],)
        for _, op in known.used.feeds.get(key, ())
    )


def _finding(trace: Trace, known: Paths, key: Key, op: Op, made: Op, rank: int) -> Finding:
    place = op.site.user
    loss = known.loss_of(key)
    behind = sorted(known.parameters_in(known.flow([key]).order))
    names = parameter_names(trace, behind)
    dim = next(iter(made.extra["dims"]))
    others = [d for d in range(1, rank) if d != dim % rank]
    edits = _over_another(trace, place, others[0]) if len(others) == 1 and dim % rank else ()
    instead = f"over dimension {others[0]}" if len(others) == 1 and dim % rank else "over another dimension"
    return Finding(
        message=f"{code(trace, place, 'the sum')} is 1 everywhere: it sums a softmax over the dimension ({dim}) in"
        " which its weights are 1 together",
        cause=place,
        cause_label="sums to 1, whatever the scores are",
        effect=loss.site.user if loss is not None else None,
        effect_label=f"gives {names} no gradient by it" if behind else "has no gradient from it",
        seen=(
            f"the softmax ({located(trace, made.site.user)}) and the sum both go over dimension {dim} of"
            f" {rank}, in {passes(known.alike(loss)) if loss is not None else 'the passes'} of this line",
        ),
        fix=f"sum {instead} in {located(trace, place)}: what each position is given by the others; or leave it out",
        edits=edits,
        subjects=parameter_subjects(behind) | {("term", *place.location())},
    )


def _over_another(trace: Trace, place: Site, dim: int) -> Edits:
    """The sum's `dim` changed, where the call names it."""
    here = Source(trace, place.path)
    call = here.file.at(place)
    given = [k.value for k in call.keywords if k.arg == "dim"] if isinstance(call, ast.Call) else []
    return here.replace(given[0], str(dim)) if len(given) == 1 else ()
