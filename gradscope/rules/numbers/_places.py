"""Sequences: whether a value still has their places apart."""

from __future__ import annotations


def keeps_places(shape: tuple[int, ...], samples: int, places: int) -> bool:
    """Whether a value of this form has something for each place of each sample."""
    if samples * places in shape:
        return True
    left = list(shape)
    for size in (samples, places):
        if size not in left:
            return False
        left.remove(size)
    return True
