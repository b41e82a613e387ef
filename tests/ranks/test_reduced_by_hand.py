"""Programs that call `torch.distributed` by themselves: wrong ones are told, and right ones that look alike are not."""

from __future__ import annotations

from pathlib import Path

import pytest
from needs import lacking
from two_ranks import Start

OVERWRITTEN = """
rank = begin()
torch.manual_seed(0)
body, head = nn.Sequential(nn.Linear(4, 4), nn.Sigmoid()), nn.Linear(4, 1)
parameters = [*body.parameters(), *head.parameters()]
optimizer = torch.optim.SGD(parameters, lr=0.1)
for step in range(4):
    x = torch.randn(8, 4) + rank
    optimizer.zero_grad()
    hidden = body(x)
    loss = head(hidden).pow(2).mean()
    shown = hidden if "wrong" in sys.argv else hidden.detach().clone()
    dist.all_reduce(shown)
    loss.backward()
    for p in parameters:
        dist.all_reduce(p.grad)
        p.grad /= 2
    optimizer.step()
print([p.tolist() for p in parameters] if not rank else "")
end()
"""

SHARDED = """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

begin()
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for turn in range(6):
    model.set_requires_gradient_sync(turn % 2 == 1)
    model(torch.randn(8, 4)).pow(2).mean().backward()
    if turn % 2:
        handle = dist.all_reduce(torch.ones(1), async_op=True)
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        print(handle.wait(), handle.is_completed())
        optimizer.zero_grad()
open(f"weights-{dist.get_rank()}", "w").write(repr([p.to_local().tolist() for p in model.parameters()]))
end()
"""


def test_a_reduction_in_place_overwrites_what_backward_needs(ranks: Start) -> None:
    ran = ranks(OVERWRITTEN, "wrong")
    assert ran.findings() == [("GS101", "error", [0, 1])]
    assert "`hidden` was overwritten" in ran.told and "dist.all_reduce" in ran.told


@pytest.mark.nightly
def test_a_copy_may_be_reduced(ranks: Start) -> None:
    plain = ranks(OVERWRITTEN, "wrong", how="plain")
    assert ranks(OVERWRITTEN, "wrong").out == plain.out
    assert ranks(OVERWRITTEN).findings() == []


@pytest.mark.nightly
def test_looking_at_handles_and_shards_changes_nothing(ranks: Start, tmp_path: Path) -> None:
    if missing := lacking(SHARDED):
        pytest.skip(missing)
    said = ranks(SHARDED, how="plain").out
    before = [(tmp_path / f"weights-{rank}").read_text() for rank in range(2)]
    ran = ranks(SHARDED)
    assert ran.out == said and ran.status == 0
    assert [(tmp_path / f"weights-{rank}").read_text() for rank in range(2)] == before
    assert ran.findings() == []
