"""A drawn part of the operator sweep: `python tests/sweeps/ops.py` runs all of it."""

from __future__ import annotations

import os
import random

import pytest
from sweeps import ops

SEED = int(os.environ.get("GRADSCOPE_SEED", "1"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "dtype",
    [
        dtype if dtype != "complex64" else pytest.param(dtype, marks=pytest.mark.nightly)
        for dtype in ops.DTYPES
    ],
)
@pytest.mark.parametrize("share", [0.15, pytest.param(1.0, marks=pytest.mark.nightly)])
def test_operators_are_captured_and_untouched(dtype: str, share: float) -> None:
    chosen = [op for op in ops.op_db if op.supports_autograd]
    chosen = [op for op in chosen if ops.DTYPES[dtype] in op.supported_backward_dtypes("cpu")]
    drawn = random.Random(SEED)
    for variant, number in (("function", 60), ("inplace", 40)):
        tally = ops.sweep(drawn.sample(chosen, round(share * number)), dtype, variant, SEED, 6)
        assert not tally.differences, f"GRADSCOPE_SEED={SEED}"
        assert tally.nodes
