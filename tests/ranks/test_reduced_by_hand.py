"""Programs that call `torch.distributed` by themselves: wrong ones are told, and right ones that look alike are not."""

from __future__ import annotations

import pytest
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


def test_a_reduction_in_place_overwrites_what_backward_needs(ranks: Start) -> None:
    ran = ranks(OVERWRITTEN, "wrong")
    assert ran.findings() == [("GS101", "error", [0, 1])]
    assert "`hidden` was overwritten" in ran.told and "dist.all_reduce" in ran.told


@pytest.mark.nightly
def test_a_copy_may_be_reduced(ranks: Start) -> None:
    plain = ranks(OVERWRITTEN, "wrong", how="plain")
    assert ranks(OVERWRITTEN, "wrong").out == plain.out
    assert ranks(OVERWRITTEN).findings() == []
