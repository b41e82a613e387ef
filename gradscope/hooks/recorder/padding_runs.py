"""Padding that shows itself in the tokens of a batch."""

from __future__ import annotations

import torch

ROWS, PLACES = 4, 3  # at least


def padding_runs(rows: torch.Tensor) -> tuple[int, bool, torch.Tensor] | None:
    """The token that stands in one run in each row, its runs ending at the same place and of several lengths; whether
    the token before them is the same in all rows; where it stands."""
    if rows.shape[0] < ROWS or rows.shape[1] < PLACES:
        return None
    for some in (rows[:, -1], rows.reshape(-1)):
        index = int(some.mode().values)
        places = rows == index
        lengths, reached = places.sum(1), places.any(0).nonzero()
        if int(lengths.max()) < 2 or int(lengths.min()) == int(lengths.max()):
            continue
        end, count = int(reached[-1]), torch.arange(rows.shape[1], device="cpu")
        wanted = (count <= end) & (count > end - lengths.unsqueeze(1))
        if int((lengths > 0).sum()) * 2 < len(rows) or not bool((places == wanted).all()):
            continue
        behind = (lengths > 0) & (lengths <= end)
        before = rows[behind, (end - lengths)[behind]]
        return index, len(before) > 0 and bool((before == before[0]).all()), places
    return None
