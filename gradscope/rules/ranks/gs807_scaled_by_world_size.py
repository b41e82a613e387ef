"""Gradients are scaled by the number of ranks: their mean once more divided, or never divided at all.

Why: `DistributedDataParallel` takes the mean of the gradients over the ranks. A mean loss that is divided by the number
of ranks as well makes steps that many times too short; summing the averaged gradients over the ranks makes them as much
too long. Without the wrapper `all_reduce` sums: of means over each rank's samples that is the mean over all of them
times the number of ranks. Nothing fails: the learning rate is another one than was written, and changes with the number
of ranks.

Fix: take the loss of a rank's own samples as it is. Divide by the number of ranks what is shown, and gradients that are
summed by hand; reduce these by hand only where no wrapper does.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from math import isclose

from gradscope.analysis.ops import LOSSES, MEANS
from gradscope.analysis.rank_gradients import reductions
from gradscope.analysis.summed_gradients import Summed, summed_by_hand
from gradscope.analysis.text import nodes_that_ran
from gradscope.analysis.words import counted, located, parameter_names, parameter_subjects
from gradscope.analysis.wrappers import wrapped
from gradscope.events import Backward, Clip, SummedAgain, Wrapped
from gradscope.fixes.collectives import divided_by_ranks
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule_across
from gradscope.source import SourceFile
from gradscope.store import Member, Run, Trace

_DIVISIONS = {"div", "div_", "true_divide", "true_divide_"}
_NOISE = 1e-3  # of a ratio of norms


def bad() -> None:
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    model = DistributedDataParallel(nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    world = dist.get_world_size()
    for _ in range(5):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean() / world  # cause: GS807
        loss.backward()  # effect: GS807
        opt.step()


def good() -> None:
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    model = DistributedDataParallel(nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    world = dist.get_world_size()
    for _ in range(5):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward()
        opt.step()
        shown = loss.detach() / world
        dist.all_reduce(shown)


@rule_across("GS807", name="scaled-by-world-size", severity="warning")
def scaled_by_world_size(run: Run) -> Iterator[tuple[Member, Finding]]:
    found = summed_by_hand(run)
    if found is not None and not any(_rate_is_divided(member.trace) for member in run.ranks):
        finding = _summed(run.ranks[0].trace, found, run.world)
        yield from ((member, finding) for member in run.ranks)
    for group in run.alike:
        for finding in _of_one(group[0].trace):
            yield from ((member, finding) for member in group)


def _of_one(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(SummedAgain):
        yield _summed_in_each_pass(trace, event)
    for of in wrapped(trace):
        if len(of.ranks) > 1 and trace.prints("parameters"):  # with a hook of its own none are taken
            yield from _divided(trace, of)
            yield from _reduced_again(trace, of)


# -- the loss --------------------------------------------------------------------------------


def _divided(trace: Trace, of: Wrapped) -> Iterator[Finding]:
    told: set[tuple[str, int]] = set()
    known = set(of.parameters)
    for event in trace.of(Backward):
        if event.graph < 0 or known.isdisjoint(event.filled) or len(event.roots) != 1:
            continue
        graph = trace.graph(event.graph)
        op = graph.maker(event.roots[0])
        if op is None or op.name not in _DIVISIONS or len(op.inputs) != 1 or op.site.user.location() in told:
            continue
        if _is_mean(graph, graph.maker(op.inputs[0])) and _by_world_size(trace, op.site.user):
            told.add(op.site.user.location())
            yield _too_short(trace, of, op.site.user, event)


def _is_mean(graph: Graph, op: Op | None) -> bool:
    """Whether it is the mean over samples, or a sum of such; nothing of it was gathered from other ranks."""
    if op is None:
        return False
    if op.name in ("add", "add_", "mul", "mul_"):
        parts = [graph.maker(value) for value in op.inputs]
        return any(_is_mean(graph, part) for part in parts)
    return op.name in MEANS or (op.name in LOSSES and op.extra.get("reduction") == "mean")


def _by_world_size(trace: Trace, site: Site) -> bool:
    """Whether the program's text divides by the number of ranks there."""
    file = trace.source_file(site.path)
    statement = file.statement(site)
    for node in ast.walk(statement) if statement is not None else ():
        divisor = None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            divisor = node.right
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div):
            divisor = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and len(node.args) == 1:
            divisor = node.args[0] if node.func.attr in _DIVISIONS else None
        if divisor is not None and _is_world_size(file, divisor):
            return True
    return False


def _is_world_size(file: SourceFile, node: ast.AST) -> bool:
    """Whether an expression is the number of ranks, or a name for it."""
    if _asks_for_it(node):
        return True
    if not isinstance(node, ast.Name | ast.Attribute):
        return False
    name = ast.unparse(node)
    given = [value for target, value in _assigned(file) if target == name]
    if given:
        return all(_asks_for_it(value) for value in given)
    return any(
        isinstance(call, ast.Call)
        and ast.unparse(call.func).endswith("init_process_group")
        and any(word.arg == "world_size" and ast.unparse(word.value) == name for word in call.keywords)
        for call in file.nodes
    )


def _asks_for_it(node: ast.AST) -> bool:
    text = ast.unparse(node)
    return isinstance(node, ast.Call) and (
        ast.unparse(node.func).endswith("get_world_size")
        or (text.startswith("int(") and "WORLD_SIZE" in text)
    )


def _assigned(file: SourceFile) -> Iterator[tuple[str, ast.expr]]:
    """(what, value) of each assignment, those of tuples one by one."""
    for node in file.nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = zip(target.elts, node.value.elts, strict=False)
                    yield from ((ast.unparse(one), value) for one, value in pairs)
                else:
                    yield ast.unparse(target), node.value


def _too_short(trace: Trace, of: Wrapped, site: Site, event: Backward) -> Finding:
    ranks = len(of.ranks)
    return Finding(
        message=f"the loss is divided by the number of ranks, and the wrapper averages over these {ranks:,} as well",
        cause=site,
        cause_label="divides a mean over this rank's samples",
        effect=event.site.user,
        effect_label="these gradients are averaged over the ranks",
        related=((of.site.user, "wrapped here"),),
        seen=(f"the gradients of a pass are those of the mean over all samples, divided by {ranks:,}",),
        fix=f"leave the division out ({located(trace, site, 'this line')}); divide only what is shown",
        severity="note" if _by_size(trace) else "",
        subjects=parameter_subjects(of.parameters),
    )


def _by_size(trace: Trace) -> bool:
    """Whether all optimizers divide each gradient by its own size, so that its scale hardly matters."""
    scaled = [any("eps" in group for group in optimizer.groups) for optimizer in trace.optimizers.values()]
    return all(scaled) and not trace.of(Clip)


# -- the gradients ---------------------------------------------------------------------------


def _reduced_again(trace: Trace, of: Wrapped) -> Iterator[Finding]:
    place = next((site for site in reductions(trace)), None)
    if place is None or len(trace.optimizers) != 1:
        return
    ((number, _),) = trace.optimizers.items()
    ratios: list[float] = []
    for step, (_, norms) in trace.prints("gradients").get(number, {}).items():
        for id in of.parameters:
            after = [value for at, value in trace.numbers("grad_norm", id) if at == step]
            if after and after[-1] and str(id) in norms:
                ratios.append(norms[str(id)] / after[-1])
    ranks = len(of.ranks)
    if len(ratios) < 2 or not all(isclose(ratio, ranks, rel_tol=_NOISE) for ratio in ratios):
        return
    shown = parameter_names(trace, list(of.parameters[:1]))
    yield Finding(
        message=f"gradients that the wrapper has averaged are summed over the {ranks:,} ranks once more",
        cause=place,
        cause_label="adds what is the same on all ranks already",
        related=((of.site.user, "wrapped here: averages them in each backward pass"),),
        seen=(f"before a step the gradient of {shown} was {ratios[0]:.4g} times what the pass had left",),
        fix="leave the reduction out: after `backward()` the gradients are the means over all ranks",
        severity="note" if _by_size(trace) else "",
        subjects=parameter_subjects(of.parameters),
    )


def _summed_in_each_pass(trace: Trace, event: SummedAgain) -> Finding:
    names = parameter_names(trace, event.parameters)
    site, earlier = event.site.user, trace.site(event.earlier)
    return Finding(
        message=f"the gradients of {names} are summed over the ranks in each pass of a step: what was summed before is"
        " summed again",
        cause=site,
        cause_label="sums the sum of the passes before once more",
        seen=(
            f"at {counted(event.steps, 'step')} of those looked at two or more passes filled these gradients, and each"
            " was followed by such a call; nothing divided them between",
        ),
        related=((earlier.user, "sums them first"),)
        if earlier is not None and earlier.user.location() != site.location()
        else (),
        why="`all_reduce` adds up what `.grad` holds on each rank: after the first pass that is the sum over all ranks,"
        " which comes in once from each of them. The earlier passes of a step count as many times more as there are"
        " ranks",
        fix=f"call {located(trace, site, '`all_reduce`')} once, after the last pass of the step; or divide by the"
        " number of ranks right after each call",
        subjects=parameter_subjects(event.parameters),
    )


def _summed(trace: Trace, found: Summed, ranks: int) -> Finding:
    own = ", ".join(f"{norm:.4g}" for norm in found.own)
    name = parameter_names(trace, found.parameters[:1])
    return Finding(
        message=f"gradients are summed over the {ranks:,} ranks and not divided: steps are {ranks:,} times the mean's",
        cause=found.site,
        cause_label="adds up what each rank's mean has left",
        effect=found.step,
        effect_label="uses the sum",
        seen=(
            f"the ranks' passes left gradients of {name} with norms {own}, the step used one of {found.used:.4g}: "
            "longer than their mean can be",
            f"so in each of {found.steps:,} steps that were compared; the loss is a mean over a rank's own samples",
        ),
        why="`all_reduce` sums: of means over each rank's samples that is the mean over all of them times the number "
        "of ranks. The learning rate is another one than was written, and changes with the number of ranks.",
        fix=f"after {located(trace, found.site, 'the reduction')}, divide each gradient by `dist.get_world_size()`",
        edits=divided_by_ranks(trace, found.site),
        severity="note" if _by_size(trace) else "",
        subjects=parameter_subjects(found.parameters),
    )


def _rate_is_divided(trace: Trace) -> bool:
    """Whether the program's text divides a learning rate by the number of ranks, or may do so."""
    for path, _, node in nodes_that_ran(trace, ast.BinOp, ast.AugAssign):
        if not isinstance(node, (ast.BinOp, ast.AugAssign)) or not isinstance(node.op, ast.Div):
            continue
        divisor, divided = (
            (node.right, node.left) if isinstance(node, ast.BinOp) else (node.value, node.target)
        )
        of_rate = isinstance(divided, ast.Constant) or re.search(
            r"lr|rate", ast.unparse(divided), re.IGNORECASE
        )
        if of_rate and _is_world_size(trace.source_file(path), divisor):
            return True
    return False
