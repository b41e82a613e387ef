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


class Growing(nn.Module):
    """Uses as many blocks as the size that it has reached."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(4, 4) for _ in range(4))

    def forward(self, x: torch.Tensor, step: int) -> torch.Tensor:
        for i, block in enumerate(self.blocks):
            x = block(x).tanh()
            if i == step:
                break
        return x


def test_blocks_of_sizes_that_are_not_reached_are_not_told_to_be_used() -> None:
    model = Growing()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(3):
            opt.zero_grad()
            model(torch.randn(8, 4), 1).pow(2).mean().backward()
            opt.step()
    (found,) = scope.findings
    assert (found.code, found.severity) == ("GS302", "note")
    assert found.fix.startswith("nothing, where this run is to use only some of the layers in `self.blocks`")
