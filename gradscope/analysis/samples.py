"""Which axes hold samples: their places were drawn at random, so that their order means nothing."""

from __future__ import annotations

from gradscope.analysis.memo import once
from gradscope.analysis.ops import ALIASES, CASTS
from gradscope.analysis.reach import Paths, paths
from gradscope.model import Op, Site
from gradscope.store import Trace

DRAWS = {"randperm", "randint", "multinomial", "random_"}
KEPT = (
    CASTS
    | ALIASES
    | {"__getitem__", "split", "chunk", "narrow", "unbind", "flatten", "view", "reshape", "clone"}
)
LOADER, SAMPLER = "torch/utils/data/dataloader.py", "torch/utils/data/sampler.py"
COLLATE = "torch/utils/data/_utils/collate.py"


def drawn(known: Paths, op: Op) -> bool:
    """Whether an index takes places in a random order: by one row of numbers, as a draw has given them."""
    if len(op.inputs) < 2 or len(known.graph(op.graph).values[op.inputs[1]].shape) != 1:
        return False
    maker = known.maker((op.graph, op.inputs[1]))
    while maker is not None and maker.name in KEPT and maker.inputs:
        maker = known.maker((maker.graph, maker.inputs[0]))
    return maker is not None and maker.name in DRAWS


def collated(trace: Trace, op: Op) -> bool:
    """Whether a `DataLoader` that draws its samples in a random order has put them together in this call."""
    return _is_in(op.site, COLLATE) and op.site.user.location() in _shuffled(trace)


def handed(trace: Trace, op: Op) -> bool:
    """Whether it is a batch from a worker of such a `DataLoader`: on which axis its samples are, nobody saw."""
    return (
        not op.inputs
        and op.site.user.location() in _shuffled(trace)
        and any(_is_in(frame, LOADER) for frame in op.site.stack)
    )


def _is_in(site: Site, file: str) -> bool:
    return site.path.replace("\\", "/").endswith(file)


@once
def _shuffled(trace: Trace) -> frozenset[tuple[str, int]]:
    """The lines that go through a `DataLoader` in a random order."""
    if trace.op_names.isdisjoint(DRAWS):
        return frozenset()
    known = paths(trace)
    return frozenset(
        op.site.user.location()
        for number in known.graph_ids
        for op in known.graph(number).ops
        if op.name in DRAWS and _is_in(op.site, SAMPLER)
    )
