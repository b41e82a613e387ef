"""A list of layers holds one and the same layer in all of its places: `[nn.Linear(8, 8)] * 3` makes one.

Why: a list times a number repeats references, and `copy.copy` of a module keeps its parameters. What looks like several
layers is one that is run several times: it has the parameters of one, and gets the sum of the gradients of all.

Fix: make a layer for each place, `[nn.Linear(8, 8) for _ in range(3)]`, or `copy.deepcopy(layer)`.

Measured: the places of a `Sequential` or `ModuleList` that hold the same weights. A note where the layer has a name:
`[layer] * 3` may mean to share it.
Silent on: layers without weights, such as activations; a layer that a loop or a `forward` runs several times.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.text import nodes_that_ran, site_of
from gradscope.analysis.words import code, located, parameter_subjects
from gradscope.events import Backward, RepeatedPart
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.source import called_name
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    hidden = nn.ModuleList([nn.Linear(8, 8)] * 3)  # cause: GS113
    first, last = nn.Linear(4, 8), nn.Linear(8, 1)
    opt = torch.optim.SGD([*first.parameters(), *hidden.parameters(), *last.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(16, 4)
        h = first(x)
        for layer in hidden:
            h = torch.relu(layer(h))
        loss = (last(h).squeeze(1) - x.sum(1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS113
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    hidden = nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])
    first, last = nn.Linear(4, 8), nn.Linear(8, 1)
    opt = torch.optim.SGD([*first.parameters(), *hidden.parameters(), *last.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(16, 4)
        h = first(x)
        for layer in hidden:
            h = torch.relu(layer(h))
        loss = (last(h).squeeze(1) - x.sum(1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS113", name="one-layer-for-several", severity="warning")
def one_layer_for_several(trace: Trace) -> Iterator[Finding]:
    told: set[tuple[str, int]] = set()
    for event in trace.of(RepeatedPart):
        found = _shallow(trace) if not event.one else _repeated(trace, event.cls)
        if found is not None and found.site.location() not in told:
            told.add(found.site.location())
            yield _finding(trace, event, found)


class _Made(NamedTuple):
    """Where the text repeats a layer, what to write in its place, and whether the layer is made there."""

    site: Site
    new: str
    edits: Edits
    sure: bool


def _repeated(trace: Trace, cls: str) -> _Made | None:
    """The one `[…] * n` of the program with a layer of this class, or with names, in its list."""
    found = [
        (path, function, node, node.left.elts, node.right)
        for path, function, node in nodes_that_ran(trace, ast.BinOp)
        if isinstance(node.op, ast.Mult) and isinstance(node.left, ast.List) and node.left.elts
    ]
    calls = [one for one in found if any(_makes(part, cls) for part in one[3])]
    names = [one for one in found if all(isinstance(part, (ast.Name, ast.Attribute)) for part in one[3])]
    if len(calls or names) != 1:
        return None
    path, function, node, elements, times = (calls or names)[0]
    here = Source(trace, path)
    texts, times_text = [here.file.text(part) for part in elements], here.file.text(times)
    if not calls:
        copies = [f"copy.deepcopy({text})" for text in texts]
        new = _comprehension(copies, times_text)
        edits = here.replace(node, new) if "copy" in here.file.imported else ()
        return _Made(site_of(path, function, node), new, edits, False)
    new = _comprehension(texts, times_text)
    return _Made(site_of(path, function, node), new, here.replace(node, new), True)


def _makes(part: ast.expr, cls: str) -> bool:
    return any(called_name(node) == cls for node in ast.walk(part))


def _comprehension(texts: list[str], times: str) -> str:
    if len(texts) == 1:
        return f"[{texts[0]} for _ in range({times})]"
    return f"[part for _ in range({times}) for part in ({', '.join(texts)})]"


def _shallow(trace: Trace) -> _Made | None:
    """The one `copy.copy(…)` of the program."""
    found = [
        (path, function, node)
        for path, function, node in nodes_that_ran(trace, ast.Call)
        if trace.source_file(path).imported_name(node.func) == "copy.copy"
    ]
    if len(found) != 1:
        return None
    path, function, node = found[0]
    here = Source(trace, path)
    old = here.file.text(node.func)
    new = f"{old.removesuffix('copy')}deepcopy"
    edits = here.replace(node.func, new) if old.endswith(".copy") else ()
    return _Made(site_of(path, function, node), f"{new}(…)", edits, True)


def _finding(trace: Trace, event: RepeatedPart, found: _Made) -> Finding:
    passed = next((e for e in trace.of(Backward) if set(event.parameters) & set(e.filled)), None)
    count = len(event.names)
    return Finding(
        message=f"{code(trace, found.site)} makes one `{event.cls}`, not {count}: all places of the list share its"
        " parameters",
        cause=found.site,
        cause_label="repeats the one layer" if event.one else "keeps the parameters of what it copies",
        effect=passed.site.user if passed is not None else None,
        effect_label=f"gives it the sum of {count} gradients",
        seen=(
            f"places {', '.join(event.names[:4])}{' …' if count > 4 else ''} of"
            f" `{trace.modules[event.module].cls if event.module in trace.modules else 'the list'}` hold"
            f" {'the same object' if event.one else 'copies with the same parameters'}",
        ),
        fix=f"make a layer for each place: `{found.new}` in place of {located(trace, found.site)}"
        + ("" if found.sure else ", unless they are to share it"),
        edits=found.edits,
        severity="" if found.sure else "note",
        subjects=parameter_subjects(event.parameters) | {("repeated", *found.site.location())},
    )
