"""Two mistakes in one training loop are both told; `tests/sweeps/pairs.py` tries all pairs."""

from __future__ import annotations

import pytest
from sweeps import pairs

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


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_two_mistakes_in_one_loop_are_both_told(one: str, other: str) -> None:
    first, second = pairs.first_of(one), pairs.first_of(other)
    assert first is not None and second is not None
    assert not pairs.missed((one, first), (other, second))
