"""Whether the matrix that a layer multiplies by is a graph's with a loop at each node, `A + I`, divided by the degrees
of the graph without these loops: and which line summed them up. Asked at the first product of a line. The same of a
list of edges, loops among them, whose weights are the product of what was picked out for both of their ends."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.scaled import PRODUCTS as MULTIPLICATIONS
from gradscope.hooks.recorder.values import measurable, readable

COUNTS = ("bincount", "scatter_add", "scatter_add_", "index_add", "index_add_")
PRODUCTS = ("mm", "matmul", "spmm", "_sparse_mm")
LEAST, MOST = 8, 1024  # nodes
EDGES = 1 << 18
SUMS = 32
PLACES = 64
NEAR = 1e-3


class Degrees(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.sums: list[tuple[int, torch.Tensor]] = []  # (site, the sums of a matrix' rows, copied)
        self.sites: set[int] = set()
        self.picked: list[_Picked] = []  # the last two
        self.recorder.functions.follow(["sum"], self._sum)
        self.recorder.functions.follow(PRODUCTS, self._product)
        self.recorder.functions.follow(COUNTS, self._count)
        self.recorder.functions.follow(["__getitem__"], self._pick)
        self.recorder.functions.follow(MULTIPLICATIONS, self._weigh)

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
            self._emit(site, *found)

    def _count(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if len(self.sums) < SUMS and readable(result, MOST) and result.dim() == 1 and len(result) >= LEAST:
            if not result.requires_grad and not result.is_complex():
                with torch.no_grad(), private.aside():
                    sums = result.detach().to(torch.float64, copy=True)
                self.sums.append((self.recorder.sites.current(frame), sums))

    def _pick(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if len(args) != 2 or type(args[1]) is not torch.Tensor or type(args[0]) is not torch.Tensor:
            return
        nodes, ends = args
        if nodes.dim() != 1 or ends.dim() != 1 or ends.dtype != torch.int64 or nodes.requires_grad:
            return
        if LEAST <= len(nodes) <= MOST and len(nodes) < len(ends) <= EDGES and nodes.is_floating_point():
            picked = _Picked(*(private.TensorRef(t) for t in (result, nodes, ends)))
            self.picked = [*self.picked[-1:], picked]

    def _weigh(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if len(self.picked) < 2 or len(args) != 2:
            return
        one, other = self.picked
        if one.result() is not args[0] or other.result() is not args[1]:
            return
        self.picked = []
        nodes, site = one.nodes(), self.recorder.sites.current(frame)
        if nodes is not other.nodes() or site in self.sites or len(self.sites) >= PLACES:
            return
        self.sites.add(site)
        given = nodes, one.ends(), other.ends()
        if all(readable(t, EDGES) for t in given):
            with torch.no_grad(), private.aside():
                degrees = _without_own_edges(*given)
                if degrees is not None:
                    self._emit(site, degrees, "edges")

    def _emit(self, site: int, degrees: torch.Tensor, how: str) -> None:
        summed = next((at for at, sums in reversed(self.sums) if _same(sums, degrees)), None)
        data = {
            "nodes": len(degrees), "how": how, "least": round(float(degrees.min())),
            "most": round(float(degrees.max())), "summed": summed,
        }  # fmt: skip
        self.recorder.emit("degrees", site, data)


class _Picked(NamedTuple):
    """What was picked out of `nodes` by `ends`, one for each edge: weak references."""

    result: Any
    nodes: Any
    ends: Any


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


def _without_own_edges(nodes: torch.Tensor, starts: torch.Tensor, ends: torch.Tensor) -> torch.Tensor | None:
    """The degrees whose roots the edges are divided by, where each node has one edge more: its loop."""
    roots, number = nodes.double(), len(nodes)
    if len(starts) != len(ends):
        return None
    loops = torch.bincount(ends[starts == ends], minlength=number)
    if not bool((loops == 1).all()) or not bool((roots.isfinite() & (roots >= 0)).all()):
        return None
    degrees = torch.where(roots > 0, roots.square().reciprocal(), 0.0)
    for side in (ends, starts):
        apart = torch.bincount(side, minlength=number) - degrees - 1
        if bool((apart.abs() <= NEAR * (degrees + 1)).all()):
            return degrees
    return None


def _same(sums: torch.Tensor, degrees: torch.Tensor) -> bool:
    return len(sums) == len(degrees) and bool(((sums - degrees).abs() <= NEAR * degrees).all())
