"""Backward passes are for nothing: their gradients are cleared before a step uses them.

Why: gradients are accumulated over several passes and used by one step. Cleared at every pass,
only the last one counts, and the batches before it have cost their time for nothing.

Fix: clear the gradients where they were used: `zero_grad()` right after `step()`, in the same
branch.

A note where the step waits for something else than a count of passes, and for the rest of each
epoch that is shorter than an accumulation and is cleared. Silent on: the end of training, a batch
that is skipped now and then, steps that a gradient scaler skips, gradients of another network (a
GAN), gradients that are read or that an input wanted (adversarial examples), closures.
"""

from collections.abc import Iterator

from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.rules._common import code, parameter_names, parameter_subjects, plural, timeline
from gradscope.rules._dropped import Line, Passes, counts_passes, outside_the_loop
from gradscope.rules._rewrites import moved, taken_away
from gradscope.rules._training import where
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(8):
        loss = model(torch.randn(8, 3)).pow(2).mean() / 4
        opt.zero_grad()  # cause: GS215
        loss.backward()  # effect: GS215
        if i % 4 == 3:
            opt.step()


def bad_cleared_outside_the_branch() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.Adam(model.parameters())
    for i in range(6):
        loss = model(torch.randn(8, 3)).pow(2).mean() / 2
        loss.backward()  # effect: GS215
        if (i + 1) % 2 == 0:
            opt.step()
        model.zero_grad()  # cause: GS215


def bad_cleared_after_the_step_too() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(8):
        loss = model(torch.randn(8, 3)).pow(2).mean() / 4
        opt.zero_grad()  # cause: GS215
        loss.backward()  # effect: GS215
        if i % 4 == 3:
            opt.step()
            opt.zero_grad()


def bad_cleared_by_hand() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        for _ in range(4):
            for p in model.parameters():
                p.grad = None  # cause: GS215
            (model(torch.randn(2, 3)).pow(2).mean() / 4).backward()  # effect: GS215
        opt.step()


def bad_cleared_between_two_losses() -> None:
    import torch
    from torch import nn

    critic = nn.Linear(2, 1)
    opt = torch.optim.Adam(critic.parameters())
    for _ in range(4):
        opt.zero_grad()
        critic(torch.randn(4, 2)).mean().backward()  # effect: GS215
        opt.zero_grad()  # cause: GS215
        critic(torch.randn(4, 2) + 1).mean().neg().backward()
        opt.step()


def bad_rest_of_an_epoch() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()  # cause: GS215
        for i in range(10):
            (model(torch.randn(2, 3)).pow(2).mean() / 4).backward()  # effect: GS215
            if (i + 1) % 4 == 0:
                opt.step()
                opt.zero_grad()


def bad_rest_cleared_by_hand() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        for i in range(7):
            (model(torch.randn(2, 3)).pow(2).mean() / 3).backward()  # effect: GS215
            if i % 3 == 2:
                opt.step()
                opt.zero_grad()
        for p in model.parameters():
            p.grad = None  # cause: GS215


def good_rest_is_stepped() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        for i in range(10):
            (model(torch.randn(2, 3)).pow(2).mean() / 4).backward()
            if (i + 1) % 4 == 0 or i == 9:
                opt.step()
                opt.zero_grad()


def good_class_activation_map() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Linear(3, 3), nn.Linear(3, 2)
    opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        head(torch.relu(body(torch.randn(4, 3)))).pow(2).mean().backward()
        opt.step()
        hidden = torch.relu(body(torch.ones(1, 3)))
        hidden.retain_grad()
        opt.zero_grad()
        head(hidden)[0, 0].backward()
        assert hidden.grad is not None


def good_line_search() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net, x = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1)), torch.linspace(0, 1, 30)[:, None]
    opt = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=5, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(x), torch.sin(6 * x))
        loss.backward()
        return loss

    for _ in range(4):
        opt.step(closure)


def good() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(10):
        loss = model(torch.randn(8, 3)).pow(2).mean() / 4
        loss.backward()
        if i % 4 == 3:
            opt.step()
            opt.zero_grad()
    opt.zero_grad()


def good_bad_batches_skipped() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(10):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        if i in (2, 7):
            continue
        opt.step()


def good_skipped_by_the_scaler() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    nn.init.constant_(model.weight, 1e-3)
    scaler = torch.amp.GradScaler(
        "cpu", init_scale=2.0**110, backoff_factor=2.0**-4
    )  # too high for four steps
    for _ in range(6):
        opt.zero_grad()
        scaler.scale(model(torch.full((8, 3), 1e5)).pow(2).mean()).backward()
        scaler.step(opt)
        scaler.update()


def good_adversarial_training() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 3, requires_grad=True)
        for step in range(2):
            opt.zero_grad()
            loss = model(x).pow(2).mean()
            loss.backward()
            if step == 0:
                assert x.grad is not None
                x = (x + 0.1 * x.grad.sign()).detach()
        opt.step()


def good_gan() -> None:
    import torch
    from torch import nn

    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    opt_g = torch.optim.Adam(generator.parameters())
    opt_c = torch.optim.Adam(critic.parameters())
    for i in range(6):
        fake = generator(torch.randn(4, 2))
        opt_c.zero_grad()
        (critic(fake.detach()).mean() - critic(torch.randn(4, 2)).mean()).backward()
        opt_c.step()
        if i % 3 == 2:
            opt_g.zero_grad()
            critic(fake).mean().neg().backward()
            opt_g.step()


def good_gradients_collected() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        total = [torch.zeros_like(p) for p in model.parameters()]
        for _ in range(3):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            for summed, p in zip(total, model.parameters(), strict=True):
                summed += p.grad  # type: ignore[arg-type]
        for summed, p in zip(total, model.parameters(), strict=True):
            p.grad = summed
        opt.step()


def good_only_hard_batches() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(12):
        loss = model(torch.randn(1, 3)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        if loss.item() > 0.3:
            opt.step()


@rule("GS215", name="accumulation-dropped", severity="warning", over=("GS605",))
def accumulation_dropped(trace: Trace) -> Iterator[Finding]:
    if not any(event.data.get("dropped") for event in trace.of("zero_grad")):
        return
    run = Passes(trace)
    for site, line in run.lines.items():
        often = line.dropped >= 2 and line.dropped * 5 >= 2 * (line.dropped + line.used)
        if not often or line.spared:
            yield from () if line.spared else _rest(trace, site, line)
            continue
        if line.used and line.step is not None:
            yield _finding(trace, site, line, line.step)
        elif not line.used and (step := _cleared_in_between(trace, run, site)) is not None:
            yield _finding(trace, site, line, step)


def _rest(trace: Trace, site: Site, line: Line) -> Iterator[Finding]:
    """The last passes of a loop, fewer than a step waits for, that are cleared behind the loop (or before
    its next round), each time."""
    if line.step is None or not counts_passes(trace, line.step) or outside_the_loop(trace, line.step, site):
        return
    for clear, times in line.times.items():
        if times < 2 or not outside_the_loop(trace, clear, site):
            continue
        clearing, stepping = _cleared(trace, clear), code(trace, line.step, "the step")
        yield Finding(
            message=f"{clearing} clears what the last passes of a loop have accumulated, unused",
            cause=clear,
            cause_label="no step stands between the end of the loop and this line",
            effect=site,
            effect_label="the last passes here are for nothing",
            seen=(
                f"{line.clears[clear]} of {line.dropped + line.used} backward passes were cleared here unused, "
                f"in {plural(times, 'round')} of the loop around it",
            ),
            severity="note",
            fix=f"let {stepping} ({where(line.step)}) run at the last batch of the loop too",
            count=line.clears[clear],
            subjects=parameter_subjects(line.parameters),
        )


def _cleared_in_between(trace: Trace, run: Passes, site: Site) -> Site | None:
    """The step that a pass was made for which never reaches it: made for one optimizer only, it is
    cleared each time, and that optimizer steps with another pass over just the same parameters."""
    line = run.lines[site]
    owners = [o for o in trace.optimizers.values() if line.parameters <= set(o.parameters)]
    if not owners or line.others or line.asks:
        return None
    for place, other in run.lines.items():
        alike = other.used <= line.dropped <= 2 * other.used and other.filled == line.parameters
        if alike and not other.spared and place.location() != site.location():
            return other.step
    return None


def _finding(trace: Trace, site: Site, line: Line, step: Site) -> Finding:
    clear = max(line.clears, key=lambda place: line.clears[place])
    clearing, stepping = _cleared(trace, clear), code(trace, step, "the step")
    passes = line.dropped + line.used
    names = parameter_names(trace, sorted(line.parameters))
    other = _cleared_elsewhere(trace, line, clear, step)
    seen = [f"{line.dropped} of {passes} backward passes were cleared unused"]
    if line.norm:
        seen.append(f"norm of a gradient that was cleared unused: {line.norm:.4g}")
    return Finding(
        message=f"{clearing} clears accumulated gradients of {names} before {stepping} uses them",
        cause=clear,
        cause_label="runs at every pass, not only after a step",
        effect=site,
        effect_label=f"{line.dropped} of {passes} passes here are for nothing",
        seen=tuple(seen),
        severity="" if counts_passes(trace, step) else "note",
        fix=f"take {clearing} ({where(clear)}) out: {code(trace, other, 'another line')} ({where(other)}) clears"
        f" after {stepping} ({where(step)})"
        if other is not None
        else f"move {clearing} ({where(clear)}) right after {stepping} ({where(step)}), into the same branch",
        count=line.dropped,
        edits=taken_away(trace, clear) if other is not None else moved(trace, clear, step, after=True),
        subjects=parameter_subjects(line.parameters),
    )


def _cleared_elsewhere(trace: Trace, line: Line, clear: Site, step: Site) -> Site | None:
    """Another line than `clear` that clears these gradients after each of these steps, before the next pass."""
    found: Site | None = None
    waiting = False
    for event in (event for _, events in timeline(trace) for event in events):
        user = event.site.user
        if event.kind == "step" and user.location() == step.location():
            waiting = True
        elif event.kind == "zero_grad" and waiting and user.location() != clear.location():
            if line.parameters <= set(event.data.get("parameters") or ()):
                found, waiting = user, False
        elif event.kind == "backward" and waiting:
            return None
    return found


def _cleared(trace: Trace, clear: Site) -> str:
    text = code(trace, clear, "`zero_grad()`")
    return f"{text[:-1]} = None`" if text.endswith(".grad`") else text
