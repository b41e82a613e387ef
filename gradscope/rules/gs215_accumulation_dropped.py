"""Most backward passes are for nothing: their gradients are cleared before a step uses them.

Why: gradients are accumulated over several passes and used by one step. Cleared at every pass,
only the last one counts, and the batches before it have cost their time for nothing.

Fix: clear the gradients where they were used: `zero_grad()` right after `step()`, in the same
branch.

A note where the step waits for something else than a count of passes. Silent on: the end of
training, a batch that is skipped now and then, steps that a gradient scaler skips, gradients
of another network (a GAN), gradients that are read or that an input wanted (adversarial
examples), closures.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from gradscope.model import Event, Finding, Site
from gradscope.rules import rule
from gradscope.rules._common import code, parameter_names, parameter_subjects, timeline
from gradscope.rules._rewrites import moved
from gradscope.rules._training import fresh, where
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


@dataclass
class _Line:
    """What became of the passes of one line that runs backward."""

    used: int = 0
    dropped: int = 0
    clears: dict[Site, int] = field(default_factory=dict)
    step: Site | None = None
    parameters: set[int] = field(default_factory=set)  # whose gradients were dropped
    filled: set[int] = field(default_factory=set)
    asks: bool = False  # other gradients of it were read, or its model did not train
    others: bool = False  # a part of what a pass filled was kept
    norm: float | None = None
    spared: bool = False  # it also served something else


class _Run:
    """Follows each pass's gradients to the step that uses them or the call that clears them."""

    def __init__(self, trace: Trace):
        self.lines: dict[Site, _Line] = {}
        self.waiting: list[tuple[Site, set[int], int]] = []  # passes whose gradients nobody has used yet
        self.scaler_stepped = False
        self.evaluating = False
        for repeat, events in timeline(trace):
            for event in events:
                handle = getattr(self, f"_{event.kind}", None)
                if handle is not None:
                    handle(event, repeat)

    def _backward(self, event: Event, repeat: int) -> None:
        ids = set(event.data.get("accumulated") or ())
        self.scaler_stepped = False
        if not ids:
            return
        site = event.site.user
        line = self.lines.setdefault(site, _Line())
        line.spared = line.spared or bool(event.data.get("leaves")) or bool(event.data.get("inputs"))
        line.filled |= ids
        line.asks = line.asks or self.evaluating
        self.waiting.append((site, ids, repeat))

    def _call(self, event: Event, repeat: int) -> None:
        self.evaluating = not event.data.get("training")

    def _grad_read(self, event: Event, repeat: int) -> None:
        for site, _, _ in self.waiting[-1:]:
            self.lines[site].asks = True

    def _scaler(self, event: Event, repeat: int) -> None:
        self.scaler_stepped = self.scaler_stepped or event.data["call"] == "step"

    def _step(self, event: Event, repeat: int) -> None:
        new = fresh(event)
        for site, ids, count in self.waiting:
            if ids & new:
                self.lines[site].used += count
                self.lines[site].step = event.site.user
                self.lines[site].spared = self.lines[site].spared or bool(event.data.get("closure"))
        self.waiting = [w for w in self.waiting if not w[1] & new]

    def _update(self, event: Event, repeat: int) -> None:
        for site, ids, _ in self.waiting:
            if event.data["parameter"] in ids and event.data.get("used"):
                self.lines[site].spared = True  # by hand, which is not seen while sampling sleeps
        self.waiting = [w for w in self.waiting if event.data["parameter"] not in w[1]]

    def _zero_grad(self, event: Event, repeat: int) -> None:
        dropped, cleared = set(event.data.get("dropped") or ()), set(event.data.get("parameters") or ())
        by_hand = event.data.get("by") == "hand"
        for site, ids, count in self.waiting:
            line = self.lines[site]
            if event.data.get("read") or self.scaler_stepped:
                line.spared = line.spared or bool(ids & cleared)
            elif ids & dropped and (ids <= cleared or (ids - cleared and by_hand)):
                line.parameters |= ids & cleared
                line.norm = event.data.get("norm") or line.norm
                if ids <= cleared:
                    line.dropped += count
                    line.clears[event.site.user] = line.clears.get(event.site.user, 0) + count
            elif ids & cleared:
                line.others = True
        if by_hand:  # one parameter at a time
            self.waiting = [
                (site, ids - cleared, count) for site, ids, count in self.waiting if ids - cleared
            ]
            return
        self.waiting = [w for w in self.waiting if not w[1] & cleared]


@rule("GS215", name="accumulation-dropped", severity="warning", over=("GS605",))
def accumulation_dropped(trace: Trace) -> Iterator[Finding]:
    if not any(event.data.get("dropped") for event in trace.of("zero_grad")):
        return
    run = _Run(trace)
    for site, line in run.lines.items():
        often = line.dropped >= 2 and line.dropped * 5 >= 2 * (line.dropped + line.used)
        if not often or line.spared:
            continue
        if line.used and line.step is not None:
            yield _finding(trace, site, line, line.step)
        elif not line.used and (step := _cleared_in_between(trace, run, site)) is not None:
            yield _finding(trace, site, line, step)


def _cleared_in_between(trace: Trace, run: _Run, site: Site) -> Site | None:
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


def _finding(trace: Trace, site: Site, line: _Line, step: Site) -> Finding:
    clear = max(line.clears, key=lambda place: line.clears[place])
    clearing, stepping = code(trace, clear, "`zero_grad()`"), code(trace, step, "the step")
    if clearing.endswith(".grad`"):
        clearing = f"{clearing[:-1]} = None`"
    passes = line.dropped + line.used
    names = parameter_names(trace, sorted(line.parameters))
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
        severity="" if _counts(trace, step) else "note",
        fix=f"move {clearing} ({where(clear)}) right after {stepping} ({where(step)}), into the same branch",
        count=line.dropped,
        edits=moved(trace, clear, step, after=True),
        subjects=parameter_subjects(line.parameters),
    )


def _counts(trace: Trace, step: Site) -> bool:
    """Whether the step waits for every k-th pass: `if i % 4 == 3:`. A step that waits for something
    else may leave passes out on purpose."""
    file = trace.source_file(step.path)
    node: ast.AST | None = file.statement(step)
    while node is not None and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        if isinstance(node, ast.If):
            parts = [
                ast.unparse(part) for part in ast.walk(node.test) if isinstance(part, (ast.BinOp, ast.Name))
            ]
            return any("%" in part or "accum" in part or "sync" in part for part in parts)
        node = file.parent.get(id(node))
    return True
