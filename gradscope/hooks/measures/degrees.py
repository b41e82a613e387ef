"""Whether the matrix that a layer multiplies by is a graph's with a loop at each node, `A + I`, divided by the degrees
of the graph without these loops: and which line summed them up. Asked at the first product of a line."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.values import measurable, readable

PRODUCTS = ("mm", "matmul", "__matmul__", "spmm", "_sparse_mm")
LEAST, MOST = 8, 1024  # nodes
SUMS = 32
PLACES = 64
NEAR = 1e-3


class Degrees(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.sums: list[tuple[int, torch.Tensor]] = []  # (site, the sums of a matrix' rows, copied)
        self.sites: set[int] = set()
        self.recorder.functions.follow(["sum"], self._sum)
        self.recorder.functions.follow(PRODUCTS, self._product)

    def _sum(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if not args or len(self.sums) >= SUMS or not _is_square(args[0]) or not readable(result, MOST):
            return
        if result.numel() == len(args[0]) and not result.requires_grad:
            with torch.no_grad(), private.aside():
                sums = result.detach().flatten().to(torch.float64, copy=True)
            self.sums.append((self.recorder.sites.current(frame), sums))

    def _product(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if len(args) < 2 or len(self.sites) >= PLACES or not _is_square(args[0]) or _is_square(args[1]):
            return
        site = self.recorder.sites.current(frame)
        if site in self.sites:
            return
        self.sites.add(site)
        with torch.no_grad(), private.aside():
            t = args[0].detach()
            found = _without_loops((t if t.layout is torch.strided else t.to_dense()).double())
            if found is None:
                return
            degrees, how = found
            summed = next((at for at, sums in reversed(self.sums) if _same(sums, degrees)), None)
            data = {
                "nodes": len(degrees), "how": how, "least": round(float(degrees.min())),
                "most": round(float(degrees.max())), "summed": summed,
            }  # fmt: skip
        self.recorder.emit("degrees", site, data)


def _is_square(t: Any) -> bool:
    """Whether it is a matrix of data with a row and a column for each of some nodes."""
    if type(t) is not torch.Tensor or t.dim() != 2 or not LEAST <= len(t) == t.shape[1] <= MOST:
        return False
    if t.requires_grad or not t.is_cpu or not t.is_floating_point():
        return False
    return readable(t, MOST * MOST) if t.layout is torch.strided else measurable(t)


def _without_loops(t: torch.Tensor) -> tuple[torch.Tensor, str] | None:
    """(the degrees that it was divided by, "both" sides or "rows"), where each is one less than its row has entries."""
    loops = t.diagonal()
    if not bool((loops > 0).all()) or not bool((t >= 0).all()):
        return None
    degrees = 1 / loops
    there = t > 0
    if not bool(((there.sum(1) - degrees) - 1).abs().max() < NEAR * degrees.max()):
        return None
    for how, weights in (
        ("both", degrees.sqrt()[:, None] * degrees.sqrt()[None, :]),
        ("rows", degrees[:, None].expand_as(t)),
    ):
        if bool(((t * weights)[there] - 1).abs().max() < NEAR):
            return degrees, how
    return None


def _same(sums: torch.Tensor, degrees: torch.Tensor) -> bool:
    return len(sums) == len(degrees) and bool(((sums - degrees).abs() <= NEAR * degrees).all())
