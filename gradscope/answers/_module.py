"""What a module gave, and why what it keeps beside its parameters has no gradient."""

from __future__ import annotations

from gradscope.analysis.names import buffer_name, shown_path
from gradscope.answers._answer import Answer
from gradscope.answers._value import explain_value
from gradscope.events import ModuleCall
from gradscope.graph import Flow
from gradscope.store import Trace


def explain_module(flow: Flow, name: str) -> Answer | None:
    """The answer for the last result of the module of this name that has no parameters of its own: dropout, an
    activation. None where none is called so, or it gave nothing."""
    trace = flow.trace
    called = {number for number, module in trace.modules.items() if name in shown_path(trace, module)}
    for index in range(len(flow.ops) - 1, -1, -1):
        if flow.ops[index].module in called and flow.outputs[index]:
            return explain_value(flow, flow.outputs[index][-1], f"`{name}`", at=True)
    return None


def explain_buffer(trace: Trace, name: str) -> Answer | None:
    """The answer for a running statistic that the report tells by this name; None where none is called so."""
    for call in trace.of(ModuleCall):
        for row in call.stats:
            if row["module"] in trace.modules and name == buffer_name(trace, row["module"], row["name"]):
                cls = trace.modules[row["module"]].cls
                answer = Answer(
                    name,
                    f"`{name}` is a buffer, so it has no gradient: its `{cls}` writes it itself in training mode",
                    [f"in one call it went from {row['before']} to {row['after']}"],
                )
                answer.step(call.site, "the call that moved it", main=True)
                return answer
    return None
