"""Which calls of a model are evaluations in the wrong mode, and how surely."""

from __future__ import annotations

from gradscope.rules._beside import (
    bare_layer,
    beside,
    callers,
    evaluates_by_turns,
    inside_step,
    kept,
    trains_at,
)
from gradscope.rules._calls import Call, Calls


def severity_of(known: Calls, call: Call) -> str | None:
    """None where the call is no evaluation, or is right as it is."""
    data = call.event.data
    train, other = data.get("train_layers") or [], data.get("eval_layers") or []
    if not train or not call.event.site.user.kind == "user":
        return None
    if call.used and not (data.get("grad") and evaluates_by_turns(known, call)):
        return None
    if (other or not data.get("training")) and all(known.dropout(layer) for layer in train):
        return None  # Monte Carlo dropout
    if data.get("grad") and inside_step(known, call):
        return None
    mine = {p.id for p in known.parameters(call.event)}
    if bare_layer(known, call):
        if any(not c.event.data.get("training") for c in beside(known, call)):
            return None  # Monte Carlo dropout, in a method of the model
        mine = {p.id for c in beside(known, call) for p in known.parameters(c.event)}
    if not mine & known.trained:
        return None
    if data.get("grad") and any(callers(c) == callers(call) for c in trains_at(known, call)):
        if not evaluates_by_turns(known, call):
            return None  # the training call itself, on a pass that was skipped
    draws = known.called(call.event) in known.generators and not known.feeds_another(call.event)
    if not (known.judged(call.event) if data.get("grad") else known.consumed(call.event)):
        if data.get("grad"):
            return None
        return "warning" if kept(known, call) and not draws else "note"
    return "note" if draws else "error"
