"""Equations of `einsum`: what each letter stands for (torch's documentation of `torch.einsum`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from gradscope.model import Op

ELLIPSIS = "…"  # one sign for the three of "..."


class Equation(NamedTuple):
    operands: tuple[str, ...]
    result: str

    @property
    def contracted(self) -> set[str]:
        """The letters of two operands or more that the result has not: what is summed of a product."""
        counts = Counter(letter for operand in self.operands for letter in set(operand))
        return {letter for letter, n in counts.items() if n > 1} - {*self.result, ELLIPSIS}

    def width(self, shape: Sequence[int]) -> int:
        """Of how many numbers each number of the result is a sum, where the first operand has this shape."""
        axes = self.axes(0, len(shape))
        return prod(shape[axes[letter]] for letter in self.contracted if letter in axes)

    @property
    def text(self) -> str:
        return f"{','.join(self.operands)}->{self.result}".replace(ELLIPSIS, "...")

    def axes(self, operand: int, rank: int) -> dict[str, int]:
        """Letter → axis of this operand, which has `rank` of them; empty where they do not go together."""
        before, dots, after = self.operands[operand].partition(ELLIPSIS)
        if len(before) + len(after) > rank or (not dots and len(before) != rank):
            return {}
        return {
            **{letter: axis for axis, letter in enumerate(before)},
            **{letter: axis for axis, letter in enumerate(after, rank - len(after))},
        }


def of(op: Op) -> Equation | None:
    """That of an `einsum`, where it was given as a text."""
    text = op.extra.get("equation")
    return read(text) if text else None


def read(text: str) -> Equation:
    """An equation as it is written: "bij,bjk->bik". Without an arrow the result has the letters that occur once, in
    the order of the alphabet."""
    given, arrow, result = text.replace(" ", "").replace("...", ELLIPSIS).partition("->")
    if not arrow:
        counts = Counter(given)
        once = sorted(letter for letter, n in counts.items() if n == 1 and letter not in (",", ELLIPSIS))
        result = ELLIPSIS * (ELLIPSIS in given) + "".join(once)
    return Equation(tuple(given.split(",")), result)
