"""What is loaded is a sum of models that is no mean of them: their weights add up to more, or less, than 1.

Why: federated averaging gives a model a mean of what others have learned. Where the sum goes on from the last result,
which nothing resets, or its weights don't add up to 1, the parameters grow, or shrink, with every load: twice as large
after each round where the last model is in it once more.

Fix: begin each sum at zero, and divide the weights by their sum.

Measured: what was loaded, as a sum of the model's parameters before and of other models: nothing else was left over.
Silent on: averages of whatever weights, also with a part of the last model (momentum, updates by differences), models
that are loaded with noise or with parts that come from nowhere else, a single load.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.text import site_of
from gradscope.analysis.words import code, located
from gradscope.events import LoadedSum
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.source import FUNCTIONS, called_name, names_in
from gradscope.store import Trace

OFF = 0.05  # what the weights differ from 1
ENOUGH = 2  # loads


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Mean:
        def __init__(self, state: dict[str, torch.Tensor]) -> None:
            self.state = {k: v.clone() for k, v in state.items()}

        def of(self, models: list[nn.Linear]) -> dict[str, torch.Tensor]:
            for model in models:
                for k, v in model.state_dict().items():
                    self.state[k] = self.state[k] + v / len(models)  # cause: GS257
            return self.state

    model, locals_ = nn.Linear(6, 3), [nn.Linear(6, 3) for _ in range(3)]
    mean = Mean(model.state_dict())
    for _ in range(3):
        for local in locals_:
            local.load_state_dict(model.state_dict())
            opt = torch.optim.SGD(local.parameters(), lr=0.1)
            for _ in range(2):
                opt.zero_grad()
                local(torch.randn(8, 6)).sub(1).pow(2).mean().backward()
                opt.step()
        model.load_state_dict(mean.of(locals_))  # effect: GS257


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Mean:
        def __init__(self, state: dict[str, torch.Tensor]) -> None:
            self.state = {k: v.clone() for k, v in state.items()}

        def all_of(self, models: list[nn.Linear]) -> dict[str, torch.Tensor]:
            self.state = {k: torch.zeros_like(v) for k, v in self.state.items()}
            for model in models:
                for k, v in model.state_dict().items():
                    self.state[k] = self.state[k] + v / len(models)
            return self.state

    model, locals_ = nn.Linear(6, 3), [nn.Linear(6, 3) for _ in range(3)]
    mean = Mean(model.state_dict())
    for _ in range(3):
        for local in locals_:
            local.load_state_dict(model.state_dict())
            opt = torch.optim.SGD(local.parameters(), lr=0.1)
            for _ in range(2):
                opt.zero_grad()
                local(torch.randn(8, 6)).sub(1).pow(2).mean().backward()
                opt.step()
        model.load_state_dict(mean.all_of(locals_))


@rule("GS257", name="loaded-sum-is-no-mean", severity="warning", needs=LoadedSum)
def loaded_sum_is_no_mean(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(LoadedSum):
        if len(event.sums) >= ENOUGH and all(abs(own + others - 1) > OFF for _, own, others, _ in event.sums):
            yield _finding(trace, event)


def _finding(trace: Trace, event: LoadedSum) -> Finding:
    load = event.site.user
    added = _added(trace, load)
    _, own, others, count = event.sums[-1]
    goes_on = all(abs(own - 1) < OFF and abs(others - 1) < OFF for _, own, others, _ in event.sums)
    cause = added if added is not None and goes_on else load
    edits: Edits = ()
    if goes_on:
        message = (
            f"{code(trace, load, 'what is loaded')} adds the mean of {count:.0f} models to what the model was before:"
            " the sum is never reset"
        )
        reset, edits = _reset(trace, cause)
        fix = f"begin each sum at zero, before {located(trace, cause, 'the first addition')}{reset}"
    else:
        message = (
            f"{code(trace, load, 'what is loaded')} is no mean of the models that it is made from: their weights add up"
            f" to {own + others:.3g}"
        )
        fix = f"divide the weights by their sum, in {located(trace, cause)}, and begin each sum at zero"
    return Finding(
        message=message,
        cause=cause,
        cause_label="goes on from the last sum" if goes_on else "makes what is loaded",
        effect=load if load != cause else None,
        effect_label="loads the sum",
        seen=tuple(
            f"what was loaded after {step:.0f} steps is {own:.3g} × the parameters that the model had before"
            f" + {others:.3g} × those of {count:.0f} other models, and nothing else"
            for step, own, others, count in (event.sums[0], event.sums[-1])
        ),
        fix=fix,
        edits=edits,
        count=len(event.sums),
        subjects=frozenset({("load", *load.location())}),
    )


def _added(trace: Trace, load: Site) -> Site | None:
    """The one line that adds to an item, `kept[k] = kept[k] + …`, in what makes the state: the functions that are
    called for it, else the function that loads it."""
    file = trace.source_file(load.path)
    statement = file.statement(load)
    around = next((node for node in file.around(load) if isinstance(node, FUNCTIONS)), None)
    if statement is None:
        return None
    given = names_in(statement)
    makes = [statement]
    for node in ast.walk(around) if around is not None else ():
        if isinstance(node, ast.Assign) and any(names_in(target) & given for target in node.targets):
            makes.append(node)
    called = {called_name(node) for one in makes for node in ast.walk(one) if isinstance(node, ast.Call)}
    within: list[ast.AST] = [node for _, node in file.of(ast.FunctionDef) if node.name in called] or (
        [around] if around is not None else []
    )
    found = [
        node for one in within for node in ast.walk(one) if isinstance(node, ast.stmt) and _adds_to_item(node)
    ]
    return site_of(load.path, load.function, found[0]) if len(found) == 1 else None


def _adds_to_item(node: ast.stmt) -> bool:
    if isinstance(node, ast.AugAssign):
        return isinstance(node.op, ast.Add) and isinstance(node.target, ast.Subscript)
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.BinOp):
        return False
    target = node.targets[0]
    same = ast.unparse(node.value.left) == ast.unparse(target)
    return isinstance(node.value.op, ast.Add) and isinstance(target, ast.Subscript) and same


def _reset(trace: Trace, cause: Site) -> tuple[str, Edits]:
    """A dict of tensors that an object keeps, made of zeros at the beginning of the method that adds to it."""
    here = Source(trace, cause.path)
    statement = here.file.statement(cause)
    target: ast.expr | None = statement.target if isinstance(statement, ast.AugAssign) else None
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
    if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Attribute):
        return "", ()
    kept = ast.unparse(target.value)
    function = next((node for node in here.file.around(cause) if isinstance(node, FUNCTIONS)), None)
    loops = [node for node in here.file.around(cause) if isinstance(node, ast.For)]
    keys = ast.unparse(target.slice)
    by_key = any(
        isinstance(loop.iter, ast.Call)
        and ast.unparse(loop.iter.func).endswith((".items", ".keys"))
        and keys in ast.unparse(loop.target)
        for loop in loops
    )
    if function is None or not by_key or "torch" not in here.file.imported or function.name == "__init__":
        return "", ()
    stored = [n for n in ast.walk(function) if isinstance(n, ast.Attribute) and ast.unparse(n) == kept]
    if any(isinstance(n.ctx, ast.Store) for n in stored):
        return "", ()  # the method begins it anew, somewhere
    outermost = next((one for one in function.body if any(node is statement for node in ast.walk(one))), None)
    text = f"{kept} = {{k: torch.zeros_like(w) for k, w in {kept}.items()}}"
    return f": `{text}`", here.before(outermost, text)
