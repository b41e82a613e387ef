"""Parameters are switched on again only when the pass is over: each pass but the first finds them frozen.

Why: whether a pass gives a parameter a gradient is settled in the forward, where the graph is made. A line that
sets `requires_grad` behind it, for the step alone, comes too late: the optimizer finds no gradient.

Fix: switch them on before the forward; or leave both lines out, and give each optimizer its own parameters.

Measured: passes of one line, the first of which filled the gradients, and none of the later ones; steps of an
optimizer that holds these parameters, between the line that switches on and the one that switches off, without a new
gradient of them. Silent on: parameters that another pass trains, and on a part that is frozen for good.
"""

from collections.abc import Iterator

from gradscope.analysis.thaws import Late, too_late
from gradscope.analysis.words import located, optimizer_name, parameter_names, parameter_subjects, where
from gradscope.events import FrozenMoved
from gradscope.fixes.freezing import emptied, set_before
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Linear(3, 3), nn.Linear(3, 1)
    opt_body = torch.optim.Adam(body.parameters(), lr=0.001)
    opt_all = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=0.01)
    for _ in range(6):
        loss = head(body(torch.randn(8, 3)).tanh()).pow(2).mean()
        opt_all.zero_grad()
        loss.backward()
        for p in body.parameters():
            p.requires_grad = True  # cause: GS265
        opt_body.step()
        for p in body.parameters():
            p.requires_grad = False  # effect: GS265
        opt_all.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Linear(3, 3), nn.Linear(3, 1)
    opt_body = torch.optim.Adam(body.parameters(), lr=0.001)
    opt_all = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=0.01)
    for _ in range(6):
        for p in body.parameters():
            p.requires_grad = True
        loss = head(body(torch.randn(8, 3)).tanh()).pow(2).mean()
        opt_all.zero_grad()
        loss.backward()
        opt_body.step()
        for p in body.parameters():
            p.requires_grad = False
            p.grad = None
        opt_all.step()


@rule("GS265", name="thawed-behind-the-pass", severity="warning", over=("GS204", "GS208", "GS218"))
def thawed_behind_the_pass(trace: Trace) -> Iterator[Finding]:
    for late in too_late(trace):
        yield _finding(trace, late)


def _finding(trace: Trace, late: Late) -> Finding:
    names, off = parameter_names(trace, late.leaves), late.off_at
    one = len(late.leaves) == 1
    passes = max(trace.parameter(id).passes for id in late.leaves)
    holder = optimizer_name(trace, late.step.optimizer)
    on = located(trace, late.on)
    other = next((e.optimizer for e in trace.of(FrozenMoved) if set(e.parameters) & set(late.leaves)), None)
    text, emptying = emptied(trace, late.off, off) if other is not None else ("", ())
    edits = set_before(trace, late.on, late.forward)
    before = located(trace, late.forward, "the forward") if late.forward is not None else "the forward"
    return Finding(
        message=f"{names} {'is' if one else 'are'} switched on only behind the pass, and off again before the next:"
        " each pass but the first finds"
        f" {'it' if one else 'them'} frozen, and nothing trains {'it' if one else 'them'} any more",
        cause=late.on,
        cause_label="switches on when the pass is over",
        effect=off,
        effect_label="switches off, and the next forward comes before they are on again",
        related=((late.step.site.user, f"{holder} finds no new gradient of {'it' if one else 'them'}"),),
        seen=(
            f"{passes} of {trace.summary['passes']} backward passes gave {names} a gradient, the first alone",
        ),
        fix=f"move {on} before {before}"
        + (f", and set `.grad` to None where they are frozen, by `{text}` ({where(off)});" if text else ",")
        + f" or leave {on} and {located(trace, off)} out"
        + ("" if other is None else f", and give {optimizer_name(trace, other)} only the other parameters"),
        edits=(*edits, *emptying) if edits else (),
        subjects=parameter_subjects(late.leaves) | {("optimizer", late.step.optimizer)},
    )
