"""To look at gradients changes nothing that is said of them; to use them does."""

from __future__ import annotations

import os

import pytest
from sweeps import looked_at, pairs

SEED = int(os.environ.get("GRADSCOPE_SEED", "1"))
DRAWN = 20
MORE = 200  # in the nightly run
EACH = 4  # in the ordinary run one program of so many
LOOKED_AT = 3  # programs, with each way of keeping
LOOKED_FOR = ("GS206", "GS207", "GS214", "GS215")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("each", [EACH, pytest.param(1, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("rule", LOOKED_FOR)
def test_printed_gradients_are_as_unused_as_before(rule: str, each: int) -> None:
    assert not looked_at.differences(looked_at.programs(rule)[::each])


@pytest.mark.drawn(0.3)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("rule", [*LOOKED_FOR, "GS205"])
def test_gradients_that_are_kept_hide_nothing(rule: str) -> None:
    assert not looked_at.lost(looked_at.programs(rule)[:LOOKED_AT])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("drawn", [DRAWN, pytest.param(MORE, marks=pytest.mark.nightly)])
def test_programs_that_print_their_gradients_are_told_the_same(drawn: int) -> None:
    assert not looked_at.differences(looked_at.drawn(SEED, drawn)), f"GRADSCOPE_SEED={SEED}"


# Each takes the gradients of `net` to something else than a step of an optimizer of its own.
USES = {
    "data": "for p in net.parameters():\n    p.data -= 0.1 * p.grad",
    "in place": "with torch.no_grad():\n    for p in net.parameters():\n        p.sub_(0.1 * p.grad)",
    "copied": "with torch.no_grad():\n    for p in net.parameters():\n        p.copy_(p - 0.1 * p.grad.clone())",
    "momentum": "with torch.no_grad():\n    for p, m in zip(net.parameters(), moments):\n"
    "        m.mul_(0.9).add_(p.grad)\n        p.add_(m, alpha=-0.1)",
    "foreach": "with torch.no_grad():\n"
    "    torch._foreach_add_([*net.parameters()], [p.grad for p in net.parameters()], alpha=-0.1)",
    "numpy": "with torch.no_grad():\n    for p in net.parameters():\n"
    "        p.copy_(torch.from_numpy(p.numpy() - 0.1 * p.grad.numpy()))",
    "given to another": "for p, q in zip(net.parameters(), other.parameters()):\n    q._grad = p.grad",
    "copied to another": "for p, q in zip(net.parameters(), other.parameters()):\n    q.grad = p.grad.clone()",
    "squares added up": "for p, m in zip(net.parameters(), moments):\n    m += p.grad ** 2",
    "kept as a vector": "kept.append(torch.cat([p.grad.flatten() for p in net.parameters()]).clone())\n"
    "print(torch.stack(kept).std().item())",
    "norms kept": "kept.append(sum(p.grad.norm().item() for p in net.parameters()))",
}

PROGRAM = """
def both():
    import torch
    from torch import nn

    net, other = nn.Linear(3, 1), nn.Linear(3, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    opt = torch.optim.SGD(other.parameters(), lr=0.1)
    moments, kept = [torch.zeros_like(p) for p in net.parameters()], []
    for _ in range(5):
        optimizer.zero_grad()
        net(torch.randn(8, 3)).pow(2).mean().backward()
        {use}
        if all(p.grad is not None for p in other.parameters()):
            opt.step()
"""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("use", USES)
def test_gradients_that_are_used_without_a_step_are_used(use: str) -> None:
    text = PROGRAM.format(use=USES[use].replace("\n", "\n        "))
    found, failure = pairs.findings(pairs.of_text(text))
    assert failure is None
    assert not {"GS205", "GS215", "GS605"} & pairs.serious(found), found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "look",
    [
        "print([p.grad for p in net.parameters()])",
        "print([p.grad.norm().item() for p in net.parameters()])",
        "print(net.weight.grad.tolist(), net.bias.grad.numpy())",
        "size = sum(p.grad.norm().item() for p in net.parameters())\nprint(f'{size:.3f}')",
        "assert torch.isfinite(net.weight.grad).all()",
        "bool((net.weight.grad != 0).any())",
        "sum(p.grad.abs().sum().item() for p in net.parameters()) / 2",
    ],
)
def test_gradients_that_are_only_shown_are_not(look: str) -> None:
    text = PROGRAM.format(use=look.replace("\n", "\n        "))
    found, _ = pairs.findings(pairs.of_text(text))
    assert "GS205" in pairs.serious(found)
