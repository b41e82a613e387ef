"""A parameter is subtracted from itself: the point of reference is another name for the weights that are trained.

Why: `list(model.parameters())` holds the parameters themselves, and so do their `.data`, `.detach()` and a
`state_dict()`: each step of the optimizer changes them too. The distance to them is zero at all times; a proximal term
made of it does nothing, whatever its weight.

Fix: keep copies of the values, made before the training: `[p.detach().clone() for p in model.parameters()]`.

Measured: both sides were the same memory, read in the same form, in all calls of the line, and the result went into a
loss or was written into a tensor.
Silent on: copies that are still equal; `x - x.detach()` where its gradient counts; differences that are only printed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.ops import ALIASES, COMPARING_LOSSES, NORMS, SUBTRACTIONS
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.text import site_of
from gradscope.analysis.words import code, located, parameter_names, plural, quoted
from gradscope.events import SameMemory
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.source import SourceFile, called_name, own_name
from gradscope.store import Trace

ENOUGH = 3  # calls
EVEN = NORMS | {"pow", "square", "abs"}  # flat at 0
LISTS = {"parameters", "named_parameters"}


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    start = list(model.parameters())  # cause: GS794
    for _ in range(4):
        x = torch.randn(8, 4)
        near = torch.zeros(())
        for p, q in zip(model.parameters(), start, strict=True):
            near = near + (p - q).pow(2).sum()  # effect: GS794
        loss = (model(x) - 1).pow(2).mean() + 0.1 * near
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    start = [p.detach().clone() for p in model.parameters()]
    for _ in range(4):
        x = torch.randn(8, 4)
        near = torch.zeros(())
        for p, q in zip(model.parameters(), start, strict=True):
            near = near + (p - q).pow(2).sum()
        loss = (model(x) - 1).pow(2).mean() + 0.1 * near
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS794", name="taken-from-itself", severity="warning", needs=SameMemory)
def taken_from_itself(trace: Trace) -> Iterator[Finding]:
    events = {event.site.id: event for event in trace.of(SameMemory)}
    if not events:
        return
    known = paths(trace)
    calls: dict[tuple[str, int], list[Op]] = {}
    for number in known.graph_ids:
        for op in known.graph(number).called(SUBTRACTIONS | COMPARING_LOSSES):
            if op.site.id in events and len(op.inputs) == 2 and op.outputs:
                calls.setdefault(op.site.user.location(), []).append(op)
    for ops in calls.values():
        number = sum(events[id].calls for id in {op.site.id for op in ops})
        ids = {id for op in ops for id in _parameters(known, op)}
        if number < ENOUGH or not all(_parameters(known, op) and _is_zero(known, op) for op in ops):
            continue
        if not _written_twice(trace, ops[0].site.user) and any(_goes_on(known, op) for op in ops):
            yield _finding(trace, ops[0], sorted(ids), number)


def _parameters(known: Paths, op: Op) -> set[int]:
    """The parameter whose memory both sides are, as far as one of them shows it."""
    found = set()
    for index in op.inputs:
        key: Key = (op.graph, index)
        for _ in range(8):
            parameter = known.parameter_of(key)
            if parameter is not None:
                found.add(parameter.id)
                break
            maker = known.maker(key)
            if maker is None or maker.name not in ALIASES or not maker.inputs:
                break
            key = (maker.graph, maker.inputs[0])
    return found


def _is_zero(known: Paths, op: Op) -> bool:
    """Whether the gradient is zero as well: both sides have one, or none, or only its square or size is used."""
    graph = known.graph(op.graph)
    alike = len({graph.values[index].requires_grad for index in op.inputs}) == 1
    if op.name in COMPARING_LOSSES:  # one and the same tensor on both sides is told by another rule
        return op.inputs[0] != op.inputs[1] and (alike or not _differentiated_again(known))
    readers = graph.consumers.get(op.outputs[0], [])
    squared = bool(readers) and all(reader.name in EVEN for reader in readers)
    return alike or (squared and not _differentiated_again(known))


def _differentiated_again(known: Paths) -> bool:
    return any(
        op.extra.get("create_graph")
        for number in known.graph_ids
        for op in known.graph(number).called(["grad"])
    )


def _written_twice(trace: Trace, site: Site) -> bool:
    """Whether both sides have the same text: a zero that is meant."""
    node = trace.source_file(site.path).at(site)
    return isinstance(node, ast.BinOp) and ast.unparse(node.left) == ast.unparse(node.right)


def _goes_on(known: Paths, op: Op) -> bool:
    """Whether a loss that is gone back through is made of it, or it is written into a tensor."""
    graph = known.graph(op.graph)
    used = known.used.order
    return (graph.id, op.outputs[0]) in used or any(
        (reader.writes and value not in reader.writes)
        or any((graph.id, made) in used for made in reader.outputs)
        for value, reader in graph.readers_behind(op.outputs[:1], lambda _: True)
    )


def _finding(trace: Trace, op: Op, ids: list[int], number: int) -> Finding:
    site = op.site.user
    held = _held(trace.source_file(site.path), site)
    new, edits = _copied(Source(trace, site.path), held) if held is not None else ("", ())
    cause = site_of(site.path, site.function, held) if held is not None else site
    names = parameter_names(trace, ids)
    return Finding(
        message=f"{code(trace, site, 'the difference')} takes {names} from"
        f" {'itself' if len(ids) == 1 else 'themselves'}: it is zero in every step, and so is what it adds",
        cause=cause,
        cause_label="gives the same memory another name, no copy of its values"
        if held is not None
        else "both sides are the same memory",
        effect=site if held is not None else None,
        effect_label="both sides are the same memory",
        seen=(
            f"in all {plural(number, 'call')} looked at both sides lay in the same memory, which every step changes for"
            " both",
        ),
        why=f"{code(trace, cause, 'that')} is the same memory under another name: each step of the optimizer changes it"
        " too, and the distance is zero at all times"
        if held is not None
        else "",
        fix=f"keep copies of the values: {f'{quoted(new)} in place of ' if new else 'with `.detach().clone()`, in '}"
        f"{located(trace, cause)}",
        edits=edits,
        count=number,
    )


def _held(file: SourceFile, site: Site) -> ast.expr | None:
    """What gave one of both sides its name, before the line: the list, dict or tensor that is no copy."""
    node = file.at(site)
    sides: list[ast.expr] = []
    if isinstance(node, ast.BinOp):
        sides = [node.right, node.left]
    elif isinstance(node, ast.Call):
        sides = list(node.args[::-1])
    found = [one for side in sides if (one := _given(file, side, 4)) is not None]
    return next((one for one in found if own_name(_called(one)) in ALIASES), found[0] if found else None)


def _called(node: ast.expr) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node


def _given(file: SourceFile, node: ast.expr, most: int) -> ast.expr | None:
    """The one expression that a name was assigned, through loops over `zip` and `.data`."""
    while isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
        func = node.func if isinstance(node, ast.Call) and not node.args else None
        if isinstance(func, ast.Attribute) and func.attr in (*ALIASES, "items", "values"):
            node = func.value
        elif isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and node.attr in ALIASES):
            node = node.value
        else:
            break
    if not most or not isinstance(node, (ast.Name, ast.Attribute)):
        return None
    bound = _looped_over(file, node) if isinstance(node, ast.Name) else None
    if bound is not None:
        return _given(file, bound, most - 1)
    given = [
        value
        for value in file.assigned.get(ast.unparse(node), ())
        if isinstance(node, ast.Attribute) or file.scope_of(value) in (file.scope_of(node), file.tree)
    ]
    own = [value for value in given if file.scope_of(value) is file.scope_of(node)]
    given = own or given
    return given[0] if len(given) == 1 else None


def _looped_over(file: SourceFile, name: ast.Name) -> ast.expr | None:
    """What a loop around a name takes it from: of `for p, q in zip(a, b)` the `b` for `q`."""
    for above in file.above(name):
        loops = getattr(above, "generators", [above] if isinstance(above, ast.For) else [])
        for loop in loops:
            found = _part(loop.target, loop.iter, name.id)
            if found is not None:
                return found
    return None


def _part(target: ast.expr, over: ast.expr, name: str) -> ast.expr | None:
    if isinstance(target, ast.Name):
        return over if target.id == name else None
    if not isinstance(target, ast.Tuple) or not isinstance(over, ast.Call):
        return None
    names = [name in {n.id for n in ast.walk(one) if isinstance(n, ast.Name)} for one in target.elts]
    if True not in names:
        return None
    place, called = names.index(True), called_name(over)
    if called == "enumerate" and over.args and place == 1:
        return _part(target.elts[1], over.args[0], name)
    if called == "zip" and place < len(over.args):
        return _part(target.elts[place], over.args[place], name)
    return over if called == "items" else None


def _copied(here: Source, held: ast.expr) -> tuple[str, Edits]:
    """The same with copies of the values: its text, and the edits."""
    new = ""
    if isinstance(held, ast.Call) and called_name(held) in ("list", "dict", "tuple") and len(held.args) == 1:
        inner = held.args[0]
        if isinstance(inner, ast.Call) and called_name(inner) == "parameters":
            new = f"[p.detach().clone() for p in {here.file.text(inner)}]"
        elif isinstance(inner, ast.Call) and called_name(inner) == "named_parameters":
            new = f"{{name: p.detach().clone() for name, p in {here.file.text(inner)}}}"
    elif isinstance(held, ast.Call) and called_name(held) == "state_dict":
        new = f"{{name: value.clone() for name, value in {here.file.text(held)}.items()}}"
    elif isinstance(held, ast.Call) and called_name(held) in ALIASES and not held.args:
        new = f"{here.file.text(held)}.clone()"
    elif isinstance(held, (ast.ListComp, ast.DictComp)):
        element = held.elt if isinstance(held, ast.ListComp) else held.value
        plain = element
        while isinstance(plain, (ast.Attribute, ast.Call)):
            inner_ = plain.func if isinstance(plain, ast.Call) else plain
            if not isinstance(inner_, ast.Attribute) or inner_.attr not in ALIASES:
                break
            plain = inner_.value
        copy = f"{here.file.operand(plain)}.detach().clone()"
        text = here.file.text(held)
        edits = here.replace(element, copy)
        return text.replace(here.file.text(element), copy, 1).replace("\n", " "), edits
    elif isinstance(held, (ast.Name, ast.Attribute)) and getattr(held, "attr", "") not in LISTS:
        new = f"{here.file.text(held)}.detach().clone()"
    return new, here.replace(held, new) if new and "\n" not in new else ()
