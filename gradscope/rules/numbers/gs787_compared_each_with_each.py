"""Every prediction is compared with every target: the accuracy counts pairs that do not belong together.

Why: a column (N, 1) and a row (N,) are broadcast to an N by N table before they are compared. Its mean is about the
chance that any prediction equals any target, and its sum goes up to N²: an accuracy near one half that never moves, or
one of 2,500 %.

Fix: bring both to one shape: `pred.squeeze(1) == y`, or `pred == y.unsqueeze(1)`.

Silent on: comparisons of a tensor with itself, as for a mask of pairs; results that are not added up at once.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.words import code, located, numbers, percent
from gradscope.events import Compared
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.source import method_name
from gradscope.store import Trace

CASTS = {"float", "double", "int", "long", "type", "to", "cpu", "float32"}
TOTALS = {"sum", "mean", "count_nonzero"}


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = (x[:, 0] > 0).float()
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        loss = nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(1), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        pred = (model(x) > 0).float()
        ((pred == y).float().mean().item())  # cause: GS787


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = (x[:, 0] > 0).float()
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        loss = nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(1), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        pred = (model(x) > 0).float().squeeze(1)
        ((pred == y).float().mean().item())


@rule("GS787", name="compared-each-with-each", severity="warning", needs=Compared)
def compared_each_with_each(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(Compared):
        column = _column(event.left, event.right)
        if column is None or not event.apart or not _added_up(trace, event.site.user):
            continue
        here = code(trace, event.site.user, "the comparison")
        rows = max(*event.left, *event.right)
        sides = f"{numbers(event.left)} and {numbers(event.right)}"
        yield Finding(
            message=f"{here} compares each of {rows} with each of {rows}: what belongs together is {rows} of"
            f" {rows * rows:,} results",
            cause=event.site.user,
            cause_label=f"{sides} are broadcast to {numbers((rows, rows))}",
            seen=(
                f"the two sides have the sizes {sides}, the result {numbers((rows, rows))}",
                f"{percent(event.equal / event.elements, 1)} of all pairs were equal, in {event.calls} looked-at"
                f" call{'' if event.calls == 1 else 's'}",
            ),
            fix="bring both to one shape: "
            + (f"`.squeeze(1)` behind the {column} side of {located(trace, event.site.user)}"),
            edits=_squeezed(trace, event.site.user, column),
        )


def _column(left: tuple[int, ...], right: tuple[int, ...]) -> str | None:
    """Which side is a column beside a row of the same length."""
    for side, one, other in (("left", left, right), ("right", right, left)):
        if len(one) == 2 and one[1] == 1 and len(other) == 1 and one[0] == other[0] > 1:
            return side
    return None


def _added_up(trace: Trace, site: Site) -> bool:
    """Whether the text takes the sum or the mean of all results, at once."""
    file = trace.source_file(site.path)
    node = file.at(site)
    for above in file.above(node) if node is not None else ():
        if isinstance(above, ast.Call):
            name = method_name(above)
            if name in TOTALS or (isinstance(above.func, ast.Name) and above.func.id == "sum"):
                return not above.args or isinstance(above.func, ast.Name) or _is_torch(above)
            if name not in CASTS and not isinstance(above.func, ast.Attribute):
                return False
        elif not isinstance(above, ast.Attribute):
            return False
    return False


def _is_torch(call: ast.Call) -> bool:
    """`torch.sum(pred == y)`."""
    return (
        isinstance(call.func, ast.Attribute)
        and ast.unparse(call.func.value) == "torch"
        and len(call.args) == 1
    )


def _squeezed(trace: Trace, site: Site, column: str) -> Edits:
    here = Source(trace, site.path)
    node = here.file.at(site)
    if not isinstance(node, ast.Compare) or len(node.comparators) != 1:
        return ()
    side = node.left if column == "left" else node.comparators[0]
    return here.replace(side, f"{here.file.operand(side)}.squeeze(1)")
