"""What GS304 says to do about a loss without a graph that was made to require a gradient."""

from __future__ import annotations

from pathlib import Path

import pytest

import gradscope

SETUP = """\
import torch
from torch import nn
model = nn.Linear(4, 3)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
    opt.zero_grad()
"""
BODIES = {
    "a variable that was detached is no list of numbers": (
        "out = model(x).detach(); loss = nn.functional.cross_entropy(out, y); loss.requires_grad_()",
        "compute `model(x).detach()`",
    ),
    "what a block without gradients computed has none": (
        "with torch.no_grad(): loss = nn.functional.cross_entropy(model(x), y)\n    loss.requires_grad_()",
        "with gradients on",
    ),
    "a tensor is no list": (
        "loss = nn.functional.cross_entropy(model(x), y); both = torch.tensor(loss, requires_grad=True)"
        "; loss = both * 2",
        "use `loss` itself in place of `torch.tensor(loss, requires_grad=True)`",
    ),
    "a list of one tensor has nothing to be filled otherwise": (
        "terms = [nn.functional.cross_entropy(model(x), y)]"
        "; loss = torch.tensor(terms, requires_grad=True).sum()",
        "write `torch.stack(terms)` in place of",
    ),
    "a list of numbers is stacked": (
        "all_of = [model(x).pow(2).mean().item() for _ in range(3)]"
        "; loss = torch.tensor(all_of, requires_grad=True).mean()",
        "torch.stack(all_of)",
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_the_fix_is_of_what_lost_the_graph(name: str, tmp_path: Path) -> None:
    body, expected = BODIES[name]
    path = tmp_path / "train.py"
    path.write_text(f"{SETUP}    {body}\n    loss.backward()\n    opt.step()\n")
    with gradscope.watch() as scope:
        exec(compile(path.read_text(), str(path), "exec"), {"__name__": "train"})
    (found,) = [finding for finding in scope.findings if finding.code == "GS304"]
    assert expected in found.fix, found.fix
