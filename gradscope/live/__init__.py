"""At the prompt, on live tensors: what can be said of them without having watched how they were made."""

from __future__ import annotations

from collections.abc import Iterable
from types import FrameType
from typing import Any

from gradscope.analysis.names import full_name, op_name, place
from gradscope.analysis.words import listed
from gradscope.answers import cuts_between, of_parameter
from gradscope.answers import why as ask
from gradscope.api import Explanation, Picture, Trace
from gradscope.hooks._torch import Optimizer, Tensor
from gradscope.live.picture import view_of
from gradscope.live.reasons import SHOWN, gradient, reason
from gradscope.live.saved import Saved, saved_by_line
from gradscope.live.table import Table, table_of
from gradscope.live.walk import Names, variables_of, walk
from gradscope.model import GradscopeError, Op
from gradscope.session import recorded


def show(tensors: tuple[Tensor, ...], params: Any, frame: FrameType) -> Picture:
    """See `gradscope.show`."""
    if not tensors:
        raise GradscopeError("of which tensor? say `gradscope.show(loss)`")
    asked = [_tensor(tensor) for tensor in tensors]
    return Picture(view_of(walk(asked), asked, Names(params, frame)))


def why(tensor: Tensor, loss: Tensor | None, params: Any, frame: FrameType) -> Explanation:
    """See `gradscope.why`."""
    names = Names(params, frame)
    if loss is None:
        return _watched(_tensor(tensor), names(tensor)) or Explanation(reason(tensor, None, names))
    answer = reason(_tensor(tensor), loss, names)
    cuts = _cuts(tensor, loss, names(loss)) if "does not depend on it" in answer.seen[-1] else None
    if cuts == []:
        answer.fix = f"nothing that was recorded leads from it to `{names(loss)}`: use it there to train it"
    elif cuts:
        answer.seen.append(
            f"lost at {listed([f'`{op_name(op.name)}` ({place(op.site.user)})' for op in cuts], SHOWN)}"
        )
        answer.fix = "where it should get one: leave that out, or take the value before it"
    return Explanation(answer)


def _cuts(tensor: Tensor, loss: Tensor, name: str | None) -> list[Op] | None:
    """Where a watch has seen a leaf's gradient get lost on the way from a loss, which a variable holds; None where it
    has not seen both."""
    found = recorded(tensor)
    if found is None or found[1] is None or name is None or recorded(loss) is None:
        return None
    trace = Trace(found[0])
    try:
        return cuts_between(trace, name, full_name(trace, trace.parameter(found[1])))
    except GradscopeError:
        return None


def _watched(tensor: Tensor, name: str | None) -> Explanation | None:
    """What the watch that saw a tensor says of it; None where there is none, or it cannot tell which it is."""
    found = recorded(tensor)
    if found is None:
        return None
    path, number = found
    trace = Trace(path)
    if number is not None:
        answer = of_parameter(trace, number)
        if answer is None:
            return None
        answer.seen.append(f"now `.grad` is {gradient(tensor)}")
        return Explanation(answer, trace)
    try:
        return Explanation(ask(trace, name), trace) if name is not None else None
    except GradscopeError:
        return None


def table(model: Any, optimizer: Optimizer | Iterable[Optimizer] | None, frame: FrameType) -> Table:
    """See `gradscope.table`."""
    if optimizer is None:
        optimizers = [thing for _, thing in variables_of(frame) if isinstance(thing, Optimizer)]
    else:
        optimizers = [optimizer] if isinstance(optimizer, Optimizer) else list(optimizer)
    return table_of(Names(model), optimizers)


def saved(tensors: tuple[Tensor, ...]) -> Saved:
    """See `gradscope.saved`."""
    if not tensors:
        raise GradscopeError("of which tensor? say `gradscope.saved(loss)`")
    return saved_by_line([_tensor(tensor) for tensor in tensors])


def _tensor(thing: Any) -> Tensor:
    if not isinstance(thing, Tensor):
        raise GradscopeError(f"a tensor is asked about, not a {type(thing).__name__}")
    return thing
