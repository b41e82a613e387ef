"""A sampler that draws batches at random gives the very same ones in each epoch.

Why: a sampler draws from its generator each time it is gone through. Where the generator is made or seeded there, from
a number that stays what it is, each pass draws what the first one drew: the network is trained on these few samples
again and again, and never sees the others. A sampler with `set_epoch` waits to be told the epoch.

Fix: call `set_epoch(epoch)` before each epoch, or make the generator once, in `__init__`.

Measured: the numbers that the sampler gave: the same in each whole pass, and not all that the dataset has.
Silent on: passes without steps; samplers that make no generator as they are gone through; those that give no sample
twice, unless they have a `set_epoch` that nothing calls; what gives every sample.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.figures import gone_through
from gradscope.analysis.text import calls_in_source, classes_named, site_of
from gradscope.analysis.words import counted, located, user
from gradscope.events import DrawnAlike
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.source import FUNCTIONS, called_name
from gradscope.store import Trace

ENOUGH = 3  # passes
SEEDED = {"manual_seed", "seed", "set_state", "setstate"}
GENERATORS = {"Random", "Generator", "default_rng", "RandomState"}


def bad() -> None:
    import random
    from collections.abc import Iterator

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Sampler, TensorDataset

    class Balanced(Sampler[list[int]]):
        def __init__(self, labels: list[int]):
            self.groups = [[i for i, label in enumerate(labels) if label == c] for c in (0, 1)]
            self.epoch = 0

        def set_epoch(self, epoch: int) -> None:
            self.epoch = epoch

        def __len__(self) -> int:
            return 4

        def __iter__(self) -> Iterator[list[int]]:
            draw = random.Random(self.epoch)  # cause: GS387
            for _ in range(4):
                yield [i for group in self.groups for i in draw.sample(group, 3)]

    torch.manual_seed(0)
    x = torch.randn(80, 4)
    y = (x[:, 0] > 0).long()
    loader = DataLoader(TensorDataset(x, y), batch_sampler=Balanced(y.tolist()))
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _epoch in range(4):
        for rows, labels in loader:  # effect: GS387
            opt.zero_grad()
            nn.functional.cross_entropy(model(rows), labels).backward()
            opt.step()


def good() -> None:
    import random
    from collections.abc import Iterator

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Sampler, TensorDataset

    class Balanced(Sampler[list[int]]):
        def __init__(self, labels: list[int]):
            self.groups = [[i for i, label in enumerate(labels) if label == c] for c in (0, 1)]
            self.epoch = 0

        def set_epoch(self, epoch: int) -> None:
            self.epoch = epoch

        def __len__(self) -> int:
            return 4

        def __iter__(self) -> Iterator[list[int]]:
            draw = random.Random(self.epoch)
            for _ in range(4):
                yield [i for group in self.groups for i in draw.sample(group, 3)]

    torch.manual_seed(0)
    x = torch.randn(80, 4)
    y = (x[:, 0] > 0).long()
    sampler = Balanced(y.tolist())
    loader = DataLoader(TensorDataset(x, y), batch_sampler=sampler)
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(4):
        sampler.set_epoch(epoch)
        for rows, labels in loader:
            opt.zero_grad()
            nn.functional.cross_entropy(model(rows), labels).backward()
            opt.step()


@rule("GS387", name="drawn-alike-in-each-pass", severity="warning", needs=DrawnAlike)
def drawn_alike_in_each_pass(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(DrawnAlike):
        loop = user(trace.site(event.loop))
        if event.passes < ENOUGH or loop is None:
            continue
        path, cls = _class(trace, event) if event.own else ("", None)
        untold = cls is not None and _has(cls, "set_epoch") and not any(calls_in_source(trace, "set_epoch"))
        if event.drawn == event.items and not untold:
            continue
        seeded = _seeded_in(path, cls) if cls is not None else _seeded_before(trace, loop)
        if seeded is not None:
            yield _finding(trace, event, loop, seeded, untold)


def _class(trace: Trace, event: DrawnAlike) -> tuple[str, ast.ClassDef | None]:
    """The class of the sampler in the program's text."""
    for path, cls in classes_named(trace, event.sampler):
        if cls.lineno < event.line <= (cls.end_lineno or 0):
            return path, cls
    return "", None


def _has(cls: ast.ClassDef, method: str) -> bool:
    return any(isinstance(part, FUNCTIONS) and part.name == method for part in cls.body)


def _seeded_in(path: str, cls: ast.ClassDef) -> Site | None:
    """Where a sampler makes or seeds a generator as it is gone through."""
    for part in cls.body:
        if isinstance(part, FUNCTIONS) and part.name not in ("__init__", "set_epoch"):
            for node in ast.walk(part):
                if isinstance(node, ast.Call) and _seeds(node):
                    return site_of(path, part.name, node)
    return None


def _seeded_before(trace: Trace, loop: Site) -> Site | None:
    """Where the loop around that over the batches seeds a generator."""
    file = trace.source_file(loop.path)
    inner = file.statement(loop)
    outer = file.loop_of(inner) if inner is not None else None
    for node in ast.walk(outer) if outer is not None else ():
        if isinstance(node, ast.Call) and called_name(node) in SEEDED and _seeds(node):
            return site_of(loop.path, loop.function, node)
    return None


def _seeds(call: ast.Call) -> bool:
    """Whether a call makes or sets a generator from what it is given."""
    return called_name(call) in SEEDED | GENERATORS and bool(call.args or call.keywords)


def _finding(trace: Trace, event: DrawnAlike, loop: Site, seeded: Site, untold: bool) -> Finding:
    fix, edits = _told(trace, event, loop) if untold else ("", ())
    if untold and not fix:
        fix = f"call `set_epoch(epoch)` of the `{event.sampler}` before each epoch, in the loop around"
        fix += f" {located(trace, loop)}"
    if not fix:
        once = f"in `__init__` of `{event.sampler}`" if event.own else "before the loop over the epochs"
        fix = f"make and seed the generator of {located(trace, seeded)} once, {once}"
    batches = "batch" if event.batches == 1 else f"{event.batches:,} batches"
    return Finding(
        message=f"`{event.sampler}` draws the same {batches} in each of {event.passes:,} epochs: {event.items:,} of at"
        f" least {event.samples:,} samples are ever seen",
        cause=seeded,
        cause_label="begins at the same random number each time",
        effect=loop,
        effect_label="is given the same batches in each epoch",
        related=((event.site.user, "makes the loader"),),
        seen=(
            f"in {counted(event.passes, 'whole pass')} over the loader the sampler gave the same numbers in the same"
            f" order: {event.drawn:,} draws, {counted(event.items, 'different sample')}",
            *(("`set_epoch` is never called",) if untold else ()),
        ),
        fix=fix,
        edits=edits,
        count=event.passes,
        subjects=frozenset({("loader", *event.site.user.location())}),
    )


def _told(trace: Trace, event: DrawnAlike, loop: Site) -> tuple[str, Edits]:
    """`loader.batch_sampler.set_epoch(epoch)` before the loop over the batches, where the loop around it counts."""
    here = Source(trace, loop.path)
    inner = here.file.statement(loop)
    outer = here.file.loop_of(inner) if inner is not None else None
    if not isinstance(inner, ast.For) or not isinstance(outer, ast.For) or inner not in outer.body:
        return "", ()
    over = gone_through(inner)
    numbered = isinstance(outer.target, ast.Name) and called_name(outer.iter) == "range"
    if over is None or not numbered:
        return "", ()
    sampler = f"{here.file.text(over)}.{'batch_sampler' if event.batched else 'sampler'}"
    call = f"{sampler}.set_epoch({here.file.text(outer.target)})"
    return f"call `{call}` before {located(trace, loop)}", here.before(inner, call)
