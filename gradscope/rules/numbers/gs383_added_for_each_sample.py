"""A loop over the samples of a batch adds the same tensor again in each turn: later samples get more of it.

Why: `matrix = matrix + correction` stands in the loop. The first sample is treated with one correction, the last with
as many as the batch has samples, and so is its gradient. The samples come in a random order, so that nothing is learned
of it but noise, and the loss hangs on the size of the batch.

Fix: add once, before the loop.

Measured: one chain of sums, each of the one before and of one and the same tensor; each was used in its turn, beside a
sample of a batch that was drawn at random.
Silent on: tensors without a graph; loops along time, layers or any other order that means something; sums of which the
last alone is used.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from gradscope.analysis.axes import Axes, axes
from gradscope.analysis.ops import ADDITIONS
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import code, located, parameter_names, parameter_subjects
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.source import names_in
from gradscope.store import Trace

ENOUGH = 3  # sums
APART = {"unbind", "split", "chunk"}  # `for sample in batch` is the first of these


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, offset = nn.Linear(4, 3), nn.Parameter(torch.zeros(3))
    opt = torch.optim.Adam([*model.parameters(), offset], lr=0.01)
    xs, ys = torch.randn(32, 4), torch.randint(3, (32,))
    for _ in range(4):
        rows, loss = torch.randperm(32)[:8], torch.zeros(())
        x, y = xs[rows], ys[rows]
        scores, prior = model(x), torch.zeros(3)
        for i in range(8):  # effect: GS383
            prior = prior + offset  # cause: GS383
            loss = loss + nn.functional.cross_entropy(scores[i] + prior, y[i])
        opt.zero_grad()
        (loss / 8).backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, offset = nn.Linear(4, 3), nn.Parameter(torch.zeros(3))
    opt = torch.optim.Adam([*model.parameters(), offset], lr=0.01)
    xs, ys = torch.randn(32, 4), torch.randint(3, (32,))
    for _ in range(4):
        rows, loss = torch.randperm(32)[:8], torch.zeros(())
        x, y = xs[rows], ys[rows]
        scores, prior = model(x), torch.zeros(3)
        prior = prior + offset
        for i in range(8):
            loss = loss + nn.functional.cross_entropy(scores[i] + prior, y[i])
        opt.zero_grad()
        (loss / 8).backward()
        opt.step()


class Chain(NamedTuple):
    """Sums of one line, each of the one before and of `added`."""

    sums: list[Op]
    added: int


@rule("GS383", name="added-for-each-sample", severity="warning")
def added_for_each_sample(trace: Trace) -> Iterator[Finding]:
    known, told = paths(trace), set()
    for root in known.roots:
        graph = known.graph(root[0])
        for chain in _chains(graph):
            site = chain.sums[0].site.user
            if site.location() not in told and _of_samples(known, axes(trace), graph, chain):
                told.add(site.location())
                found = _finding(trace, graph, chain)
                if found is not None:
                    yield found


def _chains(graph: Graph) -> Iterator[Chain]:
    lines: dict[Site, list[Op]] = {}
    for op in graph.called(ADDITIONS):
        if op.site.kind == "user" and len(op.inputs) == 2 and len(op.outputs) == 1:
            lines.setdefault(op.site, []).append(op)
    for sums in lines.values():
        if len(sums) < ENOUGH:
            continue
        both = set(sums[0].inputs) & set(sums[1].inputs)
        if len(both) != 1:
            continue
        added = both.pop()
        if not graph.values[added].requires_grad:
            continue
        pairs = pairwise(sums)
        if all(set(after.inputs) == {before.outputs[0], added} for before, after in pairs):
            used = [len(graph.consumers.get(op.outputs[0], ())) > 1 for op in sums[:-1]]
            if all(used):
                yield Chain(sums, added)


def _of_samples(known: Paths, found: Axes, graph: Graph, chain: Chain) -> bool:
    """Whether each turn takes a sample out of a batch whose order was drawn."""
    ends = [op.index for op in chain.sums]
    taken = {*_takes(found, graph), *_takes_elsewhere(known, found, graph)}
    return all(any(first < index < last for index in taken) for first, last in pairwise(ends))


def _takes(found: Axes, graph: Graph) -> Iterator[int]:
    """The calls that take one sample out of a batch, or read one that it was taken apart into."""
    for op in graph.called({"__getitem__", "select"} | APART):
        own = found.of((graph.id, op.inputs[0])) if op.inputs else ()
        if not own or found.drawn(own[0]) is None:
            continue
        if op.name not in APART:
            if op.extra.get("at", "i" if op.name == "select" else "t")[0] == "i":
                yield op.index
        elif op.extra.get("dims", [0]) == [0]:
            for index in op.outputs:
                yield from (reader.index for _, reader in graph.readers_behind([index], lambda _: False))


def _takes_elsewhere(known: Paths, found: Axes, graph: Graph) -> Iterator[int]:
    """The calls that read one sample of a batch of data, which was taken out of that, or apart, without a gradient."""
    for value in graph.values:
        made = known.made((graph.id, value.index)) if value.op is None and not value.requires_grad else None
        op = known.maker(made) if made is not None and made[0] != graph.id else None
        if op is None or not op.inputs or op.name not in {"__getitem__", "select"} | APART:
            continue
        own = found.of((op.graph, op.inputs[0]))
        if not own or found.drawn(own[0]) is None:
            continue
        index = op.extra.get("at", "i" if op.name == "select" else "t")
        if op.extra.get("dims", [0]) == [0] if op.name in APART else index[0] == "i":
            yield from (reader.index for reader in graph.consumers.get(value.index, ()))


def _finding(trace: Trace, graph: Graph, chain: Chain) -> Finding | None:
    first = chain.sums[0]
    site, turns = first.site.user, len(chain.sums)
    here = Source(trace, site.path)
    statement = here.file.statement(site)
    loop = here.file.loop_of(statement) if statement is not None else None
    if statement is None or not isinstance(loop, ast.For):
        return None
    ids = sorted(paths(trace).reach([(graph.id, chain.added)]).parameters)
    behind = (f"; behind it: {parameter_names(trace, ids)}",) if ids else ("",)
    head = here.file.head(Site(-1, site.path, *here.file.span(loop), site.function, "user"))
    return Finding(
        message=f"{code(trace, site, 'the sum')} adds the same tensor in each of {turns} turns of a loop over samples:"
        f" the last sample gets {turns} times what the first one gets",
        cause=site,
        cause_label="goes on with the sum of the turn before",
        effect=head,
        effect_label="goes through samples, whose order was drawn at random",
        seen=(
            f"{turns} sums in a row, each of the one before and of one tensor of shape"
            f" {graph.values[chain.added].shape}{behind[0]}; each was used in its turn",
        ),
        fix=f"put {located(trace, site)} before the loop (line {loop.lineno})",
        edits=_before(here, statement, loop),
        count=graph.count,
        subjects=parameter_subjects(ids) | {("term", *site.location())},
    )


def _before(here: Source, statement: ast.stmt, loop: ast.For) -> Edits:
    """Where nothing that the statement reads is given a value in the loop by another one."""
    own = {id(node) for node in ast.walk(statement)}
    given = {
        node.id
        for node in ast.walk(loop)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in own
    }
    return () if given & names_in(statement) else here.move(statement, loop)
