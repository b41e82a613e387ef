"""A tensor that backward needs was changed in place: torch stops the backward.

Why: the forward saved this tensor to compute gradients with it. The in-place write
replaced its values, autograd saw the version move and refuses to go on.

Fix: make a new tensor instead of writing in place (`x = x + 1`, not `x += 1`), or write
to a `clone()`.
"""

import ast
from collections.abc import Iterator
from typing import Any

from gradscope.model import Edit, Event, Finding, Site
from gradscope.names import names_of
from gradscope.rules import rule
from gradscope.rules._common import code, located, source, user
from gradscope.rules._edits import Source
from gradscope.rules._failures import versions
from gradscope.store import Trace

_TEXT = "modified by an inplace operation"


def bad() -> None:
    import torch

    a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
    b = a + 2
    loss = torch.mean(b * b)
    b.detach().zero_()  # cause: GS104
    loss.backward()  # effect: GS104


def bad_in_forward() -> None:
    import torch
    from torch import nn

    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(3, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = torch.sigmoid(self.fc(x))
            h += x  # cause: GS104
            return h.sum()

    loss = Residual()(torch.ones(2, 3))
    loss.backward()  # effect: GS104


def good() -> None:
    import torch

    a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
    b = a + 2
    b += 1  # nothing has saved `b` yet
    loss = torch.mean(b * b)
    loss.backward()


def good_clone() -> None:
    import torch

    a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
    b = a + 2
    loss = torch.mean(b * b)
    b.detach().clone().zero_()
    loss.backward()


@rule("GS104", name="inplace-on-saved-tensor", severity="error", over=("GS102",))
def inplace_on_saved_tensor(trace: Trace) -> Iterator[Finding]:
    for event in trace.of("error"):
        if event.data.get("where") == "backward" and _TEXT in event.data.get("text", ""):
            yield _explained(trace, event)


def _explained(trace: Trace, event: Event) -> Finding:
    writes: list[dict[str, Any]] = event.data.get("writes") or []
    write = writes[0] if writes else {}
    cause, saved = user(trace.site(write.get("site"))), user(trace.site(event.data.get("saved_site")))
    text = code(trace, cause, f"`{write['op']}`" if write.get("op") else "an in-place operation")
    by = f", saved by {code(trace, saved)}," if source(trace, saved) else ""
    sites = [trace.site(w.get("site")) for w in writes[1:4]]
    more = tuple((site.user, "and written here") for site in sites if site is not None)
    return Finding(
        message=f"a tensor that backward needs{by} was changed by {text}",
        cause=cause,
        cause_label=f"written in place here{_versions(write)}",
        effect=user(event.site),
        effect_label="torch stops: the saved values are gone",
        related=(((saved, "saved here for backward"),) if saved is not None else ()) + more,
        seen=(versions(str(event.data.get("text", ""))),),
        fix=_fix(trace, cause),
        count=event.count,
        edits=_anew(trace, cause),
    )


def _versions(write: dict[str, Any]) -> str:
    if write.get("from") is None or write.get("to") is None:
        return ""
    return f" (version {write['from']} → {write['to']})"


def _fix(trace: Trace, site: Site | None) -> str:
    text = source(trace, site)
    for sign in ("+=", "-=", "*=", "/="):
        left, found, right = text.partition(sign)
        if found and "\n" not in text:
            name = left.strip()
            return f"make a new tensor: `{name} = {name} {sign[0]} {right.strip()}`"
    receiver = names_of(trace).receiver(site) if site is not None else None
    if not receiver:
        return ""
    return f"write to a copy: `{receiver}.clone()` in place of `{receiver}` in {located(trace, site)}"


def _anew(trace: Trace, site: Site | None) -> tuple[Edit, ...]:
    """`h = h + x` in place of `h += x`."""
    here = Source(trace, site.path) if site is not None else None
    node = here.file.at(site) if here is not None and site is not None else None
    if here is None or not isinstance(node, ast.AugAssign) or not isinstance(node.target, ast.Name):
        return ()
    text, name = here.file.text(node.value), node.target.id
    sign = here.file.text(node)[len(name) :].lstrip().partition("=")[0]
    plain = isinstance(node.value, (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant))
    return here.replace(node, f"{name} = {name} {sign} {text if plain else f'({text})'}")
