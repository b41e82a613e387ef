"""The step runs with non-zero gradients, and the parameters are bit-equal afterwards.

Why: with a learning rate of 0 nothing moves. Nor does it where the update is smaller than the
parameter's number format can tell apart (half-precision weights with a small learning rate), where
a state is loaded again after each step, or where the update goes to a new tensor that nothing keeps.

Fix: give the optimizer a learning rate above 0; keep the weights in float32 and let autocast
compute in half precision; load a state once, before the loop; write to the parameter itself, in
place, under `torch.no_grad()`.

A note for a warm-up that stands at 0 for several steps, and for single parameters among others
that move. Silent where only the first step of a warm-up is at 0, where a schedule ends there, and
where what a step changed was read before a state was loaded (meta learning, test-time adaptation).
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from gradscope.model import Event, Finding, Optimizer
from gradscope.rules import rule
from gradscope.rules._common import code, parameter_subjects
from gradscope.rules._lost_writes import dropped_finding, dropped_updates, unwritten
from gradscope.rules._no_effect import COMPARED, measured, reason
from gradscope.rules._patches import moved_out
from gradscope.rules._undone import undone, undone_finding
from gradscope.store import Trace

WARM_UP = 3  # steps of a schedule that may pass at rate 0


def bad() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0)  # cause: GS212
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()  # effect: GS212


def bad_lost_in_rounding() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1).to(torch.bfloat16)
    nn.init.constant_(model.weight, 1.0)
    nn.init.constant_(model.bias, 1.0)
    opt = torch.optim.SGD(model.parameters(), lr=1e-5)  # cause: GS212
    for _ in range(3):
        opt.zero_grad()
        model(torch.ones(8, 3, dtype=torch.bfloat16)).mean().backward()
        opt.step()  # effect: GS212


def bad_optimizer_that_binds_a_name() -> None:
    import torch
    from torch import nn

    class Descent(torch.optim.Optimizer):
        @torch.no_grad()
        def step(self, closure: object = None) -> None:  # type: ignore[override]
            for p in self.param_groups[0]["params"]:
                p = p - 0.1 * p.grad

    model = nn.Linear(3, 1)
    opt = Descent(model.parameters(), {})  # cause: GS212
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()  # effect: GS212


def bad_loop_that_binds_a_name() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    for _ in range(3):
        model.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()  # effect: GS212
        with torch.no_grad():
            for p in model.parameters():
                p = p - 0.1 * p.grad  # type: ignore[assignment,operator]  # cause: GS212


def bad_local_name() -> None:
    import torch

    w = {"a": torch.ones(3, requires_grad=True), "b": torch.ones(3, requires_grad=True)}
    for _ in range(3):
        (w["a"] * torch.randn(3) + w["b"]).sum().pow(2).backward()  # effect: GS212
        with torch.no_grad():
            for name in w:
                p = w[name]
                p = p - 0.1 * p.grad  # type: ignore[operator]  # cause: GS212


def bad_written_to_a_selection() -> None:
    import torch

    w = torch.ones(3, requires_grad=True)
    for _ in range(3):
        (w * torch.randn(3)).pow(2).sum().backward()  # effect: GS212
        w.detach()[torch.arange(3)].sub_(0.1 * w.grad)  # type: ignore[operator]  # cause: GS212
        w.grad = None


def good_weights_clipped() -> None:
    import torch
    from torch import nn

    critic = nn.Linear(3, 1)
    opt = torch.optim.RMSprop(critic.parameters(), lr=0.01)
    for _ in range(4):
        opt.zero_grad()
        (critic(torch.randn(8, 3)).mean() - critic(torch.randn(8, 3) + 1).mean()).backward()
        opt.step()
        for p in critic.parameters():
            p.data.clamp_(-0.1, 0.1)


def good_new_values_by_name() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    for _ in range(3):
        x = torch.randn(8, 3)
        model.zero_grad()
        model(x).pow(2).mean().backward()
        ahead = []
        with torch.no_grad():
            for p in model.parameters():
                ahead.append(p - 0.1 * p.grad)  # type: ignore[operator]
        assert torch.isfinite(nn.functional.linear(x, *ahead)).all()


def bad_state_loaded_again() -> None:
    import copy

    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    start = copy.deepcopy(model.state_dict())
    opt = torch.optim.Adam(model.parameters())
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()  # effect: GS212
        model.load_state_dict(start)  # cause: GS212


def bad_initialised_in_the_loop() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1, bias=False)
    opt = torch.optim.Adam(model.parameters())
    for _ in range(4):
        nn.init.constant_(model.weight, 0.1)  # cause: GS212
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()  # effect: GS212


def bad_written_back() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        kept = [p.detach().clone() for p in model.parameters()]
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()  # effect: GS212
        with torch.no_grad():
            for p, old in zip(model.parameters(), kept, strict=True):
                p.copy_(old)  # cause: GS212


def bad_assigned_again() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    best = nn.utils.parameters_to_vector(model.parameters()).detach()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        nn.utils.vector_to_parameters(best.clone(), model.parameters())  # cause: GS212
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()  # effect: GS212


def good_adapted_and_reset() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    start = {name: value.clone() for name, value in model.state_dict().items()}
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 3)
        model.load_state_dict(start)
        opt.zero_grad()
        model(x).pow(2).mean().backward()
        opt.step()
        with torch.no_grad():
            print(model(x).mean().item())


def good_adapted_after_its_prediction() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 2).requires_grad_(False))
    start = {name: value.clone() for name, value in model.state_dict().items()}
    opt = torch.optim.SGD(model[0].parameters(), lr=0.1)
    for _ in range(4):
        model.load_state_dict(start)
        scores = model(torch.randn(8, 3))
        opt.zero_grad()
        torch.special.entr(scores.softmax(1)).sum().backward()
        opt.step()


def good_averaged_clients() -> None:
    import copy

    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    common = copy.deepcopy(model.state_dict())
    for _ in range(3):
        collected = []
        for _ in range(2):
            model.load_state_dict(common)
            opt = torch.optim.SGD(model.parameters(), lr=0.1)
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()
            collected.append(copy.deepcopy(model.state_dict()))
        common = {name: (collected[0][name] + collected[1][name]) / 2 for name in common}


def good_result_kept() -> None:
    import copy
    import io

    import torch
    from torch import nn

    kept: list[object] = []
    ways = (copy.deepcopy, lambda m: torch.save(m, io.BytesIO()), lambda m: m.weight.cpu().tolist())
    for way in ways:
        model = nn.Linear(3, 1, bias=False)
        start = copy.deepcopy(model.state_dict())
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()
            kept.append(way(model))
            model.load_state_dict(start)


def good() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        for p in model.parameters():
            p.data.clamp_(-1, 1)


def good_warm_up() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: min(1.0, step / 4))
    for _ in range(6):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        schedule.step()


def good_first_epoch_of_a_warm_up() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.LambdaLR(opt, lambda epoch: min(1.0, epoch / 4))
    for _ in range(5):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
    schedule.step()


def good_ends_at_zero() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.LinearLR(opt, 1.0, 0.0, total_iters=4)
    for _ in range(8):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        schedule.step()


def good_one_group_at_rest() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    opt = torch.optim.SGD(
        [
            {"params": model[0].parameters(), "lr": 0.0},
            {"params": model[1].parameters(), "lr": 0.1},
        ]
    )
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


@rule("GS212", name="step-has-no-effect", severity="error")
def step_has_no_effect(trace: Trace) -> Iterator[Finding]:
    told: set[int] = set()
    for number, optimizer in trace.optimizers.items():
        events = [e for e in trace.of("no_effect") if e.data["optimizer"] == number]
        still = [e for e in events if not e.data["moved"]]
        lost = sum(e.count for e in still)
        if still and lost >= 2 and lost >= min(optimizer.steps, COMPARED):
            told.add(number)
            yield _finding(trace, number, optimizer, still, lost, _severity(trace, number, still[0]))
        elif lost > 1 and _at_the_start(trace, number, still[0]):
            yield _finding(trace, number, optimizer, still, lost, "note")
        elif partly := [e for e in events if e.data["moved"]]:
            yield from _partly(trace, number, optimizer, partly)

    for found in undone(trace):
        if found.optimizer not in told:
            yield replace(undone_finding(trace, found), edits=moved_out(trace, found.site))
    yield from map(partial(dropped_finding, trace), dropped_updates(trace))


def _severity(trace: Trace, number: int, event: Event) -> str:
    if not event.data["zero_rate"]:
        return "" if unwritten(trace, event) else "warning"
    made = [e for e in trace.of("scheduler") if e.data["optimizer"] == number]
    turns = sum(e.count for e in trace.of("schedule") if e.data["optimizer"] == number)
    return "note" if made and turns < WARM_UP else ""


def _at_the_start(trace: Trace, number: int, event: Event) -> bool:
    first = next((e for e in trace.of("step") if e.data.get("optimizer") == number), None)
    return first is not None and first.segment == event.segment


def _finding(
    trace: Trace, number: int, optimizer: Optimizer, events: list[Event], lost: int, severity: str
) -> Finding:
    ids = list(dict.fromkeys(p for e in events for p in e.data["parameters"]))
    event = events[0]
    step = code(trace, event.site.user, "the step")
    why, label, fix = reason(trace, number, event, ids)
    return Finding(
        message=f"{step} changes nothing: {why}",
        cause=optimizer.site.user if optimizer.site else None,
        cause_label=label,
        effect=event.site.user,
        effect_label="leaves every parameter bit-equal",
        seen=tuple(measured(trace, ids, lost, optimizer, event)),
        fix=fix,
        count=lost,
        severity=severity,
        subjects=parameter_subjects(ids) | {("optimizer", number)},
    )


def _partly(trace: Trace, number: int, optimizer: Optimizer, events: list[Event]) -> Iterator[Finding]:
    """Single parameters that never moved where others did: lost in rounding (rate 0 is a choice)."""
    at_rest = {p for group in optimizer.groups if group.get("lr") == 0 for p in group["parameters"]}
    ids = [p for p in events[0].data["parameters"] if p not in at_rest]
    times = sum(e.count for e in events if set(ids) <= set(e.data["parameters"]))
    coarse = [p for p in ids if trace.parameter(p).dtype in ("float16", "bfloat16")]
    if coarse and times >= min(3, optimizer.steps) and times >= 2:
        event = next(e for e in events if set(coarse) <= set(e.data["parameters"]))
        yield _finding(trace, number, optimizer, [event], times, "note")
