"""A gradient is exactly zero in every pass: what it comes through is subtracted from itself.

Why: in `(mean + noise) - mean` the mean is no longer there: what comes back over the one way is taken away by
the other. So it is with an action that is drawn with `rsample()`, which moves with the distribution, and the
`log_prob` of that distribution; with the ratio of a policy to its old self, where the old one carries a graph; and with
two losses that hold one and the same term, where one is taken from the other.

Fix: make one of the two a constant: `sample()` in place of `rsample()` where a score is wanted, `.detach()` on the
old value.

Measured: gradients of exactly zero in all passes, whose every way to the loss leads through the one subtraction.
Silent on: parameters that get a gradient in any pass, as a mean that is trained through what is made of the sample;
a bias that both sides add.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.analysis.ops import ADDITIONS, DRAWS, SUBTRACTIONS, SUMS
from gradscope.analysis.reach import Paths, passes
from gradscope.analysis.words import code, located, parameter_names, parameter_subjects
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.rules.numbers._zeros import ENOUGH, Zeros, zeros_of_lines
from gradscope.source import PRIMARIES
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal

    torch.manual_seed(0)
    policy, log_std = nn.Linear(3, 2), nn.Parameter(torch.zeros(2))
    opt = torch.optim.Adam([*policy.parameters(), log_std], lr=0.01)
    for _ in range(6):
        state = torch.randn(16, 3)
        dist = Normal(policy(state), log_std.exp())
        action = dist.rsample()  # cause: GS723
        reward = -(action.detach() - 1).pow(2).sum(1)
        loss = -(dist.log_prob(action).sum(1) * (reward - reward.mean())).mean()  # effect: GS723
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal

    torch.manual_seed(0)
    policy, log_std = nn.Linear(3, 2), nn.Parameter(torch.zeros(2))
    opt = torch.optim.Adam([*policy.parameters(), log_std], lr=0.01)
    for _ in range(6):
        state = torch.randn(16, 3)
        dist = Normal(policy(state), log_std.exp())
        action = dist.sample()
        reward = -(action - 1).pow(2).sum(1)
        loss = -(dist.log_prob(action).sum(1) * (reward - reward.mean())).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@dataclass
class _Cancelled:
    op: Op  # the subtraction
    part: int  # the value that stands on both sides
    whole: int  # the side that holds it, with more or without
    rest: list[int]  # what else that side is a sum of
    shared: bool = False  # it is a term of either side, computed twice


@rule("GS723", name="subtracted-from-itself", severity="warning", over=("GS707", "GS705", "GS212", "GS344"))
def subtracted_from_itself(trace: Trace) -> Iterator[Finding]:
    for line in zeros_of_lines(trace):
        zero = {id for id in line.filled if line.last(id) == len(line.series[id]) >= ENOUGH}
        graph = line.known.graph(line.event.graph) if zero else None
        for op in graph.ops if graph is not None else ():
            for found in _cancelled(graph, op) if graph is not None and op.name in SUBTRACTIONS else ():
                assert graph is not None
                through = _only_through(line.known, line, graph, found)
                # Numbers of Python's that tell two calls apart are in no graph: then not all behind them is zero.
                if (ids := zero & through) and (found.shared or through & line.filled <= zero):
                    yield _finding(trace, line, graph, found, sorted(ids))
                    zero -= ids
                    break


def _cancelled(graph: Graph, op: Op) -> Iterator[_Cancelled]:
    """What a subtraction may take from itself: one side is a term of the other, or both were made alike, or both hold
    a term."""
    if len(op.inputs) != 2 or not op.nodes:
        return
    left, right = op.inputs
    for whole, part in ((left, right), (right, left)):
        terms = _terms(graph, whole)
        if part in terms and part != whole:
            yield _Cancelled(op, part, whole, [term for term in terms if term != part])
            return
    made = graph.values[left].op is not None and graph.values[right].op is not None
    if made and _alike(graph, left, right):
        yield _Cancelled(op, left, right, [])
    yield from _shared(graph, op)


def _shared(graph: Graph, op: Op) -> Iterator[_Cancelled]:
    """The terms that both sides hold with the same sign."""
    sides = [_signed(graph, side) for side in op.inputs]
    for term, sign in sides[0].items():
        for other, its in sides[1].items():
            if sign == its and graph.values[term].op is not None and _alike(graph, term, other):
                rest = [one for side in sides for one in side if one not in (term, other)]
                if rest:
                    yield _Cancelled(op, term, other, rest, shared=True)


def _signed(graph: Graph, index: int) -> dict[int, int]:
    """The values that a sum adds up (1) or subtracts (-1), those that need a gradient."""
    found: dict[int, int] = {}
    todo = [(index, 1)]
    while todo:
        at, sign = todo.pop()
        op = graph.maker(at)
        if op is None or not op.nodes or op.name not in SUMS or len(op.inputs) != 2:
            if graph.values[at].requires_grad:
                found[at] = sign
            continue
        second = -sign if op.name in SUBTRACTIONS else sign
        todo += [(op.inputs[0], sign), (op.inputs[1], second)]
    return found


def _terms(graph: Graph, index: int) -> list[int]:
    """The values that a sum adds up with their sign, those that need a gradient."""
    found, todo = [index], [index]
    while todo:
        value = graph.values[todo.pop()]
        op = graph.maker(value.index)
        if op is not None and op.nodes and (op.name in ADDITIONS or op.name in SUBTRACTIONS):
            if value.index in found:
                found.remove(value.index)
            inputs = op.inputs if op.name in ADDITIONS else op.inputs[:1]
            new = [i for i in inputs if graph.values[i].requires_grad and i not in found]
            found, todo = found + new, todo + new
    return found


def _alike(graph: Graph, left: int, right: int) -> bool:
    """Whether two values were made by the same calls of the same values, drawing nothing."""
    todo, seen = [(left, right)], set()
    while todo:
        one, other = todo.pop()
        if one == other or (one, other) in seen:
            continue
        seen.add((one, other))
        first, second = graph.values[one], graph.values[other]
        if first.parameter is not None and first.parameter == second.parameter:
            continue
        if first.op is None or second.op is None or first.shape != second.shape:
            return False
        made, again = graph.ops[first.op], graph.ops[second.op]
        if made.name != again.name or made.name in DRAWS or len(made.inputs) != len(again.inputs):
            return False
        if not made.inputs or made.extra != again.extra or first.position != second.position:
            return False
        todo += zip(made.inputs, again.inputs, strict=True)
    return True


def _only_through(known: Paths, line: Zeros, graph: Graph, found: _Cancelled) -> frozenset[int]:
    """The parameters behind what cancels that no other way leads to."""
    roots = [(line.event.graph, root) for root in line.event.roots]
    stop = {(graph.id, node) for node in found.op.nodes}
    beside = known.reach(roots, stop=stop).parameters
    beside |= known.reach((graph.id, term) for term in found.rest).parameters
    return known.reach([(graph.id, found.part), (graph.id, found.whole)]).parameters - beside


def _finding(trace: Trace, line: Zeros, graph: Graph, found: _Cancelled, ids: list[int]) -> Finding:
    names, site = parameter_names(trace, ids), found.op.site.user
    count = min(line.last(id) for id in ids)
    others = [id for id in sorted(line.filled - set(ids)) if line.always_there(id, count)]
    made = graph.values[found.whole].op
    drawn = graph.ops[made] if made is not None and found.rest else None
    sampled = drawn is not None and _torch_method(drawn, "rsample") and _torch_method(found.op, "log_prob")
    cause = drawn.site.user if drawn is not None and sampled else site
    if sampled:
        message = (
            f"{code(trace, cause, '`rsample()`')} moves with its distribution, and its `log_prob` subtracts that"
            f" again: the gradients of {names} cancel to zero"
        )
        fix, edits = _drawn_without(trace, cause)
    elif found.shared:
        term = code(trace, graph.ops[made].site.user, "the term") if made is not None else "the term"
        message = (
            f"{code(trace, site, 'the difference')} subtracts two sums that both hold {term}: it falls out, and the"
            f" gradients of {names} cancel to zero"
        )
        fix = (
            f"add the two in {located(trace, site, 'the difference')}, if their other terms have the right sign"
            f" already; else leave {term} out of one of them"
        )
        edits = ()
    else:
        what = code(trace, site, "a value")
        message = f"{what} subtracts a value from itself: the gradients of {names} cancel to zero"
        fix, edits = _one_side_constant(trace, site, left=found.whole == found.op.inputs[0])
    return Finding(
        message=message,
        cause=cause,
        cause_label="carries the graph of its distribution"
        if sampled
        else "what comes back over both sides is equal",
        effect=site if sampled else line.event.site.user,
        effect_label="subtracts what it was made from" if sampled else "leaves zeros in their `.grad`",
        related=((graph.ops[made].site.user, "computed for either side, of the same values"),)
        if found.shared and made is not None
        else (),
        seen=(
            f"the gradient of {names} was exactly 0 in all {passes(count)} measured"
            + (f", that of {parameter_names(trace, others)} in none" if others else ""),
        ),
        fix=fix,
        edits=edits,
        count=count,
        subjects=parameter_subjects(ids),
    )


def _torch_method(op: Op, name: str) -> bool:
    return any(f.kind == "torch" and f.function.rpartition(".")[2] == name for f in op.site.stack)


def _drawn_without(trace: Trace, site: Site) -> tuple[str, Edits]:
    call = Source(trace, site.path).file.at(site)
    where = located(trace, site, "`rsample()`")
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "rsample":
        text = f"{ast.unparse(call.func.value)}.sample"
        plain = call.func.lineno == call.func.end_lineno
        edits = Source(trace, site.path).replace(call.func, text) if plain else ()
        return f"draw it with `sample()` in place of {where}: the action is a constant for its score", edits
    return f"draw it with `sample()` in place of `rsample()` in {where}", ()


def _one_side_constant(trace: Trace, site: Site, *, left: bool) -> tuple[str, Edits]:
    here = Source(trace, site.path)
    node = here.file.at(site)
    where = located(trace, site, "the subtraction")
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub):
        return f"make one side of {where} a constant with `.detach()`", ()
    side = node.left if left else node.right
    if not isinstance(side, PRIMARIES):
        return f"make one side of {where} a constant with `.detach()`", ()
    return f"make one side a constant in {where}: `{ast.unparse(side)}.detach()`", here.append(
        side, ".detach()"
    )
