"""Parameters are frozen, and switched on again before anything has run: the freezing has no effect.

Why: `requires_grad` holds what was set last. A later line that switches on all parameters takes back what was set
for some of them, and they are trained like the others.

Fix: leave the later line out, or freeze after it.

Silent on: what runs between the two; a line that switches on under a condition, or only some of those that
were frozen (all off, then the head on); one in another function, which may be asked to train everything.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.switched import Switch, taken_back, used_between
from gradscope.analysis.words import located, parameter_names, parameter_subjects, plural
from gradscope.fixes.source import Source
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
    for p in model[0].parameters():
        p.requires_grad = False  # effect: GS221
    trained = []
    for p in model.parameters():
        p.requires_grad = True  # cause: GS221
        trained.append(p)
    opt = torch.optim.SGD(trained, lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
    for p in model.parameters():
        p.requires_grad = False
    for p in model[2].parameters():
        p.requires_grad = True
    opt = torch.optim.SGD(model[2].parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


@rule("GS221", name="freeze-undone", severity="warning")
def freeze_undone(trace: Trace) -> Iterator[Finding]:
    for off, on, leaves in taken_back(trace):
        if not (leaves == off.leaves < on.leaves and _for_all(trace, off.event.site, on.event.site)):
            continue
        if all(id in _trained(trace) for id in leaves) and not used_between(
            trace, off.event, on.event, leaves
        ):
            yield _finding(trace, off, on)


def _trained(trace: Trace) -> set[int]:
    return {p.id for p in trace.parameters if p.steps}


def _for_all(trace: Trace, off: Site, on: Site) -> bool:
    """Whether the later line stands in the function of the earlier one, is told to switch on, and asks nothing."""
    first, then = off.user, on.user
    if (first.path, first.function) != (then.path, then.function) or first.kind != "user":
        return False
    if [f.id for f in off.stack[: off.stack.index(first)]] != [
        f.id for f in on.stack[: on.stack.index(then)]
    ]:
        return False
    file = trace.source_file(then.path)
    statement = file.statement(then)
    if statement is None or not _says_on(statement):
        return False
    others = list(file.around(first))
    return not any(
        isinstance(node, (ast.If, ast.IfExp, ast.While, ast.Try, ast.Match)) and node not in others
        for node in file.above(statement)
    ) and not any(isinstance(node, ast.IfExp) for node in ast.walk(statement))


def _says_on(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Assign):
        return isinstance(statement.value, ast.Constant) and statement.value.value is True
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    given = [*call.args, *(word.value for word in call.keywords)]
    told = all(isinstance(value, ast.Constant) and value.value is True for value in given)
    return call.func.attr == "requires_grad_" and told


def _finding(trace: Trace, off: Switch, on: Switch) -> Finding:
    ids, line = sorted(off.leaves), on.event.site.user
    file = trace.source_file(line.path)
    statement = file.statement(line)
    names = parameter_names(trace, ids)
    return Finding(
        message=f"{names} are frozen, and switched on again before anything has run: they are trained",
        cause=line,
        cause_label=f"switches on all {len(on.leaves)}, the frozen ones too",
        effect=off.event.site.user,
        effect_label=f"freezes {plural(len(ids), 'parameter')}, to no effect",
        seen=(
            f"{plural(len(ids), 'parameter')} frozen, all of them switched on by the later line, and steps used"
            " gradients of each",
        ),
        fix=f"leave {located(trace, line)} out: it takes the freezing back; or freeze after it",
        edits=Source(trace, line.path).remove(statement),
        subjects=parameter_subjects(ids),
    )
