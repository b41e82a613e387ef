"""What keeps a value from carrying the graph of one step into the next: a cut of a state, once in each step, and a
new value, or one without a graph, for what was made once.

A state is made anew in each step from its own last value: it is to be cut where a step begins or ends, not between the
time steps of one forward. What was made once is to be made anew where it depends on something that is trained, and
needs no graph where it does not.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from gradscope.analysis.carried import Made, State, since_apart
from gradscope.analysis.loop import in_order
from gradscope.analysis.loop_constants import LoopConstants
from gradscope.analysis.names import place, short_path
from gradscope.analysis.words import dotted, listed, located, named, parameter_name, quoted
from gradscope.events import Backward, ErrorRaised, Step
from gradscope.fixes.calls import without_argument
from gradscope.fixes.source import Binds, Edits, Source
from gradscope.fixes.statements import beside, line_after, line_before
from gradscope.model import Module, Parameter, Site, place_of
from gradscope.source import bound_in
from gradscope.store import Trace


def cut_where_filled(trace: Trace, site: Site, call: ast.Call, view: bool) -> tuple[str, Edits]:
    """Where to cut a state whose values the `call` at `site` sets; torch detaches no view in place."""
    here = Source(trace, site.path)
    if view:
        return f"make it anew in place of {located(trace, site)}", ()
    alone = isinstance(here.file.parent.get(id(call)), ast.Expr)
    return f"cut it there: `{here.file.text(call)}.detach_()`", here.append(
        call, ".detach_()"
    ) if alone else ()


def state_cut(
    trace: Trace, event: ErrorRaised, states: list[State], names: tuple[str, ...], several: bool, times: int
) -> tuple[str, Edits]:
    """Where to cut a state, in words and as edits. several: each of its names stands for several tensors, as that
    of an LSTM; times: how often a step runs the line that takes it in."""
    site, effect = states[0].site, event.site.user
    lines = [_detached(name, several) for name in names]
    held = list(
        dict.fromkeys(f"{_holder(trace, s)}.{n[5:]}" for s in states for n in names if n[:5] == "self.")
    )
    in_loop = beside(trace, site, effect)
    empty = any(_begins_empty(trace, site.path, name) for name in names)
    if held and not in_loop and (empty or times > 1):
        known = not any(name.startswith("self.") for name in held)
        module = _module(trace, states[0])
        inside = f" in `{module.path}`" if not known and module is not None and module.path else ""
        text = f"`{_detached(held[0], several)}`{inside}"
        others = f", and the same for {named(held[1:])}" if held[1:] else ""
        edits = _after(trace, effect, [_detached(n, several) for n in held]) if known else ()
        between = (
            f". Not at {located(trace, site)} itself, which needs the graph between the time steps of one forward"
            if times > 1
            else ""
        )
        return (
            f"cut it once in each step, after {located(trace, effect)}: {text}{others}; "
            f"{_anew(trace, states[0], event)}{between}",
            edits if _in_scope(trace, effect, held) else (),
        )
    here = Source(trace, site.path)
    block = here.block(site, keep_out=[effect]) if in_loop else here.file.statement(site)
    if empty:
        return (
            f"detach what is carried over: `{lines[0]}` after {located(trace, effect)}",
            _after(trace, effect, lines) if in_loop else (),
        )
    shown = located(trace, site)
    if block is not None and block.lineno != (here.file.statement(site) or block).lineno:
        shown = f"`{here.file.lines[block.lineno - 1].strip().removesuffix(':')}` ({_at(site, block)})"
    return (
        f"detach what is carried over: {' and '.join(f'`{line}`' for line in lines)} before {shown}",
        tuple(e for line in lines for e in here.before(block, line)) if all(map(_plain, names)) else (),
    )


def _after(trace: Trace, site: Site, lines: list[str]) -> Edits:
    return tuple(edit for line in lines for edit in line_after(trace, site, line))


def _detached(name: str, several: bool) -> str:
    return f"{name} = tuple(h.detach() for h in {name})" if several else f"{name} = {name}.detach()"


def _at(site: Site, statement: ast.stmt) -> str:
    return place_of(short_path(site.path), statement.lineno)


def _plain(name: str) -> bool:
    return name.replace(".", "").isidentifier()


def _holder(trace: Trace, state: State) -> str:
    """`net[2]`, the module whose state it is, as the program calls it outside; "self" where unknown."""
    module = _module(trace, state)
    root = trace.modules.get(module.root) if module is not None else None
    return dotted(root.name, module.path) if module is not None and root is not None and root.name else "self"


def _module(trace: Trace, state: State) -> Module | None:
    """The module whose `forward` takes the state in."""
    module = trace.modules.get(state.carried.readers[0].module or 0)
    while module is not None and module.cls != _class(trace, state.site):
        module = trace.modules.get(module.parent) if module.parent is not None else None
    return module


def _class(trace: Trace, site: Site) -> str:
    around = trace.source_file(site.path).around(site)
    return next((node.name for node in around if isinstance(node, ast.ClassDef)), "")


def _in_scope(trace: Trace, site: Site, names: list[str]) -> bool:
    """Whether the variables that these begin with are assigned in the function at `site`, or given to it."""
    scope = trace.source_file(site.path).scope(site)
    bound = bound_in(scope)
    return all(name.replace("[", ".").partition(".")[0] in bound for name in names)


def _begins_empty(trace: Trace, path: str, name: str) -> bool:
    """Whether the program somewhere assigns None to it."""
    for node in trace.source_file(path).nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                pairs = [(target, node.value)]
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = list(zip(target.elts, node.value.elts, strict=False))
                if any(
                    ast.unparse(t) == name and isinstance(v, ast.Constant) and v.value is None
                    for t, v in pairs
                ):
                    return True
    return False


def _anew(trace: Trace, state: State, event: ErrorRaised) -> str:
    """What begins anew: the method of its class that sets the state, at the start of a step."""
    start = next(since_apart(state.site, event.site), None)
    where = f" before {located(trace, start)}" if start is not None and start != state.site else ""
    for node in trace.source_file(state.site.path).around(state.site):
        if isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and method.name not in (
                    "__init__",
                    state.site.function,
                ):
                    if _assigns(method, state.names):
                        there = f"`{method.name}()` ({_at(state.site, method)})"
                        return f"or, where no batch goes on from the last one, call {there}{where}"
    return f"or, where no batch goes on from the last one, set it anew{where}"


def _assigns(method: ast.FunctionDef, names: tuple[str, ...]) -> bool:
    return any(
        isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store) and ast.unparse(n) in names
        for n in ast.walk(method)
    )


def in_each_step(
    trace: Trace, event: ErrorRaised, made: Sequence[Made], needed: Sequence[Parameter]
) -> tuple[str, Edits]:
    """Values that were made once, made in each step, since the leaves `needed` of them are trained."""
    effect = event.site.user
    names = tuple(dict.fromkeys(one.name for one in made))
    places = " and ".join(dict.fromkeys(located(trace, one.site) for one in made))
    trained = [p for p in needed if p.optimizers or p.module is not None]
    leaf = next(iter(trained or needed), None)
    because = "keep it without its graph (`.detach()`) if it is not to be trained"
    if leaf is not None:
        wanted = "which is trained" if trained else "whose gradient the program reads"
        because = f"the graph is needed, since it goes to `{parameter_name(trace, leaf.id)}`, {wanted}"
    edits: Edits = ()
    condition = _condition(trace, made[0].site)
    if condition is not None:
        here = Source(trace, made[0].site.path)
        text = " ".join(here.file.text(condition.test).split())
        how = f", which {quoted(f'if {text}')} ({_at(made[0].site, condition)}) left out in this step"
        name = parameter_name(trace, leaf.id) if leaf is not None else ""
        if name.isidentifier() and _in_scope(trace, made[0].site, [name]):
            how += f": add `or {name}.requires_grad` to it"
            edits = here.around(condition.test, "", f" or {name}.requires_grad", Binds.OR)
    elif beside(trace, made[0].site, effect):
        how = ", inside the loop"
    else:
        how = ""
    step = _steps_others(trace, event, needed) if leaf is not None else None
    if step is not None and leaf is not None and condition is None:
        cut = " and ".join(f"`{name}.detach()`" for name in names)
        return (
            f"give this pass {cut}: {located(trace, step)}, the step behind it, does not hold"
            f" `{parameter_name(trace, leaf.id)}`, to which the graph goes; or compute {named(names)} anew"
            f" before each pass that goes back through it: {places}"
        ), ()
    return f"compute {named(names)} anew in each step: {places}{how}; {because}", edits


def _steps_others(trace: Trace, event: ErrorRaised, needed: Sequence[Parameter]) -> Site | None:
    """The step behind earlier passes of the failing line, where none of the steps there holds any of these."""
    held, line = {number for p in needed for number in p.optimizers}, event.site.user.location()
    found, behind = None, False
    for _, other in in_order(trace):
        if isinstance(other, Backward):
            behind = other.site.user.location() == line
        elif isinstance(other, Step) and behind:
            if other.optimizer in held:
                return None
            found = other.site.user
    return found if held else None


def _condition(trace: Trace, site: Site) -> ast.If | None:
    """The `if` around `site` in its function, which lets it be made."""
    file = trace.source_file(site.path)
    inner: ast.AST | None = None
    for node in file.around(site):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return None
        if isinstance(node, ast.If) and inner in node.body:
            return node
        inner = node
    return None


def without_graph(trace: Trace, made: Sequence[Made], leaves: Sequence[Parameter]) -> tuple[str, Edits]:
    """Values that were made once, cut where they are made, since nobody wants a gradient of their leaves."""
    asked = listed(
        [
            f"`{parameter_name(trace, leaf.id)}`{f' ({place(leaf.site.user)})' if leaf.site else ''}"
            for leaf in leaves
        ]
    )
    places = " and ".join(dict.fromkeys(located(trace, one.site) for one in made))
    edits: Edits = ()
    for one in {m.site: m for m in made}.values():
        here = Source(trace, one.site.path)
        node = here.file.at(one.site)
        if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Call, ast.Attribute, ast.Subscript)):
            edits += here.behind(node, ".detach()")
    them = ("it", "its gradient") if len(leaves) == 1 else ("them", "their gradients")
    return (
        f"detach {named(tuple(dict.fromkeys(m.name for m in made)))} where it is made: `.detach()` behind {places}; "
        f"or make {asked} without `requires_grad`: no optimizer holds {them[0]} and nothing reads {them[1]}",
        edits,
    )


def cut_where_read(trace: Trace, reader: Site, names: tuple[str, ...]) -> tuple[str, Edits]:
    """The cut before the line that takes a value in, where nothing more is known of it."""
    lines = [_detached(name, False) for name in names]
    there = all(_plain(name) and _set_before(trace, reader, name) for name in names)
    shown = " and ".join(f"`{line}`" for line in lines) if there else named(names)
    known_there = there and not any(_begins_empty(trace, reader.path, n) for n in names)
    edits = tuple(e for line in lines for e in line_before(trace, reader, line)) if known_there else ()
    return f"detach what is carried over: {shown} before {located(trace, reader, 'it is used')}", edits


def cut_where_joined(trace: Trace, reader: Site, made: Made) -> tuple[str, Edits]:
    """The cut of a value where it is put into the list that is joined at `reader`."""
    here = Source(trace, made.site.path)
    joined = trace.source_file(reader.path).at(reader)
    given = joined.args[0] if isinstance(joined, ast.Call) and joined.args else None
    held = ast.unparse(given) if isinstance(given, ast.Name | ast.Attribute) else ""
    for node in ast.walk(here.file.scope(made.site)) if held else ():
        if isinstance(node, ast.Call | ast.List | ast.Tuple) and (kept := _taken(node, made.name)):
            statement = here.file.statement_of(node)
            if isinstance(statement, (ast.Expr, ast.Assign, ast.AugAssign)) and _fills(statement, held):
                said = place_of(short_path(made.site.path), statement.lineno)
                return (
                    f"keep `{made.name}.detach()` in place of `{made.name}` in `{here.file.text(statement)}` ({said})",
                    here.append(kept, ".detach()"),
                )
    what = f"`{held}`, which" if held else "what"
    return f"keep only detached values in {what} {located(trace, reader)} joins", ()


def _taken(node: ast.Call | ast.List | ast.Tuple, name: str) -> ast.Name | None:
    """The one place where a call is given the variable, or a list has it."""
    given = node.args if isinstance(node, ast.Call) else node.elts
    found = [one for one in given if isinstance(one, ast.Name) and one.id == name]
    return found[0] if len(found) == 1 and isinstance(found[0].ctx, ast.Load) else None


def _fills(statement: ast.stmt, name: str) -> bool:
    """Whether a statement changes what `name` is: assigns it, or calls a method of it."""
    return any(
        isinstance(node, ast.Name | ast.Attribute)
        and ast.unparse(node) == name
        and (isinstance(statement, ast.Expr) or isinstance(node.ctx, ast.Store))
        for node in ast.walk(statement)
    )


def _set_before(trace: Trace, site: Site, name: str) -> bool:
    """Whether a name has a value before the statement at `site`: it is not only this one, or a later one, that gives
    it its first."""
    file = trace.source_file(site.path)
    statement, first = file.statement(site), name.partition(".")[0]
    stores = [
        node
        for node in ast.walk(file.scope(site))
        if isinstance(node, ast.Name) and node.id == first and isinstance(node.ctx, ast.Store)
    ]
    return not stores or statement is None or min(node.lineno for node in stores) < statement.lineno


def taken_as_numbers(trace: Trace, event: ErrorRaised, found: LoopConstants) -> tuple[str, Edits]:
    """`old = policy(x).detach()` for each of them, and the failing `backward()` without `retain_graph`."""
    place = event.site.user
    here = Source(trace, place.path)
    new = [f"{here.part(line.value)}.detach()" for line in found.lines]
    texts = [f"`{name} = {text}`" for name, text in zip(found.names, new, strict=True)]
    edits = [
        edit for line, text in zip(found.lines, new, strict=True) for edit in here.replace(line.value, text)
    ]
    kept = without_argument(trace, place, "retain_graph")
    them = "it as a constant" if len(texts) == 1 else "them as constants"
    return (
        f"take {them}: {listed(texts, len(texts))}"
        + ("; `retain_graph=True` is not needed then" if kept else ""),
        (*edits, *kept),
    )
