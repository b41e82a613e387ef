"""Measures the targets of a loss at its first call from a place: their bounds, how many lie outside of what
common last activations can give, how low a binary cross entropy with them can become, and what those of `kl_div`, or a
row of those of `cross_entropy`, add up to."""

from __future__ import annotations

import math
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.losses import OF_NUMBERS, OF_TWO, SUBTRACTIONS
from gradscope.hooks.recorder.values import can_be_asked

DIVERGENCE = "kl_div"
CLASSES = "cross_entropy"  # its target may be a probability for each class
PROBABILITIES = "binary_cross_entropy"  # its input may be a softmax
SIGNED = (
    "soft_margin_loss",
    "hinge_embedding_loss",
    "cosine_embedding_loss",
    "margin_ranking_loss",
)  # 1 or -1
PLACES = {"cosine_embedding_loss": 2, "margin_ranking_loss": 2}  # of the target, where that is not 1
WEIGHTS = {"binary_cross_entropy": (2,), "binary_cross_entropy_with_logits": (2, 6)}  # their places
MAX_ELEMENTS = 10_000_000
ROUNDING = 1e-3


class Targets(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.told: set[tuple[int, str]] = set()
        self.places: set[Any] = set()  # of subtractions that were looked at
        self.recorder.functions.follow((*OF_NUMBERS, *OF_TWO, *SIGNED, DIVERGENCE, CLASSES), self._loss)
        self.recorder.functions.follow(SUBTRACTIONS, self._subtracted)

    def _subtracted(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        """The same of what a loss by hand begins with: a prediction, and as many numbers that need no gradient."""
        place = frame.f_code, frame.f_lasti
        if place in self.places or not torch.is_grad_enabled():
            return
        self.places.add(place)
        sides = [one for one in args if isinstance(one, torch.Tensor)]
        if len(sides) != 2 or sides[0].shape != sides[1].shape or sides[0].dim() == 0:
            return
        fixed = [one for one in sides if not one.requires_grad]
        if len(fixed) != 1 or not fixed[0].is_floating_point() or not can_be_asked(fixed[0], MAX_ELEMENTS):
            return
        self._measure(name, self.recorder.sites.current(frame), fixed[0])

    def _loss(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        place = PLACES.get(name, 1)
        target = args[place] if len(args) > place else (kwargs or {}).get("target")
        if not isinstance(target, torch.Tensor) or not torch.is_grad_enabled():
            return
        site = self.recorder.sites.current(frame)
        if (site, name) in self.told:
            return
        self.told.add((site, name))
        if not can_be_asked(target, MAX_ELEMENTS):
            return
        if not target.is_floating_point() and (name not in SIGNED or target.is_complex()):
            return
        weighted = name in OF_TWO and _weighted(name, args, kwargs or {})
        logs = args[5] if len(args) > 5 else (kwargs or {}).get("log_target", False)
        given = result if name in OF_TWO and can_be_asked(result, MAX_ELEMENTS) else None
        self._measure(name, site, target, weighted, logs, given)

    def _measure(
        self,
        name: str,
        site: int,
        target: torch.Tensor,
        weighted: bool = False,
        logs: object = False,
        loss: torch.Tensor | None = None,
    ) -> None:
        def tell(numbers: torch.Tensor, *losses: torch.Tensor) -> None:
            if (data := _measured(name, numbers, weighted, logs)) is not None:
                for one in losses:
                    data["elements"], data["first"] = numbers.numel(), float(one.double().sum())
                self.recorder.emit("targets", site, {"name": name, **data})

        self.recorder.arrivals.when_here((target,) if loss is None else (target, loss), tell)


def _measured(name: str, numbers: torch.Tensor, weighted: bool, logs: object) -> dict[str, Any] | None:
    numbers = numbers if numbers.is_floating_point() else numbers.float()
    low, high = (float(bound) for bound in torch.aminmax(numbers))
    if not math.isfinite(low) or not math.isfinite(high):
        return None
    outside = {
        "below_minus_one": numbers < -1 - ROUNDING,
        "below_zero": numbers < -ROUNDING,
        "above_one": numbers > 1 + ROUNDING,
        "below_half": numbers < 0.5 - ROUNDING,
        "above_half": numbers > 0.5 + ROUNDING,
    }
    data: dict[str, Any] = {name: int(which.sum()) / numbers.numel() for name, which in outside.items()}
    plain = name in OF_TWO and low >= 0 and high <= 1 and not weighted
    if plain:
        data["floor"] = _entropy(numbers)
    if plain or name in SIGNED or name == CLASSES:
        between = (numbers > ROUNDING) & (numbers < 1 - ROUNDING)
        data["between"] = int(between.sum()) / numbers.numel()
    if name in (CLASSES, PROBABILITIES) and numbers.dim() > 1:
        data["least"], data["most"] = (float(bound) for bound in torch.aminmax(numbers.sum(1)))
    if name == CLASSES and numbers.dim() > 1:
        data["columns"] = [float(bound) for bound in torch.aminmax(numbers.sum(0))]
    if name == CLASSES and numbers.dim() > 2:
        data["last"] = [float(bound) for bound in torch.aminmax(numbers.sum(-1))]
    if name == DIVERGENCE:
        data["total"] = float((numbers.double().exp() if logs else numbers.double()).sum())
    return {"low": low, "high": high, **data}


def _weighted(name: str, args: Any, kwargs: Any) -> bool:
    """Whether some of its elements count more than others."""
    given = [args[place] for place in WEIGHTS[name] if len(args) > place]
    given += [kwargs.get("weight"), kwargs.get("pos_weight")]
    return any(weight is not None for weight in given)


def _entropy(numbers: torch.Tensor) -> float:
    """The mean loss of outputs that equal these targets, which no other outputs get below."""
    wide = numbers.double()
    return float((torch.special.entr(wide) + torch.special.entr(1 - wide)).mean())
