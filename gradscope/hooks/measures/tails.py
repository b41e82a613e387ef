"""Whether the rows of tokens that an embedding is given end alike, each after another length: with padding. At the
first call of each embedding that is trained."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.values import can_be_asked

MAX_ELEMENTS = 1_000_000
ROWS, PLACES = 4, 4  # at least
ALIKE = 0.5  # of the rows
LONG = 2  # tokens, on average


class Tails(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.told: set[int] = set()  # leaves
        self.recorder.functions.follow(["embedding"], self._embedding)

    def _embedding(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        given = by_name(("input", "weight"), args, kwargs)
        tokens, weight = given.get("input"), given.get("weight")
        if not isinstance(tokens, torch.Tensor) or tokens.dim() != 2 or not torch.is_grad_enabled():
            return
        if weight is None or not can_be_asked(tokens, MAX_ELEMENTS) or not weight.requires_grad:
            return
        leaf = self.recorder.ledger.of(weight).id
        if leaf in self.told:
            return
        self.told.add(leaf)
        site = self.recorder.sites.current(frame)

        def tell(tokens: torch.Tensor) -> None:
            if (found := _tail(tokens) or _tail(tokens.t())) is not None:
                self.recorder.emit("tails", site, {"parameter": leaf, **found})

        self.recorder.arrivals.when_here((tokens,), tell)


def _tail(rows: torch.Tensor) -> dict[str, Any] | None:
    """The token that most rows (of a second axis of places) end with, and how often it stands there in a row."""
    if rows.shape[0] < ROWS or rows.shape[1] < PLACES:
        return None
    token, _ = Counter(rows[:, -1].tolist()).most_common(1)[0]
    lengths = (rows == token).flip(1).long().cumprod(1).sum(1)
    ends = int((lengths > 0).sum()) / len(rows)
    mean = float(lengths.double().mean())
    if ends < ALIKE or mean < LONG or bool((lengths == lengths[0]).all()):
        return None
    return {
        "token": int(token),
        "places": rows.shape[1],
        "ends": ends,
        "mean": mean,
        "most": int(lengths.max()),
    }
