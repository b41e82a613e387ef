"""Takes along what a resumed training has left in its checkpoint."""

from __future__ import annotations

import ast

from gradscope.analysis.stacks import beside_each_other
from gradscope.events import SchedulerMade, StateLeft
from gradscope.fixes.source import Edits, Source
from gradscope.model import Site
from gradscope.source import SourceFile
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
    schedules = _schedules(trace, event)
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


def _schedules(trace: Trace, event: StateLeft) -> list[Site]:
    """Where the schedules of that optimizer are made, in order; not those that others drive."""
    made = [one for one in trace.of(SchedulerMade) if one.optimizer == event.optimizer]
    driven = {number for one in made for number in one.drives}
    return [one.site for one in made if one.scheduler not in driven]


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
