"""Boxes are taken for two corners, and are not: sides come out below 0.

Why: a box is written as two corners (x0, y0, x1, y1), as a corner and a size (x, y, w, h) or as a centre and a size
(cx, cy, w, h). Who takes `boxes[:, 2] - boxes[:, 0]` for the width wants corners; of the others it is a difference of
numbers that have nothing to do with each other. Overlaps of such boxes are 0 or absurd, logarithms of such sides NaN.

Fix: make corners of them first: `(x, y, x + w, y + h)`, or `(cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2)`.

Measured: the sides of boxes that no network made, of which a tenth or more is below 0, and that are multiplied with
each other or put into a logarithm. Silent on: boxes that a network has made, differences of two points, as those that
are squared, or have a length or an angle.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.non_finite import subjects_of
from gradscope.analysis.ops import (
    ADDITIONS,
    BOUNDS,
    CASTS,
    LOGARITHMS,
    MAKERS,
    MULTIPLICATIONS,
    NORMS,
    PARTS,
    PASSING,
    POWERS,
    QUOTIENTS,
    SUBTRACTIONS,
)
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located, percent
from gradscope.events import Backward, BoxSides, NonFinite
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace

SHARE = 0.1  # of the sides
ENOUGH = 16  # sides
MOST = 0.98  # of the boxes that can be centres and sizes: then they are
HALF = 0.5  # of them: then they may be, with some that reach over the border
OF_POINTS = POWERS | NORMS | {"hypot", "atan2", "sign", "sgn", "normalize"}  # done with what has a direction
NUMBERS = MULTIPLICATIONS | ADDITIONS | SUBTRACTIONS  # by a plain number: in pixels, both ends counted


def bad() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(4):
        x = torch.rand(32, 6)
        boxes = torch.cat([0.4 * x[:, :2], 0.2 + 0.3 * x[:, 2:4]], 1) * torch.tensor([2.0, 2.0, 1.0, 1.0])
        width, height = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]  # cause: GS355
        weight = (width * height).abs()
        loss = ((model(x) - boxes).abs().sum(1) * weight).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(4):
        x = torch.rand(32, 6)
        low, size = 0.8 * x[:, :2], 0.2 + 0.3 * x[:, 2:4]
        boxes = torch.cat([low, low + size], 1)
        width, height = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
        weight = (width * height).abs()
        loss = ((model(x) - boxes).abs().sum(1) * weight).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS355", name="boxes-are-no-corners", severity="warning", over=("GS701",), needs=BoxSides)
def boxes_are_no_corners(trace: Trace) -> Iterator[Finding]:
    events = [e for e in trace.of(BoxSides) if e.sides >= ENOUGH and e.below >= SHARE * e.sides]
    known = paths(trace)
    told: set[object] = set()
    for event in events:
        op = _call(known, event)
        if op is None or any(
            known.parameter_of(k) is not None for k in known.flow([(op.graph, op.inputs[0])]).order
        ):
            continue
        made = _made(known, op)
        key = (made or event.site.user).location()
        around = (event.site.user.path, event.site.user.function)
        if key not in told and around not in told:
            told |= {key, around}
            yield _finding(trace, event, op, made)


def _call(known: Paths, event: BoxSides) -> Op | None:
    """The subtraction, whose result is taken for a length."""
    for op in known.trace.called_at(event.site.id, {event.name}):
        if not op.inputs:
            continue
        readers = list(known.graph(op.graph).readers_behind(op.outputs, _scales))
        if any(reader.name in OF_POINTS for _, reader in readers):
            return None
        if any(_of_sides(known, op, reader) for _, reader in readers):
            return op
    return None


def _scales(op: Op) -> bool:
    """Whether a length comes out of an op as a length, or as a ratio of two."""
    return op.name in PASSING | BOUNDS | CASTS | QUOTIENTS or (len(op.inputs) == 1 and op.name in NUMBERS)


def _of_sides(known: Paths, side: Op, reader: Op) -> bool:
    """Whether it is an area, of two sides of the same boxes, or a logarithm."""
    if reader.name in LOGARITHMS | {"prod"}:
        return True
    if reader.name not in MULTIPLICATIONS or len(reader.inputs) != 2 or reader.inputs[0] == reader.inputs[1]:
        return False
    boxes = _whole(known, (side.graph, side.inputs[0]))
    made = [
        known.maker_behind((reader.graph, index), PASSING | BOUNDS | NUMBERS - SUBTRACTIONS)
        for index in reader.inputs
    ]
    return all(
        op is not None
        and op.name in SUBTRACTIONS
        and op.inputs
        and _whole(known, (op.graph, op.inputs[0])) == boxes
        for op in made
    )


def _whole(known: Paths, key: Key) -> Key:
    """What a part was taken of."""
    maker = known.maker(key)
    while maker is not None and maker.name in PARTS and maker.inputs:
        key = maker.graph, maker.inputs[0]
        maker = known.maker(key)
    return key


def _broken(trace: Trace, op: Op) -> NonFinite | None:
    """The first number that is not finite, where it was made of such a side."""
    graph = trace.graph(op.graph)
    for event in trace.of(NonFinite):
        origin = trace.site(event.origin)
        calls = graph.called({event.name}) if origin is not None else ()
        for call in calls:
            if (
                origin is not None
                and call.site.user == origin.user
                and op.outputs[0] in graph.upstream(call.inputs[0])
            ):
                return event
    return None


def _made(known: Paths, op: Op) -> Site | None:
    """The line of the program that made the boxes of plain numbers."""
    maker = known.maker_behind((op.graph, op.inputs[0]), PASSING)
    return maker.site.user if maker is not None and maker.name in MAKERS else None


def _finding(trace: Trace, event: BoxSides, op: Op, made: Site | None) -> Finding:
    place = event.site.user
    broken = _broken(trace, op)
    centres = event.centres >= MOST * event.boxes
    form = "a centre and a size" if centres else "a corner and a size"
    corners = "`(cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2)`" if centres else "`(x, y, x + w, y + h)`"
    form = f"they look like {form}: make corners of them, {corners},"
    if not centres and event.centres >= HALF * event.boxes:
        form = (
            "make corners of them: `(x, y, x + w, y + h)` if they are a corner and a size, `(cx - w / 2, cy - h / 2,"
            " cx + w / 2, cy + h / 2)` if they are a centre and a size,"
        )
    new, edits = _corners(trace, made, centres)
    caller = _caller(trace, event.site)
    where = located(trace, made or caller or place)
    return Finding(
        message=f"{code(trace, place, 'the difference')} takes boxes for two corners, and is below 0 for"
        f" {percent(event.below / event.sides)} of them",
        cause=made or place,
        cause_label="makes the boxes" if made is not None else "is taken for a side",
        effect=place if made is not None else None,
        effect_label="is taken for a side",
        related=((caller, "is given the boxes here"),) if caller is not None and made is None else (),
        seen=(
            f"of {event.sides} such differences {event.below} were below 0, which no side of a box is",
            f"{event.centres} of the {event.boxes} boxes can be a centre and a size with no corner below 0",
        ),
        fix=f"write {new} in place of {where}"
        if new
        else f"{form} in {where}, and of what they are compared with",
        edits=edits,
        count=event.calls,
        subjects=frozenset({("boxes", *place.location())})
        | (subjects_of(broken) if broken is not None else set()),
    )


def _caller(trace: Trace, site: Site) -> Site | None:
    """The call by which a loss is computed of the boxes: in the `forward` of a module, or where the pass is made."""
    training = {e.site.user.function for e in trace.of(Backward)}
    frames = [f for f in site.stack if f.kind == "user" and f != site.user]
    inner = [f for f in frames if f.function.endswith(".forward")]
    found = inner or [f for f in frames if f.function in training]
    return found[-1] if found else None


def _corners(trace: Trace, made: Site | None, centres: bool) -> tuple[str, Edits]:
    """The corners in place of four names in a list."""
    if made is None:
        return "", ()
    here = Source(trace, made.path)
    node = here.file.at(made)
    given = node.args[0] if isinstance(node, ast.Call) and node.args else None
    if not isinstance(given, ast.List | ast.Tuple) or len(given.elts) != 4:
        return "", ()
    x, y, w, h = (here.file.operand(one) for one in given.elts)
    new = (
        f"{x} - {w} / 2, {y} - {h} / 2, {x} + {w} / 2, {y} + {h} / 2"
        if centres
        else f"{x}, {y}, {x} + {w}, {y} + {h}"
    )
    new = f"[{new}]" if isinstance(given, ast.List) else f"({new})"
    return f"`{new}`", here.replace(given, new)
