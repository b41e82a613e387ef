"""A view is written to in place that cannot take the write: torch stops it.

Why: a view shares memory with its base. Where several elements are one in memory (`expand`),
a write to one would change the others; where one call gave several views (`unbind`, `split`,
`chunk`), or the view was made without gradients or by a custom Function, autograd cannot say
what the write does to the graph of the base.

Fix: clone what was expanded; take parts that are written to by an index or slice (`x[0]`), which is a
single view; or make a new tensor instead of writing in place (`part = part + 1`).

Silent on: writes through slices and other single views of computed tensors.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.failures import Failure, failure_subject, failures, layer_of
from gradscope.analysis.names import place
from gradscope.analysis.text import mentions, methods_named, own_nodes, site_of
from gradscope.analysis.words import code, located
from gradscope.fixes.in_place import (
    is_read_later,
    layer_not_in_place,
    makes,
    new_statement,
    result_not_in_place,
    root_name,
    written_name,
)
from gradscope.fixes.source import Edits, Source, free_name
from gradscope.fixes.statements import line_before
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.source import names_in, own_name
from gradscope.store import Trace

_SHARED = "more than one element of the written-to tensor refers to a single memory location"
EXPANDING = {"expand", "expand_as", "broadcast_to"}
_VIEWS = "is a view and is being modified inplace"
_NO_GRAD = "A view was created in no_grad mode"
_INFERENCE = "A view was created in inference mode"


def bad_expanded() -> None:
    import torch

    mask = torch.zeros(1, 4).expand(3, 4)  # cause: GS106
    mask.add_(1.0)  # effect: GS106


def good_clone() -> None:
    import torch

    mask = torch.zeros(1, 4).expand(3, 4).clone()
    mask.add_(1.0)
    x = torch.ones(3, 2, requires_grad=True) * 2
    first, second, _third = x.unbind()
    first = first + 1
    (first * second).sum().backward()


@rule("GS106", name="inplace-on-view", severity="error")
def inplace_on_view(trace: Trace) -> Iterator[Finding]:
    for failure in failures(trace, _SHARED, _VIEWS, _NO_GRAD, _INFERENCE):
        if failure.where != "backward":  # a write inside a hook: GS109
            yield _explained(trace, failure)
        elif _SHARED in failure.text and (found := _written_before(trace, failure)) is not None:
            yield _in_backward(trace, failure, *found)


def _written_before(trace: Trace, failure: Failure) -> tuple[Op, Op] | None:
    """The only write of the failing pass's graph into what an `expand` gave, and that one: the backward of such a write
    goes back into the same memory."""
    if failure.event.graph < 0:
        return None
    graph = trace.graph(failure.event.graph)
    found = [
        (op, maker)
        for op in graph.ops
        if op.writes and op.nodes
        if (maker := graph.maker(op.inputs[0])) is not None and maker.name in EXPANDING
    ]
    return found[0] if len({op.site.user.location() for op, _ in found}) == 1 else None


def _in_backward(trace: Trace, failure: Failure, write: Op, view: Op) -> Finding:
    made, effect = view.site.user, failure.site
    fix, edits = _own_memory(trace, view) or (f"take `.clone()` of what {located(trace, made)} gives", ())
    return Finding(
        message=f"{code(trace, write.site.user, 'a write')} writes in place to a view whose elements share memory:"
        " backward cannot go through it",
        cause=made,
        cause_label="several elements become one in memory here",
        effect=effect,
        effect_label="torch stops: the backward of the write would write there too",
        related=((write.site.user, "written in place here"),),
        seen=(failure.said,),
        fix=fix,
        count=failure.event.count,
        edits=edits,
        subjects=frozenset({("written", write.site.user.location()), failure_subject(failure.event)}),
    )


def _own_memory(trace: Trace, view: Op) -> tuple[str, Edits] | None:
    node = trace.source_file(view.site.path).at(view.site)
    if len(view.outputs) != 1 or not isinstance(node, ast.Call):
        return None
    here = Source(trace, view.site.path)
    return (
        f"give each element memory of its own: `{here.file.text(node)}.clone()` ({place(view.site)})",
        here.append(node, ".clone()"),
    )


def _explained(trace: Trace, failure: Failure) -> Finding:
    view = _view(trace, failure)
    made = view.site.user if view is not None else None
    what, label = _kind(failure.text)
    layer = layer_of(failure.event.site)
    name = written_name(trace, failure.site) if not layer else ""
    shown = f"`{name}`" if name else "its input" if layer else "a view"
    written = f"`{layer}(inplace=True)`" if layer else code(trace, failure.site, "an in-place operation")
    fix, edits = _of_layer(trace, layer, failure) if layer else _fix(trace, failure, view, name)
    given = _given_out(trace, failure, view)
    return Finding(
        message=f"{written} writes in place to {shown}, {what}",
        cause=made or failure.site,
        cause_label=label,
        effect=failure.site,
        effect_label="torch stops: it cannot be written in place",
        related=((given, "what the Function's `forward` gives out is a view"),)
        if given is not None
        else _hooked(trace, failure),
        seen=(failure.said,),
        fix=fix,
        count=failure.event.count,
        edits=edits,
        subjects=frozenset({("written", failure.site.location()), failure_subject(failure.event)}),
    )


def _hooked(trace: Trace, failure: Failure) -> tuple[tuple[Site, str], ...]:
    """The only line that puts a backward hook on a module, where one of these gave out the view."""
    if "BackwardHookFunction" not in failure.text:
        return ()
    found = list(mentions(trace, "register_full_backward_hook"))
    said = "a backward hook makes views of what its module takes and gives"
    return tuple((site_of(path, "", node), said) for path, node in found) if len(found) == 1 else ()


def _of_layer(trace: Trace, layer: str, failure: Failure) -> tuple[str, Edits]:
    only = layer_not_in_place(trace, layer, trace.modules.get(failure.module))
    return only or (f"make the `{layer}` that runs here without `inplace=True`", ())


def _kind(text: str) -> tuple[str, str]:
    if _SHARED in text:
        return "whose elements share memory", "several elements become one in memory here"
    if _NO_GRAD in text or _INFERENCE in text:
        return "a view that was made while gradients were off", "made without gradients here"
    if "custom Function" in text:
        return (
            "a view that a custom Function (or a module's backward hook) gave out",
            "the view comes from here",
        )
    return "one of several views of one tensor", "several views are made here"


def _view(trace: Trace, failure: Failure) -> Op | None:
    """The call that made the view: the written tensor is the first that the failing call was given."""
    written = failure.operands[0].value if failure.operands else None
    if written is None:
        return None
    graph = trace.graph(written[0])
    return graph.maker(written[1])


def _given_out(trace: Trace, failure: Failure, view: Op | None) -> Site | None:
    """What the `forward` of the custom Function that made the view returns, where that is one expression."""
    if "custom Function" not in failure.text or view is None:
        return None
    call = trace.source_file(view.site.user.path).at(view.site.user)
    called = call.func if isinstance(call, ast.Call) else None
    if not isinstance(called, ast.Attribute) or called.attr != "apply":
        return None
    name = own_name(called.value)
    found: list[Site] = []
    for path, method in methods_named(trace, name, "forward"):
        returned = (n.value for n in own_nodes(method) if isinstance(n, ast.Return))
        found += [site_of(path, "forward", value) for value in returned if value is not None]
    return found[0] if len(found) == 1 else None


def _fix(trace: Trace, failure: Failure, view: Op | None, name: str) -> tuple[str, Edits]:
    text, shown = failure.text, name or "x"
    before = line_before(trace, failure.site, f"{name} = {name}.clone()") if name.isidentifier() else ()
    if _SHARED in text:
        if view is not None and (own := _own_memory(trace, view)) is not None:
            return own
        return f"give each element memory of its own before the write: `{shown} = {shown}.clone()`", before
    if _NO_GRAD in text or _INFERENCE in text:
        return (
            f"make `{shown}` and write to it in the same mode: both inside the `no_grad` block, or both outside",
            (),
        )
    given = _given_out(trace, failure, view)
    if given is not None:
        here = Source(trace, given.path)
        node = here.file.at(given)
        called = isinstance(node, (ast.Call, ast.Name, ast.Attribute, ast.Subscript))
        copy = f"`return {here.file.text(node) if isinstance(node, ast.expr) else 'x'}.clone()`"
        return (
            f"give out a copy, which serves every caller: {copy if called else 'a `.clone()` of it'}"
            f" ({place(given)}); or write to a copy here (`{shown} = {shown}.clone()`)",
            here.append(node, ".clone()") if called and isinstance(node, ast.expr) else before,
        )
    if "custom Function" in text:
        return (
            f"write to a copy (`{shown} = {shown}.clone()`), or use the operation that is not in place",
            before,
        )
    return _not_in_place(trace, failure, view, name) or (_one_by_one(trace, failure, view, shown), ())


def _not_in_place(trace: Trace, failure: Failure, view: Op | None, name: str) -> tuple[str, Edits] | None:
    """The same call without the write, where its result is all that is read of what it writes."""
    if view is None or not name.isidentifier():
        return None
    here = Source(trace, failure.site.path)
    call, statement = here.file.at(failure.site), here.file.statement(view.site.user)
    if not isinstance(call, ast.Call) or not isinstance(statement, ast.Assign):
        return None
    if view.site.user.path != here.path or name not in names_in(statement, ast.Store):
        return None
    base = _base(here, here.file.at(view.site.user))
    if base is None or not _is_read_there_alone(here, base) or is_read_later(here, call, name):
        return None
    return result_not_in_place(trace, failure.site)


def _base(here: Source, node: ast.AST | None) -> ast.expr | None:
    """What a call takes apart: `x` of `x.chunk(2)` and of `torch.chunk(x, 2)`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    if not here.file.is_imported(node.func):
        return node.func.value
    return node.args[0] if node.args and not isinstance(node.args[0], ast.Starred) else None


def _is_read_there_alone(here: Source, base: ast.expr) -> bool:
    """Whether the program has no other way to what `base` gives: it is computed there, or the only use of a
    variable that is bound in the same turn of the loop."""
    if not isinstance(base, ast.Name):
        return makes(base)
    site = site_of(here.path, "", base)
    nodes = [n for n in own_nodes(here.file.scope(site)) if isinstance(n, ast.Name) and n.id == base.id]
    bound = [here.file.statement(site_of(here.path, "", n)) for n in nodes if isinstance(n.ctx, ast.Store)]
    if len(nodes) != 2 or len(bound) != 1 or not isinstance(bound[0], ast.Assign):
        return False
    read = here.file.statement(site)
    return (
        makes(bound[0].value) and read is not None and here.file.loop_of(bound[0]) is here.file.loop_of(read)
    )


def _one_by_one(trace: Trace, failure: Failure, view: Op | None, name: str) -> str:
    """Slices are views that may be written to, whatever else is a view of the same memory."""
    if view is None:
        return f"take `{name}` as an index or slice (`x[0]`, `x[:, :2]`): a single view may be written to"
    here, site = Source(trace, view.site.user.path), view.site.user
    node, statement = here.file.at(site), here.file.statement(site)
    loop = statement.iter if isinstance(statement, ast.For) else None
    base = _base(here, node)
    whole = (ast.unparse(base) if base is not None else root_name(loop if node is None else node)) or "x"
    made = f"`for {name} in {ast.unparse(loop)}`" if loop is not None else located(trace, site)
    plain = loop is not None and (
        root_name(loop) == ast.unparse(loop) or ast.unparse(loop).endswith(".unbind()")
    )
    new = new_statement(trace, failure.site)
    aside = f"; or make a new tensor (`{new}`) where `{whole}` is not to change" if new else ""
    if plain:
        how = f"go through `{whole}` by index (`for i in range(len({whole})): {name} = {whole}[i]`)"
    else:
        scope = here.file.scope(site)
        taken = names_in(scope) | {n.arg for n in ast.walk(scope) if isinstance(n, ast.arg)}
        named = free_name(("x", "whole", "joined"), taken) if isinstance(base, ast.Call) else whole
        given = f"give `{whole}` a name, `{named}`, and " if named != whole else ""
        how = f"{given}take `{name}` as an index or slice of `{named}` (`{named}[0]`, `{named}[:, :2]`)"
    return f"{how} in place of {made}: a single view may be written to{aside}"
