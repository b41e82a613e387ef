"""An operator is recorded under one name, whichever of torch's names for it the program uses."""

from __future__ import annotations

import pytest
import torch

import gradscope
from gradscope.hooks.second_names import FIRST


@pytest.mark.parametrize(("second", "first"), FIRST.items())
def test_a_second_name_is_the_same_operator(second: str, first: str) -> None:
    def result(name: str) -> tuple[torch.Tensor, list[str]]:
        numbers = torch.tensor([1.25, 2.5, 3.75], requires_grad=True)
        with gradscope.watch() as scope:
            given = numbers.clone()
            others = (torch.full_like(given, 2.0),)
            try:
                found = getattr(given, name)(*others)
            except TypeError:  # of one operand
                found = getattr(given, name)()
        names = [op.name for op in scope.trace.ops]
        return found, names

    (one, names), (other, as_first) = result(second), result(first)
    assert torch.equal(one, other) and names == as_first and second not in names and first in names
