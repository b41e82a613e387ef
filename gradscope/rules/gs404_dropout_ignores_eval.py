"""Dropout stays active in evaluation mode: a function that was not told of the mode.

Why: `model.eval()` reaches modules. `F.dropout(x)` drops by default, whatever the mode, and the
`dropout_p` of attention is a plain number: predictions then depend on chance.

Fix: pass the mode on: `F.dropout(x, p, training=self.training)`,
`dropout_p=self.p if self.training else 0.0`; or use an `nn.Dropout` module.

Silent on: Monte Carlo dropout with dropout modules left in training mode; results that train.
At note: `training=True` written out, as for Monte Carlo dropout by choice.
"""

import ast
from collections.abc import Iterator

from gradscope.model import Event, Finding, Site
from gradscope.rules import rule
from gradscope.rules._calls import Call, calls
from gradscope.rules._common import code
from gradscope.store import Trace

ATTENTION = "scaled_dot_product_attention"


def bad_functional_dropout() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(4, 32), nn.Linear(32, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = nn.functional.dropout(self.first(x), 0.5)  # cause: GS404
            out: torch.Tensor = self.last(x)
            return out

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        model.train()
        opt.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.zeros(8, dtype=torch.long)).backward()
        opt.step()
        model.eval()
        with torch.no_grad():
            scores = model(torch.randn(8, 4))  # effect: GS404
            (scores.argmax(dim=1) == 0).sum().item()


def bad_attention() -> None:
    import torch
    from torch import nn

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mix, self.out = nn.Linear(4, 12), nn.Linear(4, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            q, k, v = self.mix(x).chunk(3, dim=-1)
            y = nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=0.5)  # cause: GS404
            out: torch.Tensor = self.out(y)
            return out

    model = Attention()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        model.train()
        opt.zero_grad()
        model(torch.randn(2, 6, 4)).pow(2).mean().backward()
        opt.step()
        model.eval()
        with torch.no_grad():
            model(torch.randn(2, 6, 4)).pow(2).mean().item()  # effect: GS404


def good_mode_passed_on() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = self.layer(nn.functional.dropout(x, 0.5, training=self.training))
            return out

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        model.train()
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
        model.eval()
        with torch.no_grad():
            model(torch.randn(8, 4)).pow(2).mean().item()


def good_monte_carlo_dropout() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
    model.eval()
    model[1].train()
    with torch.no_grad():
        torch.stack([model(torch.ones(8, 4)) for _ in range(4)]).std(dim=0).mean().item()


def good_monte_carlo_written_out() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = self.layer(nn.functional.dropout(x, 0.5, training=True))
            return out

    model = Net().eval()
    with torch.no_grad():
        torch.stack([model(torch.ones(8, 4)) for _ in range(4)]).std(dim=0).mean().item()


@rule("GS404", name="dropout-ignores-eval", severity="error")
def dropout_ignores_eval(trace: Trace) -> Iterator[Finding]:
    known = calls(trace)
    for event in trace.of("dropout"):
        module = trace.modules.get(event.data["module"])
        if event.graph < 0 or module is None or "Dropout" in module.cls:
            continue
        call = _evaluation(known.all, event)
        if call is not None and not call.used and not call.event.data.get("training"):
            yield _finding(trace, event, call)


def _evaluation(found: list[Call], event: Event) -> Call | None:
    """The outermost call that this dropout ran in."""
    later = [c for c in found if c.event.graph == event.graph and c.event.segment == event.segment]
    later = [c for c in later if c.event.position >= event.position]
    return min(later, key=lambda c: c.event.position) if later else None


def _finding(trace: Trace, event: Event, call: Call) -> Finding:
    cause = event.site.user
    attention = event.data.get("op") == ATTENTION
    text = code(trace, cause, f"`{event.data.get('op')}`")
    if "zeroed" in event.data:
        seen = f"in evaluation mode it set {event.data['zeroed']:.0%} of its input to zero"
    elif "moved" in event.data:
        seen = f"in evaluation mode its result is up to {event.data['moved']:.3g} off the one without dropout"
    else:
        seen = f"it ran in evaluation mode with p={event.data.get('p')}"
    rate = event.data.get("p")
    fix = (
        f"pass `dropout_p={rate} if self.training else 0.0`"
        if attention
        else f"pass `training=self.training` to {text}"
    )
    return Finding(
        message=f"{text} drops in evaluation mode too: it does not follow `eval()`",
        cause=cause,
        cause_label="active whatever the mode",
        effect=call.entry,
        effect_label="evaluated, with dropout",
        seen=(seen,),
        fix=fix,
        count=call.event.count,
        severity="note" if _written_out(trace, cause) or not call.event.data.get("outputs") else "",
        subjects=frozenset({("call", call.entry.location())}),
    )


def _written_out(trace: Trace, site: Site) -> bool:
    """Whether the call says `True` for its mode."""
    node = trace.source_file(site.path).at(site)
    if not isinstance(node, ast.Call):
        return False
    given = [k.value for k in node.keywords if k.arg in ("training", "train")] + node.args[2:3]
    return any(isinstance(a, ast.Constant) and a.value is True for a in given)
