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


def test_an_optimizer_of_what_another_one_steps_is_given_the_forgotten_model_in_place_of_that() -> None:
    with gradscope.watch() as scope:
        generator, judge = nn.Linear(4, 2), nn.Linear(2, 1)
        opt_g = torch.optim.Adam(judge.parameters())
        opt_j = torch.optim.Adam(judge.parameters())
        for _ in range(3):
            fake = generator(torch.randn(16, 4))
            opt_j.zero_grad()
            judge(fake.detach()).exp().mean().backward()
            opt_j.step()
            opt_g.zero_grad()
            judge(fake).mean().neg().backward()
            opt_g.step()
    (found,) = scope.findings
    assert found.code == "GS206"
    assert found.fix.startswith("give `generator` to `opt_g` (")
    assert found.fix.endswith(", in place of what `opt_j` holds as well")
    assert [edit.text for edit in found.edits] == ["generator.parameters()"]
