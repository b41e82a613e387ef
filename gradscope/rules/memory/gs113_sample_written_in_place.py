"""A dataset changes its samples where they are kept: each epoch changes them once more.

Why: `x = self.data[i]` is a view, not a copy, and `x -= mean` or `x.div_(std)` writes through it into the dataset. The
first epoch is right. In the second one the mean is taken off what has no mean any more, and the standard deviation
divides again: the inputs drift or grow from epoch to epoch, and so does what is evaluated on them.

Fix: `x = x - mean`, which makes a new tensor, or `self.data[i].clone()`.

Measured: a `DataLoader` asked for the sample, the write gives it other numbers made of its own, and what it writes to
was made before that; the loader was gone through more than once. Or some samples were compared in the arrays and
tensors that the dataset holds, from before to behind each visit: all of them changed each time, and what was given is
what had been written; this sees writes of numpy's, too. An error where their scale doubled or halved by that.
Silent on: what later visits left as the first had written it (unit length, say), writes to what the dataset has only
just made, writes that a condition keeps to one for each sample, writes of numbers that come from elsewhere (a cache
that is filled), workers, each of which has a copy of the dataset.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.kept_samples import Written, written
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.text import runs_in, site_of
from gradscope.analysis.words import code, listed, located, numbers, parameter_subjects, plural
from gradscope.events import Backward, LoaderPassed, StoredSamples
from gradscope.fixes.in_place import new_statement
from gradscope.fixes.source import Source
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.store import Trace

FROM_NUMPY = {"from_numpy", "as_tensor", "asarray"}
FETCH = "torch/utils/data/_utils/fetch.py"
CHANGES = {
    "add_",
    "sub_",
    "mul_",
    "div_",
    "pow_",
    "neg_",
    "log_",
    "sqrt_",
    "square_",
    "exp_",
    "addcmul_",
    "lerp_",
}


def bad() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    class Scaled(Dataset):  # type: ignore[type-arg]
        def __init__(self) -> None:
            self.x = torch.rand(16, 4)

        def __len__(self) -> int:
            return 16

        def __getitem__(self, i: int) -> torch.Tensor:
            x = self.x[i]
            x -= 0.5  # cause: GS113
            return x

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(Scaled(), batch_size=8)
    for _ in range(2):
        for x in loader:
            opt.zero_grad()
            (model(x) - x[:, :1]).pow(2).mean().backward()
            opt.step()


def good() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    class Scaled(Dataset):  # type: ignore[type-arg]
        def __init__(self) -> None:
            self.x = torch.rand(16, 4)

        def __len__(self) -> int:
            return 16

        def __getitem__(self, i: int) -> torch.Tensor:
            x = self.x[i]
            return x - 0.5

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(Scaled(), batch_size=8)
    for _ in range(2):
        for x in loader:
            opt.zero_grad()
            (model(x) - x[:, :1]).pow(2).mean().backward()
            opt.step()


@rule("GS113", name="sample-written-in-place", severity="error", over=("GS757", "GS705", "GS701"))
def sample_written_in_place(trace: Trace) -> Iterator[Finding]:
    told: set[str] = set()
    for event in trace.of(StoredSamples):
        found = written(trace, event.dataset, event.line, event.name)
        if found is None and event.owner != event.dataset:
            found = written(trace, event.owner, event.owner_line, event.name)
        if found is not None:
            told.add(found.path)
        if found is not None and not event.once:
            yield _of_stored(trace, event, found)
    if trace.op_names.isdisjoint(CHANGES):
        return
    known, epochs = paths(trace), _epochs(trace)
    for graph in trace.graphs:
        for op in graph.writing if epochs else ():
            if op.name not in CHANGES or not op.site.under(FETCH) or op.site.user.path in told:
                continue
            times = max(epochs.get(frame.location(), 0) for frame in op.site.stack)
            if times > 1 and not _made_there(known, op) and _always(trace, op):
                told.add(op.site.user.path)
                yield _finding(trace, op, times)


def _epochs(trace: Trace) -> dict[tuple[str, int], int]:
    """The lines that go through a `DataLoader`, and how often one was gone through to its end there."""
    found: dict[tuple[str, int], int] = {}
    for event in trace.of(LoaderPassed):
        loop = trace.site(event.loop)
        if loop is not None:
            found[loop.user.location()] = max(event.passes, found.get(loop.user.location(), 0))
    return found


def _always(trace: Trace, op: Op) -> bool:
    """Whether it writes each time a sample is asked for: under a condition it may do so once for each."""
    site = op.site.user
    file = trace.source_file(site.path)
    statement = file.statement(site)
    if statement is None or not any(isinstance(node, ast.If) for node in file.above(statement)):
        return True
    writes = asked = 0
    for graph in trace.graphs:
        here = [o.site.user for o in graph.ops if o.site.under(FETCH)]
        lines = [s.line for s in here if (s.path, s.function) == (site.path, site.function)]
        writes += graph.count * lines.count(site.line)
        asked += graph.count * max((lines.count(line) for line in set(lines)), default=0)
    return writes == asked


def _made_there(known: Paths, op: Op) -> bool:
    """Whether the dataset made what is written to when it was asked for the sample, or may have: of what came out of
    numpy nobody knows here."""
    maker = known.maker(known.memory_made((op.graph, op.writes[0])))
    return maker is None or maker.name in FROM_NUMPY or maker.site.under(FETCH)


def _finding(trace: Trace, op: Op, epochs: int) -> Finding:
    site = op.site.user
    here = Source(trace, site.path)
    statement, new = here.file.statement(site), new_statement(trace, site)
    return Finding(
        message=f"{code(trace, site, f'`{op.name}`')} changes the sample where the dataset keeps it: every epoch"
        " changes it once more",
        cause=site,
        cause_label="writes into the dataset",
        severity="warning",
        seen=(
            "a `DataLoader` asked for the sample; what is written to was made before it asked, and takes its new"
            f" numbers from its old ones; the loader was gone through {plural(epochs, 'time')}",
        ),
        fix=f"make a new tensor: `{new}` in place of {located(trace, site)}"
        if new
        else f"change a copy, made by `.clone()` before {located(trace, site)}",
        edits=here.replace(statement, new) if new and statement is not None else (),
    )


# -- what was seen in the arrays and tensors that a dataset holds ------------------------------


def _of_stored(trace: Trace, event: StoredSamples, found: Written) -> Finding:
    here = Source(trace, found.path)
    views = [site_of(found.path, "__getitem__", node) for node in found.views]
    write = next(iter(found.writes), None)
    cause = write or next(iter(views), found.head)
    kept, copy = f"`{event.owner}.{event.name}`", "copy" if event.array else "clone"
    others = [site for site in (*found.writes[1:], *views) if site.location() != cause.location()]
    first, last = event.first or 0.0, event.last or 0.0
    grown = max(first, last) > 2 * min(first, last) > 0
    copies = listed([f"`{here.part(node)}.{copy}()`" for node in found.views])
    return Finding(
        message=f"{code(trace, write, '`__getitem__`')} changes the sample where the dataset keeps it: every epoch"
        " changes it once more",
        cause=cause,
        cause_label="writes into the dataset" if write is not None else "what it gives is written to",
        related=tuple(
            (site, "a view of what the dataset keeps" if site in views else "writes there, too")
            for site in others
        ),
        severity="" if grown else "warning",
        seen=(
            f"{plural(event.samples, 'sample')} in {kept}, compared from before to behind each visit: they were other"
            f" numbers after each of up to {plural(event.visits, 'visit')}, made of the old ones",
            f"their deviation went from {numbers(first)} to {numbers(last)} by that",
        ),
        fix=f"take a copy: {copies} in {listed([located(trace, site) for site in views])}"
        if views
        else f"change a copy of the sample, made by `.{copy}()` in {located(trace, found.head)}",
        edits=tuple(edit for node in found.views for edit in here.behind(node, f".{copy}()")),
        subjects=_learned_of(trace, event) if grown else frozenset(),
    )


def _learned_of(trace: Trace, event: StoredSamples) -> frozenset[object]:
    """The losses of the loop over these samples, and the parameters that learned of them."""
    loop = trace.site(event.loop)
    passes = [e for e in trace.of(Backward) if loop is not None and runs_in(trace, e.site, loop.user)]
    losses = {("loss", e.site.user.location()) for e in passes}
    return parameter_subjects({id for e in passes for id in e.filled}) | losses
