"""Gradients were switched off and stayed off, far beyond the code that this was meant for.

Why: `torch.set_grad_enabled(False)` as a statement holds until somebody switches back; a
generator that yields inside `with torch.no_grad():` leaves the mode on in the loop that uses it, and so
does a context that is entered by hand. What is computed after that has no graph.

Fix: use the mode as a block around what it is meant for (`with torch.no_grad():`), and yield outside
of it.

Silent on: blocks and decorators that end; modes that are switched back before training.
"""

from collections.abc import Iterator

from gradscope.analysis.failures import failure_subject, opening
from gradscope.analysis.modes import LeftOff, as_statement, left_off, outlived, region_of
from gradscope.analysis.since import since_segment
from gradscope.analysis.words import code, located, plural
from gradscope.events import ErrorRaised
from gradscope.fixes.blocks import rest_without_grad
from gradscope.model import Event, Finding, Graph, Region, Site, Value
from gradscope.rules import rule
from gradscope.store import Trace


def bad_statement() -> None:
    import torch
    from torch import nn

    def evaluate(model: nn.Module) -> float:
        torch.set_grad_enabled(False)  # cause: GS313
        return float(model(torch.ones(2, 3)).mean())

    try:
        model = nn.Linear(3, 1)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            loss = model(torch.randn(4, 3)).pow(2).mean()
            loss.backward()  # effect: GS313
            opt.step()
            evaluate(model)
    finally:
        torch.set_grad_enabled(True)


def good_switched_back() -> None:
    import torch
    from torch import nn

    def evaluate(model: nn.Module) -> float:
        torch.set_grad_enabled(False)
        result = float(model(torch.ones(2, 3)).mean())
        torch.set_grad_enabled(True)
        return result

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(4, 3)).pow(2).mean().backward()
        opt.step()
        evaluate(model)


@rule("GS313", name="grad-mode-leaked", severity="error", over=("GS303", "GS401"))
def grad_mode_leaked(trace: Trace) -> Iterator[Finding]:
    stopped = list(_stopped(trace))
    yield from stopped or _silently(trace)


def _stopped(trace: Trace) -> Iterator[Finding]:
    """Where torch stopped at a loss that was computed with gradients off."""
    for event in trace.of(ErrorRaised):
        if "does not require grad" not in event.text or event.graph < 0:
            continue
        graph = trace.graph(event.graph)
        for root in event.roots or event.inputs:
            value = graph.values[root] if root < len(graph.values) else None
            region = region_of(trace, graph, value) if value is not None else None
            if value is not None and region is not None and _leaked(trace, region, _made(graph, value)):
                yield _finding(trace, event, region, _made(graph, value))
                break


def _silently(trace: Trace) -> Iterator[Finding]:
    """A training forward while gradients are still off, where nothing fails since the program leaves out
    a backward that it can't do."""
    for left in left_off(trace):
        yield _training_without(trace, left)


def _training_without(trace: Trace, left: LeftOff) -> Finding:
    region, event = left.region, left.call
    opened, call = region.site.user, event.site.user
    of_library = region.site.kind != "user"
    shown = code(trace, opened)
    steps = (
        (f"{plural(left.steps, 'step')} since then found no gradient; those before did",)
        if left.steps
        else ()
    )
    return Finding(
        message=f"gradients are still off in the training: {_what(region, shown)} was never undone",
        cause=opened,
        cause_label=f"gradients go off {'in ' if of_library else ''}here, and stay off",
        effect=call,
        effect_label="called in training mode, and builds no graph"
        if event.training
        else "built graphs in training, and builds none any more",
        seen=(
            f"{code(trace, call, 'this call')} built a graph before, and none after {located(trace, opened)}",
            *steps,
        ),
        why="as a statement it holds until it is switched back, also after its function has returned",
        fix=_fix_of_library(trace, opened)
        if of_library
        else f"put what {located(trace, opened)} is meant for into `with torch.no_grad():`",
        count=event.count,
        edits=() if of_library else rest_without_grad(trace, opened, in_place_of_it=True),
        subjects=frozenset({("region", region.id)}),
        since=since_segment(trace, event.segment),
    )


def _made(graph: Graph, value: Value) -> Site:
    assert value.op is not None
    return graph.ops[value.op].site


def _leaked(trace: Trace, region: Region, made: Site) -> bool:
    """Whether the value was computed outside of the block (or function) that the mode was opened for."""
    opened = region.site.user
    if _of_a_context_manager(region.site):
        return False  # its line in the user's code is a call of what opens and closes it
    if region.site.kind != "user":
        return outlived(trace, region, made)
    if as_statement(trace, region):
        return True
    if _decorator(trace, opened):
        return False
    inside = [
        frame
        for frame in made.stack
        if frame.path == opened.path
        and frame.function == opened.function
        and opened.line <= frame.line <= (region.end_line or frame.line)
    ]
    return not inside


def _of_a_context_manager(site: Site) -> bool:
    """Whether the mode was opened by a function that a `with` statement has entered, and will leave."""
    return any(
        place.path.endswith("contextlib.py") and place.function.endswith("__enter__") for place in site.stack
    )


def _decorator(trace: Trace, opened: Site) -> bool:
    lines = trace.source_file(opened.path).lines
    return 0 < opened.line <= len(lines) and lines[opened.line - 1].lstrip().startswith(
        ("@", "def ", "async def ")
    )


def _finding(trace: Trace, event: Event, region: Region, made: Site) -> Finding:
    opened, effect = region.site.user, event.site.user
    of_library = region.site.kind != "user"
    by_hand = of_library or as_statement(trace, region)
    shown = _what(region, code(trace, opened)) if by_hand else f"`{region.kind}` of line {opened.line}"
    function = opened.function.rpartition(".")[2]
    where = f" in `{function}`" if not function.startswith("<") and not of_library else ""
    why = (
        "as a statement it holds until it is switched back, also after its function has returned"
        if by_hand
        else "the generator stopped at its `yield` inside the block, so the mode went on in the code that uses it"
    )
    return Finding(
        message=f"gradients are still off here: {shown}{where} was never undone",
        cause=opening(trace, opened),
        cause_label=f"gradients go off {'in ' if of_library else ''}here, and stay off",
        effect=effect,
        effect_label="torch stops: there is no graph to go back through",
        related=((made.user, "computed with gradients off"),)
        if made.user.location() != effect.location()
        else (),
        seen=(
            f"what {code(trace, effect, 'the backward')} starts from was computed after it, and has no graph",
        ),
        why=why,
        fix=_fix_of_library(trace, opened)
        if of_library
        else f"put what {located(trace, opened)} is meant for{where} into `with torch.no_grad():`"
        if by_hand
        else f"compute{where} inside the block and `yield` outside of it",
        count=event.count,
        edits=rest_without_grad(trace, opened, in_place_of_it=True) if by_hand and not of_library else (),
        subjects=frozenset({("region", region.id), failure_subject(event)}),
    )


def _what(region: Region, shown: str) -> str:
    """The user's own statement; of a library's, its function that the user's line has called."""
    if region.site.kind == "user":
        return shown
    return f"what `{region.site.function}` does in {shown}"


def _fix_of_library(trace: Trace, opened: Site) -> str:
    return f"put {located(trace, opened)} into `with torch.enable_grad():`, which brings back what was on before it"
