"""A mask of integers is taken for row numbers: it picks rows 0 and 1 again and again.

Why: `x[mask]` keeps the marked rows only where the mask is boolean. Zeros and ones that are integers are numbers of
rows: the result has as many rows as before, all of them copies of the first two, whatever the mask marks, and the rest
of the data is never used.

Fix: make it boolean: `x[mask.bool()]`, or `x[mask == 1]`.

Measured: in all calls looked at the index was an integer tensor of zeros and ones, both of them, of exactly as many
elements as the axis that it indexes has rows, more than two.
Silent on: labels of two classes that look up rows of a table of two, or of one that has more or fewer rows than there
are labels; lines whose index has any other number in it at any call.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.reach import paths
from gradscope.analysis.words import code, located, plural
from gradscope.events import PickedTwice
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Span
from gradscope.rules import rule
from gradscope.source import method_name
from gradscope.store import Trace

ENOUGH = 16  # elements: so many have other numbers among them where they number the rows of a longer table
SELECTING = "index_select"
LONG = 8  # rows, where each call has the same number of ones: a few may be a tree's


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(4):
        x, y = torch.randn(12, 4), torch.randn(12, 1)
        valid = (torch.rand(12) < 0.6).long()
        loss = (model(x) - y)[valid].pow(2).mean()  # cause: GS795
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(4):
        x, y = torch.randn(12, 4), torch.randn(12, 1)
        valid = (torch.rand(12) < 0.6).long()
        loss = (model(x) - y)[valid.bool()].pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS795", name="mask-of-integers", severity="warning", needs=PickedTwice)
def mask_of_integers(trace: Trace) -> Iterator[Finding]:
    events = {
        event.site.user.span(): event
        for event in trace.of(PickedTwice)
        if event.highest < 2 and event.entries >= ENOUGH and (event.varied or event.length >= LONG)
    }
    if not events:
        return
    lines: dict[tuple[str, int], dict[Span, PickedTwice]] = {}
    for _, op in paths(trace).used_calls({"__getitem__", SELECTING}):
        site = op.site.user
        if site.span() in events:
            lines.setdefault(site.location(), {})[site.span()] = events[site.span()]
    for line in lines.values():
        yield _finding(trace, [line[span] for span in sorted(line)])


def _finding(trace: Trace, line: list[PickedTwice]) -> Finding:
    event = line[0]
    site = event.site.user
    here = Source(trace, site.path)
    entries = [_entry(here, one) for one in line]
    mask = here.file.operand(entries[0]) if entries[0] is not None else "mask"
    edits: Edits = ()
    for entry in entries:
        edits += here.behind(entry, ".bool()") if entry is not None else ()
    fix = f"make the mask boolean: `{mask}.bool()` in {located(trace, site)}"
    selected = method_name(here.file.at(site)) == SELECTING
    if selected:
        edits = tuple(edit for one in line for edit in _subscripted(here, one))
        index = ", ".join([":"] * event.place + [f"{mask}.bool()"])
        text = edits[0].text if edits else f"x[{index}]"
        fix = f"index by a boolean mask, `{text}`, in place of {located(trace, site)}"
    if event.columns == 2 and event.place == 0:  # the numbers may stand for them
        fix += f"; where `{mask}` says which of two columns, `.gather(1, {mask}.unsqueeze(1))` instead"
        edits = ()
    share = round(100 * event.ones / event.entries)
    return Finding(
        message=f"{code(trace, site, 'the index')} takes the zeros and ones of `{mask}` for numbers of rows: it picks"
        " rows 0 and 1 again and again, not those that are marked",
        cause=site,
        cause_label="an index of integers, no mask",
        seen=(
            f"in all {plural(event.calls, 'call')} looked at the index was of integers, {share} % ones and the rest"
            f" zeros, as many as there are rows: of {event.length} rows it made {event.length} again, all"
            " copies of two",
        ),
        fix=fix,
        edits=edits if selected or None not in entries else (),
        count=event.calls,
    )


def _entry(here: Source, event: PickedTwice) -> ast.expr | None:
    """What stands for the mask in the subscript, or among the arguments of `index_select`."""
    node = here.file.at(event.site.user)
    if method_name(node) == SELECTING and isinstance(node, ast.Call):
        named = [word.value for word in node.keywords if word.arg == "index"]
        given = named or node.args
        return given[-1] if given else None
    if not isinstance(node, ast.Subscript):
        return None
    entries = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if event.place >= len(entries) or any(isinstance(entry, ast.Starred) for entry in entries):
        return None
    return entries[event.place]


def _subscripted(here: Source, event: PickedTwice) -> Edits:
    """`x[mask.bool()]` for `torch.index_select(x, 0, mask)`, `x[:, mask.bool()]` for one along axis 1."""
    node, mask = here.file.at(event.site.user), _entry(here, event)
    if (
        not isinstance(node, ast.Call)
        or mask is None
        or node.keywords
        or not isinstance(node.func, ast.Attribute)
    ):
        return ()
    value = node.args[0] if here.file.is_imported(node.func.value) else node.func.value
    entries = ", ".join([":"] * event.place + [f"{here.file.operand(mask)}.bool()"])
    return here.replace(node, f"{here.file.operand(value)}[{entries}]")
