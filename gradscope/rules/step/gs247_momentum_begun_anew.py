"""An optimizer makes the buffer of its momentum anew in each step: the momentum has no effect.

Why: a momentum is what is left of earlier gradients. A buffer that every step sets to zeros before it adds the gradient
holds that gradient alone, times a number, whatever the momentum is.

Fix: make it once, where the parameter has none yet: `if "momentum_buffer" not in state:`.

Measured: after each of the first steps the buffer was one and the same multiple of that step's gradient. Told where
the program's text fills it with zeros, and that multiple is 1, or what a setting of the optimizer leaves of 1.
Silent on: buffers that keep the last gradient, those that are made where there is none yet.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.ops import ZEROS
from gradscope.analysis.text import site_of
from gradscope.analysis.words import located, optimizer_name, plural
from gradscope.events import MomentumAnew
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Optimizer, Site
from gradscope.rules import rule
from gradscope.source import FUNCTIONS, SCOPES, called_name, stands_in
from gradscope.store import Trace

NEAR = 1e-3
FULL = {"full", "full_like", "new_full"}


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Descent(torch.optim.Optimizer):
        def __init__(self, params: object, lr: float, momentum: float) -> None:
            super().__init__(params, {"lr": lr, "momentum": momentum})  # type: ignore[arg-type]

        @torch.no_grad()
        def step(self, closure: object = None) -> None:  # type: ignore[override]
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    state["momentum"] = torch.zeros_like(p)  # cause: GS247
                    state["momentum"].mul_(group["momentum"]).add_(p.grad, alpha=1 - group["momentum"])
                    p.add_(state["momentum"], alpha=-group["lr"])

    model = nn.Linear(4, 2)
    opt = Descent(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(8):
        x = torch.randn(8, 4)
        opt.zero_grad()
        (model(x) - x[:, :2]).pow(2).mean().backward()
        opt.step()  # effect: GS247


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Descent(torch.optim.Optimizer):
        def __init__(self, params: object, lr: float, momentum: float) -> None:
            super().__init__(params, {"lr": lr, "momentum": momentum})  # type: ignore[arg-type]

        @torch.no_grad()
        def step(self, closure: object = None) -> None:  # type: ignore[override]
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    if "momentum" not in state:
                        state["momentum"] = torch.zeros_like(p)
                    state["momentum"].mul_(group["momentum"]).add_(p.grad, alpha=1 - group["momentum"])
                    p.add_(state["momentum"], alpha=-group["lr"])

    model = nn.Linear(4, 2)
    opt = Descent(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(8):
        x = torch.randn(8, 4)
        opt.zero_grad()
        (model(x) - x[:, :2]).pow(2).mean().backward()
        opt.step()


class _Made(NamedTuple):
    """A statement that fills a key of the state with zeros, and the plain condition around it alone."""

    here: Source
    statement: ast.stmt
    target: ast.Subscript | None  # None where the key is one of a dict, or of a call's names
    condition: ast.If | None
    asks: bool  # a condition around it asks for the state


@rule("GS247", name="momentum-begun-anew", severity="warning", needs=MomentumAnew)
def momentum_begun_anew(trace: Trace) -> Iterator[Finding]:
    told: set[tuple[str, int]] = set()
    for event in trace.of(MomentumAnew):
        optimizer = trace.optimizers.get(event.optimizer)
        made = _made(trace, event.key, optimizer) if optimizer is not None else None
        if made is None or optimizer is None or (made.here.path, made.statement.lineno) in told:
            continue
        settings = {
            number for group in optimizer.groups for number in _numbers(group.values()) if 0 < number < 1
        }
        part = any(abs(event.factor - (1 - number)) <= NEAR for number in settings)
        whole = abs(event.factor - 1) <= NEAR and bool(settings) and not made.asks and made.target is not None
        if part or whole:
            told.add((made.here.path, made.statement.lineno))
            yield _finding(trace, event, made)


def _numbers(values: object) -> Iterator[float]:
    """The numbers among settings, also those in tuples, such as `betas`."""
    for value in values if isinstance(values, (list, tuple, type({}.values()))) else ():
        if type(value) is float:
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _numbers(value)


def _made(trace: Trace, key: str, optimizer: Optimizer) -> _Made | None:
    """The one statement of a class known where the optimizer is made that fills `…[key]` with zeros."""
    found = []
    for path in trace.sources:
        here = Source(trace, path)
        for node in here.file.nodes:
            if not _fills(node, key):
                continue
            statement = node if isinstance(node, ast.Assign) else here.file.statement_of(node)
            if statement is not None and _known_at(here, statement, optimizer.site):
                target = node.targets[0] if isinstance(node, ast.Assign) else None
                found.append(_around(here, statement, target if isinstance(target, ast.Subscript) else None))
    return found[0] if len(found) == 1 else None


def _fills(node: ast.AST, key: str) -> bool:
    """`state[key] = zeros`, `{key: zeros}`, or `update(key=zeros)`."""
    if isinstance(node, ast.Assign):
        target = node.targets[0]
        own = isinstance(target, ast.Subscript) and ast.unparse(target.slice) == repr(key)
        return own and len(node.targets) == 1 and _is_zeros(node.value)
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return any(isinstance(k, ast.Constant) and k.value == key and _is_zeros(v) for k, v in pairs)
    return isinstance(node, ast.Call) and any(k.arg == key and _is_zeros(k.value) for k in node.keywords)


def _is_zeros(node: ast.expr) -> bool:
    """`torch.zeros_like(p)`, `p.new_zeros(p.shape)`, `torch.full_like(p, 0.0)`."""
    if isinstance(node, ast.Call) and called_name(node) in FULL:
        named = [word.value for word in node.keywords if word.arg == "fill_value"]
        filled = [*node.args[-1:], *named][-1:]
        return any(isinstance(one, ast.Constant) and one.value in (0, 0.0) for one in filled)
    return called_name(node) in ZEROS


def _known_at(here: Source, node: ast.stmt, site: Site | None) -> bool:
    """Whether the class around a statement stands in no other function than one around the site."""
    above = list(here.file.above(node))
    inside = next((n for n, one in enumerate(above) if isinstance(one, ast.ClassDef)), len(above))
    scopes = [one for one in above[inside:] if isinstance(one, FUNCTIONS)]
    return all(
        site is not None and site.user.path == here.path and stands_in(one, site.user) for one in scopes
    )


def _around(here: Source, node: ast.stmt, target: ast.Subscript | None) -> _Made:
    conditions = []
    for above in here.file.above(node):
        if isinstance(above, SCOPES):
            break
        if isinstance(above, ast.If):
            conditions.append(above)
    state = here.file.text(target.value) if target is not None else "state"
    asks = any("state" in (text := ast.unparse(one.test)) or state in text for one in conditions)
    around = here.file.parent.get(id(node))
    alone = isinstance(around, ast.If) and around.body == [node] and not around.orelse
    return _Made(here, node, target, around if alone and isinstance(around, ast.If) else None, asks)


def _unless(trace: Trace, event: MomentumAnew, made: _Made) -> str:
    place = located(trace, site_of(made.here.path, "", made.statement))
    return f"run {place} for a parameter whose `state` has no `{event.key}` alone"


def _finding(trace: Trace, event: MomentumAnew, made: _Made) -> Finding:
    here, asked = made.here, ""
    edits: Edits = ()
    if made.target is not None:
        asked = f"{here.file.text(made.target.slice)} not in {here.file.text(made.target.value)}"
    if not asked:
        fix = f"make it only where there is none yet: {_unless(trace, event, made)}"
    elif made.condition is not None:
        test = here.file.text(made.condition.test)
        new = f"{asked} and {test if not isinstance(made.condition.test, (ast.BoolOp, ast.IfExp)) else f'({test})'}"
        edits = here.replace(made.condition.test, new)
        place = located(trace, site_of(here.path, "", made.condition.test))
        fix = f"make it only where there is none yet: `if {new}:` in place of {place}"
    else:
        edits = here.under(made.statement, f"if {asked}:")
        fix = f"make it only where there is none yet: put `if {asked}:` before it"
    factor = f"{event.factor:.3g} times " if abs(event.factor - 1) > NEAR else ""
    return Finding(
        message=f"{optimizer_name(trace, event.optimizer)} makes `{event.key}` anew in each step: nothing of an earlier"
        " gradient is left in it, and the momentum has no effect",
        cause=site_of(here.path, "step", made.statement),
        cause_label="zeros in each step",
        effect=event.site.user,
        effect_label="steps by the last gradient alone",
        seen=(
            f"after each of {plural(event.steps, 'step')} `{event.key}` was {factor}the gradient of that very step",
        ),
        fix=fix,
        edits=edits,
        subjects=frozenset({("optimizer", event.optimizer)}),
    )
