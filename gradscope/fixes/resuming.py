"""Takes along what a resumed training has left in its checkpoint."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import NamedTuple

from gradscope.analysis.schedules import schedules_of
from gradscope.analysis.stacks import beside_each_other
from gradscope.analysis.text import nodes_that_ran, site_of
from gradscope.events import StateLeft
from gradscope.fixes.calls import with_argument
from gradscope.fixes.source import Edits, Source
from gradscope.model import Site
from gradscope.source import SourceFile, called_name, stands_in
from gradscope.store import Trace


def state_taken_along(trace: Trace, event: StateLeft) -> Edits:
    """`opt.load_state_dict(loaded["optimizer"])`, and the same for its schedule: behind the line that gives the model
    its part, where the optimizer is made before it, else behind the line that makes it, under the condition of the
    load. Nothing where the two stand in no function that knows both."""
    made = trace.optimizers[event.optimizer].site
    if made is None:
        return ()
    load, maker = beside_each_other(event.site, made)
    here = Source(trace, maker.path)
    loading, making = here.file.statement(load), here.file.statement(maker)
    if (load.path, load.function) != (maker.path, maker.function) or loading is None or making is None:
        return ()
    loaded, optimizer = _given(here.file, load, event.site), here.file.variable(maker)
    if not loaded or not optimizer:
        return ()
    lines = [f'{optimizer}.load_state_dict({loaded}["{event.key}"])']
    last = making
    schedules = [made.site for made in schedules_of(trace, event.optimizer)]
    if len(schedules) != len(event.schedules):
        return ()
    for key, scheduler in zip(event.schedules, schedules, strict=True):
        _, of_schedule = beside_each_other(event.site, scheduler)
        statement, name = here.file.statement(of_schedule), here.file.variable(of_schedule)
        if (
            of_schedule.path != maker.path
            or of_schedule.function != maker.function
            or statement is None
            or not name
        ):
            return ()
        lines.append(f'{name}.load_state_dict({loaded}["{key}"])')
        last = max(last, statement, key=lambda one: one.lineno)
    under = here.file.parent.get(id(loading))
    if last.lineno < loading.lineno:
        return here.rows_after(_model_given(trace, event, here, loading), [(0, line) for line in lines])
    if here.file.parent.get(id(last)) is under:
        return here.rows_after(last, [(0, line) for line in lines])
    if (
        isinstance(under, ast.If)
        and loading in under.body
        and here.file.parent.get(id(under)) is here.file.parent.get(id(last))
    ):
        test = f"if {here.file.text(under.test)}:"
        return here.rows_after(last, [(0, test), *((1, line) for line in lines)])
    return ()


class AskedFor(NamedTuple):
    """A call that leaves out what its function would load a state into."""

    call: Site
    names: list[str]  # of the arguments, as the call's place knows them too
    edits: Edits


def asked_for(trace: Trace, load: Site) -> AskedFor | None:
    """The one call of the function in which a line that loads a state is passed over, as its argument for that is None
    by default, with all such arguments of it."""
    file = trace.source_file(load.path)
    function = next((node for node in file.around(load) if isinstance(node, ast.FunctionDef)), None)
    if function is None:
        return None
    own, defaults = function.args, [*function.args.defaults, *function.args.kw_defaults]
    arguments = [*own.args[len(own.args) - len(own.defaults) :], *own.kwonlyargs]
    optional = {
        argument.arg
        for argument, default in zip(arguments, defaults, strict=True)
        if isinstance(default, ast.Constant) and default.value is None
    }
    guards = [node for node in ast.walk(function) if isinstance(node, ast.If) and _loads(node)]
    asked = [name for guard in guards for name in _tested(guard.test) if name in optional]
    calls = [
        site_of(path, scope, node)
        for path, scope, node in nodes_that_ran(trace, ast.Call)
        if called_name(node) == function.name and not trace.source_file(path).is_imported(node.func)
    ]
    if (
        not asked
        or len(calls) != 1
        or not any(stands_in(node, load) for guard in guards for node in guard.body)
    ):
        return None
    (call,) = calls
    given = trace.source_file(call.path)
    asked = [name for name in dict.fromkeys(asked) if given.binds(call, name)]
    edits = [with_argument(trace, call, name, name) for name in asked]
    return AskedFor(call, asked, _together(edits)) if asked else None


def _together(edits: list[Edits]) -> Edits:
    """Arguments that are all put at the end of one call, as one edit."""
    if not all(edits):
        return ()
    texts = [one.text for each in edits for one in each]
    return (replace(edits[0][0], text="".join(texts)),)


def _loads(guard: ast.If) -> bool:
    return any(called_name(node) == "load_state_dict" for one in guard.body for node in ast.walk(one))


def _tested(test: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}


def _given(file: SourceFile, load: Site, inner: Site) -> str:
    """The variable that holds what was loaded: given by `torch.load` itself, or by a function that returns it."""
    name = file.variable(load)
    if not name or not name.isidentifier():
        return ""
    if load.location() == inner.user.location():
        return name
    scope = file.scope(inner.user)
    own = file.variable(inner.user)
    returned = [
        node.value for node in ast.walk(scope) if isinstance(node, ast.Return) and node.value is not None
    ]
    whole = own and all(isinstance(value, ast.Name) and value.id == own for value in returned) and returned
    return name if whole else ""


def _model_given(trace: Trace, event: StateLeft, here: Source, loading: ast.stmt) -> ast.stmt:
    """The line beside the load that gives the model its part; else the load."""
    site = trace.site(event.load)
    statement = here.file.statement(site.user) if site is not None and site.user.path == here.path else None
    return statement if statement is not None and statement in here.file.siblings(loading) else loading
