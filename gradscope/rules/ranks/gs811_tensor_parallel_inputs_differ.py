"""Ranks that share one layer (tensor parallelism) are given different inputs for it.

Why: a layer that is split over ranks computes one result of one input, of which each rank has the whole. torch takes it
for the same on all of them and does not look. Where it is not (each rank draws samples of its own, or drops other
elements) each part of the layer works on something else, and what is put together from the parts belongs to no sample.

Fix: give all ranks of a tensor-parallel group the same samples: count only the data-parallel ranks in the sampler
(`num_replicas=mesh["dp"].size()`, `rank=mesh["dp"].get_local_rank()`), and draw the same random numbers in them.

Measured: sums over what `DTensor.from_local(x, mesh, [Replicate()])` was given in its first calls, on each rank.
"""

from collections.abc import Iterator
from math import isclose
from typing import NamedTuple

from gradscope.analysis.words import listed, located, parameter_subjects
from gradscope.events import Replicated, Sampler
from gradscope.model import Finding, Site, listed_ranks
from gradscope.rules import rule_across
from gradscope.store import Member, Run

_ENOUGH = 3  # calls
_ASKED = 64  # ranks
_NOISE = 1e-4  # relative
_SHOWN = 4  # ranks


def bad() -> None:
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    torch.manual_seed(0)
    plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    model = parallelize_module(net, init_device_mesh("cpu", (2,)), plan)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    torch.manual_seed(dist.get_rank())
    for _ in range(5):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()  # cause: GS811
        opt.step()


def good() -> None:
    import torch
    from torch import nn
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    torch.manual_seed(0)
    plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    model = parallelize_module(net, init_device_mesh("cpu", (2,)), plan)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(5):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


class _Apart(NamedTuple):
    """`values`: member → a sum over what it was given in the first call."""

    site: Site
    ranks: tuple[int, ...]
    members: list[Member]
    values: list[float]
    calls: int


@rule_across("GS811", name="tensor-parallel-inputs-differ", severity="error", over=("GS801", "GS810"))
def tensor_parallel_inputs_differ(run: Run) -> Iterator[tuple[Member, Finding]]:
    found = list(_groups(run))
    if found:
        finding = _finding(found)
        yield from ((member, finding) for apart in found for member in apart.members)


def _groups(run: Run) -> Iterator[_Apart]:
    """The groups of ranks of which that is so, each time, and of each the first call."""
    asked = {member.rank: member for member in run.ranks[:_ASKED]}
    for member in asked.values():
        for event in member.trace.of(Replicated):
            group = [asked[rank] for rank in event.ranks if rank in asked]
            if len(group) == len(event.ranks) and member is group[0]:
                if (apart := _apart(group, event)) is not None:
                    yield apart
                    break
        run.leave(member)


def _apart(group: list[Member], event: Replicated) -> _Apart | None:
    tables = []
    for member in group:
        own = next(
            (e for e in member.trace.of(Replicated) if (e.ranks, e.number) == (event.ranks, event.number)),
            None,
        )
        if own is None or own.site.user.location() != event.site.user.location():
            return None
        tables.append(member.trace.prints("replicated").get(event.number, {}))
    common = sorted(set.intersection(*map(set, tables)))
    rows = [[table[call][1].get("0") for table in tables] for call in common]
    if len(rows) < _ENOUGH or not all(None not in row and _differ(row) for row in rows):
        return None
    return _Apart(event.site.user, event.ranks, group, [v for v in rows[0] if v is not None], len(rows))


def _differ(row: list[float | None]) -> bool:
    values = [value for value in row if value is not None]
    return any(not isclose(value, values[0], rel_tol=_NOISE, abs_tol=1e-9) for value in values)


def _finding(groups: list[_Apart]) -> Finding:
    found = groups[0]
    trace = found.members[0].trace
    ranks = f"ranks {listed_ranks([str(rank) for rank in found.ranks])}"
    shown = ", ".join(
        f"{value:.7g} on {m.name}"
        for m, value in zip(found.members[:_SHOWN], found.values[:_SHOWN], strict=True)
    )
    parts = [
        {(e.parts, e.part) for e in member.trace.of(Sampler) if e.part is not None}
        for member in found.members
    ]
    sampler = next((e for e in trace.of(Sampler) if len(set(map(frozenset, parts))) > 1), None)
    seen = [
        f"sum over what it is given in the first of {found.calls:,} calls that were compared: {shown}; they differed"
        " in each",
    ]
    if others := [f"ranks {listed_ranks([str(rank) for rank in other.ranks])}" for other in groups[1:]]:
        seen.append(f"so did those of {listed(others)}")
    cause, label, fix = found.site, "takes its input for the same on these ranks", (
        f"give {ranks} the same samples for {located(trace, found.site, 'this call')}, and the same random numbers:"
        " they hold parts of one layer"
    )  # fmt: skip
    if sampler is not None:
        cause, label = sampler.site.user, f"gives each of {ranks} other samples"
        seen.append(
            f"it divides the data into {sampler.parts:,} parts, and {found.members[0].name} has part {sampler.part}"
        )
        fix = (
            f"let {located(trace, cause, 'the sampler')} count the data-parallel ranks alone: `num_replicas` and `rank`"
            ' of that dimension of the mesh (`mesh["dp"].size()`, `mesh["dp"].get_local_rank()`)'
        )
    return Finding(
        message=f"{ranks} hold parts of one layer and give it different inputs",
        cause=cause,
        cause_label=label,
        effect=found.site if cause is not found.site else None,
        effect_label="takes its input for the same on these ranks",
        seen=tuple(seen),
        why="a split layer computes one result of one input, of which each rank has the whole: torch believes that it"
        " is the same and does not look",
        fix=fix,
        subjects=parameter_subjects(p.id for p in trace.parameters if p.passes),
    )
