"""A gradient is NaN or infinite: where the first such number was made.

Why: one NaN spreads to everything that is computed from it. A step that uses such a gradient
destroys the parameters, so by the time it shows it is everywhere.

Fix: keep the input of that operation where it is defined, before the operation: a small constant
under a root, `clamp(min=…)` before a logarithm, a mean only of what is not empty. `torch.where`
after it does not help: its gradient is multiplied with the infinite derivative all the same.

Where training diverges until plain arithmetic overflows, GS705 tells it.

Silent on: infinities in attention masks, NaN that reaches no gradient, steps that a `GradScaler`
skips, cross entropy of labels that are all ignored. A warning where the loss is not finite while
every gradient is.
"""

from collections.abc import Iterator
from typing import Any

from gradscope.model import Event, Finding, Site
from gradscope.names import names_of, op_name
from gradscope.rules import rule
from gradscope.rules._common import code, located, numbers, parameter_names, parameter_subjects, user
from gradscope.rules._delicate import DELICATE, LOGARITHMS, MEANS, POWERS, QUOTIENTS, ROOTS, maker_of
from gradscope.store import Trace

DIVERGED = 1e9  # what is larger got so by growing: no operation of its own is to blame


def bad_log() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        chance = torch.softmax(500 * model(torch.randn(8, 4)), dim=1)
        loss = -torch.log(chance)[:, 0].mean()  # cause: GS701
        loss.backward()  # effect: GS701
        opt.step()


def bad_data_scaled_by_zero() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(8):
        x = torch.randn(8, 4) * (step != 5)
        scaled = x / x.abs().max()  # cause: GS701
        opt.zero_grad()
        loss = model(scaled).pow(2).mean()
        loss.backward()  # effect: GS701
        opt.step()


def bad_advantage_of_a_single_one() -> None:
    import torch
    from torch import nn

    def normalise(given: torch.Tensor) -> torch.Tensor:
        return (given - given.mean()) / (given.std() + 1e-8)  # cause: GS701

    policy, returns = nn.Linear(3, 2), torch.randn(9)
    opt = torch.optim.SGD(policy.parameters(), lr=0.1)
    for part in returns.split(4):
        advantage = normalise(part)
        opt.zero_grad()
        loss = -(policy(torch.randn(len(part), 3)).log_softmax(1)[:, 0] * advantage).mean()
        loss.backward()  # effect: GS701
        opt.step()


def bad_logarithm_of_the_data() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    counts = torch.tensor([[0.0, 1.0, 2.0, 3.0]]).repeat(8, 1)
    logs = torch.log(counts)  # cause: GS701
    for _ in range(3):
        opt.zero_grad()
        loss = model(logs[:4]).pow(2).mean()
        loss.backward()  # effect: GS701
        opt.step()


def bad_root_at_zero() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        x = torch.randn(8, 4)
        distance = torch.sqrt((model(x) - model(x.flip(0))).pow(2).sum(dim=1) * 0)  # cause: GS701
        distance.mean().backward()  # effect: GS701
        opt.step()


def bad_where() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        chance = torch.sigmoid(500 * model(torch.randn(8, 4)))
        logs = torch.log(chance)  # cause: GS701
        loss = torch.where(chance > 0, logs, torch.zeros(())).mean()
        loss.backward()  # effect: GS701
        opt.step()


def bad_empty_mean() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        error = model(torch.randn(8, 4)).pow(2)
        loss = error.mean() + error[error > 100].mean()  # cause: GS701
        loss.backward()  # effect: GS701
        opt.step()


def bad_data() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    data = torch.randn(8, 4)
    data[3, 1] = float("nan")
    for _ in range(3):
        opt.zero_grad()
        out = model(data)  # cause: GS701
        loss = out.pow(2).mean()
        loss.backward()  # effect: GS701
        opt.step()


def good_clamped() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        share = torch.relu(model(torch.randn(8, 4)))
        (-torch.log(share.clamp(min=1e-6)).mean() + torch.sqrt(share + 1e-6).mean()).backward()
        opt.step()


def good_where_before() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        out = torch.relu(model(torch.randn(8, 4)))
        safe = torch.where(out > 0, out, torch.ones(()))
        torch.where(out > 0, torch.log(safe), torch.zeros(())).mean().backward()
        opt.step()


def good_mask() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 6)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    mask = torch.full((6, 6), float("-inf")).triu(1)
    for _ in range(3):
        opt.zero_grad()
        scores = model(torch.randn(6, 4)) + mask
        filled = model(torch.randn(6, 4)).masked_fill(mask < 0, float("-inf"))
        (scores.softmax(dim=1).pow(2).mean() + filled.softmax(dim=1).pow(2).mean()).backward()
        opt.step()


def good_labels_all_ignored() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        opt.zero_grad()
        labels = torch.full((8,), -100) if step == 1 else torch.randint(0, 3, (8,))
        nn.functional.cross_entropy(model(torch.randn(8, 4)), labels).backward()
        opt.step()


def good_skipped_step() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        opt.zero_grad()
        scale = torch.tensor(1e39 if step == 1 else 1.0)
        (model(torch.randn(8, 4)).pow(2).mean() * scale).backward()
        if all(bool(p.grad.isfinite().all()) for p in model.parameters() if p.grad is not None):
            opt.step()


def bad_rows_that_hold_nan() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    mean, std = torch.zeros(4), torch.ones(4)
    for step in range(6):
        x = torch.randn(8, 4)
        if step == 3:
            x[2] = float("nan")
        scaled = (x - mean) / std
        opt.zero_grad()
        out = model(scaled)  # cause: GS701
        out.pow(2).mean().backward()  # effect: GS701
        opt.step()


def good_nan_that_is_only_shown() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        out = model(torch.randn(8, 4))
        out.pow(2).mean().backward()
        opt.step()
        print(float(torch.log(-out.detach().abs()).mean()), float(out[out > 100].mean()))


@rule("GS701", name="non-finite-origin", severity="error")
def non_finite_origin(trace: Trace) -> Iterator[Finding]:
    events = trace.of("non_finite")
    for event in [e for e in events if e.data["parameters"]] or events:
        origin = trace.site(event.data.get("origin"))
        name, where = op_name(str(event.data["name"])), event.data["where"]
        if origin is None and where != "unknown" and not name:
            continue
        yield _finding(trace, event, user(origin), name, where)


def overflow(event: Event) -> bool:
    """Whether numbers had grown until plain arithmetic could not hold them."""
    if event.data["where"] == "parameter":
        return True
    ranges = [
        abs(float(data[end]))
        for data in event.data.get("inputs") or ()
        for end in ("min", "max")
        if end in data
    ]
    if ranges:
        return max(ranges) > DIVERGED
    return event.data["where"] == "forward" and op_name(str(event.data["name"])) not in DELICATE


def _finding(trace: Trace, event: Event, origin: Site | None, name: str, where: str) -> Finding:
    ids = event.data["parameters"]
    made = {"nan": "NaN", "inf": "infinity", "-inf": "-infinity"}.get(event.data["made"], "NaN or infinity")
    subject = code(trace, origin, f"`{name}`")
    value = _value(trace, event, 0)
    maker = maker_of(trace, event) if where == "input" else None
    messages = {
        "forward": f"{subject} makes the first number that is not finite ({made})",
        "backward": f"the derivative of {subject} is not finite: the gradient becomes {made} there",
        "input": f"{value or 'the input'} holds {made} before anything is computed from it",
        "parameter": f"{value or 'a parameter'} holds {made} before this pass",
        "unknown": f"the gradients of {parameter_names(trace, ids)} are not finite",
    }
    if where == "unknown" and origin is not None:
        messages[where] += f", most likely by the derivative of {subject}"
    if maker is not None:
        by = code(trace, maker.site.user, f"`{maker.name}`")
        messages[where] = f"{value or 'the input'} holds {made}, which {by} can have made"
    effect = f"the gradients of {parameter_names(trace, ids)} are" if ids else "the loss is"
    labels = {
        "forward": f"gives {made}", "backward": f"its derivative gives {made}", "input": f"reads {made}",
        "parameter": f"reads {made}", "unknown": "its derivative can be infinite",
    }  # fmt: skip
    if origin is None:
        labels[where] = "leaves gradients that are not finite"
    related: tuple[tuple[Site, str], ...] = ()
    if maker is not None and origin is not None:
        related, origin = ((origin, f"reads {made}"),), maker.site.user
        labels[where] = f"can make {made}"
    told = (str(event.data["name"]), where, value) if maker is None else (maker.name, "forward", "")
    cause = origin or event.site.user
    return Finding(
        message=messages[where],
        cause=cause,
        cause_label=labels[where],
        effect=event.site.user if event.site.user != cause else None,
        effect_label=f"{effect} not finite from here on",
        related=related,
        severity="" if ids else "warning",
        seen=tuple(_seen(trace, event)),
        fix=_fix(trace, event, origin, *told),
        count=event.count,
        subjects=parameter_subjects(ids),
    )


def _value(trace: Trace, event: Event, place: int) -> str:
    values = event.data.get("values") or []
    if event.graph < 0 or place >= len(values) or values[place] >= len(trace.graph(event.graph).values):
        return ""
    name = names_of(trace).name(trace.graph(event.graph), values[place])
    return f"`{name}`" if name else ""


def _seen(trace: Trace, event: Event) -> Iterator[str]:
    for place, data in enumerate(event.data.get("inputs") or ()):
        what = data.get("of") or f"input {_value(trace, event, place)}".rstrip()
        yield f"its {what}: {_range(data)}"
    loss = event.data.get("loss")
    if loss is not None:
        yield f"the loss was {loss}" + ("" if event.data["parameters"] else ", the gradients were finite")
    elif event.data["where"] == "backward":
        yield "the loss was finite"


def _range(data: dict[str, Any]) -> str:
    elements = data["elements"]
    if not elements:
        return "no elements"
    parts = []
    if "min" in data:
        parts.append(f"{numbers(float(data['min']))} to {numbers(float(data['max']))}")
    if data.get("zeros"):
        parts.append(f"{data['zeros']} of {elements} {'is' if data['zeros'] == 1 else 'are'} 0")
    if data.get("not_finite"):
        parts.append(
            f"{data['not_finite']} of {elements} {'is' if data['not_finite'] == 1 else 'are'} not finite"
        )
    return ", ".join(parts)


def _fix(trace: Trace, event: Event, place: Site | None, name: str, where: str, value: str) -> str:
    name = name.removesuffix("Backward0").removesuffix("Backward1").lower()
    given = value or "the input"
    whole = located(trace, place, f"`{op_name(name)}`")
    inputs = event.data.get("inputs") or [{}]
    if where == "input":
        return f"clean {given} before it is used: find those rows with `isnan()`"
    if where == "parameter" or not name:
        return "look at every step with `gradscope run --full`, to find the pass in which it begins"
    if name in MEANS and inputs[0].get("elements") == 0:
        return f"leave {whole} out where nothing is selected: the mean of no elements is NaN"
    if name in MEANS:
        return f"{whole} needs two elements that differ: add a small constant under its root"
    where_before = (
        "; a `torch.where` must choose before the operation, not after it" if where == "backward" else ""
    )
    if name in LOGARITHMS:
        return (
            f"keep {given} above 0 in {whole}: `clamp(min=1e-8)`, or `log_softmax` and `logsigmoid` on scores"
            + where_before
        )
    overflows = (
        name == "pow" and where == "forward" and event.data["made"] == "inf" and not inputs[0].get("zeros")
    )
    if name in ROOTS and not overflows:
        return f"keep {given} above 0 in {whole}: add a small constant (1e-8) before the root" + where_before
    if name in QUOTIENTS:
        return (
            f"keep the divisor of {whole} away from 0: `clamp(min=1e-8)`, or add a small constant"
            + where_before
        )
    if name in POWERS or overflows:
        return f"bound {given} from above before {whole}, with `clamp(max=…)`" + where_before
    return f"look at the range of what goes into {whole}" + where_before
