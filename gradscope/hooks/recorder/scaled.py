"""By which Python number a call multiplies or divides a tensor, and which of a line's calls all do it by the same."""

from __future__ import annotations

from typing import Any, TypeVar

PRODUCTS = ("mul", "mul_")
QUOTIENTS = ("div", "div_")
MOST = 64  # lines

T = TypeVar("T")


def factor_of(name: str, args: Any, kwargs: Any, tensor: Any) -> float | None:
    """The number that the call multiplies this tensor by, or by whose inverse; None where it does something else."""
    if kwargs or len(args) != 2:
        return None
    scaled, number = args if type(args[1]) in (int, float) else args[::-1]
    if type(number) not in (int, float) or scaled is not tensor:
        return None
    if name not in QUOTIENTS:
        return float(number)
    return 1 / number if scaled is args[0] and number else None


def keep(found: dict[int, T | None], site: int, value: T) -> None:
    """Notes what a call at the site did, None once two of them differ; of the first `MOST` sites."""
    if site in found:
        if found[site] != value:
            found[site] = None
    elif len(found) < MOST:
        found[site] = value
