from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Heads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.one = nn.Linear(8, 1)
        self.two = nn.Linear(8, 1)

    def forward(self, x: torch.Tensor, second: bool) -> torch.Tensor:
        hidden = self.body(x)
        return self.two(hidden) if second else self.one(hidden)


def bad_detached() -> None:
    class Cut(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(4, 8), nn.Linear(8, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            hidden = self.first(x).detach()  # cause: GS803
            return self.last(hidden)

    model = DistributedDataParallel(Cut())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()  # effect: GS803
        opt.step()


def good_heads_in_turn() -> None:
    model = DistributedDataParallel(Heads(), find_unused_parameters=True)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for turn in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4), turn % 2 == 0).pow(2).mean().backward()
        opt.step()


def good_frozen_before() -> None:
    net = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 1))
    net[0].requires_grad_(False)
    model = DistributedDataParallel(net)
    opt = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


def good_two_losses() -> None:
    net = nn.ModuleDict({"a": nn.Linear(4, 1), "b": nn.Linear(4, 1)})

    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = net

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return self.parts["a"](x), self.parts["b"](x)

    model = DistributedDataParallel(Both())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        one, two = model(torch.randn(8, 4))
        (one.pow(2).mean() + two.pow(2).mean()).backward()
        opt.step()
    assert dist.get_world_size() == 2


def bad_replaced_after_wrapping() -> None:
    model = DistributedDataParallel(nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 1)))
    model.module[1] = nn.Linear(8, 1)  # cause: GS803
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()  # effect: GS803
        opt.step()


def good_replaced_before() -> None:
    layers = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 1))
    layers[1] = nn.Linear(8, 1)
    model = DistributedDataParallel(layers)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
