"""A count says how often, or that it was oftener: sampling looks at some of the passes only."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import gradscope
from gradscope.model import Finding

STEPS = 60


def detached_and_overwritten(steps: int, *, sample: bool = True) -> dict[str, Finding]:
    """The findings of a loop with a detached layer, in which `.data` of what backward needs is written too."""
    torch.manual_seed(0)
    first, head = nn.Linear(3, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*first.parameters(), *head.parameters()], lr=0.01)
    with gradscope.watch(sample=sample) as scope:
        for _ in range(steps):
            hidden = first(torch.randn(8, 3)).detach()
            out = head(hidden)
            hidden.data.mul_(2)
            opt.zero_grad()
            out.pow(2).mean().backward()
            opt.step()
    return {finding.code: finding for finding in scope.findings}


def test_a_count_of_looked_at_passes_is_told_as_a_lower_bound() -> None:
    found = detached_and_overwritten(STEPS)
    written = found["GS101"]
    assert 1 < written.count < STEPS
    assert written.extent.startswith(f"×{written.count} or more")


def test_a_count_of_all_passes_is_told_as_it_is() -> None:
    assert detached_and_overwritten(STEPS)["GS301"].extent.startswith(f"×{STEPS}")
    assert "or more" not in detached_and_overwritten(STEPS)["GS301"].extent


@pytest.mark.parametrize(("steps", "sample"), [(4, True), (STEPS, False)])
def test_where_all_was_looked_at_each_count_is_exact(steps: int, sample: bool) -> None:
    found = detached_and_overwritten(steps, sample=sample)
    assert [found[code].extent for code in ("GS101", "GS301")] == [f"×{steps}"] * 2


def test_passes_into_a_leaf_of_no_module_are_counted_while_sampling_sleeps() -> None:
    model, balance = nn.Linear(3, 2), nn.Parameter(torch.zeros(2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(STEPS):
            losses = model(torch.randn(8, 3)).pow(2).mean(0)
            opt.zero_grad()
            ((-balance).exp() * losses + balance).sum().backward()
            opt.step()
    (found,) = [finding for finding in scope.findings if finding.code == "GS206"]
    assert f"in {STEPS} passes" in found.seen[0]


def test_passes_of_another_model_are_none_of_this_ones() -> None:
    with gradscope.watch() as scope:
        for _ in range(3):
            model = nn.ModuleDict({"used": nn.Linear(3, 1), "left": nn.Linear(3, 1)})
            opt = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(20):
                opt.zero_grad()
                model["used"](torch.randn(8, 3)).pow(2).mean().backward()
                opt.step()
    (found,) = [finding for finding in scope.findings if finding.code == "GS302"]
    assert "after 20 backward passes" in found.seen[0]


class Cut(nn.Module):
    def __init__(self, how) -> None:
        super().__init__()
        self.below, self.above, self.how = nn.Linear(3, 3), nn.Linear(3, 1), how

    def forward(self, x):
        return self.above(self.how(self.below(x)))


@pytest.mark.parametrize(
    ("code", "how"), [("GS301", lambda h: h.detach()), ("GS304", lambda h: torch.tensor(h.tolist()))]
)
def test_what_is_cut_off_counts_the_passes_of_its_own_model(code, how) -> None:
    with gradscope.watch() as scope:
        for made, times in ((lambda h: h, 30), (how, 5), (lambda h: h, 20)):
            model = Cut(made)
            opt = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(times):
                opt.zero_grad()
                model(torch.randn(8, 3)).pow(2).mean().backward()
                opt.step()
    (found,) = [finding for finding in scope.findings if finding.code == code]
    assert "is None after 5 backward passes" in found.seen[0]


@pytest.mark.parametrize(("others_too", "count"), [(False, 10), (True, 10)])
def test_passes_that_lose_it_at_one_place_count_whatever_else_they_fill(others_too: bool, count: int) -> None:
    """Of experts each step may use others; a pass of the same line that does not go through the cut is none."""
    gate, other, *experts = (nn.Linear(3, 3) for _ in range(4))
    opt = torch.optim.SGD([p for m in (gate, other, *experts) for p in m.parameters()], lr=0.01)
    with gradscope.watch(sample=False) as scope:
        for step in range(10):
            x = torch.randn(4, 3)
            losses = [experts[step % 2](x).pow(2).mean() + gate(x).argmax(-1).mul(0.1).mean()]
            if others_too:
                losses.append(other(x).pow(2).mean())
            opt.zero_grad()
            for loss in losses:
                loss.backward()
            opt.step()
    assert [f.extent for f in scope.findings if f.code == "GS305"] == [f"×{count}"]
