"""A list that keeps graphs: where the loop fills another one in the same way, both lines are told and mended."""

from __future__ import annotations

import torch
from torch import nn

import gradscope


def test_every_list_of_the_loop_is_mended() -> None:
    model = nn.Linear(4, 1)
    x = torch.randn(8, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    losses, sizes, numbers = [], [], []
    with gradscope.watch() as scope:
        for _ in range(12):
            opt.zero_grad()
            loss = model(x).pow(2).mean()
            loss.backward()
            opt.step()
            losses.append(loss)
            sizes.append(model.weight.norm())
            numbers.append(model.bias.norm().item())
    (finding,) = (f for f in scope.findings if f.code == "GS602")
    assert [edit.text for edit in finding.edits] == ["loss.detach()", "model.weight.norm().detach()"]
    assert "sizes.append" in finding.fix and "numbers" not in finding.fix
