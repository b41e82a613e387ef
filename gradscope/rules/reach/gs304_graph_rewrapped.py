"""A value was taken out of its graph and wrapped into a new tensor: backward stops there.

Why: `torch.tensor(loss)`, `.item()` put back into a tensor and `.detach().requires_grad_()`
make a new leaf with the same numbers and no history. `backward()` on it runs without an
error, because the leaf requires a gradient, and gives the model none.

Fix: use the value as it is; combine losses with `+`, `sum` or `torch.stack`, which keep the graph.

Silent on: leaves made to ask for the gradient of an input (adversarial examples, saliency),
and values whose parameters get their gradient in another way.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gradscope.analysis.cuts import Cut, cuts
from gradscope.analysis.lost import numbers_put_back, wrapped_at
from gradscope.analysis.names import place
from gradscope.analysis.ops import EXITS, MAKERS
from gradscope.analysis.reach import Paths, passes, paths
from gradscope.analysis.terms import Wrapped, wrapped_losses, wrapped_terms
from gradscope.analysis.words import code, listed, located, parameter_names, parameter_subjects, quoted
from gradscope.fixes.calls import unwrapped
from gradscope.fixes.leaves import itself, joined
from gradscope.fixes.source import Source
from gradscope.model import Edit, Event, Finding, Op, Parameter, Site
from gradscope.rules import rule
from gradscope.source import called_name
from gradscope.store import Trace

_LEFT = ("no_grad", "inference_mode", "detach", "data")  # what leaves the graph behind, on a line of its own


def bad_tensor_of_loss() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss = loss.detach().clone().requires_grad_()  # cause: GS304
        loss.backward()  # effect: GS304
        opt.step()


def good_term_detached() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        soft = model(torch.randn(8, 3)).sigmoid().mean()
        hard = (soft > 0.5).float()
        (soft + (hard - soft).detach()).backward()
        opt.step()


@rule(
    "GS304",
    name="graph-rewrapped",
    severity="error",
    over=("GS102", "GS202", "GS204", "GS206", "GS301", "GS302", "GS402", "GS601"),
)
def graph_rewrapped(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    ended: set[tuple[str, int]] = set()  # passes of which it is told where they end
    losses = list(wrapped_losses(known))
    left = {
        one.loss.site.user.location() for one in losses if one.given is not None
    }  # their numbers had left torch
    for cut in cuts(trace):
        site = wrapped_at(cut)
        if site is not None and cut.loss is not None:
            if cut.kind == "numpy" and cut.loss.site.user.location() in left:
                continue
            told.add(site.user.location())
            ended.add(cut.loss.site.user.location())
            rewrapped = _finding(trace, cut.known, site.user, cut.parameters, cut.loss, cut)
            yield replace(rewrapped, count=cut.count, severity=cut.severity(trace), since=cut.since)
    if not told:
        for made, parameters, before, loss in numbers_put_back(known):
            told.add(made.location())
            if before and before[0].cut == "nondifferentiable":
                yield _counted(trace, made, before, _finding(trace, known, made, parameters, loss))
                continue
            put_back = _finding(trace, known, made, parameters, loss)
            words = put_back.fix if put_back.edits else _of_numbers(trace, made, before, put_back.fix)
            yield replace(put_back, fix=words)
    for kind, found in ((_loss, losses), (_term, wrapped_terms(known))):
        for wrapped in found:
            if wrapped.given is not None and wrapped.loss.site.user.location() in ended:
                continue
            if wrapped.made.location() not in told:
                told.add(wrapped.made.location())
                yield kind(trace, wrapped)


def _finding(
    trace: Trace,
    known: Paths,
    site: Site,
    parameters: list[Parameter],
    loss: Event,
    cut: Cut | None = None,
) -> Finding:
    ids = [p.id for p in parameters]
    fix, edits = _fix(trace, site, cut)
    also = [op.site.user for op in cut.also] if cut is not None else []
    if also:
        fix += f"; the same in {listed([located(trace, other) for other in also])}"
        edits = (*edits, *(edit for other in also for edit in as_it_is(trace, other, other)[1]))
    names = parameter_names(trace, ids)
    times = known.passes_beside(parameters)
    return Finding(
        message=f"{_what(cut)} was rewrapped into a new tensor: backward ends there and {names}"
        f" get{'s' if len(ids) == 1 else ''} no gradient",
        cause=site,
        cause_label="a new leaf: same numbers, no history",
        effect=loss.site.user,
        effect_label="reaches the new leaf and nothing behind it",
        related=tuple((other, "and here") for other in also),
        seen=(known.seen(ids, f"`.grad` of {names} is None after {passes(times)}"),),
        why=_why(trace, site, cut),
        fix=fix,
        count=loss.count,
        edits=edits,
        subjects=parameter_subjects(ids) | {("leaf", site.location())},
    )


def _why(trace: Trace, site: Site, cut: Cut | None) -> str:
    node = trace.source_file(site.path).at(site)
    lost = trace.source_file(cut.op.site.user.path).at(cut.op.site.user) if cut is not None else None
    if cut is None or lost is node or lost not in list(ast.walk(node or ast.Pass())) or _makes_a_leaf(node):
        return f"{code(trace, site, 'this')} copies the numbers, not the graph they came from"
    return (
        f"{code(trace, cut.op.site.user, 'the call')} leaves the graph behind; `requires_grad` makes a leaf of what is "
        "computed after it, behind which there is nothing"
    )


def _what(cut: Cut | None) -> str:
    return "the loss" if cut is None or cut.output in cut.known.roots else "a value"


def _loss(trace: Trace, loss: Wrapped) -> Finding:
    """Its parameters get gradients from other passes."""
    names = parameter_names(trace, sorted(loss.parameters))
    found = _finding(
        trace, paths(trace), loss.made, [trace.parameter(id) for id in loss.parameters], loss.loss
    )
    better = None if found.edits else _of_tensors(trace, loss)
    fix, edits = better or (found.fix, found.edits)
    return replace(
        found,
        message=f"the loss was rewrapped into a new tensor: backward ends there and gives {names} nothing",
        seen=(f"{passes(paths(trace).alike(loss.loss))} from this line reached no parameter",),
        **{"fix": fix, "edits": edits, **_given(trace, loss)},
    )


def _term(trace: Trace, term: Wrapped) -> Finding:
    names = parameter_names(trace, sorted(term.parameters))
    fix, edits = _of_tensors(trace, term) or _fix(trace, term.made)
    found = Finding(
        message="a term of the loss was rewrapped into a new tensor: it trains nothing",
        cause=term.made,
        cause_label="a new leaf: same numbers, no history",
        effect=term.loss.site.user,
        effect_label="only the other terms of the loss arrive",
        seen=("no gradient of the term reaches any parameter in this pass",),
        why=f"its numbers were computed from {names}, which only the other terms of the loss train",
        fix=fix,
        count=term.loss.count,
        edits=edits,
        severity="warning",
        subjects=frozenset({("term", *term.made.location()), ("leaf", term.made.location())}),
    )
    return replace(found, **_given(trace, term))


def _given(trace: Trace, wrapped: Wrapped) -> dict[str, Any]:
    """What is told otherwise of numbers that had left torch before more was computed of them."""
    if wrapped.given is None:
        return {}
    left = wrapped.given.site.user
    leaf = paths(trace).value(wrapped.value).site
    lines = {wrapped.made.location(), left.location()}
    related = [(left, "gives the numbers out of torch")] if left.location() != wrapped.made.location() else []
    if leaf is not None and leaf.user.location() not in lines:
        related.append((leaf.user, "computed of them"))
    graph = trace.graph(wrapped.given.graph)
    first = next(
        (
            op.site.user
            for index in graph.upstream(wrapped.given.inputs[0])
            if (op := graph.maker(index)) and op.cut
        ),
        left,
    )
    also = (
        f", and without {located(trace, first)}, which has no gradient"
        if first.location() != left.location()
        else ""
    )
    return {
        "cause_label": "made to require a gradient: a leaf, without history",
        "related": tuple(related),
        "why": f"{code(trace, left)} gives plain numbers, and what is computed of them has no graph; `requires_grad`"
        " makes a leaf of it, behind which there is nothing",
        "fix": f"keep tensors from the model to the loss: compute in torch what {located(trace, left)} is needed for"
        f"{also}, and leave {located(trace, wrapped.made)} out",
        "edits": (),
    }


def _of_tensors(trace: Trace, term: Wrapped) -> tuple[str, tuple[Edit, ...]] | None:
    """The repair where one call takes the numbers of tensors itself, and makes a new one of them."""
    graph = trace.graph(term.before[0][0])
    here = [op for op in graph.ops if op.site.user == term.made]
    made = next((op for op in here if op.cut == "rewrap" or op.name in MAKERS), None)
    read = made if made is not None and made.inputs else next((op for op in here if op.name in EXITS), None)
    if read is None or made is None:
        return None
    if (own := _itself(trace, made)) is not None:
        return own
    new, edits = joined(trace, term.made, graph, read, made.outputs[0])
    return _joined(trace, term.made, new, edits) if new else None


def _joined(trace: Trace, site: Site, new: str, edits: tuple[Edit, ...]) -> tuple[str, tuple[Edit, ...]]:
    return f"write `{new}` in place of {located(trace, site, 'this')}: it keeps their graphs", edits


def _itself(trace: Trace, made: Op) -> tuple[str, tuple[Edit, ...]] | None:
    """The repair where a new tensor was made of one that has a graph."""
    text, edits = itself(trace, made)
    if not text:
        return None
    site = made.site.user
    here = Source(trace, site.path)
    statement = here.file.statement(site)
    if edits and statement is not None and edits == here.remove(statement):
        whole = " ".join(here.file.text(statement).split())
        return f"take {quoted(whole)} ({place(site)}) out: {quoted(text)} has its graph without it", edits
    other = "" if edits else "; `.to(…)` gives it another type and keeps the graph"
    return f"use {quoted(text)} itself in place of {located(trace, site)}: it has its graph{other}", edits


def _fix(trace: Trace, site: Site, cut: Cut | None = None) -> tuple[str, tuple[Edit, ...]]:
    made = located(trace, site, "this")
    old, edits = as_it_is(trace, site, cut.op.site.user if cut is not None else None)
    new = edits[0].text.strip() if edits else ""
    here = Source(trace, site.path)
    statement = here.file.statement(site)
    if edits and statement is not None and edits == here.remove(statement):  # `h = torch.tensor(h.tolist())`
        whole = " ".join(here.file.text(statement).split())
        return f"take {quoted(whole)} ({place(site)}) out: the value has its graph without it", edits
    if edits:
        return f"write {quoted(new)} in place of {quoted(old)} ({place(site)}): it has its graph", edits
    if cut is not None and cut.op.site.user == site and (own := _itself(trace, cut.op)) is not None:
        return own
    if cut is not None and cut.output[0] == cut.op.graph and cut.op.site.user == site:
        new, edits = joined(trace, site, trace.graph(cut.op.graph), cut.op, cut.output[1])
        if new:
            return _joined(trace, site, new, edits)
    node = trace.source_file(site.path).at(site)
    given = node.args[0] if isinstance(node, ast.Call) and node.args else None
    if isinstance(given, ast.Name) and called_name(node) in MAKERS:
        if cut is not None and cut.op.inputs and cut.op.site.user == site:  # there are tensors in it
            return f"write `torch.stack({given.id})` in place of {made}: it keeps their graphs", ()
        return (
            f"fill `{given.id}` without `item()`, and write `torch.stack({given.id})` in place of {made}",
            (),
        )
    if cut is not None and cut.op.cut in _LEFT and _lost_before(cut, site, node):
        taken = unwrapped(trace, cut.op.site.user)
        within = given is not None and here.file.at(cut.op.site.user) in list(ast.walk(given))
        if taken and within and given is not None and isinstance(node, ast.Call):
            new = here.text_after(given if _makes_a_leaf(node) else node, taken)
            return f"write `{new}` in place of {made}: it has its graph", here.replace(node, new)
        lost = located(trace, cut.op.site.user, "the call")
        where = "with gradients on" if cut.op.cut in ("no_grad", "inference_mode") else "with its graph"
        return f"compute {lost} {where}, and leave `requires_grad` out: the loss has its graph then", ()
    return f"use the value itself in place of {made}; `+`, `sum` and `torch.stack` keep its graph", ()


def _makes_a_leaf(node: ast.AST | None) -> bool:
    """Whether a call gives what it is given as a leaf. What any other computes is made one in a later statement."""
    return isinstance(node, ast.Call) and (
        called_name(node) in {*MAKERS, "Variable", "Parameter"}
        or any(keyword.arg == "requires_grad" for keyword in node.keywords)
    )


def _lost_before(cut: Cut, site: Site, node: ast.AST | None) -> bool:
    """Whether the graph was left before the call that made the leaf, or by a block around it, so that the value which
    that call was given has none either."""
    lost = cut.op.site.user
    if lost.location() != site.location():
        return True
    apart = cut.region is not None or (lost.column, lost.end_line, lost.end_column) != (
        site.column, site.end_line, site.end_column
    )  # fmt: skip
    return apart and called_name(node) not in MAKERS


def _of_numbers(trace: Trace, made: Site, before: list[Op], otherwise: str) -> str:
    """The repair where what is wrapped was computed from numbers outside of torch: no tensor stands there."""
    node = trace.source_file(made.path).at(made)
    given = node.args[0] if isinstance(node, ast.Call) and node.args else None
    if not before or not isinstance(given, (ast.BinOp, ast.UnaryOp)):
        return otherwise
    left = located(trace, before[0].site.user)
    return (
        f"{quoted(ast.unparse(given))} is a plain number, which left the graph in {left}: "
        f"compute the loss from the tensors themselves, without {located(trace, made)}; a count of what is right or "
        "wrong has no gradient, so train on a smooth loss (cross entropy of the scores) and keep the count to look at"
    )


def _counted(trace: Trace, made: Site, asked: list[Op], found: Finding) -> Finding:
    """The same where Python has counted what comparisons told it, and no value of a tensor was taken at all."""
    first = asked[0].site.user
    return replace(
        found,
        message=found.message.replace(
            "was rewrapped into a new tensor", "is a new tensor, made of plain numbers"
        ),
        cause_label="a new leaf: a number, no history",
        related=((first, "tells Python which it is: no gradient goes through a comparison"),),
        why=f"{located(trace, first)} gives True or False, and what is counted by it is a number without a graph;"
        " `requires_grad` makes a leaf of it, behind which there is nothing",
        fix=f"compute the loss from the values that are compared in {located(trace, first)}, and leave out "
        f"{located(trace, made)}: a count is the same for small changes, so train on something smooth (their distance"
        " from the targets, or a cross entropy), and keep the count to look at",
        edits=(),
    )


_NUMBERS = ("item", "tolist", "numpy")  # methods that give numbers outside of torch
_CUTS = (*_NUMBERS, "detach", "data")  # leave the graph behind


_COPIES = (*_NUMBERS, "detach", "clone", "cpu", "requires_grad_")  # methods that give the same numbers


def as_it_is(trace: Trace, site: Site, cut: Site | None = None) -> tuple[str, tuple[Edit, ...]]:
    """`loss` in place of `torch.tensor(loss.item(), requires_grad=True)` or `loss.detach().requires_grad_()`:
    the text that goes, and the edits. `cut` is where the graph was lost, which may be within what stays:
    `out.sum()` in place of `out.detach().sum().requires_grad_()`. Nothing where what stays has no graph."""
    here = Source(trace, site.path)
    node = here.file.at(site)
    while isinstance(node, ast.Call) and isinstance(above := here.file.parent.get(id(node)), ast.Attribute):
        call = here.file.parent.get(id(above))
        if above.attr not in _COPIES or not isinstance(call, ast.Call):
            break
        node = call
    if not isinstance(node, ast.expr):
        return "", ()
    value, mended = _behind(here, node)
    lost = here.file.at(cut) if cut is not None and cut.path == site.path else None
    if value is None:
        return "", ()
    within = any(part is lost for part in ast.walk(value)) and lost is not value
    if not within and isinstance(value, ast.Call) and here.file.is_imported(value.func):
        return "", ()  # makes a new tensor itself
    text = here.file.text(value)
    if lost is not None and any(part is lost for part in ast.walk(value)):
        source = lost.func if isinstance(lost, ast.Call) else lost
        if not isinstance(source, ast.Attribute) or source.attr not in _CUTS:
            return "", ()
        assert isinstance(lost, ast.expr)
        text, mended = text.replace(here.file.text(lost), here.file.text(source.value), 1), True
    old = here.file.text(node)
    statement = here.file.parent.get(id(node))
    if not mended or text == old:
        return "", ()
    if isinstance(statement, ast.Assign) and [ast.unparse(t) for t in statement.targets] == [text]:
        return old, here.remove(statement) or here.replace(node, text)
    return old, here.replace(node, text)


def _behind(here: Source, node: ast.expr) -> tuple[ast.expr | None, bool]:
    """The value that a new leaf was made of, and whether what was taken off had cut its graph."""
    value, mended = node, False
    if isinstance(value, ast.Call) and value.args and here.file.is_imported(value.func):
        value, mended = value.args[0], True
        if not (isinstance(value, ast.Call) and getattr(value.func, "attr", "") in _NUMBERS):
            return None, False
    while isinstance(value, ast.Call) and getattr(value.func, "attr", "") in _COPIES:
        assert isinstance(value.func, ast.Attribute)
        mended |= value.func.attr in _CUTS
        value = value.func.value
    return value, mended
