"""A term of the loss was taken out of the graph: it changes the number, and trains nothing.

Why: `.item()`, `.detach()` and operations under `torch.no_grad()` give the term's number without the way back
to what it was computed from; so do arrays that a new tensor is made of, and gradients that `autograd.grad` gives
without `create_graph=True` (a gradient penalty). The loss is as large as it should be
and goes down like any other, by its other terms; this one has no say. The same goes for a term that meets
only networks which its step does not train.

Fix: add the tensor itself, computed with gradients on.

Silent on: straight-through estimators and other sums in which the cut value comes from a term beside it;
numbers of values that another pass trains (a running baseline); cut values that a network learns from which
the same step trains (a codebook, a probe, the other side of a siamese pair).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.constants import Constant, constants
from gradscope.analysis.reach import paths
from gradscope.analysis.words import code, listed, located, parameter_names, plural
from gradscope.fixes.calls import with_argument
from gradscope.fixes.source import Source
from gradscope.fixes.statements import out_of
from gradscope.model import Edit, Finding, Site
from gradscope.rules import rule
from gradscope.source import names_in
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    trunk, head = nn.Linear(4, 8), nn.Linear(8, 3)
    opt = torch.optim.SGD([*trunk.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        hidden = torch.relu(trunk(torch.randn(16, 4)))
        sparsity = hidden.abs().mean()
        right = nn.functional.cross_entropy(head(hidden), torch.randint(0, 3, (16,)))
        loss = right + 0.1 * sparsity.item()  # cause: GS315
        loss.backward()  # effect: GS315
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    trunk, head = nn.Linear(4, 8), nn.Linear(8, 3)
    opt = torch.optim.SGD([*trunk.parameters(), *head.parameters()], lr=0.1)
    mean = 0.0
    for _ in range(3):
        opt.zero_grad()
        hidden = torch.relu(trunk(torch.randn(16, 4)))
        right = nn.functional.cross_entropy(head(hidden), torch.randint(0, 3, (16,)))
        mean = 0.9 * mean + 0.1 * right.item()
        loss = right + 0.1 * hidden.abs().mean() - mean
        loss.backward()
        opt.step()


@rule("GS315", name="term-taken-out", severity="warning", over=("GS402",))
def term_taken_out(trace: Trace) -> Iterator[Finding]:
    for term in constants(paths(trace)):
        yield _finding(trace, term)


def _finding(trace: Trace, term: Constant) -> Finding:
    names = parameter_names(trace, sorted(term.parameters))
    text = _as_it_was(trace, term)[0] if term.kind == "number" else term.name
    edits = _edits(trace, term)
    shown = f"`{text}`" if text else code(trace, term.added, "it")
    term_of = f"the term {shown}" if term.name else "a term"
    how = _how(term)
    told = {term.site.location(), term.loss.site.user.location()}
    arrives = f"in these passes {names} got gradients of the other terms only"
    if term.elsewhere is not None:
        arrives = f"in these passes {names} got no gradient: {located(trace, term.elsewhere)} cuts the other terms off"
    return Finding(
        message=f"{term_of} of the loss does not train {names}: {how} takes it out of the graph",
        cause=term.site,
        cause_label="the term's gradient stops here",
        effect=term.loss.site.user,
        effect_label="only the gradients of its other terms go back",
        related=(
            *(((term.added, "the term that is added"),) if term.added.location() not in told else ()),
            *(
                (site, "its numbers come back as a new tensor")
                for site in term.back
                if site.line != term.site.line
            ),
        ),
        seen=(arrives, *_idle(trace, term)),
        why=f"{shown} was computed from {names}; behind {how} it is a constant for them",
        fix=_fix(trace, term),
        count=term.loss.count,
        edits=edits,
        subjects=frozenset({("term", *term.site.location()), *(("call", line) for line in term.lines)})
        | {("term", *site.location()) for site in term.back},
    )


def _edits(trace: Trace, term: Constant) -> tuple[Edit, ...]:
    if term.kind == "grad":
        return with_argument(trace, term.site, "create_graph", "True")
    if term.kind == "numpy":
        texts = [_of_the_tensor(trace, site) for site in term.back]
        return tuple(edit for _, edits in texts for edit in edits) if all(e for _, e in texts) else ()
    if term.kind in BLOCKS and (inside := _inside(trace, term)) is not None:
        here = Source(trace, inside.path)
        statement, block = here.file.statement(inside), here.file.statement(term.site)
        return _out_of_block(here, statement, block) if statement is not None and block is not None else ()
    parts = [_as_it_was(trace, part)[2] for part in _parts(term)]
    return tuple(edit for part in parts for edit in part) if all(parts) else ()


def _parts(term: Constant) -> list[Constant]:
    """The term as each of its cuts has it."""
    return [term, *(term._replace(site=site) for site in term.also)]


def _of_the_tensor(trace: Trace, site: Site) -> tuple[str, tuple[Edit, ...]]:
    """`x[at]` for `torch.from_numpy(x.cpu().data.numpy()[at])` at `site`: what is left of the expression where no
    call goes to arrays and back, and the edits; nothing where it is of another form."""
    here = Source(trace, site.path)
    node = here.file.at(site)
    if not isinstance(node, ast.Call) or len(node.args) != 1 or ast.unparse(node.func) not in _FROM_ARRAYS:
        return "", ()
    inner, behind, left = node.args[0], [], False
    while True:
        if isinstance(inner, ast.Subscript):
            behind.append(here.file.text(inner)[len(here.file.text(inner.value)) :])
            inner = inner.value
        elif isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and not inner.args:
            if inner.func.attr not in (*_LOSING, "numpy"):
                break
            left = left or inner.func.attr == "numpy"
            inner = inner.func.value
        elif isinstance(inner, ast.Attribute) and inner.attr == "data":
            inner = inner.value
        else:
            break
    if not left or not isinstance(inner, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
        return "", ()
    text = here.file.text(inner) + "".join(reversed(behind))
    return text, here.replace(node, text)


_FROM_ARRAYS = ("torch.from_numpy", "torch.tensor", "torch.as_tensor", "torch.Tensor", "torch.FloatTensor")


def _how(term: Constant) -> str:
    if term.kind == "numpy":
        return f"`{term.cut.name}()`" if term.cut.name != "__array__" else "an array"
    if term.kind == "number":
        return "`float()`" if term.cut.name == "__float__" else "`item()`"
    return {
        "detach": "`detach()`",
        "no_grad": "`torch.no_grad()`",
        "grad": "`autograd.grad` without `create_graph=True`",
    }.get(term.kind, "`torch.inference_mode()`")


def _idle(trace: Trace, term: Constant) -> tuple[str, ...]:
    if not term.idle:
        return ()
    names = parameter_names(trace, sorted(term.idle))
    given = plural(len(term.idle), "parameter")
    return (f"what it gives goes to {given} that this step does not train ({names})",)


def _fix(trace: Trace, term: Constant) -> str:
    if term.kind == "numpy":
        return _fix_arrays(trace, term)
    if term.kind == "grad":
        return f"pass `create_graph=True` to {located(trace, term.site)}"
    text, taken, edits = _as_it_was(trace, term)
    if text:
        places = [located(trace, part.site, "this line") for part in _parts(term)]
        fix = f"leave `{taken}` out of {listed(places)}"
        lines = sorted({edit.line for edit in edits if edit.text == taken})
        noted = f", and write it where only the number is wanted: line {listed(list(map(str, lines)))}"
        return fix + (noted if lines else "")
    if term.kind in BLOCKS and (inside := _inside(trace, term)) is not None:
        return f"run {located(trace, inside)} outside of {located(trace, term.site, 'the block')}, with gradients"
    if term.kind in BLOCKS:
        made = f"`{term.name}`" if term.name else code(trace, term.added, "it")
        return f"compute {made} outside of {located(trace, term.site, 'the block')}"
    return f"add the tensor itself in place of {located(trace, term.site, 'its number')}"


def _inside(trace: Trace, term: Constant) -> Site | None:
    """The call in the block that ran what is cut, where the term itself is made behind the block."""
    file = trace.source_file(term.site.path)
    block = file.statement(term.site)
    if not isinstance(block, ast.With) or (
        term.added.path == term.site.path and _stands_within(term.added, block)
    ):
        return None
    ran = [f for f in term.cut.site.stack if f.path == term.site.path and f.function == term.site.function]
    return next((f for f in ran if f.kind == "user" and _stands_within(f, block)), None)


def _stands_within(site: Site, block: ast.With) -> bool:
    return block.body[0].lineno <= site.line <= (block.end_lineno or block.lineno)


def _out_of_block(here: Source, statement: ast.stmt, block: ast.stmt) -> tuple[Edit, ...]:
    """A statement to the line before the `with` that it stands in; it alone, without the `with`."""
    if not isinstance(block, ast.With) or statement not in block.body or len(block.items) > 1:
        return ()
    before = block.body[: block.body.index(statement)]
    if names_in(statement, ast.Load) & {name for one in before for name in names_in(one, ast.Store)}:
        return ()
    if len(block.body) > 1:
        return here.move(statement, block)
    header = Edit(here.path, block.lineno, 1, statement.lineno, 1, "")
    return (header, *out_of(here, [statement], block))


def _fix_arrays(trace: Trace, term: Constant) -> str:
    texts = [_of_the_tensor(trace, site)[0] for site in term.back]
    if all(texts):
        lines = listed([f"`{text}` (line {site.line})" for text, site in zip(texts, term.back, strict=True)])
        return f"go on with the tensors themselves: {lines}"
    return f"go on with the tensor itself in place of a new one made of its array ({located(trace, term.back[0])})"


BLOCKS = ("no_grad", "inference_mode")
_LOSING = ("item", "detach", "cpu", "clone")  # methods that give the same number


def _as_it_was(trace: Trace, term: Constant) -> tuple[str, str, tuple[Edit, ...]]:
    """`x` of `x.detach().item()`, what was called on it (".detach().item()"), and the edits."""
    here = Source(trace, term.site.path)
    node = here.file.at(term.site)
    inner = node
    while (
        isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr in _LOSING
    ):
        inner = inner.func.value
    if inner is node or not isinstance(node, ast.Call) or not isinstance(inner, ast.expr):
        return "", "", ()
    if here.file.is_imported(inner):
        return "", "", ()
    taken = _calls_on(node, inner)
    if not here.file.text(node).endswith(taken):
        return "", "", ()
    text = here.file.text(node).removesuffix(taken)
    above = here.file.parent.get(id(node))
    targets = above.targets if isinstance(above, ast.Assign) else []
    if isinstance(above, ast.Assign) and term.kind == "number":
        return text, taken, _where_noted(here, term, above, node, text, taken)
    if isinstance(above, ast.Assign) and [ast.unparse(t) for t in targets] == [text]:
        return text, taken, here.remove(above)
    return text, taken, here.replace(node, text)


def _calls_on(node: ast.expr, inner: ast.expr) -> str:
    """The calls without arguments that stand behind `inner`: ".detach().item()"."""
    names: list[str] = []
    while node is not inner and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        names.append(node.func.attr)
        node = node.func.value
    return "".join(f".{name}()" for name in reversed(names))


def _where_noted(
    here: Source, term: Constant, given: ast.Assign, node: ast.expr, text: str, taken: str
) -> tuple[Edit, ...]:
    """The tensor under the name that its number had, and the number where the name is read for other things:
    none where it is not certain which those are."""
    target = given.targets[0]
    scope = here.file.scope(term.site)
    if len(given.targets) != 1 or not isinstance(target, ast.Name) or term.added.path != term.site.path:
        return ()
    same = [n for n in ast.walk(scope) if isinstance(n, ast.Name) and n.id == target.id and n is not target]
    later = [n for n in same if n.lineno > given.lineno]
    known = text == target.id or len(later) == len(same)
    if not known or any(isinstance(n.ctx, ast.Store) for n in later):
        return ()
    noted = [n for n in later if not _stands_in(n, term.added)]
    edits = [edit for n in noted for edit in here.append(n, taken)]
    if len(noted) == len(later):
        return ()
    return (*(here.remove(given) if text == target.id else here.replace(node, text)), *edits)


def _stands_in(node: ast.expr, site: Site) -> bool:
    return site.line <= node.lineno <= site.end_line
