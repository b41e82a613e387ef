"""What a forecast is trained to say lies in the window that it is given: the target is the window's own last entry.

Why: a window `series[i : i + n]` ends with the entry `i + n - 1`; the first entry that it does not hold is `i + n`.
With a target one place too early the network only has to repeat what it was given: the error falls to next to nothing,
in training and in the test alike, and no forecast has been learned.

Fix: take the target behind the window: `series[i + n]` for one step ahead, `series[i + n + h - 1]` for `h` steps.

Measured: in all calls of the loss that were looked at the target of every sample was, bit for bit, the entry at one
and the same place in the last quarter of what the module was given, and these windows are stretches of one series: some
end in the middle of others. Silent on: targets that the program cuts out of the batch itself (`x[:, -1]`), targets of
several places (a shifted sequence, a whole window as in an autoencoder), samples that are no stretches of one series.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.names import shape_words
from gradscope.analysis.ops import ALIASES, CASTS, MAKERS, PASSING, SLICES
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.samples import calls_at
from gradscope.analysis.words import code, located, plural
from gradscope.events import ModuleCall, TargetInWindow
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace

LEAST = 2  # calls, and windows that overlap


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    series = torch.sin(torch.arange(120) / 5) + 0.3 * torch.randn(120)
    model = nn.Sequential(nn.Linear(12, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(6):
        starts = torch.randperm(120 - 12)[:32].tolist()
        x = torch.stack([series[i : i + 12] for i in starts])
        y = torch.stack([series[i + 12 - 1] for i in starts])  # cause: GS448
        loss = nn.functional.mse_loss(model(x).squeeze(1), y)  # effect: GS448
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    series = torch.sin(torch.arange(120) / 5) + 0.3 * torch.randn(120)
    model = nn.Sequential(nn.Linear(12, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(6):
        starts = torch.randperm(120 - 12)[:32].tolist()
        x = torch.stack([series[i : i + 12] for i in starts])
        y = torch.stack([series[i + 12] for i in starts])
        loss = nn.functional.mse_loss(model(x).squeeze(1), y)
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS448", name="target-in-its-window", severity="warning", needs=TargetInWindow)
def target_in_its_window(trace: Trace) -> Iterator[Finding]:
    events = [e for e in trace.of(TargetInWindow) if e.calls >= LEAST and e.overlaps >= LEAST]
    for event in events:
        yield _finding(paths(trace), event)


def _finding(known: Paths, event: TargetInWindow) -> Finding:
    trace, loss = known.trace, event.site.user
    target, window = _sources(known, event)
    cause = target.site.user if target is not None else loss
    late = event.places - event.place
    last = late == 1
    fix, edits = _behind(trace, target, late)
    place = "the last entry" if last else f"entry {event.place + 1} of {event.places}"
    return Finding(
        message=f"{code(trace, cause, 'the target')} lies in the window that the model is given: it is {place} of that",
        cause=cause,
        cause_label=f"{'is' if last else 'is in'} the window's {'last entry' if last else 'end'}",
        effect=loss if loss.location() != cause.location() else None,
        effect_label="compares the answer with what was given",
        related=((window, "the window"),)
        if window is not None and window.location() != cause.location()
        else (),
        seen=(
            f"in {plural(event.calls, 'call')} of the loss that were looked at, of {plural(event.samples, 'sample')},"
            f" the target was {place} of the sample's own window, bit for bit (of shape {shape_words(event.shape)})",
            f"the windows are stretches of one series: {event.overlaps} end in the middle of another one of their"
            " batch, with the same numbers before that",
        ),
        fix=fix,
        edits=edits,
        subjects=frozenset({("call", loss.location())}),
    )


# -- where both come from ----------------------------------------------------------------------


def _sources(known: Paths, event: TargetInWindow) -> tuple[Op | None, Site | None]:
    """The call that took a target out of the series, and the place that took a window."""
    for op in calls_at(known, event.name, event.site.user):
        given = [(op.graph, index) for index in op.inputs]
        targets = [key for key in given if not known.value(key).requires_grad]
        if len(targets) != 1:
            continue
        taken = _taken(known, targets[0], event.shape[0])
        if taken is None:
            continue
        windows = [
            (call.graph, value)
            for call in known.trace.of(ModuleCall)
            if call.graph == op.graph and call.position <= op.index
            for value in call.inputs
            if known.value((call.graph, value)).shape == event.shape
        ]
        window = _taken(known, windows[-1], event.shape[0]) if windows else None
        return taken, window.site.user if window is not None else None
    return None, None


def _taken(known: Paths, key: Key, samples: int) -> Op | None:
    """The call that took one sample's part out of what all samples come from; of a tensor that was made of something
    else the call that made it."""
    while True:
        op = known.maker(key)
        if op is None or not op.inputs:
            return op if op is not None and op.name in MAKERS else None
        shape = known.value(known.made(key)).shape
        if op.name in SLICES and len(op.inputs) == 1 and shape[:1] != (samples,) and op.site.kind == "user":
            return op
        if op.name not in PASSING | CASTS | ALIASES:
            return None
        key = op.graph, op.inputs[0]


# -- the repair --------------------------------------------------------------------------------


def _behind(trace: Trace, target: Op | None, late: int) -> tuple[str, Edits]:
    places = "one place" if late == 1 else f"{late} places"
    if target is None:
        return (
            f"take each target from {places} later in the series at least: the first that its window leaves out",
            (),
        )
    site = target.site.user
    fix = f"take the target {places} later at least, behind its window: {located(trace, site)}"
    here = Source(trace, site.path)
    node = here.file.at(site)
    index = node.slice if isinstance(node, ast.Subscript) else None
    if isinstance(index, ast.Tuple) and index.elts:
        index = index.elts[0]
    if index is None or isinstance(index, ast.Slice | ast.Starred | ast.Constant) or not here.text_of(index):
        return f"{fix}, and leave out the last windows, which have none", ()
    text = _later(here, index, late)
    return (
        f"{fix}, as `{text}`. Where the last windows then have no target, let the samples end {places} earlier",
        here.replace(index, text),
    )


def _later(here: Source, index: ast.expr, late: int) -> str:
    """The text of an index that is so much larger."""
    if (
        isinstance(index, ast.BinOp)
        and isinstance(index.op, ast.Sub)
        and isinstance(index.right, ast.Constant)
    ):
        less = index.right.value
        if isinstance(less, int) and less >= late:
            left = here.text_of(index.left)
            return left if less == late else f"{left} - {less - late}"
    return f"{here.text_of(index)} + {late}"
