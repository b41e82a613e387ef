"""An evaluation leaves out the samples that do not fill the last batch: its loader was made with `drop_last=True`.

Why: a loader with `drop_last=True` gives whole batches only. In training, with an order that is drawn anew, other
samples are left out each time. An evaluation goes through its samples in order: the same last ones are never judged,
and what it reports depends on the size of the batches.

Fix: `drop_last=False` for what is evaluated, or leave it out. What makes one array of the results of all batches then
has to join them.

Measured: the samples of the dataset and of a batch, in passes that came to the end. Silent on: batches that divide the
dataset, loops that stop before, loaders that a loop trains with, one of several processes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.calls import calls
from gradscope.analysis.of_whole_batches import WholeBatches, of_whole_batches
from gradscope.analysis.text import runs_in, site_of
from gradscope.analysis.words import code, located, plural, user
from gradscope.analysis.words import where as at_line
from gradscope.events import Backward, Loader, SamplesDropped, Step
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.source import FUNCTIONS, SourceFile
from gradscope.store import Trace


def bad() -> None:
    from typing import Any

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(50, 3)
    held: Any = TensorDataset(x, x.sum(1, keepdim=True))
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        a = torch.randn(16, 3)
        nn.functional.mse_loss(model(a), a.sum(1, keepdim=True)).backward()
        opt.step()
    errors = []
    with torch.no_grad():
        for a, b in DataLoader(held, batch_size=16, drop_last=True):  # cause: GS412
            errors.append((model(a) - b).pow(2))  # effect: GS412
    print(torch.cat(errors).mean().item())


def good() -> None:
    from typing import Any

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(50, 3)
    held: Any = TensorDataset(x, x.sum(1, keepdim=True))
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        a = torch.randn(16, 3)
        nn.functional.mse_loss(model(a), a.sum(1, keepdim=True)).backward()
        opt.step()
    errors = []
    with torch.no_grad():
        for a, b in DataLoader(held, batch_size=16):
            errors.append((model(a) - b).pow(2))
    print(torch.cat(errors).mean().item())


@rule("GS412", name="evaluation-leaves-out-the-last", severity="note", needs=SamplesDropped)
def evaluation_leaves_out_the_last(trace: Trace) -> Iterator[Finding]:
    lines: dict[tuple[str, int], list[SamplesDropped]] = {}
    for event in trace.of(SamplesDropped):
        lines.setdefault(event.site.user.location(), []).append(event)
    for events in lines.values():
        for event in sorted(events, key=_left_out, reverse=True):
            judged = _judged(trace, event)
            if judged is not None:
                yield _finding(trace, event, [e for e in events if e.loop == event.loop], judged)
                break


def _left_out(event: SamplesDropped) -> int:
    return event.samples % event.batch


def _judged(trace: Trace, event: SamplesDropped) -> Site | None:
    """The line that asks a model in the loop over a loader, where nothing is trained there."""
    loop = user(trace.site(event.loop))
    if loop is None:
        return None
    if any(runs_in(trace, one.site, loop) for one in (*trace.of(Backward), *trace.of(Step))):
        return None
    known = calls(trace)
    inside = [call for call in known.all if runs_in(trace, call.event.site, loop)]
    if any(call.trains for call in inside):
        return None
    asked = [c for c in inside if not (c.event.grad and c.event.training) and known.consumed(c.event)]
    return asked[0].entry if asked else None


def _finding(trace: Trace, event: SamplesDropped, alike: list[SamplesDropped], judged: Site) -> Finding:
    made = event.site.user
    left = plural(_left_out(event), "sample")
    passes = sum(one.passes for one in alike)
    where, edits = _switched_off(trace, made, event)
    whole = _made_of_all(trace, made)
    others = [f"{_left_out(one)} of {one.samples} in batches of {one.batch}" for one in alike[:4]]
    return Finding(
        message=f"the evaluation leaves out the last {left}: its loader has `drop_last=True`",
        cause=where or made,
        cause_label="drops what does not fill the last batch",
        effect=judged,
        effect_label="is never asked about them",
        related=((made, "makes the loader"),) if where is not None and where.line != made.line else (),
        seen=(
            f"the last samples of the dataset were in no batch, the same ones in each pass ({plural(passes, 'pass')}):"
            f" {', '.join(others)}",
        ),
        fix=f"make {located(trace, made, 'the loader')} with `drop_last=False` for what is evaluated"
        + (f": `False` for {located(trace, where)}" if where is not None else "")
        + (_and_joined(trace, whole) if whole is not None else ""),
        edits=() if whole is not None else edits,
        subjects=frozenset({("loader", *made.location())}),
    )


def _made_of_all(trace: Trace, made: Site) -> WholeBatches | None:
    """What a smaller last batch would break, behind one of the loops over this line's loaders."""
    loops = {e.loop: e.batch for e in trace.of(SamplesDropped) if e.site.user.location() == made.location()}
    sites = ((user(trace.site(loop)), batch) for loop, batch in loops.items())
    found = (of_whole_batches(trace, loop, batch) for loop, batch in sites if loop is not None)
    return next((one for one in found if one is not None), None)


def _and_joined(trace: Trace, whole: WholeBatches) -> str:
    call, likewise = code(trace, whole.site, "the call"), ", and the others likewise" if whole.others else ""
    return (
        f"; the last batch is smaller then, and no one array can be made of all: join them, `{whole.joined}`"
        f" in place of {call} ({at_line(whole.site)}){likewise}; there is no axis of batches then"
    )


def _switched_off(trace: Trace, made: Site, event: SamplesDropped) -> tuple[Site | None, Edits]:
    """Where `True` is written for this loader, and the edit, where no other loader gets the same."""
    here = Source(trace, made.path)
    call = here.file.at(made)
    given = next(
        (k for k in call.keywords if k.arg == "drop_last") if isinstance(call, ast.Call) else iter(()), None
    )
    if given is None or not isinstance(call, ast.Call):
        return None, ()
    if isinstance(given.value, ast.Constant):
        others = {e.loop for e in trace.of(Loader) if e.site.user.location() == made.location()}
        return None, () if others - {event.loop} else here.without_keyword(call, given)
    found = _written(here.file, made, call, given.value) if isinstance(given.value, ast.Name) else []
    if len(found) != 1:
        return None, ()
    return site_of(made.path, made.function, found[0]), here.replace(found[0], "False")


def _written(file: SourceFile, made: Site, call: ast.Call, given: ast.Name) -> list[ast.Constant]:
    """The `True`s that the function gives the name of `drop_last`, but those beside which it has the data shuffled."""
    shuffle = next(
        (k.value.id for k in call.keywords if k.arg == "shuffle" and isinstance(k.value, ast.Name)), ""
    )
    scope = file.scope(made)
    if not isinstance(scope, FUNCTIONS):
        return []
    found = []
    for block in _blocks(scope):
        values = dict(pair for statement in block for pair in _bound(statement))
        value = values.get(given.id)
        if isinstance(value, ast.Constant) and value.value is True:
            order = values.get(shuffle)
            if not (isinstance(order, ast.Constant) and order.value):
                found.append(value)
    return found


def _blocks(scope: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(scope):
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                yield block


def _bound(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """The names that an assignment gives a value, each with the expression of it."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return
    target, value = statement.targets[0], statement.value
    if isinstance(target, ast.Name):
        yield target.id, value
    elif (
        isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts)
    ):
        for one, its in zip(target.elts, value.elts, strict=True):
            if isinstance(one, ast.Name):
                yield one.id, its
