"""How data and noise are weighed where they are mixed, `a * x + b * noise`: for the mixture to keep the variance of
both, `a ** 2 + b ** 2` is 1. A place is looked at until its factors show that they mean something else."""

from __future__ import annotations

import weakref
from collections import deque
from typing import Any, NamedTuple

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.looks import Looks, Unbroken
from gradscope.hooks.recorder.losses import ADDITIONS
from gradscope.hooks.recorder.values import can_be_asked

NOISES = ["randn", "randn_like"]
PRODUCTS = ["mul"]
NEAR = 1e-5  # one power of a factor and the other add up to 1
FAR = 1e-3  # and their squares do not
MOST_FACTORS = 4096
RECENT = 8  # draws and products that are remembered
FIRST = 8  # calls of a place that are looked at in any case
MAX_SITES = 32


class Product(NamedTuple):
    """A tensor times a factor. draw: the number of the draw that the tensor is, 0 where it is none. place: that of the
    factor among what was multiplied."""

    result: Any  # by weak reference
    factor: Any
    draw: int
    place: int


class Noised(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.mixed = Unbroken()
        self.looks = Looks(FIRST, MAX_SITES)
        self.draws: deque[tuple[Any, int]] = deque(maxlen=RECENT)  # by weak reference, with their numbers
        self.drawn = 0
        self.kept = False  # the squares of both factors added up to 1 somewhere
        self.products: deque[Product] = deque(maxlen=RECENT)
        self.recorder.functions.follow(NOISES, self._drawn)
        self.recorder.functions.follow(PRODUCTS, self._multiplied)
        self.recorder.functions.follow(ADDITIONS, self._added)
        self.recorder.functions.follow(["addcmul", "addcmul_"], self._added_product)
        self.recorder.signals.before_end.connect(self._tell)

    def _drawn(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if isinstance(result, torch.Tensor) and not result.requires_grad and result.numel() > 1:
            self.drawn += 1
            self.draws.append((weakref.ref(result), self.drawn))

    def _multiplied(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if not self.draws or len(args) != 2 or not isinstance(result, torch.Tensor) or result.requires_grad:
            return
        for place in (0, 1):
            factor, other = args[place], args[1 - place]
            if isinstance(other, torch.Tensor) and other.shape == result.shape and _is_factor(factor, other):
                draw = next((number for draw, number in self.draws if draw() is other), 0)
                with private.aside():  # a copy: what the program lets go of is not to live on
                    kept = factor.clone() if isinstance(factor, torch.Tensor) else factor
                self.products.append(Product(weakref.ref(result), kept, draw, place))
                return

    def _added_product(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        """`addcmul(a * x, b, noise)`, where what is added is no tensor of its own."""
        if (
            not self.products
            or len(args) != 3
            or kwargs
            or not all(isinstance(t, torch.Tensor) for t in args)
        ):
            return
        known = next((product for product in self.products if product.result() is args[0]), None)
        if known is None or args[0].requires_grad:
            return
        for place in (0, 1):
            factor, other = args[1 + place], args[2 - place]
            if other.shape == result.shape and _is_factor(factor, other):
                draw = next((number for draw, number in self.draws if draw() is other), 0)
                self._mix(known, Product(None, factor, draw, place), frame)
                return

    def _added(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if not self.products or len(args) != 2 or not all(isinstance(one, torch.Tensor) for one in args):
            return
        found = [p for one in args for p in self.products if p.result() is one]
        if len(found) == 2:
            self._mix(found[0], found[1], frame)

    def _mix(self, one: Product, other: Product, frame: Any) -> None:
        """Looks at the factors of what is added up."""
        if one.draw == other.draw:
            return
        data, noise = sorted(
            (one, other), key=lambda product: product.draw
        )  # data may be drawn too, but before
        site = self.recorder.sites.current(frame)
        if site in self.mixed.broken or not self.looks.due(site):
            return
        places = [data.place, noise.place, int(other is noise)]
        with private.aside():
            factors = tuple(torch.as_tensor(p.factor) for p in (data, noise))
        self.recorder.arrivals.when_here(factors, lambda a, b: self._count(site, a, b, places))

    def _count(self, site: int, a: torch.Tensor, b: torch.Tensor, places: list[int]) -> None:
        a, b = a.double(), b.double()
        if a.numel() != b.numel() and 1 not in (a.numel(), b.numel()):
            return
        a, b = a.flatten(), b.flatten()
        squares = (a.square() + b.square() - 1).abs()
        if float(squares.max()) <= NEAR:
            self.kept = True
            self.mixed.end(site)
            return
        if torch.equal(a, b):
            self._hold(site, "alike", a, b, squares, places)
            return
        for of, sums in (("noise", a.square() + b), ("data", a + b.square())):
            if float((sums - 1).abs().max()) <= NEAR:
                self._hold(site, of, a, b, squares, places)
                return
        self.mixed.end(site)

    def _hold(
        self, site: int, of: str, a: torch.Tensor, b: torch.Tensor, squares: torch.Tensor, places: list[int]
    ) -> None:
        told = self.mixed.hold(site, of=of, away=0.0, factors=[], places=places, least=float("inf"), most=0.0)
        away, at = (float(one) for one in squares.max(0))
        if told["of"] != of:
            self.mixed.end(site)
            return
        told["least"], told["most"] = min(told["least"], float(a.min())), max(told["most"], float(a.max()))
        if away > told["away"]:
            told["away"] = away
            told["factors"] = [float(one[int(at)] if one.numel() > 1 else one[0]) for one in (a, b)]

    def _tell(self) -> None:
        for site, found in self.mixed.told.items():
            # one number for both says nothing, factors that vary together do where another place keeps the variance
            varies = self.kept and found["most"] > found["least"] > 0
            if found["away"] > FAR and (found["of"] != "alike" or varies):
                data = {name: found[name] for name in ("of", "calls", "factors", "places")}
                self.recorder.emit("noise_weighed", site, data)


def _is_factor(factor: Any, other: Any) -> bool:
    """Whether it is a number, or a few of them that need no gradient, one for each sample."""
    if isinstance(factor, torch.Tensor):
        few = can_be_asked(factor, MOST_FACTORS) and factor.numel() < other.numel()
        return few and not factor.requires_grad and factor.is_floating_point()
    return type(factor) is float
