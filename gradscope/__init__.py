"""gradscope shows the autograd graph that a PyTorch program really built, says what is
wrong with it, and proves it.

PYTEST_DONT_REWRITE: under `gradscope run -m pytest` this is imported before pytest looks for its plugin, and pytest
would warn of that.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Container, Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar, overload

if TYPE_CHECKING:
    from gradscope.api import Explanation, Picture, Trace
    from gradscope.hooks._torch import Optimizer, Tensor
    from gradscope.live.saved import Saved
    from gradscope.live.table import Table
    from gradscope.model import Finding, FindingsError, FindingWarning, GradscopeError
    from gradscope.scope import Scope

P = ParamSpec("P")
R = TypeVar("R")

__version__ = "0.1.0"
__all__ = [
    "Explanation", "Finding", "FindingWarning", "FindingsError", "GradscopeError", "Picture", "Trace", "mark", "open",
    "saved", "show", "table", "watch", "why",
]  # fmt: skip

_FROM = {
    "Explanation": "gradscope.api", "Picture": "gradscope.api", "Trace": "gradscope.api",
    "Finding": "gradscope.model", "FindingWarning": "gradscope.model", "FindingsError": "gradscope.model",
    "GradscopeError": "gradscope.model",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """The classes, when they are asked for: `import gradscope` costs next to nothing."""
    if name not in _FROM:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_FROM[name]), name)


@overload
def watch(
    sample: bool = True,
    prove: bool = False,
    *,
    path: str | os.PathLike[str] | None = None,
    select: str | Sequence[str] = (),
    fail_on: str = "never",
    steps: Container[int] | None = None,
    on_finding: Callable[[Finding], object] | Literal["log", "warn"] | None = None,
) -> Scope: ...


@overload
def watch(sample: Callable[P, R]) -> Callable[P, R]: ...


def watch(
    sample: Any = True,
    prove: bool = False,
    *,
    path: str | os.PathLike[str] | None = None,
    select: str | Sequence[str] = (),
    fail_on: str = "never",
    steps: Container[int] | None = None,
    on_finding: Callable[[Finding], object] | Literal["log", "warn"] | None = None,
) -> Any:
    """Watches a block: `with gradscope.watch() as scope:`; or a function, as a decorator (`@gradscope.watch`, or with
    what follows: `@gradscope.watch(steps=range(3))`); or what lies between `scope.start()` and `scope.stop()`.

    sample: once the same graph has repeated, look only now and then (False: always).
    prove: for a corrupted gradient, also compute the right one, always.
    path: where the trace stays, for `gradscope check` and the others; without it it goes with the scope.
    select: prefixes of the codes that are told ("GS2"), all without it.
    fail_on: "error", "warning" or "note": raise FindingsError at the end of the block where something is found that
    is as severe or more, and the block itself did not raise. Looking for it takes as long as a report.
    steps: the steps to look at, counted from 0 (`range(0, 3)`), each ended by the `step()` of an optimizer; of the
    others only passes, steps and what clears gradients are noted. Without it all that `sample` takes.
    on_finding: called with each error and warning once, while the block runs: after the step of an optimizer at which
    it has become certain (the rules run in a process beside the program), the rest at the end. `finding.since` says
    since which step. What it raises is told once at the end (`scope.faults`), and stops nothing. "warn" issues a
    `gradscope.FindingWarning` at the finding's line instead, "log" leaves it to the logger `gradscope.live`, which is
    told in any case.

    Inside another watch, or under `gradscope run`, it is a part of that: the scope shows what was
    recorded of its block, and the watch around it goes on. Raises GradscopeError for a path that can't be or is not
    a trace, an unknown code or severity.
    """
    from gradscope.scope import Scope

    function = sample if callable(sample) else None
    scope = Scope(
        sample=function is not None or sample,
        prove=prove,
        path=path,
        select=select,
        fail_on=fail_on,
        steps=steps,
        on_finding=on_finding,
    )
    return scope if function is None else scope(function)


def mark(text: str, **number: int) -> None:
    """Names the steps from here on as the program does, for what is told of them: `mark("epoch 3", global_step=120)`
    makes "since step 121 (epoch 3, global_step 120)".

    text: any words. number: one, the program's own for the next step; it goes up with each `step()` of an optimizer,
    and is left out from a second call with the same text on where it did not. Without a watch it does nothing.
    """
    if len(number) > 1:
        raise TypeError(f"one number, not {len(number)}")
    session = sys.modules.get("gradscope.session")
    if session is not None and (watching := session.active()) is not None:
        watching.mark(text, *next(iter(number.items()), ("", 0)))


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext gradscope`: cells that begin with `%%gradscope` are watched, and tell what was found."""
    from gradscope import notebook

    notebook.load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """`%unload_ext gradscope`."""
    from gradscope import notebook

    notebook.unload(shell)


def open(path: str | os.PathLike[str]) -> Trace:
    """Opens a saved trace. Needs no torch. Raises GradscopeError if it is none."""
    from gradscope.api import Trace

    return Trace(path)


def _live(name: str) -> Any:
    """The function that answers of live tensors. Raises GradscopeError where there is no torch."""
    from gradscope.imports import need_torch

    need_torch(f"gradscope.{name}()")
    return getattr(import_module("gradscope.live"), name)


def why(tensor: Tensor, loss: Tensor | None = None, *, params: Any = None) -> Explanation:
    """Why a tensor has a gradient, or has none, as it is now: at a prompt, in pdb, in an `except`.

    Inside a watch, and after one whose scope is still held, the answer is of what was recorded, with the lines;
    else of what the tensor itself shows, and it says what cannot be known so.

    tensor: of any shape. loss: the one that its gradient should come from; without it every variable of the
    caller that holds one number with a graph. params: an nn.Module, a dict or (name, tensor) pairs to name
    tensors by; without it the caller's variables are. Raises GradscopeError for what is no tensor.
    """
    answer: Explanation = _live("why")(tensor, loss, params, sys._getframe(1))
    return answer


def show(*tensors: Tensor, params: Any = None) -> Picture:
    """The graph behind tensors as `grad_fn` shows it: nodes with the shapes that they made, and leaves.

    A notebook draws it; `show(loss).render("graph.svg")` writes it (svg, png or dot), `.graph` is a networkx
    graph. params: as for `why`; parameters that are not reached stand beside the graph. Of more than 150 nodes
    the nearest are shown, and the nearest 10,000 are looked at: torch 2.13 ends the process where a deeper chain
    that was looked at is let go of. Inside a watch, and after one whose scope is still held, nodes of its last steps
    have their lines. Without one a walk cannot know them, and never what was cut off: `watch()` does. Raises
    GradscopeError for what is no tensor.
    """
    answer: Picture = _live("show")(tensors, params, sys._getframe(1))
    return answer


def saved(*tensors: Tensor) -> Saved:
    """What the graph behind tensors keeps in memory for its backward pass, in bytes, by line: most first.

    To be asked between the forward and the backward pass, which frees it. The lines are known inside a watch
    (`with gradscope.watch():`); without one a row is a kind of node. Parameters and other leaves are not counted,
    memory that several lines keep counts for the first. Rows are `gradscope.live.saved.SavedLine`, `.bytes` is the
    sum, `.notes` say what could not be counted. Raises GradscopeError for what is no tensor.
    """
    answer: Saved = _live("saved")(tensors)
    return answer


def table(model: Any, optimizer: Optimizer | Iterable[Optimizer] | None = None) -> Table:
    """The parameters of a model as they are now: shape, requires_grad, gradient (None, all zeros, its 2-norm),
    and whether an optimizer holds it.

    model: an nn.Module, a dict or (name, tensor) pairs. optimizer: one or several; without it those among the
    caller's variables. The rows can be iterated over, as `gradscope.live.table.Row`.
    """
    answer: Table = _live("table")(model, optimizer, sys._getframe(1))
    return answer
