"""Two mistakes in one training loop are both told; `tests/sweeps/pairs.py` tries all pairs."""

from __future__ import annotations

import pytest
import torch
from sweeps import pairs
from torch import nn

import gradscope

PAIRS = [
    ("GS204", "GS205"),  # neither step is the other's
    ("GS205", "GS304"),
    ("GS211", "GS705"),  # the scaler is another loss's
    ("GS211", "GS710"),  # the scaler is another model's
    ("GS215", "GS603"),  # two optimizers, whose steps come and go
    ("GS217", "GS406"),  # a long loop first, through which sampling sleeps
    ("GS223", "GS308"),  # a long loop first with blocks of no_grad, then another model's call
    ("GS224", "GS706"),  # another model's loss, in the same loop, does not fall
    ("GS224", "GS225"),  # three passes in a round: those of each are measured now and then
    ("GS225", "GS308"),
    ("GS602", "GS603"),
    ("GS605", "GS705"),  # two networks in one pass
]


@pytest.mark.drawn(0.5)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_two_mistakes_in_one_loop_are_both_told(one: str, other: str) -> None:
    first, second = pairs.first_of(one), pairs.first_of(other)
    assert first is not None and second is not None
    assert not pairs.missed((one, first), (other, second))


def test_a_layer_that_is_never_called_is_told_though_every_step_finds_nothing() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.head, self.spare = nn.Linear(3, 4), nn.Linear(4, 1), nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.head(torch.relu(self.body(x)))

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(4):
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.zero_grad()
            opt.step()
    assert [f.code for f in scope.findings] == ["GS202", "GS302"]


def test_layers_in_a_plain_list_do_not_hide_that_an_accumulation_is_cleared() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = [nn.Linear(4, 4) for _ in range(2)]
            self.head = nn.Linear(4, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for layer in self.layers:
                x = torch.relu(layer(x))
            return self.head(x)

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        for i in range(12):
            opt.zero_grad()
            model(torch.randn(8, 4)).pow(2).mean().backward()
            if i % 4 == 3:
                opt.step()
    assert sorted(f.code for f in scope.findings) == ["GS214", "GS215"]
