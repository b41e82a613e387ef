"""A mask of lengths is made over another axis than the one that the lengths count along.

Why: `torch.arange(x.size(1)) < lengths` tells the samples' places from the padding where axis 1 is the one that was
padded. With the channels' number in its place the mask goes over channels: nearly all lengths are larger, the mask lets
everything in, and the padding takes part in the loss, or in the attention, like everything else.

Fix: take the size of the padded axis, and let the mask go over that.

Measured: in all calls that were looked at the longest length was larger than the number of positions, and was the size
of another axis of what is masked. Silent on: lengths that no axis has (of what was cut, or counted in another unit),
and lengths that are all the same.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gradscope.analysis.ops import (
    CASTS,
    INVERSIONS,
    MULTIPLICATIONS,
    ORDERINGS,
    PASSING,
    SHAPED_AS,
    SUBTRACTIONS,
)
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.text import site_of
from gradscope.analysis.words import code, located, plural, quoted
from gradscope.events import ComparedLengths
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.source import FUNCTIONS
from gradscope.store import Trace

ENOUGH = 3  # calls
FORMS = PASSING | CASTS | SHAPED_AS | SUBTRACTIONS | INVERSIONS
MASKING = MULTIPLICATIONS | {"masked_fill", "masked_fill_", "where", "__setitem__"}
DEEP = 24  # calls between the comparison and what it masks


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Conv1d(2, 3, 3, padding=1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        lengths = torch.randint(4, 10, (8,))
        x, y = torch.randn(8, 2, int(lengths.max())), torch.randn(8, 3, int(lengths.max()))
        mask = torch.arange(y.size(1)) < lengths.unsqueeze(1)  # cause: GS797
        loss = ((model(x) - y).pow(2) * mask.unsqueeze(2)).mean()  # effect: GS797
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Conv1d(2, 3, 3, padding=1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        lengths = torch.randint(4, 10, (8,))
        x, y = torch.randn(8, 2, int(lengths.max())), torch.randn(8, 3, int(lengths.max()))
        mask = torch.arange(y.size(2)) < lengths.unsqueeze(1)
        loss = ((model(x) - y).pow(2) * mask.unsqueeze(1)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


class _Use(NamedTuple):
    """What a mask masks. `own`: the axis that it goes over; `padded`: the one that has the longest length; `widened`:
    the call by which the mask got an axis, where there is one."""

    compared: Op
    masked: Op
    shape: tuple[int, ...]
    own: int
    padded: int
    widened: Op | None


@rule("GS797", name="mask-of-another-axis", severity="warning", needs=ComparedLengths)
def mask_of_another_axis(trace: Trace) -> Iterator[Finding]:
    events = {e.site.id: e for e in trace.of(ComparedLengths) if e.varied and e.calls >= ENOUGH}
    if not events:
        return
    known = paths(trace)
    masks: dict[int, list[tuple[Op, Op, Op | None]]] = {}
    for _, masked in known.used_calls(MASKING):
        compared, widened = _compared(known, masked)
        if compared is not None and compared.site.id in events:
            masks.setdefault(compared.site.id, []).append((compared, masked, widened))
    told: set[tuple[str, int]] = set()
    for id, found in masks.items():
        found.sort(key=lambda mask: (mask[0].graph, mask[0].index))
        pairs = events[id].pairs
        uses = [
            _use(known, *mask, pairs[:1] if mask[0] is found[0][0] else pairs) for mask in found
        ]  # the first pair is that of the first call
        place = events[id].site.user.location()
        if None not in uses and uses[-1] is not None and place not in told:
            told.add(place)
            yield _finding(trace, known, events[id], uses[-1])


def _compared(known: Paths, masked: Op) -> tuple[Op | None, Op | None]:
    """The comparison that a mask comes from, and the call by which it got an axis, where there is one."""
    widened = None
    values = known.graph(masked.graph).values
    trained = [value for value in masked.inputs if values[value].requires_grad]
    for value in masked.inputs:
        op = known.maker((masked.graph, value)) if trained and value not in trained else None
        for _ in range(DEEP):
            if op is None or op.name not in FORMS or not op.inputs or not op.outputs:
                break
            graph = known.graph(op.graph)
            given, made = (len(graph.values[some[0]].shape) for some in (op.inputs, op.outputs))
            widened = op if given != made else widened
            op = known.maker((op.graph, op.inputs[0]))
        if op is not None and op.name in ORDERINGS:
            return op, widened
    return None, None


def _use(
    known: Paths, compared: Op, masked: Op, widened: Op | None, pairs: Sequence[tuple[int, int]]
) -> _Use | None:
    """Which axes of what is masked are those of the positions and of the longest length; None where there are none."""
    graph = known.graph(masked.graph)
    shape = next((graph.values[i].shape for i in masked.inputs if graph.values[i].requires_grad), ())
    for positions, longest in pairs:
        if shape.count(positions) == 1 and longest in shape:
            padded = len(shape) - 1 - shape[::-1].index(longest)  # the first may be the samples
            return _Use(compared, masked, shape, shape.index(positions), padded, widened)
    return None


def _finding(trace: Trace, known: Paths, event: ComparedLengths, use: _Use) -> Finding:
    site, effect = event.site.user, use.masked.site.user
    counted = _counted(trace, known, use)
    cause = counted[0] if counted is not None else site
    new, edits = _over_the_padded(trace, use, counted)
    share = event.alike / event.elements
    size, longest = use.shape[use.own], use.shape[use.padded]
    how = f"{code(trace, site, 'the mask')} goes over axis {use.own} of what it masks, and the lengths count along"
    return Finding(
        message=f"{how} axis {use.padded}: no padding is told from the rest",
        cause=cause,
        cause_label=f"the size of axis {use.own}, {size}, where that of axis {use.padded} is meant"
        if counted is not None
        else f"over the {size} places of axis {use.own}",
        effect=effect,
        effect_label=f"masks axis {use.own}",
        related=((site, "compares its positions with the lengths"),)
        if site.location() not in (cause.location(), effect.location())
        else (),
        seen=(
            f"in all {plural(event.calls, 'call')} looked at the longest length was larger than the positions, such as"
            f" {longest} and {size}, and {'all of the mask' if share == 1 else f'{100 * share:.0f} % of the mask'} was"
            " the same",
            f"what is masked has the shape {use.shape}: axis {use.padded} is as long as the longest length",
        ),
        fix=(f"{new}, so that the mask goes over axis {use.padded}" if new else "")
        or f"take the size of axis {use.padded} in {located(trace, cause)}, and give the mask an axis of 1 for axis"
        f" {use.own}",
        edits=edits,
        count=event.calls,
        subjects=frozenset({("mask", *site.location())}),
    )


def _counted(trace: Trace, known: Paths, use: _Use) -> tuple[Site, ast.expr] | None:
    """Where the program's text takes the number of positions: `x.size(1)`, `x.shape[1]`."""
    for value in use.compared.inputs:
        made = known.maker_behind((use.compared.graph, value), PASSING | SHAPED_AS)
        if made is None or made.name != "arange":
            continue
        place = made.site.user
        call = trace.source_file(place.path).at(place)
        if isinstance(call, ast.Call) and 1 <= len(call.args) <= 2:
            return _size(trace, place, call.args[-1], 3)
    return None


def _size(trace: Trace, site: Site, node: ast.expr, most: int) -> tuple[Site, ast.expr] | None:
    """The expression of one size that a name was given, in its function or by the call of that."""
    file = trace.source_file(site.path)
    if _axis(node) is not None:
        return site_of(site.path, site.function, node), node
    if not most or not isinstance(node, ast.Name):
        return None
    scope = file.scope_of(node)
    given = [one for one in file.assigned.get(node.id, ()) if file.scope_of(one) is scope]
    names = (
        [a.arg for a in (*scope.args.posonlyargs, *scope.args.args)] if isinstance(scope, FUNCTIONS) else []
    )
    if node.id not in names:
        return _size(trace, site, given[0], most - 1) if len(given) == 1 else None
    caller = next((s for s in site.stack[-2::-1] if s.kind == "user"), None)
    call = trace.source_file(caller.path).at(caller) if caller is not None else None
    if given or caller is None or not isinstance(call, ast.Call):
        return None
    own = names[1:] if names[:1] in (["self"], ["cls"]) else names
    handed = [word.value for word in call.keywords if word.arg == node.id]
    handed += call.args[own.index(node.id) : own.index(node.id) + 1] if node.id in own else []
    return _size(trace, caller, handed[0], most - 1) if len(handed) == 1 else None


def _axis(node: ast.expr) -> ast.Constant | None:
    """The number of the axis in `x.size(1)` or `x.shape[1]`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "size":
        given = node.args[0] if len(node.args) == 1 else None
    elif isinstance(node, ast.Subscript) and getattr(node.value, "attr", "") == "shape":
        given = node.slice
    else:
        return None
    return given if isinstance(given, ast.Constant) and type(given.value) is int else None


def _over_the_padded(trace: Trace, use: _Use, counted: tuple[Site, ast.expr] | None) -> tuple[str, Edits]:
    """The size of the other axis, and the mask's new axis in the place of the old one."""
    number = _axis(counted[1]) if counted is not None else None
    if counted is None or number is None or number.value != use.own or use.widened is None:
        return "", ()
    place = use.widened.site.user
    here, there = Source(trace, counted[0].path), Source(trace, place.path)
    node = there.file.at(place)
    size = here.file.text(counted[1])
    taken = (
        size[: size.rindex(str(number.value))] + str(use.padded) + size[size.rindex(str(number.value)) + 1 :]
    )
    edits = here.replace(number, str(use.padded))
    if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "unsqueeze" and node.args:
        given = node.args[-1]
        if ast.unparse(given) not in (str(use.padded), str(use.padded - len(use.shape))):
            return "", ()
        old = there.file.text(node)
        written = old[: old.rindex(there.file.text(given))] + f"{use.own})"
        edits += there.replace(given, str(use.own))
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
        entries = node.slice.elts
        texts = [there.file.text(one) for one in entries]
        if sorted(texts) != [*[":"] * (len(use.shape) - 1), "None"] or texts.index("None") != use.padded:
            return "", ()
        texts[use.padded], texts[use.own] = ":", "None"
        written = f"{there.file.operand(node.value)}[{', '.join(texts)}]"
        edits += there.replace(node.slice, ", ".join(texts))
    else:
        return "", ()
    where = f"{quoted(taken)} in place of {located(trace, counted[0])}"
    return f"{where}, and {quoted(written)} in place of {located(trace, place)}", edits
