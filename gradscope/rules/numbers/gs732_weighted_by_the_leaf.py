"""`backward(x)` is given the very tensor whose gradient it computes, or the loss: each gradient is multiplied by it.

Why: the argument of `backward` is the gradient that comes from above, not what to differentiate by. Of several
results it holds the weight of each. With the leaf itself there, each gradient is too large or too small by its own
value, and has the wrong sign where that is below 0. With the loss itself there, `loss.backward(loss)`, what is followed
is the gradient of half its square: next to nothing once the loss is small.

Fix: `loss.backward()`; of several results `y.sum().backward()`, or `y.backward(torch.ones_like(y))`. What to
differentiate by is `inputs=`.

Silent on: weights of any other kind, `autograd.grad`, leaves of one number.
"""

import ast
from collections.abc import Iterator
from dataclasses import replace

from gradscope.analysis.names import names_of
from gradscope.analysis.reach import paths
from gradscope.analysis.words import code, located, parameter_subjects
from gradscope.events import Backward
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch

    x = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
    for _ in range(3):
        y = (x - 1).pow(2)
        y.backward(x)  # cause: GS732
        with torch.no_grad():
            x -= 0.1 * x.grad  # type: ignore[operator]
        x.grad = None


def good() -> None:
    import torch

    x = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
    for _ in range(3):
        y = (x - 1).pow(2)
        y.backward(torch.ones_like(y))
        with torch.no_grad():
            x -= 0.1 * x.grad  # type: ignore[operator]
        x.grad = None


@rule("GS732", name="weighted-by-the-leaf", severity="warning", over=("GS701",))
def weighted_by_the_leaf(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for event in known.backwards:
        place = event.site.user.location()
        if not event.weights or len(event.roots) != 1 or place in told:
            continue
        if event.roots[0] in event.weights:
            told.add(place)
            yield _by_itself(trace, event)
            continue
        graph = known.graph(event.graph)
        reached = known.reach([(event.graph, event.roots[0])]).leaves
        for value in event.weights:
            shape = graph.values[value].shape
            if (event.graph, value) in reached and shape not in ((), (1,)):
                told.add(place)
                parameter = known.parameter_of((event.graph, value))
                ids = [parameter.id] if parameter is not None else []
                yield replace(_finding(trace, event, value, shape), subjects=parameter_subjects(ids))
                break


def _finding(trace: Trace, event: Backward, value: int, shape: tuple[int, ...]) -> Finding:
    site = event.site.user
    leaf = names_of(trace).name(trace.graph(event.graph), value)
    name = f"`{leaf}`" if leaf else "the tensor"
    instead, edits = _ones(trace, site)
    return Finding(
        message=f"{code(trace, site, '`backward(…)`')} multiplies the gradient of {name} by {name} itself",
        cause=site,
        cause_label=f"begins with {name} as the gradient from above",
        seen=(
            f"what it was given as the weights of {' × '.join(map(str, shape))} results is the leaf that the pass"
            " goes back to",
        ),
        fix=f"give it ones in {located(trace, site)}{f': `{instead}`' if instead else ''}, or differentiate the sum:"
        " `.sum().backward()`",
        edits=edits,
    )


def _by_itself(trace: Trace, event: Backward) -> Finding:
    """`loss.backward(loss)`."""
    site = event.site.user
    root = trace.graph(event.graph).values[event.roots[0]]
    name = names_of(trace).name(trace.graph(event.graph), event.roots[0])
    loss = f"`{name}`" if name else "the loss"
    losses = trace.numbers("loss", event.site.id)
    return Finding(
        message=f"{code(trace, site, '`backward(…)`')} multiplies every gradient by {loss} itself",
        cause=site,
        cause_label=f"begins with {loss} in place of 1",
        seen=(
            f"what it was given as the gradient to begin with is {loss}, on which it was called",
            *(
                (f"so the gradients were {losses[0][1]:.4g} and at last {losses[-1][1]:.4g} times as large",)
                if losses
                else ()
            ),
        ),
        why="the argument of `backward` is the gradient that comes from above: 1 for a loss. With the loss in its place"
        " the pass follows half the square of the loss: its steps become shorter as it falls, and where it is below 0"
        " they go up",
        fix=f"leave the argument out in {located(trace, site)}"
        if not root.shape
        else f"give it ones in {located(trace, site)}, or differentiate the sum: `.sum().backward()`",
        edits=_without_argument(trace, site) if not root.shape else _ones(trace, site)[1],
        count=event.count,
        subjects=parameter_subjects(event.filled),
    )


def _without_argument(trace: Trace, site: Site) -> Edits:
    """`loss.backward()` for `loss.backward(loss)`."""
    here = Source(trace, site.path)
    call = here.file.at(site)
    if not isinstance(call, ast.Call) or len(call.args) + len(call.keywords) != 1:
        return ()
    return here.replace(call, f"{here.file.text(call.func)}()")


def _ones(trace: Trace, site: Site) -> tuple[str, Edits]:
    """`y.backward(torch.ones_like(y))` for `y.backward(x)` at `site`, and the same of `torch.autograd.backward(y, x)`:
    the text, and the edits."""
    here = Source(trace, site.path)
    call = here.file.at(site)
    method = call.func if isinstance(call, ast.Call) else None
    if not isinstance(call, ast.Call) or not isinstance(method, ast.Attribute) or method.attr != "backward":
        return "", ()
    function = here.file.is_imported(method)
    words = {word.arg: word.value for word in call.keywords}
    if function:
        given = call.args[1:2] + [words[n] for n in ("grad_tensors",) if n in words]
        root = _only(call.args[0]) if call.args else words.get("tensors")
    else:
        given = call.args[:1] + [words[n] for n in ("gradient",) if n in words]
        root = method.value
    if len(given) != 1 or "torch" not in here.file.imported or not isinstance(root, ast.Name):
        return "", ()
    ones = f"torch.ones_like({root.id})"
    edits = here.replace(_only(given[0]), ones)
    return (
        f"torch.autograd.backward({root.id}, {ones})" if function else f"{root.id}.backward({ones})"
    ), edits


def _only(node: ast.expr) -> ast.expr:
    """The one element of a list or a tuple."""
    return node.elts[0] if isinstance(node, (ast.List, ast.Tuple)) and len(node.elts) == 1 else node
