"""Each batch of a classifier's training holds samples of one class only.

Why: files and tables are mostly sorted by class, and a `DataLoader` gives them in that order where `shuffle=True` is
missing. The network then learns for many steps in turn that everything is of one class and forgets the others; batch
norm sees the statistics of one class at a time.

Fix: `shuffle=True` for the loader of the training; a permutation of the rows where the program cuts batches itself.

Silent on: targets that the program writes out itself (all real, all fake), batches of fewer than four samples, fewer
than four batches, a run that has seen one class; tasks of one class each that come one after the other, samplers that
make such batches.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.one_class import one_class_batches
from gradscope.analysis.words import located
from gradscope.events import Loader
from gradscope.fixes.settings import with_setting
from gradscope.fixes.source import Edits
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.store import Trace


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


@rule("GS745", name="one-class-in-each-batch", severity="warning", over=("GS720",))
def one_class_in_each_batch(trace: Trace) -> Iterator[Finding]:
    for found in one_class_batches(trace):
        event, loader = found.event, found.loader
        count, size = len(event.alone), sum(event.samples.values()) // len(event.alone)
        classes = len(set(found.alone))
        each = "each batch" if len(found.alone) == count else "nearly every batch"
        where = located(trace, found.place)
        if loader is None:
            how = f"by `torch.randperm`, where {where} takes them one after the other"
        elif loader.order == "given":
            how = f"`shuffle=True` for {where}"
        else:
            how = f"in what {where} goes through, which decides on their order"
        yield Finding(
            message=f"{each} holds one class only: the network is shown {classes} classes one after the other",
            cause=found.place,
            cause_label="gives batches of one class",
            effect=event.site.user,
            effect_label=f"learns one of {event.classes} classes at a time",
            seen=(
                f"{len(found.alone)} of {count} batches that were looked at, of {size} samples on average, held one"
                f" class only; {classes} classes came like that",
            ),
            fix=f"draw the samples in a random order: {how}",
            edits=_shuffled(trace, loader) if loader is not None else (),
            subjects=frozenset({found.subject}),
        )


def _shuffled(trace: Trace, loader: Loader) -> Edits:
    """Its `shuffle=True`, where torch's own sampler takes the samples as they lie, and the program's own call, which is
    given no other, makes it: a library's may take no such argument."""
    site = loader.site
    call = trace.source_file(site.path).at(site)
    given = {word.arg for word in call.keywords} if isinstance(call, ast.Call) else set()
    if site.kind != "user" or loader.order != "given" or "sampler" in given:
        return ()
    return with_setting(trace, site, "shuffle", "True", 2)
