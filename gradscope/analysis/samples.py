"""Which axes hold samples: their places were drawn at random, so that their order means nothing."""

from __future__ import annotations

from gradscope.analysis.memo import once
from gradscope.analysis.ops import ALIASES, CASTS
from gradscope.analysis.reach import Paths, paths
from gradscope.events import Labels, Loader
from gradscope.model import Op, Site
from gradscope.store import Trace

DRAWS = {"randperm", "randint", "multinomial", "random_"}
KEPT = (
    CASTS
    | ALIASES
    | {"__getitem__", "split", "chunk", "narrow", "unbind", "flatten", "view", "reshape", "clone"}
)
TAKING = {"__getitem__", "index_select"}
LOADER = "torch/utils/data/dataloader.py"
COLLATE = "torch/utils/data/_utils/collate.py"


def drawn(known: Paths, op: Op) -> bool:
    """Whether an index takes places in a random order: by one row of numbers, as a draw has given them."""
    if len(op.inputs) < 2 or len(known.graph(op.graph).values[op.inputs[1]].shape) != 1:
        return False
    maker = known.maker_behind((op.graph, op.inputs[1]), KEPT)
    return maker is not None and maker.name in DRAWS


def collated(trace: Trace, op: Op) -> bool:
    """Whether a `DataLoader` that draws its samples in a random order has put them together in this call."""
    here = op.site.path.replace("\\", "/").endswith(COLLATE)
    return here and op.site.user.location() in _shuffled(trace)


def handed(trace: Trace, op: Op) -> bool:
    """Whether it is a batch from a worker of such a `DataLoader`: on which axis its samples are, nobody saw."""
    return not op.inputs and op.site.user.location() in _shuffled(trace) and op.site.under(LOADER)


@once
def _shuffled(trace: Trace) -> frozenset[tuple[str, int]]:
    """The lines that go through a `DataLoader` in a random order."""
    loops = [trace.site(event.loop) for event in trace.of(Loader) if event.order == "drawn"]
    return frozenset(site.user.location() for site in loops if site is not None)


def loaders_of(trace: Trace, batch: Op) -> list[Loader]:
    """Those that are gone through where this batch came from, by a loop that was come to as it was."""
    place, around = batch.site.user.location(), batch.site.user.parent
    loops = [(event, site.user) for event in trace.of(Loader) if (site := trace.site(event.loop)) is not None]
    found = [(event, loop) for event, loop in loops if loop.location() == place]
    return [event for event, loop in found if loop.parent == around] or [event for event, _ in found]


def loader_behind(trace: Trace, event: Labels) -> Loader | None:
    """The one `DataLoader` that these targets came from: of several that one loop goes through, the one in whose turn
    they were given to the loss."""
    known = paths(trace)
    batches = [batch_of(known, op) for op in calls_at(known, event.name, event.site.user)]
    found = {
        loader.site.id: loader
        for batch in batches
        if batch is not None
        for loader in loaders_of(trace, batch)
    }
    if len({loader.site.user for loader in found.values()}) > 1:
        ends = [*(begun for begun, *_ in event.begun[1:]), len(event.alone)]
        gone = {made for (first, made, _), end in zip(event.begun, ends, strict=False) if end > first}
        found = {id: loader for id, loader in found.items() if id in gone}
    return next(iter(found.values())) if len({loader.site.user for loader in found.values()}) == 1 else None


def source_of(trace: Trace, event: Labels) -> Site:
    """Where the `DataLoader` was made that these targets came from; where that is not known, the loss."""
    loader = loader_behind(trace, event)
    return loader.site.user if loader is not None else event.site.user


def calls_at(known: Paths, name: str, place: Site) -> list[Op]:
    """All calls of a function at one place of the program, with gradients on or off."""
    return [
        op for number in known.graph_ids for op in known.graph(number).called({name}) if op.site.user == place
    ]


def batch_of(known: Paths, loss: Op) -> Op | None:
    """The call that gave the targets of this loss: of a `DataLoader`, or the index that cut them out of all."""
    return (
        known.maker_behind((loss.graph, loss.inputs[1]), CASTS | ALIASES | {"one_hot"})
        if len(loss.inputs) > 1
        else None
    )


def is_shuffled(known: Paths, batch: Op) -> bool:
    """Whether the samples of this batch were drawn in a random order."""
    by_loader = collated(known.trace, batch) or handed(known.trace, batch)
    return by_loader or (batch.name in TAKING and drawn(known, batch))
