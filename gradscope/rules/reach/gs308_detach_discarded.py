"""A statement looks as if it changed something about gradients, and does nothing.

Why: `x.detach()` gives a new tensor and leaves `x` as it is, and so do `scores.masked_fill(…)`, `w.clamp(…)`,
`torch.where(…)`, layers such as `self.relu(x)`, an operation alone on its line (`x + y`), and all methods whose name
does not end with `_`; without parentheses a method is named, not called; `self.emb.from_pretrained(…)` makes another
layer; setting `requires_grad` on a module changes nothing, Python makes a new attribute of whatever name it is given
(`p.require_grad = False`), and a comparison sets nothing (`p.requires_grad == False`).

Fix: use the result (`x = x.detach()`, `scores = scores.masked_fill(…)`), call the method (`h.detach_()`), and
freeze a module with `module.requires_grad_(False)`. Where a `zero_grad` or `backward` that is not called had its
effect, GS201 or GS204 tells of it.

Silent on: results that are used; `detach_()`; tensors that no loss uses afterwards, but for operations
(`(x * spread + mean).cpu()`) on what later lines read; calls that are tried or timed
(`try`, `with`), or made again with their result in use; attributes of other names; what is already frozen.
"""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.feeds import drawn_here
from gradscope.analysis.names import names_of
from gradscope.analysis.ops import DRAWS, WITH_TWIN
from gradscope.analysis.reach import paths
from gradscope.analysis.text import (
    classes_named,
    named_subject,
    nodes_that_ran,
    parentheses,
    ran_in,
    site_of,
    uncalled,
)
from gradscope.analysis.words import (
    code,
    listed,
    parameter_names,
    parameter_subjects,
    plural,
    variable,
    where,
)
from gradscope.events import Misnamed, RequiresGrad
from gradscope.fixes.calls import assigned_back
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op, Parameter, Site
from gradscope.rules import rule
from gradscope.rules.reach._in_use import goes_on, is_gradient, shown
from gradscope.source import SCOPES, SourceFile, own_name
from gradscope.store import Trace

_METHODS = {"requires_grad_", "detach_", "detach", "zero_grad", "backward", "zero_", "retain_grad"}
_MEANT = "requires_grad"
_PURE = WITH_TWIN | {"normalize", "softmax", "log_softmax", "layer_norm"}
# Give the numbers that they are given, perhaps elsewhere or of another kind: the tensor itself is as good.
_SAME_NUMBERS = {
    "to", "type", "type_as", "cpu", "cuda", "clone", "contiguous", "detach", "alias", "float", "double", "half",
    "bfloat16", "pin_memory", "requires_grad_",
}  # fmt: skip
_MODES = {"no_grad", "enable_grad", "inference_mode", "set_grad_enabled", "autocast"}


def bad_detach() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Linear(3, 3)
    h = model(torch.ones(2, 3))
    h.detach()  # cause: GS308
    (h * h).sum().backward()


def good_detach_used() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 3)
    h = model(torch.ones(2, 3))
    target = h.detach()
    h2 = model(torch.ones(2, 3))
    (h2 - target).pow(2).sum().backward()


@rule(
    "GS308",
    name="detach-discarded",
    severity="warning",
    over=("GS206", "GS267", "GS306", "GS314", "GS356", "GS605"),
)
def detach_discarded(trace: Trace) -> Iterator[Finding]:
    yield from _discarded(trace)
    yield from _without_effect(trace)
    yield from _never_called(trace)
    yield from _only_compared(trace)
    yield from _new_layer_dropped(trace)
    found: dict[
        tuple[tuple[Site, ...], str, str], list[int]
    ] = {}  # (places, kind of holder, name) → parameters
    for event in trace.of(Misnamed):
        sites = tuple(_assigned(trace, event))
        if sites:
            # A name that torch does not have may be set by any of them: which one set it is not known.
            key = sites[:1] if event.name == _MEANT else sites, str(event.holder), str(event.name)
            found.setdefault(key, []).extend(event.parameters)
    for (sites, holder, name), ids in found.items():
        yield _misnamed(trace, sites, holder, name, list(dict.fromkeys(ids)))


def _discarded(trace: Trace) -> Iterator[Finding]:
    """`x.detach()` as a statement, where `x` carries a gradient."""
    counts: dict[Site, int] = {}
    needed: set[Site] = set()  # a loss goes on with the tensor as it is
    makers: dict[Site, set[tuple[str, tuple[str, int]]]] = {}  # the lines that made the tensor
    known = paths(trace)
    used = known.used.order
    for graph in trace.graphs:
        for op in graph.cuts:
            if op.name == "detach" and op.cut == "detach" and op.site.kind == "user":
                file = trace.source_file(op.site.path)
                node = file.at(op.site)
                if node is not None and isinstance(file.parent.get(id(node)), ast.Expr):
                    counts[op.site] = counts.get(op.site, 0) + max(graph.count, 1)
                    needed |= {op.site} if any((graph.id, i) in used for i in op.inputs) else set()
                    made = (known.maker((graph.id, i)) for i in op.inputs)
                    lines = {("made", m.site.user.location()) for m in made if m is not None}
                    makers.setdefault(op.site, set()).update(lines)
    for site, count in counts.items():
        node = trace.source_file(site.path).at(site)
        text = "the tensor"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            text = ast.unparse(node.func.value)
        fix, edits = f"use the result: `{text} = {text}.detach()`", assigned_back(trace, site)
        if (loop := _loop_over(trace, site, text)) is not None:
            fix, edits = _items_bound_anew(trace, site, text, loop)
        yield Finding(
            message=f"the result of `{text}.detach()` is not used: `{text}` keeps its graph",
            cause=site,
            cause_label="gives a new tensor, which is dropped",
            seen=(f"`{text}` required a gradient, also after this line",),
            fix=fix
            + (f" where no gradient is to go through `{text}`; else leave it out" if site in needed else ""),
            count=count,
            edits=edits if site not in needed else (),
            subjects=frozenset(makers[site]),
        )


def _loop_over(trace: Trace, site: Site, text: str) -> ast.For | None:
    """`for h in self.hidden:` around `h.detach()`: `h` is its name alone, and binding it anew changes no item."""
    for node in trace.source_file(site.path).around(site):
        if isinstance(node, SCOPES):
            return None
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name) and node.target.id == text:
            return node if isinstance(node.iter, (ast.Name, ast.Attribute)) else None
    return None


def _items_bound_anew(trace: Trace, site: Site, text: str, loop: ast.For) -> tuple[str, Edits]:
    here = Source(trace, site.path)
    items = here.file.text(loop.iter)
    anew = f"{items} = [{text}.detach() for {text} in {items}]"
    alone = len(loop.body) == 1 and not loop.orelse
    return f"make new items: `{anew}` in place of the loop", here.replace(loop, anew) if alone else ()


# -- other calls whose result is dropped ------------------------------------------------


class _Dropped(NamedTuple):
    """A call that is a statement of its own and does nothing but give a new tensor to nobody."""

    call: ast.Call | ast.BinOp
    target: ast.expr  # what it is given
    way: tuple[int, ...]  # to its value: which of the inputs of its op, and of those that made this one

    def given(self, graph: Graph, op: Op) -> int:
        value, maker = -1, op
        for at in self.way:
            value = maker.inputs[at]
            maker = graph.maker(value) or maker
        return value


def _without_effect(trace: Trace) -> Iterator[Finding]:
    """`scores.masked_fill(…)` as a statement, where a loss goes on with `scores` as they are."""
    known = paths(trace)
    counts: dict[Site, int] = {}
    dropped: dict[Site, tuple[Graph, Op, _Dropped]] = {}
    kept: set[tuple[int, str, int]] = (
        set()
    )  # calls of these inputs whose result is used: (graph, name, input)
    targets: dict[tuple[int, str], _Dropped | None] = {}  # the same few sites again and again
    alone = _statements(trace)
    for graph in trace.graphs:
        for op in [*graph.called(_PURE), *_like_their_input(graph, alone)]:
            if op.writes or not op.inputs:
                continue
            key = op.site.id, op.name
            if key not in targets:
                targets[key] = _dropped_call(trace, graph, op)
            found = targets[key]
            if found is None:
                kept.update((graph.id, op.name, i) for i in op.inputs[:1])
            elif not any(_readers(graph, op)) and (
                goes_on(known, graph, op, found.given(graph, op))
                or is_gradient(trace, graph, op, found.target)
                or _read_later(graph, op, found)
            ):
                counts[op.site.user] = counts.get(op.site.user, 0) + max(graph.count, 1)
                dropped.setdefault(op.site.user, (graph, op, found))
    for site, (graph, op, found) in dropped.items():
        again = op.name not in _PURE and _is_used_elsewhere(
            trace, graph, op, found.given(graph, op), found.call
        )
        if (graph.id, op.name, found.given(graph, op)) not in kept and not again:
            yield _new_tensor_dropped(trace, graph, op, found, counts[site])


def _statements(trace: Trace) -> set[tuple[str, int]]:
    """The lines of calls and operations that are a statement of their own."""
    return {
        (path, node.value.lineno)
        for path in trace.sources
        for _, node in trace.source_file(path).of(ast.Expr)
        if isinstance(node.value, (ast.Call, ast.BinOp))
    }


def _like_their_input(graph: Graph, lines: set[tuple[str, int]]) -> Iterator[Op]:
    """Further calls in such lines that give one tensor, of the form of one they are given or a view of it, and nobody
    reads it: whatever they compute, what they were given stays as it is."""
    for op in graph.ops if lines else ():
        apart = op.name not in _PURE and op.name not in _SAME_NUMBERS and op.name not in DRAWS
        if not apart or len(op.outputs) != 1 or op.site.kind != "user" or op.site.location() not in lines:
            continue
        if op.cut == "detach" or any(_readers(graph, op)):
            continue
        made = graph.values[op.outputs[0]]
        if made.alias_of in op.inputs or any(graph.values[i].shape == made.shape for i in op.inputs):
            yield op


def _readers(graph: Graph, op: Op) -> Iterator[Op]:
    """What reads the results of a call, but for calls in the same line that give the same numbers."""
    for output in op.outputs:
        for reader in graph.consumers.get(output, ()):
            if reader.name not in _SAME_NUMBERS or reader.site.user.location() != op.site.user.location():
                yield reader


def _read_later(graph: Graph, op: Op, found: _Dropped) -> bool:
    """Whether something reads the operand of an operation later, as it is, where no loss does: an evaluation."""
    readers = graph.consumers.get(found.given(graph, op), ()) if isinstance(found.call, ast.BinOp) else ()
    line = op.site.user.location()
    return any(
        r.index > op.index and r.name not in _SAME_NUMBERS and r.site.user.location() != line for r in readers
    )


def _is_used_elsewhere(trace: Trace, graph: Graph, op: Op, given: int, node: ast.expr) -> bool:
    """Whether such a call of the same tensor is made again, and its result is read; of an operation, one of the same
    text or of the same tensors: a sum with another one is another."""

    def alike(other: Op) -> bool:
        if not isinstance(node, ast.BinOp) or other.inputs == op.inputs:
            return True
        again = trace.source_file(other.site.user.path).at(other.site.user)
        return again is not None and ast.dump(again) == ast.dump(node)

    return any(
        given in other.inputs and any(map(graph.consumers.get, other.outputs)) and alike(other)
        for other in graph.called({op.name})
    )


def _dropped_call(trace: Trace, graph: Graph, op: Op) -> _Dropped | None:
    """The call and the expression of the tensor that it takes, where its result goes to nobody."""
    file = trace.source_file(op.site.user.path)
    call = file.at(op.site.user)
    if isinstance(call, ast.BinOp):
        given = _operand(trace, graph, op, call) if _to_nobody(file, _with_what_follows(file, call)) else None
        return _Dropped(call, *given) if given is not None else None
    if not isinstance(call, ast.Call):
        return None
    layer = op.module is not None and op.site.kind == "torch" and len(call.args) == 1 and not call.keywords
    named = isinstance(call.func, ast.Attribute) and call.func.attr == op.name
    if not named and not layer:
        return None
    if {"out", "inplace"} & {k.arg for k in call.keywords} or not _to_nobody(file, call):
        return None
    if layer or file.is_imported(call.func):
        at = _given_at(graph, op, call)
        return _Dropped(call, call.args[at], (at,)) if at < len(call.args) else None
    method = op.site.kind == "user" and isinstance(call.func, ast.Attribute)
    return _Dropped(call, call.func.value, (0,)) if method and isinstance(call.func, ast.Attribute) else None


def _with_what_follows(file: SourceFile, node: ast.expr) -> ast.expr:
    """An expression with the methods behind it that give the same numbers: all of `(x * scale).cpu()`."""
    method = file.parent.get(id(node))
    while isinstance(method, ast.Attribute) and method.attr in _SAME_NUMBERS:
        call = file.parent.get(id(method))
        if not isinstance(call, ast.Call) or call.func is not method:
            break
        node, method = call, file.parent.get(id(call))
    return node


def _to_nobody(file: SourceFile, node: ast.expr) -> bool:
    """Whether an expression is a statement of its own, which no notebook shows and nothing tries or times: an operation
    in a loop of its own may be there for the time it takes."""
    statement = file.parent.get(id(node))
    above = file.parent.get(id(statement))
    if isinstance(above, ast.For) and above.body == [statement] and not _is_method(node):
        return False
    if not isinstance(statement, ast.Expr) or (isinstance(above, ast.Module) and above.body[-1] is statement):
        return False
    while isinstance(above, (ast.With, ast.Try, ast.If, ast.For)):
        if isinstance(above, ast.Try) or (isinstance(above, ast.With) and not _of_modes(above)):
            return False
        above = file.parent.get(id(above))
    return True


def _is_method(node: ast.expr) -> bool:
    """Whether it calls something on a name, not on the result of an operation."""
    return isinstance(node, ast.Call) and not (
        isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.BinOp)
    )


def _operand(trace: Trace, graph: Graph, op: Op, node: ast.BinOp) -> tuple[ast.expr, tuple[int, ...]] | None:
    """The operand with a name of which `x + y`, or `x * a + b`, is a new form, and the way to its value."""
    made = graph.values[op.outputs[0]] if len(op.outputs) == 1 else None
    sides = [node.left, node.right]
    if len(op.inputs) == 1:
        name, numbers = (
            names_of(trace).name(graph, op.inputs[0]),
            [isinstance(s, ast.Constant) for s in sides],
        )
        sides = [
            side
            for side, number in zip(sides, numbers, strict=True)
            if isinstance(side, ast.BinOp) or ast.unparse(side) == name or (any(numbers) and not number)
        ][:1]
    for at, (side, index) in enumerate(zip(sides, op.inputs, strict=False)):
        value, inner = graph.values[index], graph.maker(index)
        if made is None or (value.shape, value.dtype) != (made.shape, made.dtype):
            continue
        if isinstance(side, ast.BinOp) and inner is not None:
            found = _operand(trace, graph, inner, side)
            return (found[0], (at, *found[1])) if found is not None else None
        if isinstance(side, (ast.Name, ast.Attribute)) and value.parameter is None:
            return side, (at,)
    return None


def _given_at(graph: Graph, op: Op, call: ast.Call) -> int:
    """Which argument of a function its result is a new form of: the first with a name, of its shape and kind of
    numbers, where it takes tensors alone (`torch.where(mask, filled, scores)`), else the first."""
    if op.name in _PURE or len(call.args) != len(op.inputs) or call.keywords:
        return 0
    made = graph.values[op.outputs[0]]
    fits = [
        at
        for at, (index, node) in enumerate(zip(op.inputs, call.args, strict=True))
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript))
        and (graph.values[index].shape, graph.values[index].dtype) == (made.shape, made.dtype)
    ]
    return next((at for at in fits if graph.values[op.inputs[at]].requires_grad), fits[0] if fits else 0)


def _of_modes(block: ast.With) -> bool:
    """Whether a block only switches gradients or precision."""
    called = (item.context_expr for item in block.items)
    names = (c.func for c in called if isinstance(c, ast.Call))
    found = [
        n.attr if isinstance(n, ast.Attribute) else n.id
        for n in names
        if isinstance(n, (ast.Attribute, ast.Name))
    ]
    return len(found) == len(block.items) and _MODES.issuperset(found)


def _new_tensor_dropped(trace: Trace, graph: Graph, op: Op, dropped: _Dropped, count: int) -> Finding:
    call, target, taken = dropped.call, dropped.target, dropped.given(graph, op)
    file, site = trace.source_file(op.site.user.path), op.site.user
    here, text = Source(trace, site.path), file.text(target)
    whole = file.text(_with_what_follows(file, call))
    given, made = graph.values[taken], graph.values[op.outputs[0]]
    leaf = paths(trace).parameter_of((graph.id, shown(graph, given.index)))
    fix = f"use the result: `{text} = {whole}`"
    reads = (
        "a loss was computed later from" if goes_on(paths(trace), graph, op, taken) else "later lines read"
    )
    seen = f"`{op.name}` wrote to no tensor, and {reads} `{text}` as it was"
    edits: Edits = ()
    if is_gradient(trace, graph, op, target):
        fix = f"write in place: `{text}.{op.name}_(…)`"
        seen = f"`{op.name}` wrote to no tensor: the optimizer steps with the gradient as it was"
        method = isinstance(call, ast.Call) and not file.is_imported(call.func)
        edits = here.append(call.func, "_") if isinstance(call, ast.Call) and method else ()
    elif leaf is not None and op.name in _PURE:
        fix = f"write in place, with gradients off: `{text}.{op.name}_(…)`"
        off = isinstance(call, ast.Call) and not made.requires_grad and not file.is_imported(call.func)
        edits = (
            here.append(call.func, "_") if isinstance(call, ast.Call) and off and op.name != "dropout" else ()
        )
    elif made.shape == given.shape and isinstance(target, (ast.Name, ast.Attribute, ast.Subscript)):
        edits = here.insert(call, f"{text} = ")
    return Finding(
        message=f"the result of `{whole}` is not used: `{text}` stays as it is",
        cause=site,
        cause_label="gives a new tensor, which is dropped",
        seen=(seen,),
        why=f"`{op.name}` gives a new tensor and leaves `{text}` as it is: only calls whose name ends with `_` write"
        if isinstance(call, ast.Call)
        else f"an operation gives a new tensor and leaves `{text}` as it is; as a statement it gives it to nobody",
        fix=fix,
        count=count,
        edits=edits,
        subjects=frozenset({("dropped", op.site.user.location())}) | _places(graph, op, given.index),
    )


def _places(graph: Graph, op: Op, given: int) -> frozenset[object]:
    """The embedding of the tokens that something with a number for each place was to be added to (GS356)."""
    if not any(len(graph.values[other].shape) > 1 for other in op.inputs if other != given):
        return frozenset()
    makers = (graph.maker(value) for value in graph.upstream(given))
    return frozenset(
        ("embedded", one.site.user.location())
        for one in makers
        if one is not None and one.name == "embedding"
    )


def _new_layer_dropped(trace: Trace) -> Iterator[Finding]:
    """`self.emb.from_pretrained(vectors)` as a statement: it makes a new layer, and this one keeps what it drew."""
    for path, function, call in nodes_that_ran(trace, ast.Call):
        file, target = trace.source_file(path), call.func
        if not isinstance(target, ast.Attribute) or target.attr != "from_pretrained":
            continue
        scope = file.function_of(call)
        if scope is None or not ran_in(trace, path, scope.lineno, scope.end_lineno):
            continue
        if not isinstance(file.parent.get(id(call)), ast.Expr) or file.is_imported(target):
            continue
        own = [p for p in trace.parameters if _is_of(trace, p, own_name(target.value))]
        if own and drawn_here(trace, own):
            text, names = ast.unparse(target.value), parameter_names(trace, [p.id for p in own])
            here = Source(trace, path)
            yield Finding(
                message=f"the result of `{file.text(call)}` is not used: `{text}` is left with the random numbers that"
                " it was made with",
                cause=site_of(path, function, call),
                cause_label="gives a new layer, which is dropped",
                seen=(
                    f"the run drew {names} at random, and no load or write of the program's has given it other values",
                ),
                why="`from_pretrained` is a method of the class: it makes a new layer of the weights that it is given,"
                " and knows nothing of the one that it is called on",
                fix=f"use the result: `{text} = {file.text(call)}`",
                edits=here.insert(call, f"{text} = "),
                subjects=parameter_subjects(p.id for p in own),
            )


def _is_of(trace: Trace, parameter: Parameter, name: str) -> bool:
    """Whether it belongs to a layer that goes by this name."""
    module = trace.modules.get(parameter.module) if parameter.module is not None else None
    return module is not None and name in (module.path.rpartition(".")[2], module.name)


# -- never called ----------------------------------------------------------------------


def _never_called(trace: Trace) -> Iterator[Finding]:
    for path, function, node in uncalled(trace, _METHODS):
        yield _uncalled(trace, path, function, node)


def _only_compared(trace: Trace) -> Iterator[Finding]:
    """`p.requires_grad == False` as a statement, where every parameter of the program still trains."""
    ids = [p.id for p in trace.parameters if p.requires_grad and p.steps]
    if not ids or len(ids) < len(trace.parameters):
        return  # which of them the statement means is not known
    for path, function, node in nodes_that_ran(trace, ast.Expr):
        asked = node.value
        if (
            not isinstance(asked, ast.Compare)
            or not isinstance(asked.ops[0], ast.Eq | ast.Is)
            or len(asked.ops) > 1
        ):
            continue
        left, right = asked.left, asked.comparators[0]
        if (
            not isinstance(left, ast.Attribute)
            or left.attr != "requires_grad"
            or ast.unparse(right) != "False"
        ):
            continue
        here, site = Source(trace, path), site_of(path, function, asked)
        meant = f"{here.file.text(left)} = False"
        yield Finding(
            message=f"{code(trace, site)} freezes nothing: it compares, and drops the answer",
            cause=site,
            cause_label="a comparison, no assignment",
            seen=(f"all {len(ids)} parameters still train: {parameter_names(trace, ids)}",),
            why="`==` asks whether both sides are equal, and sets nothing; as a statement its answer goes to nobody.",
            fix=f"write `{meant}`",
            edits=here.replace(asked, meant),
            subjects=parameter_subjects(ids),
        )


def _uncalled(trace: Trace, path: str, function: str, node: ast.Attribute) -> Finding:
    text = ast.unparse(node)
    held = node.attr == "zero_grad"
    site = site_of(path, function, node)
    return Finding(
        message=f"`{text}` is named, but not called: nothing happens",
        cause=site,
        cause_label="a method without parentheses",
        seen=(f"it stands in `{function}`, which ran" if function != "<module>" else "the file ran",),
        fix=f"call it: `{text}()`",
        edits=parentheses(site),
        subjects=(parameter_subjects(_held(trace, ast.unparse(node.value))) if held else frozenset())
        | {named_subject(site)},
    )


def _held(trace: Trace, holder: str) -> Iterator[int]:
    """What the optimizer of this name was given, or all optimizers where none goes by it."""
    name = holder.rpartition(".")[2]
    own = [o for o in trace.optimizers.values() if variable(trace, o.site).rpartition(".")[2] == name]
    for optimizer in own or trace.optimizers.values():
        yield from (n for n in optimizer.parameters if trace.parameter(n).passes)


# -- attributes that do nothing ----------------------------------------------------------


def _misnamed(trace: Trace, sites: tuple[Site, ...], kind: str, name: str, ids: list[int]) -> Finding:
    site, *others = sites
    target, meant, edits = _spelled(trace, site, kind)
    names = parameter_names(trace, ids)
    places = f", and the same in {listed([where(other) for other in others])}" if others else ""
    return Finding(
        message=f"`{target} = False` freezes nothing: `{name}` is a new attribute of the {kind}",
        cause=site,
        cause_label="sets an attribute that torch does not look at",
        related=tuple((other, "so does this one") for other in others),
        seen=(f"{plural(len(ids), 'parameter')} still required a gradient: {names}",),
        fix=f"write `{meant}`{places}",
        edits=edits + tuple(edit for other in others for edit in _spelled(trace, other, kind)[2]),
        subjects=parameter_subjects(ids),
    )


def _spelled(trace: Trace, site: Site, kind: str) -> tuple[str, str, Edits]:
    """What is assigned to at `site`, what was meant, and the edit that writes it."""
    target = trace.source_file(site.path).lines[site.line - 1][site.column - 1 : site.end_column - 1]
    holder = target.rpartition(".")[0]
    meant = f"{holder}.requires_grad_(False)" if kind == "module" else f"{holder}.requires_grad = False"
    here = Source(trace, site.path)
    statement = here.file.statement(site)
    return target, meant, here.replace(statement, meant) if statement is not None else ()


def _assigned(trace: Trace, event: Misnamed) -> Iterator[Site]:
    """The user's assignments of False to an attribute of this name, the likeliest first."""
    name = str(event.name)
    if event.holder == "module" and _own(trace, trace.modules[event.id].cls, name):
        return
    found: list[tuple[int, Site]] = []
    set_for_real = {e.site.user.location() for e in trace.of(RequiresGrad)}  # parameters, not modules
    for path in trace.sources:
        file = trace.source_file(path)
        for node in file.nodes:
            if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Attribute):
                continue
            target = node.targets[0]
            off = isinstance(node.value, ast.Constant) and node.value.value is False
            if target.attr != name or not off or ast.unparse(target.value) == "self":
                continue
            rank = 0 if name != _MEANT else _fit(trace, event, ast.unparse(target.value))
            if (
                rank == 2
                and (path, node.lineno) not in set_for_real
                and _one_of_many(file, node, target.value)
            ):
                rank = 1
            if rank < 2:
                end = target.end_lineno or target.lineno, (target.end_col_offset or 0) + 1
                found.append((rank, Site(-1, path, target.lineno, target.col_offset + 1, *end, "", "user")))
    yield from (site for _, site in sorted(found, key=lambda item: item[0]))


def _own(trace: Trace, cls: str, name: str) -> bool:
    """Whether the class gives itself an attribute of this name."""
    for _, node in classes_named(trace, cls.rpartition(".")[2]):
        sets = (n for n in ast.walk(node) if isinstance(n, ast.Attribute) and n.attr == name)
        if any(isinstance(n.ctx, ast.Store) and ast.unparse(n.value) == "self" for n in sets):
            return True
    return False


def _one_of_many(file: SourceFile, node: ast.AST, holder: ast.expr) -> bool:
    """Whether a loop gives `holder`."""
    above = file.parent.get(id(node))
    while above is not None and isinstance(holder, ast.Name):
        if isinstance(above, ast.For) and any(
            isinstance(n, ast.Name) and n.id == holder.id for n in ast.walk(above.target)
        ):
            return True
        above = file.parent.get(id(above))
    return False


def _fit(trace: Trace, event: Misnamed, text: str) -> int:
    """How well the text names the module: 0 its path, 1 perhaps, 2 not at all."""
    module = trace.modules[event.id]
    root = trace.modules[module.root]
    own = ".".join(part for part in (root.name, module.path) if part)
    plain = re.sub(r"['\"\]]", "", text.replace("[", ".")).replace("self.", "")
    if plain in (own, module.path):
        return 0
    return 1 if plain.rpartition(".")[2] in (own.rpartition(".")[2], module.path.rpartition(".")[2]) else 2
