"""More programs of GS812: each bad one is reported at its marks, each good one by no rule."""

from __future__ import annotations

import torch
from torch import nn


def bad_returned_before_the_hand_over() -> None:
    def ensure_shared_grads(local: nn.Module, shared: nn.Module) -> None:
        for own, held in zip(local.parameters(), shared.parameters(), strict=True):
            if held.grad is not None:  # cause: GS812
                return
            held._grad = own.grad

    shared, local = nn.Linear(3, 1), nn.Linear(3, 1)
    opt = torch.optim.Adam(shared.parameters(), lr=0.1)
    for _ in range(6):
        local.load_state_dict(shared.state_dict())
        local.zero_grad()
        local(torch.randn(8, 3)).pow(2).mean().backward()
        ensure_shared_grads(local, shared)
        opt.step()  # effect: GS812


def good_cleared_before_the_hand_over() -> None:
    def hand_over(local: nn.Module, shared: nn.Module) -> None:
        for own, held in zip(local.parameters(), shared.parameters(), strict=True):
            if held.grad is not None:
                return
            held._grad = own.grad

    shared, local = nn.Linear(3, 1), nn.Linear(3, 1)
    opt = torch.optim.Adam(shared.parameters(), lr=0.1)
    for _ in range(6):
        local.load_state_dict(shared.state_dict())
        local.zero_grad()
        opt.zero_grad()
        local(torch.randn(8, 3)).pow(2).mean().backward()
        hand_over(local, shared)
        opt.step()


def good_filled_with_zeros() -> None:
    shared, local = nn.Linear(3, 1), nn.Linear(3, 1)
    opt = torch.optim.SGD(shared.parameters(), lr=0.1)
    for _ in range(6):
        local.load_state_dict(shared.state_dict())
        local.zero_grad(set_to_none=False)
        local(torch.randn(8, 3)).pow(2).mean().backward()
        for own, held in zip(local.parameters(), shared.parameters(), strict=True):
            if held.grad is None:
                held.grad = own.grad
        opt.step()
