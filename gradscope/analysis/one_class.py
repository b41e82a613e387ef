"""Losses of several classes whose batches hold one class each, one after the other: the data lie in order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from gradscope.analysis.memo import once
from gradscope.analysis.ops import ALIASES, CASTS, CLASS_LOSSES, SCALES
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.samples import batch_of, calls_at, is_shuffled, loader_behind
from gradscope.events import Labels, Loader
from gradscope.model import Op, Site
from gradscope.source import LOOPS
from gradscope.store import Trace

SHARE = 0.8  # of the batches: where one class ends and the next begins there are both
FEW = 4  # batches
CUTTING = {"__getitem__", "index_select", "split", "chunk", "unbind", "narrow"}
FILLS = {"zeros", "ones", "full", "zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full"}
SPREAD = CASTS | ALIASES | {"expand", "repeat", "view", "reshape", "squeeze", "unsqueeze", "fill_"}


class OneClass(NamedTuple):
    """What one place that calls a loss was given. place: where the batches are put together; loader: where a
    `DataLoader` does that."""

    event: Labels
    place: Site
    loader: Loader | None

    @property
    def alone(self) -> list[int]:
        """The class of each batch that held one only."""
        return [label for label in self.event.alone if label >= 0]

    @property
    def subject(self) -> tuple[str, tuple[str, int]]:
        return "one class", self.event.site.user.location()

    @property
    def changed(self) -> int:
        """How many batches came before the first with another class."""
        return next(i for i, label in enumerate(self.event.alone) if label != self.event.alone[0])


@once
def one_class_batches(trace: Trace) -> list[OneClass]:
    return [found for event in trace.of(Labels) if (found := _one_class(trace, event)) is not None]


def _one_class(trace: Trace, event: Labels) -> OneClass | None:
    alone = [label for label in event.alone if label >= 0]
    if not event.trained or len(event.alone) < FEW or len(alone) < SHARE * len(event.alone):
        return None
    if len(set(alone)) < 2:
        return None
    known = paths(trace)
    if not _one_in_each_step(known, event):
        return None
    losses = calls_at(known, event.name, event.site.user)
    if len({op.graph for op in losses}) < len({(op.graph, op.index) for op in losses}):
        return None  # several calls in one pass: one for each time step, say
    if any(_is_filled(known, op) for op in losses):
        return None
    batch = next((made for op in losses if (made := batch_of(known, op)) is not None), None)
    loader = loader_behind(trace, event)
    if batch is not None and is_shuffled(known, batch):
        return None  # each draws from one class: a task after the other
    lie_in_order = _in_stretches(event.alone)
    if loader is not None and loader.order == "":
        if not lie_in_order:
            return None  # a sampler of the program's makes such batches
    elif event.name not in CLASS_LOSSES:
        if not (loader or _is_cut(batch)) or (event.classes == 2 and not lie_in_order):
            return None  # what is real and what is made up come in turn
    if not _within_one_turn(trace, event, loader):
        return None
    return OneClass(event, (loader or batch or event).site.user, loader)


def _one_in_each_step(known: Paths, event: Labels) -> bool:
    """Whether the batches that a step of an optimizer sums up hold one class, too, mostly."""
    steps = sum(optimizer.steps for optimizer in known.trace.optimizers.values())
    each = round(known.passes / steps) if steps else 1
    if each < 2:
        return True
    windows = [set(event.alone[first : first + each]) for first in range(0, len(event.alone), each)]
    return sum(len(window) == 1 and -1 not in window for window in windows) >= SHARE * len(windows)


def _within_one_turn(trace: Trace, event: Labels, loader: Loader | None) -> bool:
    """Whether one turn through the data has several classes. Where each turn has one it is the data of a task, and
    the tasks come one after the other."""
    made = {loader.site.id} if loader is not None else {made for _, made, _ in event.begun}
    starts = [int(first) for first, begun_by, _ in event.begun if begun_by in made]
    if not starts:
        return _comes_back(event.alone) or _loops_around(trace, event.site) <= 1
    turns = pairwise([*starts, len(event.alone)])
    return any(len(set(event.alone[first:end]) - {-1}) > 1 for first, end in turns)


def _comes_back(labels: Sequence[int]) -> bool:
    """Whether a class comes again after another one."""
    alone = [label for label in labels if label >= 0]
    stretches = 1 + sum(a != b for a, b in pairwise(alone))
    return stretches > len(set(alone))


def _loops_around(trace: Trace, site: Site) -> int:
    """How many loops of the program a call stands in, over all functions that led to it."""
    frames = [frame for frame in site.stack if frame.kind == "user"]
    return sum(isinstance(node, LOOPS) for f in frames for node in trace.source_file(f.path).around(f))


def _in_stretches(alone: Sequence[int]) -> bool:
    """Whether a batch is mostly of the class of the one before it, as where all of one class come first."""
    changes = sum(a != b for a, b in pairwise(alone))
    return changes * 2 <= len(alone)


def _is_cut(batch: Op | None) -> bool:
    """Whether the batch is a part of a larger tensor."""
    return batch is not None and batch.name in CUTTING


def _is_filled(known: Paths, op: Op) -> bool:
    """Whether the program wrote the targets of this loss out itself, all alike."""
    maker = known.maker_behind((op.graph, op.inputs[1]), SPREAD) if len(op.inputs) > 1 else None
    if maker is not None and maker.name in SCALES and len(maker.inputs) == 1:  # `torch.ones(n) * label`
        maker = known.maker_behind((maker.graph, maker.inputs[0]), SPREAD)
    return maker is not None and maker.name in FILLS | SPREAD
