"""Whether a model is asked the same thing several times in a row, as sampling does."""

from __future__ import annotations

import ast

from gradscope.model import Site
from gradscope.rules._calls import Call, Calls
from gradscope.rules._common import timeline
from gradscope.store import Trace

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
KEEPING = {
    "to", "cuda", "cpu", "float", "double", "half", "long", "unsqueeze", "squeeze", "view", "reshape", "expand",
    "repeat", "clone", "detach", "flatten", "permute", "transpose", "contiguous", "zeros", "ones", "full", "tensor",
    "zeros_like", "ones_like", "linspace", "arange", "from_numpy", "as_tensor", "stack", "cat",
}  # fmt: skip


def asked_again(known: Calls, call: Call) -> bool:
    """Whether a loop asks the model several times in a row, without a change of the input."""
    sites = {c.event.site.id for c in known.all if c.entry.location() == call.entry.location() and not c.used}
    return _in_a_row(known.trace, sites) and _in_steady_loop(known.trace, call.entry)


def _in_a_row(trace: Trace, sites: set[int]) -> bool:
    """Whether two calls from these places have no backward pass between them."""
    waiting = False
    for repeat, events in timeline(trace):
        trains = any(event.kind == "backward" for event in events)
        for event in events:
            if event.kind == "backward":
                waiting = False
            elif event.kind == "call" and event.site.id in sites:
                if waiting or (repeat > 1 and not trains):
                    return True
                waiting = True
    return False


def _in_steady_loop(trace: Trace, entry: Site) -> bool:
    """Whether the innermost loop around a call gives it the same arguments each time."""
    for frame in reversed(list(entry.stack)):
        if frame.kind != "user":
            continue
        around = list(trace.source_file(frame.path).around(frame))
        loop = next((n for n in around if isinstance(n, (ast.For, ast.While, *COMPREHENSIONS))), None)
        if loop is not None:
            asked = list(ast.walk(around[0]))
            names = {n.id for n in asked if isinstance(n, ast.Name)}
            changed = {
                n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            }
            given = [n for n in asked if isinstance(n, ast.Call) and n is not around[0]]
            return not names & changed and all(_keeps(n.func) for n in given)
    return False


def _keeps(function: ast.expr) -> bool:
    """Whether a call in the arguments gives the same for the same, as far as its name says."""
    return isinstance(function, ast.Attribute) and function.attr in KEEPING
