"""For people's own tests: that gradients arrive, that nothing is found, that two graphs are alike."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ContextDecorator, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

import gradscope

if TYPE_CHECKING:
    from gradscope.hooks._torch import Tensor
    from gradscope.scope import Scope

F = TypeVar("F", bound=Callable[..., Any])
SHOWN = 12  # names in a message

__all__ = ["assert_gradients_reach", "assert_no_findings", "assert_same_graph"]


def assert_gradients_reach(loss: Tensor, model: Any) -> None:
    """That a backward pass from `loss` gives a gradient to every parameter that requires one.

    loss: a tensor with a graph, of any shape; nothing is computed. model: an nn.Module, a dict or (name, tensor)
    pairs. Raises AssertionError with the names of those that it would not reach, or where none requires a gradient;
    GradscopeError where the graph has too many nodes to say so (`gradscope.live.walk.MOST`), or `loss` is no tensor.
    """
    __tracebackhide__ = True
    from gradscope.analysis.words import listed
    from gradscope.hooks._torch import Tensor
    from gradscope.live.walk import Names, walk

    if not isinstance(loss, Tensor):
        raise gradscope.GradscopeError(
            f"the loss is asked for first, as a tensor, not a {type(loss).__name__}: "
            "`assert_gradients_reach(loss, model)`"
        )
    found = walk([loss])
    reached = {id(leaf) for leaf in found.leaves()}
    known = Names(model).parameters
    wanted = {name: p for name, p in known.items() if p.requires_grad}
    if known and not wanted:
        raise AssertionError(f"none of {len(known)} parameters requires a gradient: all are frozen")
    if wanted and not loss.requires_grad:
        raise AssertionError(
            f"the loss has no graph (`requires_grad` is False): no gradient reaches any of {len(wanted)} parameters"
        )
    missing = [name for name, p in wanted.items() if id(p) not in reached]
    if missing and not found.whole:
        raise gradscope.GradscopeError(
            f"{listed(missing, SHOWN)}: not among the nearest {len(found.nodes):,} nodes of the graph, and no more are "
            "looked at"
        )
    if missing:
        raise AssertionError(
            f"no gradient reaches {len(missing)} of {len(wanted)} parameters: {listed(missing, SHOWN)}"
        )


def assert_no_findings(
    scope: Scope | None = None, *, fail_on: str = "warning", select: str | Sequence[str] = ()
) -> AbstractContextManager[Scope]:
    """Watches its block, and raises AssertionError with the report where something is found; with a `scope`, whose
    watch has ended, it does so at once. A call with neither is told as a RuntimeWarning.

    fail_on: "error", "warning" or "note", and what is more severe. select: prefixes of codes ("GS2"), all without
    it. Gives the scope. An exception of the block comes out as it is. Raises GradscopeError where `scope` is none, or
    has not ended.
    """
    __tracebackhide__ = True
    watched = gradscope.watch(
        select=select, fail_on=fail_on
    )  # refuses wrong arguments here, not in the block
    if scope is None:
        return _Watching(watched)
    if not isinstance(scope, type(watched)):
        raise gradscope.GradscopeError(
            f"assert_no_findings takes what `gradscope.watch()` gives, not a {type(scope).__name__}; the others by "
            'name: `assert_no_findings(fail_on="error")`'
        )
    from gradscope.check import fails
    from gradscope.render.text import render

    report = scope.selecting(select) if select else None
    if fails(scope.findings if report is None else report.findings, fail_on):
        raise AssertionError(scope.report(hints=False) if report is None else render(report, hints=False))
    return nullcontext(scope)


class _Watching(ContextDecorator, AbstractContextManager["Scope"]):
    """The block of `assert_no_findings()`. A call of it without `with` checks nothing, which is told."""

    def __init__(self, watched: Scope):
        self.watched = watched
        self.used = False

    def __call__(self, func: F) -> F:
        self.used = True  # as a decorator
        return super().__call__(func)

    def __enter__(self) -> Scope:
        self.used = True
        return self.watched.begin(sys._getframe(1))

    def __exit__(self, *raised: Any) -> None:
        __tracebackhide__ = True
        try:
            self.watched.__exit__(*raised)
        except gradscope.FindingsError:
            raise AssertionError(self.watched.report(hints=False)) from None

    def __del__(self) -> None:
        if not self.used:
            said = (
                "`assert_no_findings()` has checked nothing: write `with assert_no_findings():` and a block"
            )
            warnings.warn(said, RuntimeWarning, stacklevel=2)


def assert_same_graph(one: Tensor, other: Tensor) -> None:
    """That the graphs behind two tensors are alike: the same grad_fn nodes in the same places, with the same
    shapes. Values are not compared. Raises AssertionError with the first place in which they differ, GradscopeError
    for what is no tensor."""
    __tracebackhide__ = True
    from gradscope.hooks._torch import Tensor
    from gradscope.live.walk import walk

    for thing in (one, other):
        if not isinstance(thing, Tensor):
            raise gradscope.GradscopeError(
                f"the graphs of two tensors are compared, not a {type(thing).__name__}"
            )

    nodes, others = walk([one]).nodes, walk([other]).nodes
    for number, (mine, theirs) in enumerate(zip(nodes, others, strict=False)):
        for what in ("name", "shape", "dtype"):
            if getattr(mine, what) != getattr(theirs, what):
                said = f"{mine.name} {mine.shape} and {theirs.name} {theirs.shape}"
                raise AssertionError(f"the graphs differ at node {number} from the end, in `{what}`: {said}")
        if mine.below != theirs.below:
            ways = [", ".join(graph[n].name for n in node.below) or "nothing" for node, graph in (
                (mine, nodes), (theirs, others)
            )]  # fmt: skip
            said = " and to ".join(ways) if ways[0] != ways[1] else f"{ways[0]}, but not to the same ones"
            raise AssertionError(
                f"the graphs differ at node {number} from the end: {mine.name} leads to {said}"
            )
    if len(nodes) != len(others):
        raise AssertionError(f"the graphs differ: {len(nodes)} and {len(others)} nodes")
