"""A function is to switch `requires_grad` on again, and sets it only where it is on: what is frozen stays frozen.

Why: `if p.requires_grad: p.requires_grad = trainable` skips each parameter that an earlier call has switched off, and
so does a loop over `filter(lambda p: p.requires_grad, …)`. It can only freeze; called with `True` it changes nothing,
and an optimizer that is made of what requires a gradient leaves these parameters out.

Fix: set it without asking: `p.requires_grad = trainable`, for all of them.

Measured: the line has switched these parameters off, no line has ever switched one on, and the later call of the same
function, with `True`, has been passed; a note where that is the last statement of a branch, so that the run may not
have come to it. Silent on: parameters that another line switches on, calls that only freeze.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.names import place
from gradscope.analysis.text import site_of
from gradscope.analysis.thaws import Thaw, without_effect
from gradscope.analysis.words import parameter_names, parameter_subjects, plural, quoted
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.source import called_name
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 8)

        def set_trainable(self, trainable: bool) -> None:
            for p in self.parameters():
                if p.requires_grad:  # cause: GS261
                    p.requires_grad = trainable

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.tanh(self.layer(x))

    torch.manual_seed(0)
    encoder, head = Encoder(), nn.Linear(8, 1)

    def train(rate: float) -> None:
        trained = [p for p in [*encoder.parameters(), *head.parameters()] if p.requires_grad]
        opt = torch.optim.SGD(trained, lr=rate)
        for _ in range(3):
            opt.zero_grad()
            head(encoder(torch.randn(8, 4))).pow(2).mean().backward()
            opt.step()

    encoder.set_trainable(False)
    train(0.1)
    encoder.set_trainable(True)  # effect: GS261
    train(0.01)


def good() -> None:
    import torch
    from torch import nn

    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 8)

        def set_trainable(self, trainable: bool) -> None:
            for p in self.parameters():
                p.requires_grad = trainable

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.tanh(self.layer(x))

    torch.manual_seed(0)
    encoder, head = Encoder(), nn.Linear(8, 1)

    def train(rate: float) -> None:
        trained = [p for p in [*encoder.parameters(), *head.parameters()] if p.requires_grad]
        opt = torch.optim.SGD(trained, lr=rate)
        for _ in range(3):
            opt.zero_grad()
            head(encoder(torch.randn(8, 4))).pow(2).mean().backward()
            opt.step()

    encoder.set_trainable(False)
    train(0.1)
    encoder.set_trainable(True)
    train(0.01)


@rule("GS261", name="thaw-asks-first", severity="warning", over=("GS267",))
def thaw_asks_first(trace: Trace) -> Iterator[Finding]:
    found: dict[tuple[object, ...], list[Thaw]] = {}
    for thaw in without_effect(trace):
        found.setdefault(thaw.off.span(), []).append(thaw)
    for same in found.values():
        yield _finding(trace, same[0], same[1:])


def _finding(trace: Trace, thaw: Thaw, others: list[Thaw]) -> Finding:
    ids = sorted(set(thaw.leaves).union(*(other.leaves for other in others)))
    here = Source(trace, thaw.off.path)
    setting = thaw.setting
    path, function, asks = thaw.asks
    test = quoted(trace.source_file(path).text(asks))
    call = site_of(thaw.frozen_by.path, thaw.frozen_by.function, thaw.call)
    asked = site_of(path, function, asks)
    text = quoted(trace.source_file(call.path).text(thaw.call))
    setting_text = quoted(here.file.text(setting))
    return Finding(
        message=f"{text} switches nothing on: {setting_text} is only reached where `requires_grad` is on already, and"
        f" {parameter_names(trace, ids)} stay frozen",
        cause=asked,
        cause_label="skips what is frozen",
        effect=call,
        effect_label="is to switch it on, and changes nothing",
        related=(
            (thaw.frozen_by, f"has switched {plural(len(thaw.leaves), 'parameter')} off"),
            *(
                (site_of(other.frozen_by.path, other.frozen_by.function, other.call), "nor does this")
                for other in others
            ),
        ),
        seen=(
            f"{plural(len(ids), 'parameter')} switched off at {place(thaw.off)}, called from {place(thaw.frozen_by)};"
            f" none of them was switched on at {place(call)}, nor anywhere else",
        ),
        fix=f"set it without asking: take the condition {test} ({place(asked)}) away, and keep {setting_text}"
        if thaw.guard is not None
        else f"let the loop around {setting_text} ({place(thaw.off)}) go over all parameters, and not only over those"
        f" of which {test} ({place(asked)}) holds",
        edits=_without_asking(here, thaw),
        severity="" if thaw.ran else "note",
        subjects=parameter_subjects(ids),
    )


def _without_asking(here: Source, thaw: Thaw) -> Edits:
    guard = thaw.guard
    if guard is None:
        return _over_all(here, thaw.asks[2]) if thaw.asks[0] == here.path else ()
    if guard.body[0] is not thaw.setting:
        return here.remove(guard)
    return here.replace(guard, here.file.text(thaw.setting)) if here.text_of(thaw.setting) else ()


def _over_all(here: Source, test: ast.expr) -> Edits:
    """The head of a loop that goes over all, where the filter stands in it."""
    above = here.file.parent.get(id(test))
    whole = here.file.parent.get(id(above))
    if not isinstance(here.file.parent.get(id(whole)), ast.For):
        return ()
    if isinstance(above, ast.Lambda) and isinstance(whole, ast.Call) and called_name(whole) == "filter":
        return here.replace(whole, here.file.text(whole.args[1])) if len(whole.args) == 2 else ()
    if isinstance(above, ast.comprehension) and isinstance(whole, (ast.ListComp, ast.GeneratorExp)):
        same = ast.unparse(whole.elt) == ast.unparse(above.target) and len(whole.generators) == 1
        return here.replace(whole, here.file.text(above.iter)) if same and len(above.ifs) == 1 else ()
    return ()
