"""A hook was put on a layer's backward, and no backward pass comes there.

Why: a pass goes only where a gradient is required. Where a layer's input requires none and its
parameters are frozen, its result requires none either: the pass ends behind it, and the hook is never
called, without a word.

Fix: let the input require a gradient (`x.requires_grad_()`) before the model is called.

Silent on: hooks of which one that was put at the same line has run, layers that are called after the
last pass only.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.words import dotted, located, plural
from gradscope.events import Crashed, ModuleCall, UnheardHook
from gradscope.fixes.statements import line_before
from gradscope.model import Edit, Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    seen = []
    body, head = nn.Linear(4, 4), nn.Linear(4, 1)
    model = nn.Sequential(body, nn.Tanh(), head)
    body.requires_grad_(False)
    body.register_full_backward_hook(lambda *gradients: seen.append(gradients[2]))  # effect: GS318
    x = torch.randn(8, 4)
    model(x).sum().backward()  # cause: GS318


def good() -> None:
    import torch
    from torch import nn

    seen = []
    body, head = nn.Linear(4, 4), nn.Linear(4, 1)
    model = nn.Sequential(body, nn.Tanh(), head)
    body.requires_grad_(False)
    body.register_full_backward_hook(lambda *gradients: seen.append(gradients[2]))
    x = torch.randn(8, 4).requires_grad_()
    model(x).sum().backward()
    print(len(seen), x.grad)


@rule("GS318", name="hook-never-runs", severity="warning", needs=UnheardHook)
def hook_never_runs(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(UnheardHook):
        called = trace.site(event.called)
        module = trace.modules.get(event.module)
        if called is None or module is None:
            continue
        here = called.entry
        root = trace.modules[module.root]
        layer = f"`{dotted(root.name, module.path) or module.path or module.cls}`"
        name = "a lambda" if event.name == "<lambda>" else f"`{event.name}`"
        given = _given(trace, here)
        yield Finding(
            message=f"the hook on the backward of {layer} ({name}) never ran: the layer's result requires no"
            " gradient",
            cause=here,
            cause_label=f"{layer} is called here, with nothing that requires a gradient"
            if event.grad
            else f"{layer} is called here, with gradients off",
            effect=event.site.user,
            effect_label="the hook waits for a gradient that never comes",
            related=tuple((e.site.user, f"{e.type} ended the program here") for e in trace.of(Crashed)[-1:]),
            seen=(
                f"{plural(event.passes, 'backward pass')} came after that call; the hook was called in none",
                _why(trace, event),
            ),
            fix=_fix(trace, event, here, given, layer),
            edits=_edits(trace, event, here, given),
            subjects=frozenset({("hook", event.site.user.location())}),
        )


def _why(trace: Trace, event: UnheardHook) -> str:
    if not event.grad:
        return "gradients were off in that call"
    own = [p for p in trace.parameters if p.module == event.module]
    frozen = f", nor did {plural(len(own), 'parameter')} of its own" if own else ""
    return f"the layer's input required no gradient{frozen}"


def _given(trace: Trace, here: Site) -> str:
    """What the model is called with, where that is one variable of floating-point numbers."""
    node = trace.source_file(here.path).at(here)
    if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Name):
        return ""
    for event in trace.of(ModuleCall):
        if event.site.entry.location() == here.location() and event.graph >= 0 and event.inputs:
            dtype = trace.graph(event.graph).values[event.inputs[0]].dtype
            return node.args[0].id if dtype.startswith(("float", "bfloat")) else ""
    return ""


def _fix(trace: Trace, event: UnheardHook, here: Site, given: str, layer: str) -> str:
    call = located(trace, here, "the call")
    if not event.grad:
        return f"take {call} out of the block in which gradients are off"
    if given:
        return (
            f"call `{given}.requires_grad_()` before {call}: gradients then go back through {layer},"
            " whatever of it is frozen"
        )
    return f"let the parameters of {layer}, or of a layer before it, require a gradient before {call}"


def _edits(trace: Trace, event: UnheardHook, here: Site, given: str) -> tuple[Edit, ...]:
    return line_before(trace, here, f"{given}.requires_grad_()") if given and event.grad else ()
