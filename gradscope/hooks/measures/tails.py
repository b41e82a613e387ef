"""Whether the rows of tokens that an embedding is given end alike, each after another length: with padding. At the
first call of each embedding that is trained; and of each recurrent layer that is given numbers as they are: whether its
sequences end with zeros, which stand nowhere else in them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.values import can_be_asked

MAX_ELEMENTS = 1_000_000
LAYERS = ("lstm", "gru", "rnn_tanh", "rnn_relu")
ROWS, PLACES = 4, 4  # at least
ALIKE = 0.5  # of the rows
LONG = 2  # tokens, on average


class Tails(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.told: set[int] = set()  # leaves
        self.recorder.functions.follow(["embedding"], self._embedding)
        self.recorder.functions.follow(LAYERS, self._layer)

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

    def _layer(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if len(args) != 9 or type(args[-1]) is not bool or not torch.is_grad_enabled():
            return  # packed sequences
        x, weights = args[0], args[2]
        if (
            not isinstance(x, torch.Tensor)
            or x.dim() != 3
            or x.requires_grad
            or not can_be_asked(x, MAX_ELEMENTS)
        ):
            return
        if type(weights) not in (list, tuple) or not weights or not weights[0].requires_grad:
            return
        leaf = self.recorder.ledger.of(weights[0]).id
        if leaf in self.told:
            return
        self.told.add(leaf)
        site, batch_first = self.recorder.sites.current(frame), args[-1]

        def tell(x: torch.Tensor) -> None:
            zeros = (x == 0).all(-1)
            if (found := _zeros_at_the_end(zeros if batch_first else zeros.t())) is not None:
                self.recorder.emit("tails", site, {"parameter": leaf, **found})

        self.recorder.arrivals.when_here((x,), tell)


def _zeros_at_the_end(rows: torch.Tensor) -> dict[str, Any] | None:
    """The same of rows that are true where all features are zero."""
    if rows.shape[0] < ROWS or rows.shape[1] < PLACES:
        return None
    lengths = rows.flip(1).long().cumprod(1).sum(1)
    return None if int(rows.sum()) != int(lengths.sum()) else _measured(lengths, 0, rows.shape[1])


def _tail(rows: torch.Tensor) -> dict[str, Any] | None:
    """The token that most rows (of a second axis of places) end with, and how often it stands there in a row."""
    if rows.shape[0] < ROWS or rows.shape[1] < PLACES:
        return None
    token, _ = Counter(rows[:, -1].tolist()).most_common(1)[0]
    lengths = (rows == token).flip(1).long().cumprod(1).sum(1)
    return _measured(lengths, int(token), rows.shape[1])


def _measured(lengths: torch.Tensor, token: int, places: int) -> dict[str, Any] | None:
    ends = int((lengths > 0).sum()) / len(lengths)
    mean = float(lengths.double().mean())
    if ends < ALIKE or mean < LONG or bool((lengths == lengths[0]).all()):
        return None
    return {"token": token, "places": places, "ends": ends, "mean": mean, "most": int(lengths.max())}
