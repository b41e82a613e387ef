"""A leaf that requires a gradient is written to in place: torch stops the write.

Why: a leaf (a parameter, a tensor made with `requires_grad=True`) is where the gradient
ends up. A recorded write would make it a computed tensor, and its gradient would belong to
the old values. Updates and initialisation are no part of the graph, and have to say so.

Fix: update or initialise it inside `with torch.no_grad():`; where the new values should carry a
gradient, write to a copy (`y = x.clone()`) or make a new tensor (`x = x + 1`).

Silent on: writes inside `torch.no_grad()`, to detached tensors and to computed ones.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.failures import Failure, Operand, failure_subject, failures, layer_of
from gradscope.analysis.names import names_of
from gradscope.analysis.words import MAX_CODE, code, parameter_subjects, source
from gradscope.fixes.in_place import layer_not_in_place, on_a_copy, written_name
from gradscope.fixes.source import Edits, Source, is_name
from gradscope.fixes.statements import under_no_grad
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.source import LOOPS
from gradscope.store import Trace

_LEAF = "leaf Variable that requires grad is being used in an in-place operation"


def bad_update() -> None:
    import torch

    w = torch.ones(3, requires_grad=True)
    (w * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    w -= 0.1 * w.grad  # type: ignore[operator]  # cause: GS105


def good_no_grad() -> None:
    import torch

    w = torch.ones(3, requires_grad=True)
    (w * 2).sum().backward()
    with torch.no_grad():
        assert w.grad is not None
        w -= 0.1 * w.grad


@rule("GS105", name="inplace-on-leaf", severity="error")
def inplace_on_leaf(trace: Trace) -> Iterator[Finding]:
    for failure in failures(trace, _LEAF):
        yield _explained(trace, failure)


def _explained(trace: Trace, failure: Failure) -> Finding:
    view = "a view of a leaf" in failure.text
    leaf = next((o for o in failure.operands if o.name), None) or Operand("", None, "")
    written = _statement(trace, failure)
    layer = layer_of(failure.event.site)
    given = _given(trace, failure.site) if layer else None
    target = ast.unparse(given) if given is not None else leaf.name
    if not layer:
        target = written_name(trace, failure.site) or leaf.name
    part = "part of " if view else ""
    made = leaf.made if leaf.made is not None and leaf.made.location() != failure.site.location() else None
    fix, edits = _of_layer(trace, failure.site, layer, given) if layer else _fix(trace, failure.site, target)
    return Finding(
        message=f"{written} writes in place to {part}`{target}`, a leaf that requires a gradient"
        if target
        else f"{written} writes in place to {part}a leaf that requires a gradient",
        cause=failure.site,
        cause_label="torch stops: a leaf cannot be overwritten in its own graph",
        related=((made, "the leaf is made here"),) if made is not None else (),
        seen=(f"{f'`{target}`' if target else leaf.shown}: {leaf.facts}, a leaf",)
        if leaf.facts
        else (failure.said,),
        fix=fix,
        count=failure.event.count,
        edits=edits,
        subjects=parameter_subjects([] if leaf.parameter is None else [leaf.parameter])
        | {failure_subject(failure.event)},
    )


def _statement(trace: Trace, failure: Failure) -> str:
    text = source(trace, failure.site)
    line = names_of(trace).line(failure.site) or ""
    if (
        text.endswith("]") and line.startswith(text) and len(line) <= MAX_CODE
    ):  # only the target of `x[0] = 1`
        return f"`{line.partition('#')[0].strip()}`"
    return code(trace, failure.site, "an in-place operation")


def _given(trace: Trace, site: Site) -> ast.expr | None:
    """What a layer is called with, where that is a variable or an attribute."""
    call = trace.source_file(site.path).at(site)
    plain = isinstance(call, ast.Call) and len(call.args) == 1 and is_name(call.args[0])
    return call.args[0] if isinstance(call, ast.Call) and plain else None


def _of_layer(trace: Trace, site: Site, cls: str, given: ast.expr | None) -> tuple[str, Edits]:
    """For a layer of torch's own that was made to write in place."""
    otherwise = layer_not_in_place(trace, cls)
    without = otherwise[0] if otherwise is not None else f"make the `{cls}` without `inplace=True`"
    here = Source(trace, site.path)
    call = here.file.at(site)
    if given is None or call is None or isinstance(here.file.parent.get(id(call)), ast.Expr):
        return f"{without}, for {code(trace, site, 'this call')}", ()
    copied = here.append(given, ".clone()")
    shown = here.text_after(call, copied) if isinstance(call, ast.expr) else ""
    return f"give it a copy, `{shown}`: the gradient goes through that; or {without}", copied


def _fix(trace: Trace, site: Site, target: str) -> tuple[str, Edits]:
    name = target or "the leaf"
    if ".grad" in source(trace, site):
        return f"put the update of `{name}` inside `with torch.no_grad():`", under_no_grad(trace, site)
    own = "copy" if target != "copy" else "new"
    then = on_a_copy(trace, site, target, own)
    loops = any(isinstance(node, LOOPS) for node in trace.source_file(site.path).around(site))
    of_a_layer = "." in target  # its initialisation
    return (
        f"for an update or initialisation write to `{name}` inside `with torch.no_grad():`; where a gradient"
        f" should flow, write to a copy: `{own} = {name}.clone()`{' before the loop' if loops else ''}"
        + (f", `{then}`" if then else "")
        + f", and go on with `{own}`"
    ), under_no_grad(trace, site) if of_a_layer else ()
