"""Equations of `einsum`, beside what torch makes of them."""

from __future__ import annotations

import pytest
import torch

from gradscope.equations import read


@pytest.mark.parametrize(
    "text, shapes",
    [
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
        ("bij, bjk", [(2, 3, 4), (2, 4, 5)]),
        ("zy,yx", [(2, 3), (3, 4)]),
        ("...ij,...jk->...ik", [(6, 7, 3, 4), (6, 7, 4, 5)]),
        ("b...c,cd->b...d", [(2, 6, 7, 3), (3, 4)]),
        ("i,i->", [(3,), (3,)]),
        ("bi,b->i", [(2, 3), (2,)]),
    ],
)
def test_letters_are_what_torch_takes_them_for(text: str, shapes: list[tuple[int, ...]]) -> None:
    equation = read(text)
    sizes: dict[str, int] = {}
    for operand, shape in enumerate(shapes):
        axes = equation.axes(operand, len(shape))
        assert axes
        for letter, axis in axes.items():
            assert sizes.setdefault(letter, shape[axis]) == shape[axis]
    result = torch.einsum(text, *(torch.ones(shape) for shape in shapes))
    assert torch.equal(torch.einsum(equation.text, *(torch.ones(shape) for shape in shapes)), result)
    assert (
        result.flatten()[0].item() == torch.tensor([sizes[letter] for letter in equation.contracted]).prod()
    )
    letters = [letter for letter in equation.result if letter in sizes]
    named = [size for size in result.shape if size not in (6, 7)]
    assert named == [sizes[letter] for letter in letters]


def test_too_few_axes_have_no_letters() -> None:
    assert read("bij,bjk->bik").axes(0, 2) == {}
    assert read("...ij,jk").axes(0, 1) == {}
