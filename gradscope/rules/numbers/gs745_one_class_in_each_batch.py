"""Each batch of a classifier's training holds samples of one class only.

Why: files and tables are mostly sorted by class, and a `DataLoader` gives them in that order where `shuffle=True` is
missing. The network then learns for many steps in turn that everything is of one class and forgets the others; batch
norm sees the statistics of one class at a time.

Fix: `shuffle=True` for the loader of the training; a permutation of the rows where the program cuts batches itself.

Silent on: targets that the program writes out itself (all real, all fake), batches of fewer than four samples, fewer
than four batches, a run that has seen one class.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from gradscope.analysis.ops import ALIASES, BINARY_LOSSES, CASTS
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.samples import batch_of, calls_at, loader_of
from gradscope.analysis.words import located
from gradscope.events import Labels
from gradscope.fixes.calls import with_argument
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.store import Trace

SHARE = 0.8  # of the batches: where one class ends and the next begins there are both
FEW = 4  # batches
CUTTING = {"__getitem__", "index_select", "split", "chunk", "unbind", "narrow"}
FILLS = {"zeros", "ones", "full", "zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full"}
SPREAD = CASTS | ALIASES | {"expand", "repeat", "view", "reshape", "squeeze", "unsqueeze", "fill_"}


def bad() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    labels = torch.arange(6).repeat_interleave(20)  # one class after the other
    loader = DataLoader(TensorDataset(torch.randn(120, 4), labels), batch_size=10)  # cause: GS745
    model = nn.Linear(4, 6)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)  # effect: GS745
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    labels = torch.arange(6).repeat_interleave(20)
    loader = DataLoader(TensorDataset(torch.randn(120, 4), labels), batch_size=10, shuffle=True)
    model = nn.Linear(4, 6)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS745", name="one-class-in-each-batch", severity="warning")
def one_class_in_each_batch(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(Labels):
        alone = [label for label in event.alone if label >= 0]
        several = len(set(alone)) > 1
        if (
            not event.trained
            or len(event.alone) < FEW
            or len(alone) < SHARE * len(event.alone)
            or not several
        ):
            continue
        known = paths(trace)
        losses = calls_at(known, event.name, event.site.user)
        if len({op.graph for op in losses}) < len({(op.graph, op.index) for op in losses}):
            continue  # several calls in one pass: one for each time step, say
        if any(_is_filled(known, op) for op in losses):
            continue
        batch = next((made for op in losses if (made := batch_of(known, op)) is not None), None)
        loader = loader_of(trace, batch) if batch is not None else None
        if event.name in BINARY_LOSSES and not (_in_stretches(event.alone) and (loader or _is_cut(batch))):
            continue  # what is real and what is made up come in turn
        place = (loader or batch or event).site.user
        count, size = len(event.alone), sum(event.samples.values()) // len(event.alone)
        classes = len(set(alone))
        yield Finding(
            message=f"each batch holds one class only: the network is shown {classes} classes one after the other",
            cause=place,
            cause_label="gives batches of one class",
            effect=event.site.user,
            effect_label=f"learns one of {event.classes} classes at a time",
            seen=(
                f"{len(alone)} of {count} batches that were looked at, of {size} samples, held one class only; "
                f"{classes} classes came like that",
            ),
            fix="draw the samples in a random order: "
            + (
                f"`shuffle=True` for {located(trace, place)}"
                if loader is not None
                else f"by `torch.randperm`, where {located(trace, place)} takes them one after the other"
            ),
            edits=with_argument(trace, place, "shuffle", "True") if loader is not None else (),
        )


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
    return maker is not None and maker.name in FILLS | SPREAD
