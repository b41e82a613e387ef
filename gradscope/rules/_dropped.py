"""What became of the gradients of each backward pass: used by a step, or cleared unused."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from gradscope.model import Event, Site
from gradscope.rules._common import timeline
from gradscope.rules._edits import LOOPS
from gradscope.rules._looks import kept_gradients
from gradscope.rules._training import fresh
from gradscope.store import Trace

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass
class Line:
    """What became of the passes of one line that runs backward."""

    used: int = 0
    dropped: int = 0
    clears: dict[Site, int] = field(default_factory=dict)  # passes that each clearing has dropped
    times: dict[Site, int] = field(default_factory=dict)  # how often it dropped some
    step: Site | None = None
    parameters: set[int] = field(default_factory=set)  # whose gradients were dropped
    filled: set[int] = field(default_factory=set)
    asks: bool = False  # other gradients of it were read, or its model did not train
    others: bool = False  # a part of what a pass filled was kept
    norm: float | None = None
    spared: bool = False  # it also served something else


class Passes:
    """Follows each pass's gradients to the step that uses them or the call that clears them."""

    def __init__(self, trace: Trace):
        self.trace = trace
        self.lines: dict[Site, Line] = {}
        self.waiting: list[tuple[Site, set[int], int]] = []  # passes whose gradients nobody has used yet
        self.scaler_stepped = False
        self.evaluating = False
        for repeat, events in timeline(trace):
            for event in events:
                handle = getattr(self, f"_{event.kind}", None)
                if handle is not None:
                    handle(event, repeat)

    def _backward(self, event: Event, repeat: int) -> None:
        ids = set(event.data.get("accumulated") or ())
        self.scaler_stepped = False
        if not ids:
            return
        site = event.site.user
        line = self.lines.setdefault(site, Line())
        line.spared = line.spared or bool(event.data.get("leaves")) or bool(event.data.get("inputs"))
        line.filled |= ids
        line.asks = line.asks or self.evaluating
        self.waiting.append((site, ids, repeat))

    def _call(self, event: Event, repeat: int) -> None:
        self.evaluating = not event.data.get("training")

    def _grad_read(self, event: Event, repeat: int) -> None:
        for site, _, _ in self.waiting[-1:]:
            self.lines[site].asks = True

    def _scaler(self, event: Event, repeat: int) -> None:
        self.scaler_stepped = self.scaler_stepped or event.data["call"] == "step"

    def _step(self, event: Event, repeat: int) -> None:
        new = fresh(event)
        for site, ids, count in self.waiting:
            if ids & new:
                self.lines[site].used += count
                self.lines[site].step = event.site.user
                self.lines[site].spared = self.lines[site].spared or bool(event.data.get("closure"))
        self.waiting = [w for w in self.waiting if not w[1] & new]

    def _update(self, event: Event, repeat: int) -> None:
        for site, ids, _ in self.waiting:
            if event.data["parameter"] in ids and event.data.get("used"):
                self.lines[site].spared = True  # by hand, which is not seen while sampling sleeps
        self.waiting = [w for w in self.waiting if event.data["parameter"] not in w[1]]

    def _kept(self, event: Event) -> bool:
        """Whether what was read of the gradients that go may be what they were computed for."""
        return not kept_gradients(self.trace).isdisjoint(event.data.get("read") or ())

    def _zero_grad(self, event: Event, repeat: int) -> None:
        dropped, cleared = set(event.data.get("dropped") or ()), set(event.data.get("parameters") or ())
        by_hand, place = event.data.get("by") == "hand", event.site.user
        told: set[int] = set()
        for site, ids, count in self.waiting:
            line = self.lines[site]
            if self._kept(event) or self.scaler_stepped:
                line.spared = line.spared or bool(ids & cleared)
            elif ids & dropped and (ids <= cleared or (ids - cleared and by_hand)):
                line.parameters |= ids & cleared
                line.norm = event.data.get("norm") or line.norm
                if ids <= cleared:
                    line.dropped += count
                    line.clears[place] = line.clears.get(place, 0) + count
                    line.times[place] = line.times.get(place, 0) + (0 if id(line) in told else repeat)
                    told.add(id(line))
            elif ids & cleared:
                line.others = True
        if by_hand:  # one parameter at a time
            self.waiting = [
                (site, ids - cleared, count) for site, ids, count in self.waiting if ids - cleared
            ]
            return
        self.waiting = [w for w in self.waiting if not w[1] & cleared]


def counts_passes(trace: Trace, step: Site) -> bool:
    """Whether the step waits for every k-th pass: `if i % 4 == 3:`. A step that waits for something
    else may leave passes out on purpose."""
    file = trace.source_file(step.path)
    node: ast.AST | None = file.statement(step)
    while node is not None and not isinstance(node, _FUNCTIONS):
        if isinstance(node, ast.If):
            parts = [
                ast.unparse(part) for part in ast.walk(node.test) if isinstance(part, (ast.BinOp, ast.Name))
            ]
            return any("%" in part or "accum" in part or "sync" in part for part in parts)
        node = file.parent.get(id(node))
    return True


def outside_the_loop(trace: Trace, clear: Site, backward: Site) -> bool:
    """Whether `backward` stands in a loop that `clear` does not, in the same function."""
    if clear.path != backward.path:
        return False
    file = trace.source_file(clear.path)
    around: list[list[ast.AST]] = []
    for site in (clear, backward):
        nodes: list[ast.AST] = []
        for node in file.around(site):
            nodes.append(node)
            if isinstance(node, _FUNCTIONS):
                break
        around.append(nodes)
    loop = next((node for node in around[1] if isinstance(node, LOOPS)), None)
    return loop is not None and loop not in around[0] and around[0][-1] is around[1][-1]
