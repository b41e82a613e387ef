"""Dropout is off in training since the first evaluation: `forward` wrote its rate to 0 then, and nobody set it back.

Why: `self.dropout_p = 0.0` in evaluation mode changes the module, not the call. `model.train()` sets `training`
and no other attribute, so that the training goes on without dropout, and nothing fails.

Fix: leave the attribute as it is, and give the call what the mode asks for:
`dropout_p=self.dropout_p if self.training else 0.0`.

Silent on: rates that the program changes elsewhere, as it likes; those that come back in training; local variables.
"""

import ast
from collections.abc import Iterator
from itertools import takewhile

from gradscope.analysis.words import code, located, plural
from gradscope.events import DropoutOff
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.source import SCOPES
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 1)
            self.rate = 0.2

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if not self.training:
                self.rate = 0.0  # cause: GS410
            x = nn.functional.dropout(x, self.rate)  # effect: GS410
            out: torch.Tensor = self.layer(x)
            return out

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model.train()
        for _ in range(2):
            opt.zero_grad()
            model(torch.randn(8, 4)).pow(2).mean().backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            model(torch.randn(8, 4)).pow(2).mean().item()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 1)
            self.rate = 0.2

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = nn.functional.dropout(x, self.rate if self.training else 0.0)
            out: torch.Tensor = self.layer(x)
            return out

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model.train()
        for _ in range(2):
            opt.zero_grad()
            model(torch.randn(8, 4)).pow(2).mean().backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            model(torch.randn(8, 4)).pow(2).mean().item()


@rule("GS410", name="dropout-stays-off", severity="warning", needs=DropoutOff)
def dropout_stays_off(trace: Trace) -> Iterator[Finding]:
    told: set[tuple[str, int]] = set()
    for event in trace.of(DropoutOff):
        call = event.site.user
        found = _written(trace, call, event.names)
        if found is not None and call.location() not in told:
            told.add(call.location())
            yield _finding(trace, event, *found)


def _written(trace: Trace, call: Site, names: tuple[str, ...]) -> tuple[ast.Assign, ast.If] | None:
    """Where the function that calls dropout writes to one of these attributes of its module, as its mode has it."""
    file = trace.source_file(call.path)
    scope = file.scope(call)
    for node in ast.walk(scope) if isinstance(scope, SCOPES) else ():
        if (
            not isinstance(node, ast.Assign)
            or len(node.targets) != 1
            or not _is_one_of(node.targets[0], names)
        ):
            continue
        within = takewhile(lambda above: above is not scope, file.above(node))
        condition = next((n for n in within if isinstance(n, ast.If) and _asks_for_mode(n.test)), None)
        if condition is not None:
            return node, condition
    return None


def _is_one_of(node: ast.expr, names: tuple[str, ...]) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in names


def _asks_for_mode(test: ast.expr) -> bool:
    return any(isinstance(n, ast.expr) and _is_one_of(n, ("training",)) for n in ast.walk(test))


def _finding(trace: Trace, event: DropoutOff, write: ast.Assign, condition: ast.If) -> Finding:
    call = event.site.user
    here = Source(trace, call.path)
    target = here.file.text(write.targets[0])
    return Finding(
        message=f"dropout is off in training since the first evaluation: `{target}` was set to 0 there, and stays so",
        cause=Site(-1, call.path, *here.file.span(write), call.function, "user"),
        cause_label="writes to the module in evaluation mode; nobody sets it back",
        effect=call,
        effect_label="drops nothing any more",
        seen=(
            f"{code(trace, call)} had the rate {event.p:g} in {plural(event.trained, 'call')} in training mode before"
            f" the first evaluation, and 0 in all {event.off} looked at since then",
        ),
        fix=f"leave `{target}` as it is, and give {located(trace, call)}"
        f" `{target} if self.training else 0.0`",
        edits=_edits(here, call, target, write, condition),
        count=event.off,
        subjects=frozenset({("module", event.module)}),
    )


def _edits(here: Source, call: Site, target: str, write: ast.Assign, condition: ast.If) -> Edits:
    """Takes the condition away and asks for the mode in the call, where that is all there is of it."""
    node = here.file.at(call)
    given = [*node.args, *(k.value for k in node.keywords)] if isinstance(node, ast.Call) else []
    rates = [argument for argument in given if ast.unparse(argument) == target]
    plain = ast.unparse(condition.test) == "not self.training" and condition.body == [write]
    if len(rates) != 1 or not plain or condition.orelse or not isinstance(write.value, ast.Constant):
        return ()
    return (*here.remove(condition), *here.replace(rates[0], f"{target} if self.training else 0.0"))
