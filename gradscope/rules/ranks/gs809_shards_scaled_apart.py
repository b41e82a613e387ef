"""Each rank scales its shards of the gradients by a number of its own.

Why: with `fully_shard` a rank holds a part of each gradient. Clipped by the norm of these parts alone, each rank
multiplies by another number: what the step uses is no multiple of the gradient any more, but points elsewhere, and how
far depends on the number of ranks.

Fix: give `clip_grad_norm_` the parameters of the model as they are (`model.parameters()`): it takes the norm over all
shards. By hand, sum the squares over the ranks (`dist.all_reduce`) before the root is taken.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.scaled_apart import scaled_apart
from gradscope.analysis.words import located, parameter_names, parameter_subjects
from gradscope.events import Clip
from gradscope.model import Finding
from gradscope.rules import rule_across
from gradscope.store import Member, Run

_SHOWN = 4  # ranks


def bad() -> None:
    import torch
    from torch import nn
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4) * 9).pow(2).mean().backward()
        shards = [p.grad.to_local() for p in model.parameters()]  # type: ignore[union-attr]
        norm = torch.cat([shard.flatten() for shard in shards]).norm()
        for shard in shards:
            shard.mul_(0.1 / norm)
        opt.step()  # cause: GS809


def good() -> None:
    import torch
    from torch import nn
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4) * 9).pow(2).mean().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        opt.step()


@rule_across("GS809", name="shards-scaled-apart", severity="error")
def shards_scaled_apart(run: Run) -> Iterator[tuple[Member, Finding]]:
    if (found := scaled_apart(run)) is None:
        return
    trace = found.factors[0][0].trace
    clip = next((event.site.user for event in trace.of(Clip)), None)
    shown = ", ".join(f"{factor:.4g} on {member.name}" for member, factor in found.factors[:_SHOWN])
    told = Finding(
        message=f"each rank scales its shards of the gradients of {parameter_names(trace, found.parameters)} by a"
        " number of its own",
        cause=clip or found.site,
        cause_label="clips by the norm of this rank's shards"
        if clip
        else "the shards fit together no longer",
        effect=found.site if clip else None,
        effect_label="the shards fit together no longer" if clip else "",
        seen=(
            f"between the pass and step {found.step:,} all of a rank's shards were multiplied by {shown}",
            f"so it was at {found.steps:,} of the first steps",
        ),
        fix="clip `model.parameters()` with `clip_grad_norm_`, or sum the squares of the norms over the ranks, before"
        f" {located(trace, found.site, 'the step')}",
        subjects=parameter_subjects(found.parameters),
    )
    yield from ((member, told) for member in run.ranks)
