"""The fix names what the user wrote."""

import torch
from torch import nn

import gradscope


def test_what_data_is_taken_of_is_named_in_the_fix_also_where_it_is_a_call() -> None:
    first, second = nn.Linear(3, 3), nn.Linear(3, 1)
    opt = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(3):
            hidden = first(torch.randn(4, 3)).data
            opt.zero_grad()
            second(hidden).pow(2).mean().backward()
            opt.step()
    (found,) = scope.findings
    assert (found.code, found.severity) == (
        "GS102",
        "error",
    )  # as of `detach()`: the optimizer steps what is cut
    assert found.fix.startswith("use `first(torch.randn(4, 3))` itself")
