"""The backward of a custom Function returns no gradient where one is needed, or not that of the loss.

Why: `backward` returns one gradient for each argument of `forward`. None, or zeros, for an
argument that requires a gradient ends the gradient there without a word: everything that the
argument was computed from does not train. A backward that does not use the gradient that it is given returns its
own derivative instead of the loss's.

Fix: return the gradient for that argument; where none is meant, `detach()` what is passed in and
call `ctx.mark_non_differentiable` or freeze what should not train.

A note where what the argument was computed from gets a gradient by another path: that may be meant, and
where a name or a comment says so, the note repeats it.
Silent on: arguments that need no gradient; integer inputs; parameters that are written by hand.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.intent import milder, says_stop
from gradscope.analysis.own_functions import arguments, definition_of, gradient_at, methods, results, returned
from gradscope.analysis.reach import Paths, passes, paths
from gradscope.analysis.words import code, located, parameter_names, parameter_subjects, plural
from gradscope.events import DroppedGradient
from gradscope.fixes.leaves import requires_before
from gradscope.fixes.source import Edits, Source
from gradscope.model import Edit, Event, Finding, Graph, Op, Parameter, Site
from gradscope.rules import rule
from gradscope.source import method_name, terms_of
from gradscope.store import Trace


def bad_none() -> None:  # fix: by hand
    from typing import Any

    import torch
    from torch import nn

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(w)
            return x * w

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:  # cause: GS309
            (w,) = ctx.saved_tensors
            return g * w, None

    fc, w = nn.Linear(3, 3), nn.Parameter(torch.ones(3))
    opt = torch.optim.SGD([*fc.parameters(), w], lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        Scale.apply(fc(torch.ones(2, 3)), w).pow(2).sum().backward()  # effect: GS309
        opt.step()


def good_straight_through() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Rounded(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x.round()

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
            return g

    fc = nn.Linear(3, 3)
    opt = torch.optim.SGD(fc.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        Rounded.apply(fc(torch.randn(4, 3)) * 5).pow(2).sum().backward()
        opt.step()


@rule(
    "GS309", name="custom-function-drops-gradient", severity="warning",
    over=("GS204", "GS206", "GS301", "GS302"), needs=DroppedGradient)  # fmt: skip
def custom_function_drops_gradient(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: set[int] = set()
    for event in trace.of(DroppedGradient):
        found = applied(trace, event)
        if found is None:
            continue
        graph, op = found
        yield from _hidden(trace, known, event, op)
        if (
            event.ignored
            and event.line not in told
            and any((graph.id, i) in known.used.order for i in op.outputs)
        ):
            told.add(event.line)
            yield _ignoring(trace, event)
        for position in event.alone if event.line not in told else ():
            if argument_of(graph, op, event, position) is not None and not event.none:
                told.add(event.line)
                yield _ignoring_one(trace, event, position)
        for kind, positions in (("none", event.none), ("zero", event.zero)):
            for position in positions:
                value = argument_of(graph, op, event, position)
                if value is None:
                    continue
                behind = _behind(known, graph, value)
                lost = [p for p in behind if not p.passes or _always_zero(trace, p)]
                if lost and kind == "zero" and _one_of_many(trace, event, position):
                    continue  # made by the line that makes the others: its derivative may be zero
                if lost:
                    yield _finding(trace, event, kind, position, lost)
                elif kind == "none" and behind:
                    stop = says_stop(trace, event.function, definition_of(trace, event.function, event.line))
                    yield milder(_beside(trace, event, position, behind), stop)


def _one_of_many(trace: Trace, event: DroppedGradient, position: int) -> bool:
    """Whether the argument is one of those that `*parameters` stands for, of which others get a gradient."""
    call = trace.source_file(event.site.user.path).at(event.site.user)
    given = call.args if isinstance(call, ast.Call) else []
    first = next((i for i, argument in enumerate(given) if isinstance(argument, ast.Starred)), None)
    if first is None or position < first or len(given) != first + 1:
        return False
    return not {*range(first, max(position, *event.zero) + 1)} <= {*event.zero, *event.none}


def _hidden(trace: Trace, known: Paths, event: DroppedGradient, op: Op) -> Iterator[Finding]:
    """Parameters inside an argument that is no tensor: autograd never learns of them."""
    if not any((op.graph, i) in known.used.order for i in op.outputs):
        return
    silent = {p.id for p in known.expected()} - set(known.feeding)
    lost = [p for p, _ in event.hidden if p in silent]
    if not lost:
        return
    names, name = parameter_names(trace, lost), event.function
    position = next(position for p, position in event.hidden if p == lost[0])
    _, shown = shown_argument(trace, event, position)
    edits: Edits = ()
    fix = f"pass the tensors themselves to `{name}.apply`, and return their gradients from `backward`"
    if _passes_itself(trace, event) and not any(
        known.graph(op.graph).values[i].requires_grad for i in op.inputs
    ):
        line, edits = requires_before(trace, event.site.user)
        fix = (
            "let the input require a gradient, without which the `backward` that trains them is never called:"
        )
        fix += f" `{line}` before {located(trace, event.site.user)}"
    yield Finding(
        message=f"{names} reaches `{name}` inside {shown}: autograd does not look into it, no gradient comes back",
        cause=event.site.user,
        cause_label=f"{shown} is no tensor",
        seen=(f"no gradient reached {names} in {passes(known.passes_beside(map(trace.parameter, lost)))}",),
        fix=fix,
        edits=edits,
        subjects=parameter_subjects(lost),
    )


def _passes_itself(trace: Trace, event: DroppedGradient) -> bool:
    """Whether the function's `backward` makes a pass of its own, which fills gradients of layers that it has from
    elsewhere, as that of a reversible block."""
    return any(
        isinstance(node, ast.Call) and method_name(node) == "backward"
        for _, part, _ in _named(trace, event)
        for node in ast.walk(part)
    )


def _ignoring(trace: Trace, event: DroppedGradient) -> Finding:
    """A backward that gives the derivative alone, whatever comes back from the loss."""
    name = event.function
    made = gradient_at(trace, name, event.line, 0) or event.site.user
    given, edits = _times(trace, event)
    calls = "the one call" if event.ignored == 1 else f"all {event.ignored} calls"
    return Finding(
        message=f"the backward of `{name}` does not use the gradient that it is given: what it returns is wrong",
        cause=made,
        cause_label="made without the gradient that arrives",
        effect=event.site.user,
        effect_label="used here: the loss after it has no say in the gradient before it",
        seen=(
            f"in {calls} that were followed the result was made of other values alone, though it was not 1",
        ),
        why="by the chain rule a backward returns the gradient of the loss: its own derivative times what arrives",
        fix=f"multiply {code(trace, made, 'what it returns')} by `{given or 'the gradient'}`"
        + (", which arrives without " + ("that axis" if len(event.lacks) == 1 else "those axes"))
        * bool(event.lacks),
        edits=edits,
        subjects=frozenset({("function", name)}),
    )


def _ignoring_one(trace: Trace, event: DroppedGradient, position: int) -> Finding:
    """A backward that makes one of its gradients without what comes back from the loss."""
    name, (_, shown) = event.function, shown_argument(trace, event, position)
    made = _assigned(trace, event, position) or definition_of(trace, name, event.line) or event.site.user
    given = next((names[0] for _, _, names in _named(trace, event) if names), "")
    instead = _in_its_place(trace, event, position, made)
    gradient = f"`{given}`, the gradient that arrives," if given else "the gradient that arrives"
    if instead:
        fix = (
            f"put {gradient} in the place of `{instead}`, a factor of every term of {located(trace, made)}: that is"
            " the value itself"
        )
    else:
        fix = f"multiply the derivative in {located(trace, made, 'what it returns')} by {gradient} and by no value"
    return Finding(
        message=f"the backward of `{name}` makes the gradient of {shown}, without the gradient that it is given",
        cause=made,
        cause_label="made of saved values alone",
        effect=event.site.user,
        effect_label=f"the loss has no say in the gradient of {shown}",
        seen=(
            f"in {plural(event.calls, 'call')} that were followed this result was made of other values alone, "
            "the others were not",
        ),
        why="by the chain rule a backward returns the gradient of the loss: its own derivative times what arrives",
        fix=fix,
        edits=_renamed(trace, made, instead, given) if instead and given else (),
        subjects=frozenset({("function", name)}),
    )


def _named(trace: Trace, event: DroppedGradient) -> Iterator[tuple[str, ast.FunctionDef, list[str]]]:
    """The user's `backward`, with what it calls the gradients that it is given."""
    for path, part in methods(trace, event.function, event.line):
        yield path, part, arguments(part)


def _assigned(trace: Trace, event: DroppedGradient, position: int) -> Site | None:
    """What the gradient of an argument is made by: where its name gets its value, else what stands in the `return`."""
    shown = returned(trace, event.function, event.line, position)
    for path, part, _ in _named(trace, event):
        node = trace.source_file(path).at(shown) if shown is not None else None
        found = [
            statement.value
            for statement in ast.walk(part)
            if isinstance(statement, ast.Assign)
            and isinstance(node, ast.Name)
            and [ast.unparse(target) for target in statement.targets] == [node.id]
        ]
        if len(found) == 1:
            return Site(-1, path, *trace.source_file(path).span(found[0]), part.name, "user")
    return shown


def _in_its_place(trace: Trace, event: DroppedGradient, position: int, made: Site) -> str:
    """The saved argument that is a factor of every term where the gradient has to be one, by its name."""
    node = trace.source_file(made.path).at(made)
    terms = terms_of(node, ast.Add, ast.Sub) if isinstance(node, ast.BinOp) else []
    common = set.intersection(*({*_factors(term)} for term in terms)) if len(terms) > 1 else set()
    forward = next((part for _, part in methods(trace, event.function, event.line, ("forward",))), None)
    names = arguments(forward) if forward is not None else []
    own = names[position] if position < len(names) else ""
    return own if common == {own} else ""


def _factors(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        yield from _factors(node.left)
        yield from _factors(node.right)
    elif isinstance(node, ast.Name):
        yield node.id


def _renamed(trace: Trace, made: Site, old: str, new: str) -> tuple[Edit, ...]:
    here = Source(trace, made.path)
    node = here.file.at(made)
    names = [n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == old] if node is not None else []
    return tuple(edit for n in names for edit in here.replace(n, new))


def _times(trace: Trace, event: DroppedGradient) -> tuple[str, tuple[Edit, ...]]:
    """The name of the gradient in `backward`, and `grad * (…)` for what is returned, where that fits."""
    for path, part in methods(trace, event.function, event.line):
        names = arguments(part)
        given = names[0] if names else part.args.vararg.arg if part.args.vararg else ""
        ends = results(part)
        node = (
            ends[0].elts[0] if ends and isinstance(ends[0], ast.Tuple) and ends[0].elts else (*ends, None)[0]
        )
        given += "" if not given else "".join(f".unsqueeze({axis})" for axis in event.lacks)
        fits = event.alike or event.lacks
        if len(ends) != 1 or len(names) != 1 or not fits or not isinstance(node, ast.expr):
            return given, ()
        here = Source(trace, path)
        return given, here.replace(node, f"{given} * {here.file.operand(node)}")
    return "", ()


def _behind(known: Paths, graph: Graph, value: int) -> list[Parameter]:
    """Leaves behind the argument that should train by gradients."""
    order = known.flow([(graph.id, value)]).order
    found = {p.id: p for key in order if (p := known.parameter_of(key)) is not None}
    return [p for p in found.values() if p.requires_grad and not p.updates]


def _always_zero(trace: Trace, p: Parameter) -> bool:
    measured = trace.numbers("grad_norm", p.id)
    return bool(measured) and not any(norm for _, norm in measured)


def _finding(
    trace: Trace, event: DroppedGradient, kind: str, position: int, lost: list[Parameter]
) -> Finding:
    name, text, shown = event.function, *shown_argument(trace, event, position)
    names = _names(trace, lost, text)
    what = "None" if kind == "none" else "only zeros"
    return Finding(
        message=f"the backward of `{name}` returns {what} for {shown}: {names} cannot train",
        cause=definition_of(trace, name, event.line) or event.site.user,
        cause_label=f"returns {what} for {shown}",
        effect=event.site.user,
        effect_label="a gradient is needed here",
        related=_returned(trace, event, position, shown),
        seen=(
            measured_calls(event, what),
            f"no gradient but zeros reached {names}" if kind == "zero" else f"no gradient reached {names}",
        ),
        fix=_fix(trace, event, position, text),
        subjects=parameter_subjects(p.id for p in lost),
    )


def _beside(trace: Trace, event: DroppedGradient, position: int, behind: list[Parameter]) -> Finding:
    """What the argument is computed from trains all the same, by another path: a stop may be meant."""
    name, text, shown = event.function, *shown_argument(trace, event, position)
    names = _names(trace, behind, text)
    whose = "its gradient comes" if names == f"`{text}`" else f"the gradient of {names} comes"
    return Finding(
        message=f"the backward of `{name}` returns None for {shown}: {whose} by other paths only",
        cause=definition_of(trace, name, event.line) or event.site.user,
        cause_label=f"returns None for {shown}",
        effect=event.site.user,
        effect_label="no gradient comes back from here",
        related=_returned(trace, event, position, shown),
        seen=(measured_calls(event, "None"),),
        fix=_fix(trace, event, position, text),
        severity="note",
        subjects=frozenset({("function", name)}),
    )


def _returned(
    trace: Trace, event: DroppedGradient, position: int, shown: str
) -> tuple[tuple[Site, str], ...]:
    site = returned(trace, event.function, event.line, position)
    return ((site, f"the gradient of {shown}"),) if site is not None else ()


def _names(trace: Trace, parameters: list[Parameter], text: str) -> str:
    """The parameters by name; a single one without a name by the argument's text."""
    nameless = len(parameters) == 1 and not parameters[0].name and text.isidentifier()
    return f"`{text}`" if nameless else parameter_names(trace, [p.id for p in parameters])


def _fix(trace: Trace, event: Event, position: int, text: str) -> str:
    return (
        f"return the gradient of {f'`{text}`' if text else 'that argument'} at position {position + 1} of"
        f" `backward`, or `detach()` it in {code(trace, event.site.user, 'the call')} if it should get none"
    )


def applied(trace: Trace, event: DroppedGradient) -> tuple[Graph, Op] | None:
    op = next(trace.called_at(event.site.id, {event.function}), None)
    return (trace.graph(op.graph), op) if op is not None else None


def call_of(trace: Trace, event: Event) -> ast.Call | None:
    node = trace.source_file(event.site.user.path).at(event.site.user)
    plain = isinstance(node, ast.Call) and not any(isinstance(a, ast.Starred) for a in node.args)
    return node if isinstance(node, ast.Call) and plain else None


def argument_of(graph: Graph, op: Op, event: DroppedGradient, position: int) -> int | None:
    """The value that was passed at this position."""
    order = event.tensors.index(position)
    index = op.inputs[order] if order < len(op.inputs) else None
    return index if index is not None and graph.values[index].requires_grad else None


def shown_argument(trace: Trace, event: Event, position: int) -> tuple[str, str]:
    """The text of an argument, and the words for it."""
    call = call_of(trace, event)
    text = ast.unparse(call.args[position]) if call is not None and position < len(call.args) else ""
    return text, f"argument {position + 1}{f', `{text}`' if text and len(text) < 40 else ''}"


def measured_calls(event: DroppedGradient, what: str) -> str:
    calls = event.calls
    return (
        f"{what} in {'the one call' if calls == 1 else f'all {calls} calls'} that were looked at, with a"
        " gradient that was not zero arriving"
    )
