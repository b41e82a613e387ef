"""One mistake hides no other: two wrong programs in one loop tell both."""

from __future__ import annotations

import itertools
import os
import random

import pytest
from sweeps import pairs

SEED = int(os.environ.get("GRADSCOPE_SEED", "1"))
DRAWN = 150


@pytest.mark.filterwarnings("ignore")
def test_two_wrong_programs_in_one_loop_tell_both() -> None:
    every = list(itertools.combinations(pairs.programs(), 2))
    lost = {
        (first[0], second[0]): missed
        for first, second in random.Random(SEED).sample(every, DRAWN)
        if (missed := pairs.missed(first, second))
    }
    assert not lost, f"GRADSCOPE_SEED={SEED}"
