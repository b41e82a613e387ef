"""Finds what repeats in a sequence of ops: an unrolled loop, equal blocks of a model."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

MIN_REPEATS = 3
MIN_PARTS = 5  # different parts from which on two in a row are worth folding
MAX_PASSES = 4  # loops within loops
MAX_TRIES = 4  # periods tried at one place


def fold(
    tokens: Sequence[Hashable],
    parts: Sequence[Hashable] = (),
    least: int = MIN_REPEATS,
    partial: bool = False,
) -> list[list[int]]:
    """Groups of positions that are the same place of a repeated stretch, by first position.

    A stretch repeats if the same tokens follow each other at least `least` times,
    or twice where it has MIN_PARTS different `parts` that don't come again; positions that
    don't repeat are groups of one. partial: a last round may end early.
    """
    ids: dict[Hashable, int] = {}
    sequence = [ids.setdefault(token, len(ids)) for token in tokens]
    groups = [[i] for i in range(len(sequence))]
    origin = list(parts) or [None] * len(sequence)
    part_of = origin
    for _ in range(MAX_PASSES):
        folded, merged = _fold_once(sequence, groups, part_of, least, partial)
        if len(folded) == len(sequence):
            break
        # An inner loop matches another only if it went round as often.
        fresh: dict[Hashable, int] = {}
        sequence = [fresh.setdefault(token, len(fresh)) for token in folded]
        groups = merged
        part_of = [origin[positions[0]] for positions in merged]
    return groups


def _fold_once(
    sequence: list[int], groups: list[list[int]], part_of: list[Hashable], least: int, partial: bool
) -> tuple[list[tuple[int, int]], list[list[int]]]:
    follows = _next_occurrence(sequence)
    tokens: list[tuple[int, int]] = []
    merged: list[list[int]] = []
    at = 0
    while at < len(sequence):
        period, repeats = _repeats_at(sequence, follows, at, part_of, least)
        end = at + period * repeats
        if partial and repeats > 1:
            while end < len(sequence) and sequence[end] == sequence[end - period]:
                end += 1
        for k in range(period):
            rounds = range(at + k, end, period)
            tokens.append((sequence[at + k], len(rounds)))
            merged.append([i for place in rounds for i in groups[place]])
        at = end
    return tokens, merged


def _next_occurrence(sequence: list[int]) -> list[int]:
    follows = [-1] * len(sequence)
    last: dict[int, int] = {}
    for at in range(len(sequence) - 1, -1, -1):
        follows[at] = last.get(sequence[at], -1)
        last[sequence[at]] = at
    return follows


def _repeats_at(
    sequence: list[int], follows: list[int], at: int, part_of: list[Hashable], least: int
) -> tuple[int, int]:
    """(period, repeats) of what repeats from `at` on; (1, 1) where nothing does."""
    other = follows[at]
    for _ in range(MAX_TRIES):
        if other < 0:
            break
        period = other - at
        end = other
        size = len(sequence)
        while end < size and sequence[end] == sequence[end - period]:
            end += 1
        repeats = (end - at) // period
        if repeats >= least or (repeats == 2 and _pair(part_of[at : at + 2 * period])):
            return period, repeats
        other = follows[other]
    return 1, 1


def _pair(parts: list[Hashable]) -> bool:
    """Whether two equal stretches are large, and not two rounds of the same parts."""
    half = len(parts) // 2
    first, second = set(parts[:half]), set(parts[half:])
    return len(first) >= MIN_PARTS and not first & second
