"""Gradients are cleared between `backward()` and `step()`: the step sees nothing.

Why: `zero_grad()` throws away what `backward()` has just computed, so the step that
follows has no gradient to use and the parameters do not learn.

Fix: move `zero_grad()` before `backward()`, or after `step()`.

Silent on: gradients dropped at the end of training, gradients of another network (a GAN),
a rare batch that is skipped by clearing its gradients, a run without any backward pass.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.dropped import Missed, missed
from gradscope.analysis.since import since_stretch
from gradscope.analysis.words import code, parameter_names, parameter_subjects, plural, where
from gradscope.events import Backward, ZeroGrad
from gradscope.fixes.source import Source, calls
from gradscope.model import Edit, Finding, Site
from gradscope.rules import rule
from gradscope.source import called_name
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = model(torch.randn(8, 3)).pow(2).mean()
        loss.backward()
        opt.zero_grad()  # cause: GS202
        opt.step()  # effect: GS202


def good_cleared_after_step() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        opt.zero_grad()


@rule(
    "GS202",
    name="gradient-zeroed-before-step",
    severity="error",
    over=("GS204", "GS605"),
    needs=Backward,  # gradients set by hand and cleared again, as a test of an optimizer does
)
def gradient_zeroed_before_step(trace: Trace) -> Iterator[Finding]:
    for found in missed(trace):
        mostly = found.of_all * 2 >= found.steps  # a skipped bad batch is rarer
        if mostly or 2 <= found.count >= found.of_line / 2:
            yield _finding(trace, found)


def _finding(trace: Trace, found: Missed) -> Finding:
    cause, effect = found.clear, found.step
    clear, step = _words(trace, cause), code(trace, effect, "the step")
    call = _called_beside(trace, cause, effect)
    what = f"{clear} ({where(cause)})"
    if call is not None:
        what = f"{code(trace, call, 'the call')} ({where(call)}), which comes to {what},"
    return Finding(
        message=f"gradients are cleared between backward and step: {step} sees none of them",
        cause=cause,
        cause_label="throws away the gradients that backward has just computed",
        effect=effect,
        effect_label="has no gradient to use",
        seen=(
            f"{found.count} of {plural(found.steps, 'step')} had no gradient: {clear} had just cleared it",
            *_dropped(trace, cause),
        ),
        fix=f"move {what} before the backward, or after {step} ({where(effect)})",
        count=found.count,
        edits=_moved(trace, call or cause),
        subjects=parameter_subjects(found.parameters) | {("optimizer", found.optimizer)},
        since=since_stretch(trace, found.first),
    )


def _words(trace: Trace, clear: Site) -> str:
    """`p.grad = None` where the gradient is set by hand, else the call."""
    statement = trace.source_file(clear.path).statement(clear)
    if isinstance(statement, ast.Assign):
        return f"`{ast.unparse(statement)}`"
    return code(trace, clear, "`zero_grad()`")


def _called_beside(trace: Trace, clear: Site, step: Site) -> Site | None:
    """The call of a function that does nothing but clear, where that is not the one that steps."""
    if (clear.path, clear.function) == (step.path, step.function):
        return None
    file = trace.source_file(clear.path)
    statement = file.statement(clear)
    scope = file.scope_of(statement) if statement is not None else None
    if scope is None or not all(_clears(node) for node in ast.walk(scope)):
        return None
    made = next((event.site for event in trace.of(ZeroGrad) if event.site.user == clear), None)
    return next(made.frames_in(step), None) if made is not None else None


def _clears(node: ast.AST) -> bool:
    """Whether a statement clears a gradient, or stands around one that does."""
    if isinstance(node, ast.Assign):
        return all(isinstance(target, ast.Attribute) and target.attr == "grad" for target in node.targets)
    if isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant):
        return isinstance(node.value, ast.Call) and called_name(node.value) in {"zero_", "zero_grad"}
    plain = (ast.FunctionDef, ast.For, ast.If, ast.With, ast.Expr, ast.Pass)
    return isinstance(node, plain) or not isinstance(node, ast.stmt)


def _dropped(trace: Trace, clear: Site) -> Iterator[str]:
    """What was thrown away, where it was measured."""
    for event in trace.of(ZeroGrad):
        if event.site.user == clear and event.norm and event.dropped:
            name = parameter_names(trace, event.dropped[:1])
            yield f"norm of {name}'s gradient as it was thrown away: {event.norm:.4g}"
            return


def _moved(trace: Trace, clear: Site) -> tuple[Edit, ...]:
    """The clearing statement, moved before the backward where both stand in one block."""
    here = Source(trace, clear.path)
    statement = here.file.statement(clear)
    backward = here.earlier(statement, calls("backward"))
    if statement is None or backward is None:
        return ()
    before, gone = here.before(backward, here.file.text(statement)), here.remove(statement)
    return before + gone if before and gone else ()
