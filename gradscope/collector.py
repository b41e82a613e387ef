"""Python's collector of reference cycles, which looks at each of a million objects again and again."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """No collection in this block: half of the time that a large graph takes to read is spent in vain there."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def settle() -> None:
    """What there is now stays: only a collection of everything looks at it again, as after imports in plain Python,
    where every collection meanwhile has looked. Not where the program keeps objects from the collector itself."""
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()  # gives all to the oldest generation
