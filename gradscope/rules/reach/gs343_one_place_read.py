"""A recurrent layer is asked for the place at which it, or its backward direction, has read one place only.

Why: `output[:, 0]` is what the layer gives once it has read the first place: nothing of the others. `output[:, -1]` of
a bidirectional one is the last place, at which its backward direction begins: there that one has read one place, and
half of what is given on knows nothing of the rest. No gradient ever reaches the weights that carry the state on.

Fix: the last place, `output[:, -1]`; of both directions the last state of each,
`torch.cat([h_n[-2], h_n[-1]], dim=1)` of what the layer gives second; or the mean or maximum over the places.

Measured: in all passes that were looked at, the gradient of this direction's `weight_hh` in the last layer was exactly
zero, while its `weight_ih`, and the other direction's `weight_hh`, had one.

Silent on: sequences of one place, layers of which any other place, or the states, are used as well.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.axes import places_of, time_axis
from gradscope.analysis.ops import RECURRENT
from gradscope.analysis.reach import Paths, passes, paths
from gradscope.analysis.words import code, located, parameter_name, parameter_subjects
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op, Parameter, Site
from gradscope.rules import rule
from gradscope.store import Trace

ENOUGH = 2  # passes
PARTS = {
    "__getitem__",
    "select",
    "narrow",
    "index_select",
    "gather",
    "take_along_dim",
    "unbind",
    "split",
    "chunk",
}
DEEP = 6  # calls between the layer and what takes one place of it


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer, head = nn.LSTM(4, 8, batch_first=True, bidirectional=True), nn.Linear(16, 1)
    opt = torch.optim.Adam([*layer.parameters(), *head.parameters()])
    for _ in range(3):
        x = torch.randn(16, 10, 4)
        output, _ = layer(x)  # effect: GS343
        loss = nn.functional.mse_loss(head(output[:, -1]), x.mean((1, 2))[:, None])  # cause: GS343
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer, head = nn.LSTM(4, 8, batch_first=True, bidirectional=True), nn.Linear(16, 1)
    opt = torch.optim.Adam([*layer.parameters(), *head.parameters()])
    for _ in range(3):
        x = torch.randn(16, 10, 4)
        _, (h_n, _) = layer(x)
        state = torch.cat([h_n[-2], h_n[-1]], dim=1)
        loss = nn.functional.mse_loss(head(state), x.mean((1, 2))[:, None])
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS343", name="one-place-read", severity="warning")
def one_place_read(trace: Trace) -> Iterator[Finding]:
    carried = {p.module: p for p in _never_carried(trace) if p.module is not None}
    if not carried:
        return
    known = paths(trace)
    for _, op in known.used_calls(RECURRENT):
        if op.module is not None and (weight := carried.pop(op.module, None)) is not None:
            if weight.name.endswith("_reverse"):
                yield _finding(trace, known, op, weight)
                continue
            taken, shape = _taken(known, op), known.value((op.graph, op.inputs[0])).shape
            if taken is not None and places_of(op, shape) > 1:
                yield _of_the_first(trace, op, taken, weight)


def _never_carried(trace: Trace) -> Iterator[Parameter]:
    """The weights of the state, in the last layer, that only got gradients of zero, where the others of that layer got
    some: those of the backward direction, or of the one that there is."""
    of = {(p.module, p.name.rpartition(".")[2]): p for p in trace.parameters}
    for (module, name), p in of.items():
        if not name.startswith("weight_hh_l"):
            continue
        back = "_reverse" if name.endswith("_reverse") else ""
        layer = name.removeprefix("weight_hh_l").removesuffix("_reverse")
        if not layer.isdigit() or (module, f"weight_hh_l{int(layer) + 1}{back}") in of:
            continue
        if not back and (module, f"{name}_reverse") in of:
            continue
        beside = [f"weight_ih_l{layer}{back}", *([f"weight_hh_l{layer}"] if back else [])]
        others = [of.get((module, other)) for other in beside]
        own = [norm for _, norm in trace.numbers("grad_norm", p.id)]
        if len(own) >= ENOUGH and not any(own):
            if all(o is not None and any(n for _, n in trace.numbers("grad_norm", o.id)) for o in others):
                yield p


def _finding(trace: Trace, known: Paths, op: Op, weight: Parameter) -> Finding:
    taken = _taken(known, op)
    cause = (taken or op).site.user
    name = f"`{parameter_name(trace, weight.id)}`"
    new, edits = _last_states(trace, cause, op.site.user) if taken is not None else ("", ())
    new = new or "torch.cat([h_n[-2], h_n[-1]], dim=1)"
    other = op.site.user.location() != cause.location()
    return Finding(
        message=f"{code(trace, cause, 'what is taken of the layer')} takes the backward direction where it has read one"
        " place only",
        cause=cause,
        cause_label="the end at which the backward direction begins",
        effect=op.site.user if other else None,
        effect_label="goes both ways",
        seen=(
            f"the gradient of {name}, which carries the backward direction's state from place to place, was exactly"
            f" zero in {passes(len(trace.numbers('grad_norm', weight.id)))} that were looked at",
        ),
        fix=f"take the last state of each direction: `{new}`, of what {located(trace, op.site.user, 'the layer')} gives"
        f" second, in place of {located(trace, cause, 'that')}; or the mean over the places",
        edits=edits,
        count=weight.passes,
        subjects=parameter_subjects([weight.id]),
    )


def _of_the_first(trace: Trace, op: Op, taken: Op, weight: Parameter) -> Finding:
    """One direction, and its first place."""
    cause, name = taken.site.user, f"`{parameter_name(trace, weight.id)}`"
    here = Source(trace, cause.path)
    node, axis = here.file.at(cause), time_axis(op)
    index = _entry(node, axis)
    new = here.text_with(node, index, "-1") if index is not None and isinstance(node, ast.expr) else ""
    other = op.site.user.location() != cause.location()
    return Finding(
        message=f"{code(trace, cause, 'what is taken of the layer')} takes the place at which the layer has read one"
        " place only",
        cause=cause,
        cause_label="the end at which the layer begins",
        effect=op.site.user if other else None,
        effect_label="goes on from there to the last place",
        seen=(
            f"the gradient of {name}, which carries the state from place to place, was exactly zero in"
            f" {passes(len(trace.numbers('grad_norm', weight.id)))} that were looked at",
        ),
        why="what the layer gives at its first place is computed of that one alone; what comes after it in the sequence"
        " changes nothing, and the weights that carry the state on learn nothing.",
        fix=f"take the last place{f': `{new}`' if new else ', index -1,'} in {located(trace, cause)}",
        edits=here.replace(index, "-1") if index is not None else (),
        count=weight.passes,
        subjects=parameter_subjects([weight.id]),
    )


def _entry(node: ast.AST | None, axis: int) -> ast.expr | None:
    """The 0 that an index has for this axis."""
    if not isinstance(node, ast.Subscript):
        return None
    entries = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    entry = entries[axis] if axis < len(entries) else None
    return entry if isinstance(entry, ast.Constant) and entry.value == 0 else None


def _taken(known: Paths, op: Op) -> Op | None:
    """The call that takes one place of what the layer gives."""
    graph, value = known.graph(op.graph), op.outputs[0]
    for _ in range(DEEP):
        readers = [reader for reader in graph.consumers.get(value, ()) if reader.outputs]
        part = next((reader for reader in readers if reader.name in PARTS), None)
        if part is not None or not readers:
            return part
        value = readers[0].outputs[0]
    return None


def _last_states(trace: Trace, taken: Site, layer: Site) -> tuple[str, Edits]:
    """Both directions' last states, by the name that the program gives to what the layer gives second, and the edit
    where that is plain to see."""
    here = Source(trace, taken.path)
    node, statement = here.file.at(taken), here.file.statement(layer) if layer.path == taken.path else None
    if not isinstance(node, ast.Subscript) or not isinstance(statement, ast.Assign):
        return "", ()
    if here.file.scope(taken) is not here.file.scope(layer) or node.lineno <= (statement.end_lineno or 0):
        return "", ()
    target = statement.targets[0]
    given = target.elts[1] if isinstance(target, ast.Tuple) and len(target.elts) == 2 else None
    lstm = any(op.name == "lstm" and op.site.user == layer for graph in trace.graphs for op in graph.ops)
    states = given.elts[0] if isinstance(given, ast.Tuple) and given.elts else given
    if statement.value is not here.file.at(layer) or not isinstance(states, ast.Name):
        return "", ()
    name: str = states.id
    edits: Edits = ()
    if name == "_":
        name, edits = "h_n", here.replace(states, "(h_n, _)" if lstm and states is given else "h_n")
    elif lstm and states is given:
        name += "[0]"
    new = f"torch.cat([{name}[-2], {name}[-1]], dim=1)"
    return new, (*edits, *here.replace(node, new)) if "torch" in here.file.imported else ()
