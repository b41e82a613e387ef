"""The tokens that embeddings are given, where they end in runs of padding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.looks import Looks
from gradscope.hooks.recorder.padding_runs import padding_runs
from gradscope.hooks.recorder.values import can_be_asked

FIRST = 8  # calls of a line that are looked at in any case, then ever more rarely
MAX_ELEMENTS = 1_000_000
MAX_SITES = 64


@dataclass(frozen=True)
class Padded:
    form: tuple[int, ...]  # rows, places
    index: int  # the token that is padding
    places: torch.Tensor  # bool: where it stands


class PaddedTokens(Hook):
    """What each embedding was given last, by the site of the call; asked for by `services.padded_tokens`."""

    order = 91  # before those that ask

    def install(self) -> None:
        self.looks = Looks(FIRST, MAX_SITES)
        self.shown: dict[int, Padded] = {}
        self.recorder.functions.follow(["embedding"], self._embedding)
        self.recorder.services.padded_tokens = self._of

    def _of(self, form: tuple[int, int]) -> tuple[int, Padded] | None:
        """The first embedding's tokens of this form, with the site of the call."""
        return next(((site, found) for site, found in self.shown.items() if found.form == form), None)

    def _embedding(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        tokens = by_name(("input", "weight"), args, kwargs).get("input")
        if not isinstance(tokens, torch.Tensor) or tokens.dim() != 2:
            return
        form, site = tuple(tokens.shape), self.recorder.sites.current(frame)
        self.shown.pop(site, None)
        if not self.looks.due(site) or tokens.dtype != torch.int64 or not can_be_asked(tokens, MAX_ELEMENTS):
            return

        def look(tokens: torch.Tensor) -> None:
            found = padding_runs(tokens)
            if found is not None and not bool(found[2][:, 0].any()):
                self.shown[site] = Padded(form, found[0], found[2])

        self.recorder.arrivals.when_here((tokens,), look)
