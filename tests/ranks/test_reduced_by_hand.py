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

PIPELINE = """
def first(stage, optimizer):
    for turn in range(4):
        optimizer.zero_grad()
        outs = [stage(torch.randn(6, 8)) for _ in range(3)]
        for out in outs:
            dist.send(out.detach(), 1)
        for out in outs:
            dist.recv(grad := torch.empty_like(out), 1)
            out.backward(grad)
        optimizer.step()


def second(stage, optimizer):
    buffer = torch.empty(6, 16)
    for turn in range(4):
        optimizer.zero_grad()
        pending = []
        for micro in range(3):
            if "right" in sys.argv:
                buffer = torch.empty(6, 16)
            if "later" in sys.argv:
                dist.irecv(buffer, 0).wait()
            elif "batch" in sys.argv:
                [work.wait() for work in dist.batch_isend_irecv([dist.P2POp(dist.irecv, buffer, 0)])]
            else:
                dist.recv(buffer, 0)  # into the same memory
            given = buffer.detach().requires_grad_()
            pending.append((given, stage(given).square().mean() / 3))
        for given, loss in pending:
            loss.backward()
            dist.send(given.grad, 0)
        optimizer.step()


rank = begin()
stage = nn.Sequential(nn.Linear(16, 16) if rank else nn.Linear(8, 16), nn.Tanh())
(first, second)[rank](stage, torch.optim.SGD(stage.parameters(), lr=0.05))
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


@pytest.mark.parametrize("how", ["", "later", pytest.param("batch", marks=pytest.mark.nightly)])
def test_what_is_received_overwrites_what_backward_needs(how: str, ranks: Start) -> None:
    ran = ranks(PIPELINE, "wrong", how)
    assert ran.findings() == [("GS101", "error", [1])]
    if not how:
        assert "cause: `dist.recv` writes to its argument" in ran.told
        assert "`buffer = torch.empty_like(buffer)` before `dist.recv(buffer, 0)`" in ran.told
    assert ranks(PIPELINE, "right", how).findings() == []


def test_a_reduction_in_place_overwrites_what_backward_needs(ranks: Start) -> None:
    ran = ranks(OVERWRITTEN, "wrong")
    assert ran.findings() == [("GS101", "error", [0, 1])]
    assert "`hidden` was overwritten" in ran.told and "dist.all_reduce" in ran.told


@pytest.mark.nightly
def test_a_copy_may_be_reduced(ranks: Start) -> None:
    plain = ranks(OVERWRITTEN, "wrong", how="plain")
    # Two ranks write to one pipe: a line may come between another one and its end.
    assert sorted(ranks(OVERWRITTEN, "wrong").out.split("\n")) == sorted(plain.out.split("\n"))
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
