"""`backward()` was called on a value that has no graph.

Why: a tensor carries a graph only if one of the values it was computed from requires a
gradient, and nothing on the way cut the graph: `detach()`, `torch.no_grad()`, a new tensor
made of numbers, an operation without a gradient. torch stops here with "does not require
grad and does not have a grad_fn".

Fix: take the cut between the parameters and the loss away, or unfreeze what should train.

Silent on: errors of any other kind.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import replace

from gradscope.analysis.branches import Constant, constants, zero_with_graph
from gradscope.analysis.cuts import constant_derivative, cut_kind, cut_words, differentiates, nearest_cuts
from gradscope.analysis.dead_ends import unread_results
from gradscope.analysis.failures import failure_subject
from gradscope.analysis.lost import behind, refused
from gradscope.analysis.names import place
from gradscope.analysis.never_read import Unread
from gradscope.analysis.numbers import back_as, real, without_past
from gradscope.analysis.ops import ARRAYS, COMPARISONS, LOGIC
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.spared import Spared, spared
from gradscope.analysis.text import site_of
from gradscope.analysis.through_numpy import ThroughNumpy, through_numpy
from gradscope.analysis.trainers import Hook, given_by, runs_it
from gradscope.analysis.words import (
    code,
    listed,
    located,
    loss_given,
    named,
    parameter_names,
    parameter_subjects,
    quoted,
    user,
)
from gradscope.events import RequiresGrad
from gradscope.fixes.calls import receiver_in_place_of, with_argument
from gradscope.fixes.from_numpy import asked_to_train, by_torch, kept_in_torch
from gradscope.fixes.leaves import itself
from gradscope.fixes.soft_logic import softened
from gradscope.fixes.source import Edits, Source
from gradscope.model import Event, Finding, Op, Parameter, Site, Value
from gradscope.rules import rule
from gradscope.store import Trace

MAX_TEXT = 120  # characters that are written in the place of others


def bad_detached_loss() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    loss = model(torch.randn(8, 4)).pow(2).mean()
    shown = loss.detach()  # cause: GS303
    shown.backward()  # effect: GS303


def good_graph_kept() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    loss = model(torch.randn(8, 4)).pow(2).mean()
    assert loss.detach().item() >= 0
    loss.backward()


@rule("GS303", name="backward-without-graph", severity="error", over=("GS301", "GS304", "GS305"))
def backward_without_graph(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    for event, root in refused(trace):
        yield _explain(trace, known, event, root)


def _explain(trace: Trace, known: Paths, event: Event, root: Key) -> Finding:
    hook = given_by(trace, known, event.site, root)
    found = _found(trace, known, event, root, hook)
    return found if hook is None else _as_given(trace, event, hook, found)


def _as_given(trace: Trace, event: Event, hook: Hook, found: Finding) -> Finding:
    """The same of a pass that a library makes of what a function of the program's gave it."""
    lines = {found.cause.location() if found.cause else None, *(site.location() for site, _ in found.related)}
    returns = hook.returns[0] if len(hook.returns) == 1 else None
    if returns is None or returns.location() in lines:
        return replace(found, effect_label="goes back from it in here")
    here = (event.site.user, "goes back from it in here")
    return replace(found, effect=returns, effect_label="has no graph", related=(*found.related, here))


def _found(trace: Trace, known: Paths, event: Event, root: Key, hook: Hook | None) -> Finding:
    effect = event.site.user
    name = _name(trace, event) if hook is None else f"the loss of `{hook.name}`"
    found = next((cut for cut in nearest_cuts(known, root) if not _of_a_state(cut[0])), None)
    if found is not None:
        return _cut(trace, known, event, name, root, found, hook)
    numbers = back_as(known, root)
    if numbers is not None:
        return _numbers(trace, known, event, name, root, numbers)
    frozen = _frozen(known, root)
    if not frozen and (plain := constants(trace, effect)):
        return _of_constants(trace, known, event, name, root, plain)
    if not frozen and (aside := _aside(trace, known, root)):
        return _of_what_was_given(trace, known, event, name, root, *aside)
    if not frozen and (numpy := through_numpy(known, root)) is not None:
        return _of_numpy(trace, known, event, name, root, numpy)
    froze = _freeze(trace, known, frozen)
    cause, label = froze, "made not to require a gradient here"
    if cause is None:
        value = known.value(root)
        cause, label = user(value.site) or effect, "made here"
    what = (
        f"everything it was computed from is frozen ({parameter_names(trace, [p.id for p in frozen])})"
        if frozen
        else "nothing it was computed from requires a gradient"
    )
    meant = spared(trace, frozen) if froze is not None else None
    if meant is not None and froze is not None:
        return _of_spared(trace, known, event, name, root, froze, frozen, meant)
    return Finding(
        message=f"{name} has no graph to go back through: {what}",
        seen=(_facts(known, name, root),),
        cause=cause,
        cause_label=label,
        effect=effect,
        effect_label="there is nothing to go back through",
        why=_steps(trace, known, root, None),
        fix=(
            f"take {located(trace, cause)} out for what should train"
            if froze is not None
            else "let what should train require a gradient (`requires_grad_(True)`)"
        )
        + ("" if runs_it(event.site) else f", or leave {located(trace, effect, '`backward()`')} out"),
        count=event.count,
        subjects=parameter_subjects(p.id for p in frozen) | {failure_subject(event)},
    )


def _of_a_state(op: Op) -> bool:
    """Whether a `state_dict()` made it: what is loaded of that is numbers of parameters, whatever they came from."""
    return any(frame.function.endswith("_save_to_state_dict") for frame in op.site.stack)


def _of_spared(
    trace: Trace,
    known: Paths,
    event: Event,
    name: str,
    root: Key,
    froze: Site,
    frozen: list[Parameter],
    meant: Spared,
) -> Finding:
    """All is frozen, also the part that a load left as it began, or that an optimizer was given alone."""
    names = parameter_names(trace, meant.parameters)
    evidence = (
        f"{located(trace, meant.load)} brought the others, and nothing for {names}: these are as they began"
        if meant.load is not None
        else f"an optimizer holds {names}, and none of the others"
    )
    text, edits = _others_alone(trace, froze, meant)
    again = f"`{meant.part}.requires_grad_(True)`" if text else f"`requires_grad_(True)` of {names}"
    return Finding(
        message=f"{name} has no graph to go back through: everything it was computed from is frozen, {names} too,"
        f" which {'no state was loaded for' if meant.load is not None else 'an optimizer is to train'}",
        cause=froze,
        cause_label="made not to require a gradient here",
        effect=event.site.user,
        effect_label="there is nothing to go back through",
        related=((meant.load, "brings the others alone"),) if meant.load is not None else (),
        seen=(_facts(known, name, root), evidence),
        why=_steps(trace, known, root, None),
        fix=f"freeze only `{meant.others}`: {text}; or switch the rest on again behind {located(trace, froze)}: {again}"
        if text
        else f"switch what is to be trained on again behind {located(trace, froze)}: {again}",
        edits=edits,
        count=event.count,
        subjects=parameter_subjects(p.id for p in frozen) | {failure_subject(event)},
    )


def _others_alone(trace: Trace, froze: Site, meant: Spared) -> tuple[str, Edits]:
    """What freezes only the others in place of a loop over all parameters, or of `requires_grad_(False)` of all."""
    here = Source(trace, froze.path)
    statement = here.file.statement(froze)
    loop = here.file.loop_of(statement) if statement is not None else None
    value = statement.value if isinstance(statement, ast.Expr) else None
    calls = [value, loop.iter if isinstance(loop, ast.For) else None]
    for call, method in zip(calls, ("requires_grad_", "parameters"), strict=True):
        if (
            not isinstance(call, ast.Call)
            or not isinstance(call.func, ast.Attribute)
            or call.func.attr != method
        ):
            continue
        whole = call.func.value
        within = (f"{ast.unparse(whole)}.", f"{ast.unparse(whole)}[")
        if meant.others.startswith(within) and meant.part.startswith(within):
            given = ", ".join(ast.unparse(one) for one in (*call.args, *call.keywords))
            return f"`{meant.others}.{method}({given})`", here.replace(whole, meant.others)
    return "", ()


def _aside(trace: Trace, known: Paths, root: Key) -> tuple[Op, ast.expr, Unread] | None:
    """The op that made the loss, what it was given first, and the one result of that shape which has a graph and
    which the program leaves unread."""
    graph = known.graph(root[0])
    op = graph.maker(root[1])
    call = trace.source_file(op.site.user.path).at(op.site.user) if op is not None else None
    if op is None or not op.inputs or not isinstance(call, ast.Call) or not call.args:
        return None
    shape = graph.values[op.inputs[0]].shape
    left = [one for one in unread_results(trace, graph) if one.shape == shape and shape]
    given = call.args[0]
    return (op, given, left[0]) if len(left) == 1 and isinstance(given, (ast.Name, ast.Attribute)) else None


def _of_what_was_given(
    trace: Trace, known: Paths, event: Event, name: str, root: Key, op: Op, given: ast.expr, left: Unread
) -> Finding:
    """The loss is computed of the data themselves, and what the model made of them is read by nothing."""
    made = op.site.user
    text = quoted(ast.unparse(given))
    ids = known.reach(
        (root[0], v.index)
        for v in known.graph(root[0]).values
        if v.site is not None and left.site in v.site.stack
    ).parameters
    return Finding(
        message=f"{name} has no graph to go back through: it is computed from {text}, and nothing reads `{left.name}`",
        cause=made,
        cause_label=f"takes {text}, which has no graph",
        effect=event.site.user,
        effect_label="there is nothing to go back through",
        related=((left.site, f"`{left.name}` has a graph, and is not read"),),
        seen=(
            _facts(known, name, root),
            f"`{left.name}`, {'×'.join(map(str, left.shape))} as {text}, is computed from"
            f" {parameter_names(trace, sorted(ids))}",
        )
        if ids
        else (_facts(known, name, root),),
        why=_steps(trace, known, root, None),
        fix=f"give {located(trace, made, 'the loss')} `{left.name}` in place of {text}",
        count=event.count,
        edits=Source(trace, made.path).replace(given, left.name),
        subjects=parameter_subjects(ids) | {failure_subject(event)},
    )


def _of_numpy(trace: Trace, known: Paths, event: Event, name: str, root: Key, numpy: ThroughNumpy) -> Finding:
    """Neither what should train requires a gradient, nor does numpy keep one: either alone is no help."""
    made = numpy.made.site.user
    names = named(leaf.name for leaf in numpy.leaves)
    text, computed = by_torch(trace, made)
    instead = f"`{text}`" if text else "torch's own functions"
    asked = asked_to_train(trace, [(leaf.name, leaf.made) for leaf in numpy.leaves])
    do = "does" if len(numpy.leaves) == 1 else "do"
    return Finding(
        message=f"{name} has no graph to go back through: {code(trace, made, 'a new tensor')} is made of numbers that"
        f" numpy has computed, and {names} {do} not require a gradient",
        cause=made,
        cause_label="a new tensor of numbers: it has no graph",
        effect=event.site.user,
        effect_label="there is nothing to go back through",
        related=tuple((leaf.made, f"`{leaf.name}` does not require a gradient") for leaf in numpy.leaves),
        seen=(
            _facts(known, name, root),
            f"numpy was given {names}, and {located(trace, numpy.leaves[0].read)} reads a gradient",
        ),
        why="numpy knows of no gradient: it takes no tensor that requires one, and of what it computes there is no way"
        " back. So both have to change: one alone ends in the next error",
        fix=f"compute with torch: {instead} in place of {located(trace, made)}; and let {names} require a gradient,"
        f" `.requires_grad_()` behind {listed([place(leaf.made) for leaf in numpy.leaves])}",
        count=event.count,
        edits=(*computed, *asked) if computed and asked else (),
        subjects=frozenset({failure_subject(event)}),
    )


def _of_constants(
    trace: Trace, known: Paths, event: Event, name: str, root: Key, plain: list[Constant]
) -> Finding:
    """Earlier passes of the line had a graph: this time its names were given new numbers."""
    texts = listed(list(dict.fromkeys(code(trace, one.made) for one in plain)))
    zero = zero_with_graph(plain)
    held = [one for one in plain if one.held]
    return Finding(
        message=f"{name} has no graph to go back through this time: {texts} took the place of what has one",
        cause=plain[0].made,
        cause_label="a new number: it has no graph",
        effect=event.site.user,
        effect_label="there is nothing to go back through",
        related=(
            *((one.made, "and here") for one in plain[1:]),
            *((one.computed, f"`{one.name}` has a graph here") for one in plain),
        ),
        seen=(_facts(known, name, root),),
        why=_steps(trace, known, root, None),
        fix=f"begin with a zero that has a graph: `{zero}` in place of {texts}; or leave the pass out where there is"
        " nothing to learn from",
        count=event.count,
        edits=tuple(
            edit
            for one in held
            for edit in Source(trace, one.made.path).replace(_node(trace, one.made), zero_with_graph([one]))
        ),
        subjects=frozenset({failure_subject(event)}),
    )


def _node(trace: Trace, site: Site) -> ast.expr:
    node = trace.source_file(site.path).at(site)
    assert isinstance(node, ast.expr)
    return node


def _cut(
    trace: Trace,
    known: Paths,
    event: Event,
    name: str,
    root: Key,
    found: tuple[Op, Key],
    hook: Hook | None,
) -> Finding:
    op, output = found
    kind = cut_kind(trace, known, op, output)
    region = (
        trace.regions.get(op.region)
        if op.region is not None and kind in ("no_grad", "inference_mode")
        else None
    )
    if region is not None and region.kind == "set_grad_enabled":
        kind = "set_grad_enabled"
    ids = behind(known, output)
    off = _step_without_gradients(trace, op) if region is None and kind == "no_grad" else None
    if off is not None:
        return _in_step(trace, known, event, name, root, op, *off)
    cause = region.site.user if region is not None else op.site.user
    related, fix = _also_frozen(trace, known, root, ids)
    further = _further(known, root, op, output) if kind == "nondifferentiable" else []
    first_fix, edits = _fix(trace, kind, op, cause, hook), _edits(trace, kind, op, cause)
    if op.name in COMPARISONS and (further or not edits):
        first_fix, edits = _softened(trace, [op, *further], first_fix)
    seen = [_facts(known, name, root)]
    if ids:
        seen.append(f"behind the cut: {parameter_names(trace, sorted(ids))}")
    return Finding(
        message=f"{name} has no graph to go back through: it was lost at {cut_words(op, kind)}",
        cause=cause,
        cause_label="gradients are off in here" if region is not None else "the graph ends here",
        effect=event.site.user,
        effect_label="there is nothing to go back through",
        related=(
            *(
                ((op.site.user, "made without a graph"),)
                if op.site.user.location() != cause.location()
                else ()
            ),
            *((one.site.user, "nor has this a gradient") for one in further),
            *related,
        ),
        seen=tuple(seen),
        why=_steps(trace, known, root, op),
        fix=first_fix + fix,
        count=event.count,
        edits=edits,
        subjects=parameter_subjects(ids) | {failure_subject(event)},
    )


def _further(known: Paths, root: Key, op: Op, output: Key) -> list[Op]:
    """The comparisons and logic between a cut and the loss: with the cut away each would be the next one."""
    graph = known.graph(op.graph)
    flow = set(known.flow([root]).order)
    found: dict[tuple[str, int, int], Op] = {}
    for one in graph.ops[op.index + 1 :]:
        if one.name not in COMPARISONS | LOGIC or len(one.outputs) != 1 or one.site.user.kind != "user":
            continue
        given = (graph.id, one.outputs[0])
        if given in flow and output in known.flow([given]).order:
            site = one.site.user
            found.setdefault((site.path, site.line, site.column), one)
    return list(found.values())


def _softened(trace: Trace, ops: list[Op], otherwise: str) -> tuple[str, Edits]:
    """What to take in place of all of them, at once: changed one by one, each ends in the next error."""
    soft = softened(trace, ops)
    pairs = [f"`{one.text}` for {located(trace, one.site)}" for one in soft if one.text]
    if len(pairs) < len(soft):
        more = [located(trace, op.site.user, f"`{op.name}`") for op in ops[1:]]
        has = "have none, either" if len(more) > 1 else "has none, either"
        return f"{otherwise}; {listed(more)} {has}" if more else otherwise, ()
    edits = tuple(edit for one in soft for edit in one.edits) if all(one.edits for one in soft) else ()
    return f"take numbers between 0 and 1, which have a gradient: {listed(pairs, len(pairs))}", edits


def _also_frozen(
    trace: Trace, known: Paths, root: Key, cut_off: Iterable[int]
) -> tuple[tuple[tuple[Site, str], ...], str]:
    """What an optimizer holds and the loss would reach without a cut, had no line frozen it: the other way to a
    graph, which may be the one that is meant."""
    frozen = [p for p in _frozen(known, root) if p.optimizers and p.id not in set(cut_off)]
    froze = _freeze(trace, known, frozen)
    if froze is None:
        return (), ""
    names = parameter_names(trace, [p.id for p in frozen])
    again = f"; if this loss is to train {names}, switch `requires_grad` on again: {located(trace, froze)} froze them"
    return ((froze, f"freezes {names}, which the loss would reach"),), again


def _step_without_gradients(trace: Trace, op: Op) -> tuple[Site, Site] | None:
    """What switches gradients off in the `step` of the program's own optimizer, and the call in there that came to
    this op."""
    frames = op.site.stack
    steps = [i for i, f in enumerate(frames[:-1]) if "Optimizer.profile_hook_step" in f.function]
    inside = next((f for f in frames[steps[-1] :] if f.kind == "user"), None) if steps else None
    if inside is None or inside is op.site.user:
        return None
    for node in trace.source_file(inside.path).around(inside):
        switches = [item.context_expr for item in node.items] if isinstance(node, ast.With) else []
        if isinstance(node, ast.FunctionDef):
            switches = node.decorator_list
        for switch in switches:
            if any(word in ast.unparse(switch) for word in ("no_grad", "set_grad_enabled", "inference_mode")):
                return site_of(inside.path, inside.function, switch), inside
        if isinstance(node, ast.FunctionDef):
            return None
    return None


def _in_step(
    trace: Trace, known: Paths, event: Event, name: str, root: Key, op: Op, switch: Site, call: Site
) -> Finding:
    """The closure is called where `step` has gradients off."""
    ids = behind(known, (op.graph, op.outputs[0]))
    here = Source(trace, call.path)
    statement = here.file.statement(call)
    plain = isinstance(statement, (ast.Assign, ast.Expr)) and "torch" in here.file.imported
    return Finding(
        message=f"{name} has no graph to go back through: {code(trace, call, 'it')} is called where `step` has"
        " gradients off, and all that it computes is made without a graph",
        cause=call,
        cause_label="called with gradients off",
        effect=event.site.user,
        effect_label="there is nothing to go back through",
        related=((switch, "gradients are off in here"), (op.site.user, "made without a graph")),
        seen=(
            _facts(known, name, root),
            *((f"behind the cut: {parameter_names(trace, sorted(ids))}",) if ids else ()),
        ),
        why="an optimizer writes its parameters with gradients off; the closure, which computes the loss and its"
        " gradients, needs them on, so torch's own optimizers switch them on around it",
        fix=f"switch gradients on for it in {located(trace, call)}: `with torch.enable_grad():` around the call",
        count=event.count,
        edits=here.under(statement, "with torch.enable_grad():") if plain else (),
        subjects=parameter_subjects(ids) | {failure_subject(event)},
    )


def _numbers(
    trace: Trace, known: Paths, event: Event, name: str, root: Key, found: tuple[Op, Op, Key]
) -> Finding:
    """The value went out of torch as numbers and came back as a new tensor."""
    given, cut, back = found
    value = known.value(back)
    made = user(value.site)
    ids = known.reach((back[0], i) for i in cut.inputs).parameters
    operand = given is cut and given.name == "item" and not without_past(known.graph(back[0]), back[1])
    texts, computed = _with_torch(trace, given, made, value)
    instead = f"compute with torch ({listed([f'`{text}` in line {line}' for text, line in texts], 6)})"
    seen = [_facts(known, name, root)]
    if ids:
        seen.append(f"behind the cut: {parameter_names(trace, sorted(ids))}")
    return Finding(
        message=f"{name} has no graph to go back through: it is made of numbers that left it at "
        f"{code(trace, cut.site.user, cut_words(cut, cut.cut or given.name))}",
        cause=cut.site.user,
        cause_label="the graph ends here",
        effect=event.site.user,
        effect_label="there is nothing to go back through",
        related=((made, "comes back as a new tensor"),)
        if made is not None and made.location() != cut.site.user.location()
        else (),
        seen=tuple(seen),
        why=f"{code(trace, given.site.user)} is a number of Python's: of what it is divided by or added to, torch sees"
        " the tensor alone"
        if operand
        else _steps(trace, known, root, None),
        fix=f"leave `.item()` out of {located(trace, given.site.user)}: the tensor has its graph"
        if operand
        else f"keep the tensors from {located(trace, cut.site.user, 'here')} to the loss: "
        + (instead if texts else "`torch.stack` and `torch.cat` join them with their graph"),
        edits=receiver_in_place_of(trace, given.site.user, "item") if operand else computed,
        count=event.count,
        subjects=parameter_subjects(ids) | {failure_subject(event)},
    )


def _with_torch(
    trace: Trace, given: Op, made: Site | None, back: Value
) -> tuple[list[tuple[str, int]], Edits]:
    """What numpy computed between the two, computed by torch, where that gives a tensor of the same dtype."""
    left = trace.graph(given.graph).values[given.inputs[0]]
    same = given.name in ARRAYS and left.dtype == back.dtype
    return kept_in_torch(trace, given.site.user, made) if same and made is not None else ([], ())


def _fix(trace: Trace, kind: str, op: Op, cause: Site, hook: Hook | None) -> str:
    made = op.site.user
    use = "call `backward()` on" if hook is None else f"return from `{hook.name}`"
    if differentiates(op):
        return f"add `create_graph=True` to {located(trace, made)}: what it gives is then a part of the graph"
    if constant_derivative(op):
        return (
            f"what {located(trace, made)} gives depends on nothing that could be changed, and its own derivative is"
            " zero: take zeros where `requires_grad` of it is False"
        )
    if kind in ("no_grad", "inference_mode", "set_grad_enabled"):
        if cause.location() == made.location():
            return (
                f"compute {located(trace, made, 'it')} with gradients on: they are off where this line runs"
            )
        whole = located(trace, _all_of(trace, made), "it")
        outside = f"compute {whole} outside of {located(trace, cause, 'the block')}"
        return outside + _with_held_weights(trace, op)
    if kind == "nondifferentiable":
        return (
            f"use a loss that has a gradient in place of {located(trace, made, f'`{op.name}`')}"
            " (cross entropy on the scores, a soft maximum)"
        )
    if joined := _joined(trace, op)[0]:
        instead = located(trace, made, "`torch.tensor`")
        if "(" not in joined:
            return f"use `{joined}` itself in place of {instead}: the new tensor has only its number"
        return f"put the tensors together with their graph: `{joined}` in place of {instead}"
    if kind == "detach":
        return f"leave `.detach()` out of {located(trace, made)}, or {use} the value before it"
    return f"{use} the value as it was before {cut_words(op, kind)} ({place(made)})"


def _all_of(trace: Trace, made: Site) -> Site:
    """The whole expression that a name gets its value from, where the call at `made` is only a part of it and another
    call takes its result: that would be made without a graph, too."""
    file = trace.source_file(made.path)
    node, statement = file.at(made), file.statement(made)
    above = file.parent.get(id(node)) if node is not None else None
    taken = isinstance(above, ast.Call) and node in above.args
    if not taken or not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
        return made
    return site_of(made.path, made.function, statement.value)


def _with_held_weights(trace: Trace, op: Op) -> str:
    """How to call a layer without training it there, where the same pass uses it with gradients as well: that its
    weights stay is what the block may have been meant for."""
    graph = trace.graph(op.graph)
    elsewhere = op.module is not None and any(o.module == op.module and o.nodes for o in graph.ops)
    call = trace.source_file(op.site.user.path).at(op.site.user)
    if not elsewhere or not isinstance(call, ast.Call) or call.keywords or len(call.args) != 1:
        return ""
    layer, given = ast.unparse(call.func), ast.unparse(call.args[0])
    if op.name == "linear":
        bias = f", {layer}.bias.detach()" if len(op.inputs) > 2 else ""
        held = f"nn.functional.linear({given}, {layer}.weight.detach(){bias})"
    else:
        held = f"torch.func.functional_call({layer}, {{n: p.detach() for n, p in {layer}.named_parameters()}}, {given})"
    return f"; where only the weights of `{layer}` are to be left alone there, write `{held}` in its place"


def _edits(trace: Trace, kind: str, op: Op, cause: Site) -> Edits:
    if differentiates(op):
        return with_argument(trace, op.site.user, "create_graph", "True")
    return receiver_in_place_of(trace, cause, "detach") if kind == "detach" else _joined(trace, op)[1]


def _joined(trace: Trace, op: Op) -> tuple[str, Edits]:
    """What keeps the graph in place of `torch.tensor([a, b])` of tensors: the text, and the edits where each of them
    is one number of no dimension."""
    here = Source(trace, op.site.user.path)
    call = here.file.at(op.site.user)
    if op.name not in ("tensor", "as_tensor") or not isinstance(call, ast.Call) or len(call.args) != 1:
        return "", ()
    given = call.args[0]
    if not isinstance(given, (ast.List, ast.Tuple)):
        text, edits = itself(trace, op)
        return (text, edits) if edits else ("", ())
    values = [trace.graph(op.graph).values[i] for i in op.inputs]
    all_tensors = len(_single(given)) == len(values) and not call.keywords
    alike = all_tensors and len({value.dtype for value in values}) == 1
    text = _stacked(here, given, ast.unparse(call.func).removesuffix(op.name))
    if not alike or any(value.shape for value in values) or len(text) > MAX_TEXT:
        return "torch.stack([…])", ()
    return text, here.replace(call, text)


def _single(given: ast.expr) -> list[ast.expr]:
    if isinstance(given, (ast.List, ast.Tuple)):
        return [one for part in given.elts for one in _single(part)]
    return [given]


def _stacked(here: Source, given: ast.expr, torch: str) -> str:
    if not isinstance(given, (ast.List, ast.Tuple)):
        return here.file.text(given)
    return f"{torch}stack([{', '.join(_stacked(here, part, torch) for part in given.elts)}])"


def _facts(known: Paths, name: str, root: Key) -> str:
    value = known.value(root)
    shape = f"shape {'×'.join(map(str, value.shape))}" if value.shape else "a scalar"
    return f"{name}: {value.dtype}, {shape}, `requires_grad` is False"


def _steps(trace: Trace, known: Paths, root: Key, cut: Op | None) -> str:
    """The way back from the loss, step by step, up to the cut."""
    steps: list[str] = []
    flow = known.flow([root])
    for key in flow.order:
        graph = known.graph(key[0])
        value = graph.values[key[1]]
        if value.op is None:
            continue
        op = graph.ops[value.op]
        if op is not cut and (runs_it(op.site) is not None or not real(value.dtype)):
            continue  # computed by a library itself, which the line that called it does not show; labels and the like
        text = f"line {op.site.user.line}: {code(trace, op.site.user, f'`{op.name}`')}"
        if op is cut:
            steps.append(f"{text}, whose input has a graph and whose result has none")
            break
        if text not in steps:
            steps.append(text)
    if len(steps) > 5:
        steps = [*steps[:3], "…", steps[-1]]
    way = " ← ".join(steps)
    if way:
        return f"going back from the loss: {way}"
    made = known.value(root).op
    return (
        "the value is a leaf that does not require a gradient"
        if made is None
        else "a library computed it, from what does not require a gradient"
    )


def _name(trace: Trace, event: Event) -> str:
    """The loss as the user calls it: what stands before `.backward()`, or what a library's `backward(…)` is given."""
    given = loss_given(trace, event)
    if given is not None:
        return f"`{given}`" if given else "the loss"
    head, dot, _ = code(trace, event.site.user).strip("`").partition(".backward")
    return f"`{head}`" if dot and head else "the loss"


def _frozen(known: Paths, root: Key) -> list[Parameter]:
    """The leaves without a gradient that it was computed from, cut or not."""
    ids = sorted(known.fed_by(root))
    return [known.parameters[id] for id in ids if not known.parameters[id].requires_grad]


def _freeze(trace: Trace, known: Paths, frozen: list[Parameter]) -> Site | None:
    """Where one of these was last made not to require a gradient."""
    ids = {p.id for p in frozen}
    for event in reversed(trace.of(RequiresGrad)):
        if event.to or event.graph < 0:
            continue
        parameter = known.parameter_of((event.graph, event.value))
        if parameter is not None and parameter.id in ids:
            return event.site.user
    return None
