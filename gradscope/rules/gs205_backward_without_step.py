"""Gradients are computed again and again, and no step of their optimizer ever uses them.

Why: `backward()` only fills `.grad`. The parameters change in `optimizer.step()`, and this
run never called it, so nothing was learned.

Fix: call `optimizer.step()` after `backward()`, with the parentheses: `optimizer.step` alone
does nothing.

Silent on: gradients that the program reads (saliency, attribution, a list of their norms)
for more than to print them, a run that ends
before an accumulation is full, a step that is there and waits for its turn.
"""

import ast
from collections.abc import Iterator

from gradscope.model import Edit, Event, Finding, Optimizer, Parameter, Site
from gradscope.rules import rule
from gradscope.rules._common import code, parameter_subjects, plural, source
from gradscope.rules._looks import kept_gradients
from gradscope.rules._rewrites import beside, line_after
from gradscope.rules._training import (
    called_in_source,
    idle,
    method,
    norm,
    optimizer_name,
    parameters_of,
    settled,
    variable,
    where,
)
from gradscope.rules._uncalled import parentheses, site_of, uncalled
from gradscope.rules._unread import time_of
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)  # cause: GS205
    for _ in range(3):
        opt.zero_grad()
        loss = model(torch.randn(8, 3)).pow(2).mean()
        loss.backward()  # effect: GS205


def bad_parentheses_forgotten() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1))
    opt = torch.optim.Adam(model.parameters())
    for _ in range(3):
        loss = model(torch.randn(8, 3)).pow(2).mean()
        loss.backward()  # effect: GS205
        opt.step  # cause: GS205
        opt.zero_grad()


def bad_with_a_schedule() -> None:
    import torch
    from torch import nn

    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    opt_g = torch.optim.Adam(generator.parameters())  # cause: GS205
    opt_c = torch.optim.Adam(critic.parameters())
    schedules = [torch.optim.lr_scheduler.StepLR(opt, 10) for opt in (opt_c,)]
    schedules.append(torch.optim.lr_scheduler.StepLR(opt_g, 10))
    for _ in range(3):
        fake = generator(torch.randn(4, 2))
        opt_c.zero_grad()
        (critic(fake.detach()).mean() - critic(torch.randn(4, 2)).mean()).backward()
        opt_c.step()
        critic(fake).mean().neg().backward()  # effect: GS205
        schedules[0].step()


def bad_in_a_trainer() -> None:
    import torch
    from torch import nn

    class Trainer:
        def __init__(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
            self.model, self.optimizer = model, optimizer

        def train(self, batches: list[torch.Tensor]) -> None:
            for batch in batches:
                self.optimizer.zero_grad()
                self.model(batch).pow(2).mean().backward()  # effect: GS205

    model = nn.Linear(3, 1).to("cpu")
    opt = torch.optim.Adam(model.parameters())  # cause: GS205
    Trainer(model, opt).train([torch.randn(8, 3) for _ in range(3)])


def bad_one_of_two() -> None:
    import torch
    from torch import nn

    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    opt_g = torch.optim.Adam(generator.parameters())
    opt_c = torch.optim.Adam(critic.parameters())  # cause: GS205
    for _ in range(3):
        fake = generator(torch.randn(4, 2))
        opt_c.zero_grad()
        (critic(fake.detach()).mean() - critic(torch.randn(4, 2)).mean()).backward()  # effect: GS205
        opt_g.zero_grad()
        critic(fake).mean().neg().backward()
        opt_g.step()


def bad_generator_never_steps() -> None:
    import torch
    from torch import nn

    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    opt_g = torch.optim.Adam(generator.parameters())  # cause: GS205
    opt_c = torch.optim.Adam(critic.parameters())
    for _ in range(3):
        fake = generator(torch.randn(4, 2))
        opt_c.zero_grad()
        (critic(fake.detach()).mean() - critic(torch.randn(4, 2)).mean()).backward()
        opt_c.step()
        opt_g.zero_grad()
        critic(fake).mean().neg().backward()  # effect: GS205


def bad_beside_vectors_written_by_hand() -> None:
    import torch
    from torch import nn

    class Normed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(torch.randn(1, 2))
            self.u = nn.Parameter(torch.randn(1), requires_grad=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.u.data = nn.functional.normalize(self.w.data.mv(torch.ones(2)), dim=0)
            scores: torch.Tensor = x @ (self.w / (self.u @ self.w).norm()).t()
            return scores

    generator, critic = nn.Linear(2, 2), Normed()
    opt_g = torch.optim.Adam(generator.parameters())
    opt_c = torch.optim.Adam(critic.parameters())  # cause: GS205
    for _ in range(3):
        fake = generator(torch.randn(4, 2))
        opt_c.zero_grad()
        (critic(fake.detach()).mean() - critic(torch.randn(4, 2)).mean()).backward()  # effect: GS205
        opt_g.zero_grad()
        critic(fake).mean().neg().backward()
        opt_g.step()


def bad_other_optimizer_handed_over() -> None:
    import torch
    from torch import nn

    def train(opt_g: torch.optim.Optimizer, opt_c: torch.optim.Optimizer) -> None:
        for _ in range(4):
            generator.zero_grad()
            fake = generator(torch.randn(4, 2))
            critic(fake).mean().neg().backward()
            opt_g.step()
            critic.zero_grad()
            (critic(fake.detach()).mean() - critic(torch.randn(4, 2)).mean()).backward()  # effect: GS205
            opt_c.step()

    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    critic(generator(torch.randn(4, 2)))
    generator, critic = generator.to("cpu"), critic.to("cpu")
    first = torch.optim.Adam(generator.parameters())
    second = torch.optim.Adam(critic.parameters())  # cause: GS205
    train(first, first)
    print(second)


def bad_step_of_a_trainer_not_called() -> None:
    import torch
    from torch import nn

    class Trainer:
        def __init__(self, model: nn.Module) -> None:
            self.model, self.optim = model, torch.optim.SGD(model.parameters(), lr=0.1)

        def run(self) -> None:
            for _ in range(3):
                self.optim.zero_grad()
                self.model(torch.randn(8, 3)).pow(2).mean().backward()  # effect: GS205
                self.optim.step  # cause: GS205

    Trainer(nn.Linear(3, 1)).run()


def good_gradients_logged() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    sizes = []
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        sizes.append(sum(float(p.grad.norm()) for p in model.parameters() if p.grad is not None))


def good_saliency() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
    frozen = nn.Linear(3, 1)
    for _ in range(3):
        x = torch.randn(1, 3, requires_grad=True)
        frozen(x).sum().backward()
        assert x.grad is not None
        frozen.zero_grad()


def good_accumulation_not_full() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(4):
        (model(torch.randn(8, 3)).pow(2).mean() / 8).backward()
        if i % 8 == 7:
            opt.step()
            opt.zero_grad()


def good_second_stage() -> None:
    import torch
    from torch import nn

    trunk, head = nn.Linear(3, 3), nn.Linear(3, 1)
    opt_head = torch.optim.SGD(head.parameters(), lr=0.1)
    opt_trunk = torch.optim.SGD(trunk.parameters(), lr=0.1)
    for epoch in range(4):
        opt_head.zero_grad()
        opt_trunk.zero_grad()
        head(trunk(torch.randn(8, 3))).pow(2).mean().backward()
        opt_head.step()
        if epoch > 10:
            opt_trunk.step()


def good_stepped_inside() -> None:
    import torch
    from torch import nn

    class Ascent(torch.optim.SGD):
        def climb(self) -> None:
            for group in self.param_groups:
                for p in group["params"]:
                    p.data.add_(p.grad, alpha=group["lr"])

    model = nn.Linear(3, 1)
    opt = Ascent(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.climb()


@rule("GS205", name="backward-without-step", severity="warning", over=("GS201", "GS206", "GS605"))
def backward_without_step(trace: Trace) -> Iterator[Finding]:
    if not settled(trace):
        return
    any_step = bool(trace.of("step"))
    for number, optimizer in trace.optimizers.items():
        held = parameters_of(trace, optimizer.parameters)
        trained = [p for p in held if p.passes]
        # what needs no gradient (the vectors of a spectral norm) may well be written by hand
        if optimizer.steps or not trained or not all(idle(p) for p in held if p.requires_grad or p.passes):
            continue
        if any(p.id in kept_gradients(trace) for p in trained):
            continue
        if max(p.passes for p in trained) >= 2 and _forgotten(trace, number, optimizer, trained, any_step):
            yield _finding(trace, number, optimizer, trained)


def _forgotten(
    trace: Trace, number: int, optimizer: Optimizer, trained: list[Parameter], any_step: bool
) -> bool:
    """Whether no step is to come: the text has none, or what was computed is thrown away unused."""
    written = called_in_source(trace, optimizer.site, "step")
    ids = {p.id for p in trained}
    if written is False:
        return True
    drops = [e for e in trace.of("zero_grad") if ids & set(e.data.get("dropped") or ())]
    thrown = sum(e.count for e in drops) >= 2
    if not any_step:
        return thrown
    return thrown and written is None and bool(_own_passes(trace, ids))


def _own_passes(trace: Trace, ids: set[int]) -> list[Event]:
    """Passes that fill nothing but these: they can have been made for them only."""
    return [
        e
        for e in trace.of("backward")
        if e.data.get("accumulated") and set(e.data["accumulated"]) <= ids and not e.data.get("leaves")
    ]


def _finding(trace: Trace, number: int, optimizer: Optimizer, trained: list[Parameter]) -> Finding:
    ids = {p.id for p in trained}
    passes = max(p.passes for p in trained)
    passing = _pass(trace, ids)
    effect = passing.user if passing is not None else None
    last = norm(trace, trained[0].id)
    bare = _named_only(trace, number, optimizer)
    step = method(trace, number, "step")
    after = (
        f"after {code(trace, effect, '`backward()`')} ({where(effect)})" if effect else "after `backward()`"
    )
    seen = [f"{plural(passes, 'backward pass')}, no step; the parameters never changed"]
    took = time_of(trace, passing) if passing is not None else ""
    if took:
        seen.append(f"the passes of this line took {took} in all")
    if last:
        seen.append(f"norm of the last gradient of `{trained[0].name}`: {last:.4g}")
    return Finding(
        message=f"gradients for {optimizer_name(trace, number)} are computed {passes} times and never used:"
        " it never steps",
        cause=bare or (optimizer.site.user if optimizer.site else None),
        cause_label="names the method, and does not call it"
        if bare
        else "no step of this optimizer in the whole run",
        effect=effect,
        effect_label="computes gradients that nothing uses",
        seen=tuple(seen),
        fix=f"call it, with its parentheses: `{source(trace, bare)}()`" if bare else f"call {step} {after}",
        count=passes,
        edits=parentheses(bare) if bare else _step_added(trace, number, optimizer, effect),
        subjects=parameter_subjects(ids) | {("optimizer", number)},
    )


def _named_only(trace: Trace, number: int, optimizer: Optimizer) -> Site | None:
    """`opt.step` as a statement of its own, where it must be this optimizer's."""
    for path, function, node in uncalled(trace, {"step"}):
        holder = ast.unparse(node.value)
        mine = holder.rpartition(".")[2] == variable(trace, optimizer.site).rpartition(".")[2]
        if mine or (len(trace.optimizers) == 1 and "sched" not in holder.lower()):
            return site_of(path, function, node)
    return None


def _pass(trace: Trace, ids: set[int]) -> Site | None:
    own = _own_passes(trace, ids) or [
        e for e in trace.of("backward") if ids & set(e.data.get("accumulated") or ())
    ]
    return own[0].site if own else None


def _step_added(trace: Trace, number: int, optimizer: Optimizer, after: Site | None) -> tuple[Edit, ...]:
    """`opt.step()` after the pass, where the gradients are cleared."""
    name = variable(trace, optimizer.site)
    if not name or optimizer.site is None:
        return ()
    cleared = any(
        set(optimizer.parameters) <= set(e.data.get("parameters", ())) for e in trace.of("zero_grad")
    )
    if not cleared or not beside(trace, optimizer.site.user, after):
        return ()
    return line_after(trace, after, f"{name}.step()")
