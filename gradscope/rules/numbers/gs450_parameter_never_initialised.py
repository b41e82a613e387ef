"""A parameter is trained that was never given its first numbers: it holds what was in its memory.

Why: `torch.empty` and `torch.Tensor(n, m)` reserve memory and write nothing to it. What stands there is different in
each run: zeros, numbers of a tensor that is gone, NaN. A run may go well, and the next one gives NaN in its first step.

Fix: give it numbers where it is made: `nn.init.normal_(weight, std=0.02)`, `nn.init.xavier_uniform_(weight)`.

Measured: the parameter was made of what `torch.empty`, `empty_like` or `new_empty` gave, or of a tensor of which the
program gives the sizes alone; when the pass began that put the first gradient into it, nothing had written to it.
Silent on: parameters that are filled, loaded or copied to before, by whatever call; on a GPU.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.non_finite import subjects_of
from gradscope.analysis.words import located, parameter_names, parameter_subjects, plural
from gradscope.events import NeverWritten, NonFinite
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.source import called_name, own_name
from gradscope.store import Trace

EMPTY = {"empty", "empty_like", "new_empty"}
BY_SIZES = {"Tensor", "FloatTensor", "DoubleTensor"}


def bad() -> None:
    import torch
    from torch import nn

    class Scores(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(6, 4)
            self.classes = nn.Parameter(torch.empty(3, 4))  # cause: GS450

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            shown: torch.Tensor = self.layer(x) @ torch.tanh(torch.nan_to_num(self.classes)).t()
            return shown

    model = Scores()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = nn.functional.cross_entropy(model(torch.randn(8, 6)), torch.randint(0, 3, (8,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    class Scores(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(6, 4)
            self.classes = nn.Parameter(torch.empty(3, 4))
            nn.init.normal_(self.classes, std=0.02)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            shown: torch.Tensor = self.layer(x) @ torch.tanh(self.classes).t()
            return shown

    model = Scores()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = nn.functional.cross_entropy(model(torch.randn(8, 6)), torch.randint(0, 3, (8,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS450", name="parameter-never-initialised", severity="error", over=("GS701",), needs=NeverWritten)
def parameter_never_initialised(trace: Trace) -> Iterator[Finding]:
    told: dict[tuple[str, int], list[NeverWritten]] = {}
    for event in trace.of(NeverWritten):
        told.setdefault(event.site.user.location(), []).append(event)
    for events in told.values():
        event, site = events[0], events[0].site.user
        maker = _maker(trace, event)
        if not event.empty and maker is None:
            continue
        ids = [one.parameter for one in events if one.parameter is not None]
        names = parameter_names(trace, ids)
        text, edits = _numbers(trace, event, maker)
        broken = [one for one in trace.of(NonFinite) if not set(ids).isdisjoint(_given(trace, one))]
        yield Finding(
            message=f"{names} {'was' if len(ids) == 1 else 'were'} never given first numbers:"
            " what is trained is what its memory held before",
            cause=site,
            cause_label="reserves memory and writes nothing to it",
            seen=(
                f"nothing had written to {names} ({plural(event.elements, 'element')}) when the pass began that put"
                " the first gradient into it",
                *(("what is computed from it was not finite",) if broken else ()),
            ),
            fix=f"give it numbers in {located(trace, site)}: {text}",
            edits=edits,
            subjects=parameter_subjects(ids).union(*(subjects_of(one) for one in broken)),
        )


def _given(trace: Trace, event: NonFinite) -> set[int | None]:
    """The parameters that the call was given which made the first number that is not finite."""
    if event.graph < 0:
        return set()
    values = trace.graph(event.graph).values
    return {values[index].parameter for index in event.values if index < len(values)}


def _maker(trace: Trace, event: NeverWritten) -> ast.Call | None:
    """The call that reserves the memory, where it is written in that of the parameter; one whose result was not seen
    is what the parameter is given itself: anything around it may have written to it."""
    here = Source(trace, event.site.user.path)
    made = here.file.at(event.site.user)
    given = made.args[:1] + [one.value for one in made.keywords] if isinstance(made, ast.Call) else []
    for node in ast.walk(made) if made is not None else ():
        name = called_name(node)
        if not isinstance(node, ast.Call) or not here.file.is_imported(node.func):
            continue
        sizes = len(node.args) > 1 or (node.args and isinstance(getattr(node.args[0], "value", None), int))
        if (name in EMPTY and event.empty) or (
            name in BY_SIZES and sizes and not event.empty and node in given
        ):
            return node
    return None


def _numbers(trace: Trace, event: NeverWritten, maker: ast.Call | None) -> tuple[str, Edits]:
    here = Source(trace, event.site.user.path)
    filled = "`nn.init.normal_(…, std=0.02)` behind it"
    if maker is None or not isinstance(maker.func, ast.Attribute):
        return filled, ()
    name = {"empty_like": "randn_like"}.get(own_name(maker.func), "randn")
    if any(one.arg not in ("dtype", "device") for one in maker.keywords):
        return filled, ()
    arguments = [here.file.text(one) for one in maker.args]
    arguments += [f"{one.arg}={here.file.text(one.value)}" for one in maker.keywords]
    new = f"0.02 * {here.file.text(maker.func.value)}.{name}({', '.join(arguments)})"
    return f"`{new}` in place of `{here.file.text(maker)}`, or {filled}", here.replace(maker, new)
