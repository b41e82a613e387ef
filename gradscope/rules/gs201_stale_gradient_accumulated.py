"""Gradients of two steps are added together: nothing cleared them in between.

Why: `backward()` adds into `.grad`. A gradient that one step has used stays there, so the
next step gets the sum of both.

Fix: call `optimizer.zero_grad()` once per step, before `backward()`.

Silent on: gradient accumulation, several losses before one step, closures, zeroing by
hand, sums that are cleared before a step uses them (a GAN's discriminator).
A note where several backward passes pile up, no step follows and nothing is ever cleared.
A warning where a critic is cleared after its step only, and the generator's pass fills it again.
"""

from collections.abc import Iterator
from dataclasses import replace

from gradscope.model import Event, Finding, Site
from gradscope.names import names_of
from gradscope.rules import rule
from gradscope.rules._clearing import argument, by_hand, own_pass, zeroed
from gradscope.rules._common import (
    code,
    located,
    parameter_names,
    parameter_subjects,
    user,
)
from gradscope.rules._left_behind import left_behind
from gradscope.rules._piled_up import never_used
from gradscope.rules._stale import measured, stale_uses
from gradscope.rules._training import method, where
from gradscope.rules._uncalled import not_called, parentheses
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = model(torch.randn(8, 3)).pow(2).mean()
        loss.backward()  # effect: GS201
        opt.step()  # cause: GS201


def bad_cleared_for_the_generator_only() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    of_generator = torch.optim.SGD(generator.parameters(), lr=0.1)
    of_critic = torch.optim.SGD(critic.parameters(), lr=0.1)

    def train_critic() -> None:
        loss = critic(generator(torch.randn(8, 2)).detach()).mean() - critic(torch.randn(8, 2)).mean()
        loss.backward()  # the `zero_grad()` belongs before this one
        of_critic.step()  # cause: GS201

    def train_generator() -> None:
        of_generator.zero_grad()
        loss = -critic(generator(torch.randn(8, 2))).mean()
        loss.backward()  # effect: GS201
        of_generator.step()

    for _ in range(3):
        train_critic()
        train_generator()


def bad_by_hand() -> None:
    import torch

    torch.manual_seed(0)
    w = torch.ones(3, requires_grad=True)
    for _ in range(3):
        loss = (w * torch.randn(3)).sum().pow(2)
        loss.backward()  # effect: GS201
        with torch.no_grad():
            w -= 0.1 * w.grad  # type: ignore[operator]  # cause: GS201


def bad_not_called() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad  # cause: GS201
        model(torch.randn(8, 3)).pow(2).mean().backward()  # effect: GS201
        opt.step()


def bad_gradient_written_by_hand() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    meta = nn.Linear(3, 1)
    opt = torch.optim.SGD(meta.parameters(), lr=0.1)
    for p in meta.parameters():
        p.grad = torch.zeros_like(p)
    for _ in range(3):
        for p in meta.parameters():
            p.grad.add_(torch.randn_like(p))  # type: ignore[union-attr]  # effect: GS201
        opt.step()  # cause: GS201


def bad_gradient_summed_by_hand() -> None:
    import torch

    torch.manual_seed(0)
    w = torch.zeros(3, requires_grad=True)
    opt = torch.optim.SGD([w], lr=0.1)
    for _ in range(3):
        estimate = torch.randn(3)
        w.grad = estimate if w.grad is None else w.grad + estimate  # effect: GS201
        opt.step()  # cause: GS201


def bad_cleared_before_the_other_pass() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    opt_g = torch.optim.RMSprop(generator.parameters())
    opt_c = torch.optim.RMSprop(critic.parameters())
    for _ in range(3):
        fake = generator(torch.randn(8, 2))
        (critic(fake.detach()).mean() - critic(torch.randn(8, 2)).mean()).backward()  # effect: GS201
        opt_c.step()
        opt_c.zero_grad()  # the next pass fills the critic again
        critic(fake).mean().neg().backward()  # cause: GS201
        opt_g.step()
        opt_g.zero_grad()


def good() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def good_accumulation() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(6):
        (model(torch.randn(8, 3)).pow(2).mean() / 2).backward()
        if i % 2:
            opt.step()
            opt.zero_grad(set_to_none=False)


def good_two_losses() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 2)
    opt = torch.optim.Adam(model.parameters())
    for _ in range(3):
        out = model(torch.randn(8, 3))
        model.zero_grad()
        out[:, 0].pow(2).mean().backward(retain_graph=True)
        out[:, 1].pow(2).mean().backward()
        opt.step()


def good_zeroed_by_hand() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    w = torch.ones(3, requires_grad=True)
    for _ in range(3):
        model(torch.randn(8, 3) * w).pow(2).mean().backward()
        opt.step()
        for p in model.parameters():
            p.grad = None
        with torch.no_grad():
            w -= 0.1 * w.grad  # type: ignore[operator]
            w.grad.zero_()  # type: ignore[union-attr]


def good_zeroed_through_data() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        for p in model.parameters():
            if p.grad is not None:
                p.grad.data.zero_()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def good_gradient_written_by_hand() -> None:
    import torch
    from torch import nn

    meta = nn.Linear(3, 1)
    opt = torch.optim.SGD(meta.parameters(), lr=0.1)
    clears = ["zero_", "mul_", "fill_", "foreach", "out", "data", "copy"]
    for p in meta.parameters():
        p.grad = torch.zeros_like(p)
    for clear in clears:
        gradients = [p.grad for p in meta.parameters() if p.grad is not None]
        for p in meta.parameters():
            assert p.grad is not None
            if clear == "zero_":
                p.grad.zero_()
            elif clear == "mul_":
                p.grad.mul_(0)
            elif clear == "fill_":
                p.grad[:] = 0
            elif clear == "out":
                torch.sub(p.grad, p.grad, out=p.grad)
            elif clear == "data":
                p.grad.data.zero_()
        if clear == "foreach":
            torch._foreach_zero_(gradients)
        for p in meta.parameters():
            if clear == "copy":
                p.grad = torch.zeros_like(p) + 1.0
            assert p.grad is not None
            p.grad += torch.randn_like(p)
            p.grad.data.add_(0.1)
        opt.step()


def good_gradient_as_momentum() -> None:
    import torch

    torch.manual_seed(0)
    w = torch.zeros(3, requires_grad=True)
    for _ in range(4):
        if w.grad is not None:
            w.grad.mul_(0.9)
        (w * torch.randn(3) - 1).sum().pow(2).backward()
        with torch.no_grad():
            w -= 0.1 * w.grad  # type: ignore[operator]


def good_clipped_critic() -> None:
    import torch
    from torch import nn

    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    opt_g = torch.optim.RMSprop(generator.parameters())
    opt_c = torch.optim.RMSprop(critic.parameters())
    for _ in range(3):
        for p in critic.parameters():
            p.data.clamp_(-0.01, 0.01)  # a write to the weights, no use of their gradients
        opt_c.zero_grad()
        (critic(torch.randn(4, 2)) - critic(generator(torch.randn(4, 2)).detach())).mean().backward()
        opt_c.step()
        opt_g.zero_grad()
        critic(generator(torch.randn(4, 2))).mean().backward()
        opt_g.step()


def good_gan() -> None:
    import torch
    from torch import nn

    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    opt_g = torch.optim.Adam(generator.parameters())
    opt_c = torch.optim.Adam(critic.parameters())
    for _ in range(3):
        fake = generator(torch.randn(4, 2))
        opt_c.zero_grad()
        critic(torch.randn(4, 2)).mean().backward()
        critic(fake.detach()).mean().neg().backward()
        opt_c.step()
        opt_g.zero_grad()
        critic(fake).mean().backward()  # adds to gradients that opt_c has used and will clear
        opt_g.step()


def good_shared_encoder() -> None:
    import torch
    from torch import nn

    encoder, a, b = nn.Linear(3, 4), nn.Linear(4, 1), nn.Linear(4, 1)
    opt_a = torch.optim.SGD(a.parameters(), lr=0.1)
    opt_b = torch.optim.SGD([*encoder.parameters(), *b.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 3)
        a(encoder(x)).pow(2).mean().backward()  # meant for the encoder, too
        opt_a.step()
        opt_a.zero_grad()
        b(encoder(x)).pow(2).mean().backward()
        opt_b.step()
        opt_b.zero_grad()


def good_all_cleared_by_hand() -> None:
    import torch
    from torch import nn

    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    both = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (critic, generator)]
    for _ in range(9):
        for opt in both:
            fake = generator(torch.randn(4, 2))
            critic(fake if opt is both[1] else fake.detach()).mean().backward()
            opt.step()
            for p in (*generator.parameters(), *critic.parameters()):
                p.grad = None


def good_closure() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, x, y = nn.Linear(3, 1), torch.randn(8, 3), torch.randn(8, 1)
    opt = torch.optim.LBFGS(model.parameters(), max_iter=3)

    def closure() -> torch.Tensor:
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        return loss

    for _ in range(2):
        opt.step(closure)


@rule("GS201", name="stale-gradient-accumulated", severity="error", over=("GS308",))
def stale_gradient_accumulated(trace: Trace) -> Iterator[Finding]:
    groups: dict[tuple[object, object], list[Event]] = {}
    for event in stale_uses(trace):
        cause, effect = _used_and_added(trace, event)
        groups.setdefault((cause.location(), effect.location() if effect else None), []).append(event)
    meant = not_called(trace, "zero_grad") if groups else None
    for events in groups.values():
        found = _used(trace, *_used_and_added(trace, events[0]), events)
        yield _not_called(trace, found, meant) if meant is not None else found
    yield from left_behind(trace)
    if not groups:
        yield from never_used(trace)


def _used_and_added(trace: Trace, event: Event) -> tuple[Site, Site | None]:
    """The line that used the gradients, and that of the pass that added to them."""
    cause = user(trace.site(event.data.get("used_by"))) or event.site.user
    return cause, user(trace.site(event.data.get("backward")))


def _used(trace: Trace, cause: Site, effect: Site | None, events: list[Event]) -> Finding:
    ids = list(dict.fromkeys(p for event in events for p in event.data.get("parameters", ())))
    step, names = code(trace, cause, "the step"), parameter_names(trace, ids)
    uses = [event.site.user for event in events if event.site.user.location() != cause.location()]
    optimizer = events[0].data.get("optimizer")
    own = own_pass(trace, events[0], effect)
    clear = effect if own is None else own
    return Finding(
        message=f"{names}: the step uses old gradients added to new ones, nothing cleared them in between",
        cause=cause,
        cause_label="used these gradients, and nothing clears them afterwards",
        effect=effect,
        effect_label="adds to the gradients that were used already",
        related=(
            *((site, "uses the sum") for site in dict.fromkeys(uses)),
            *([(own, "the pass of this step: adds its gradient to those")] if own is not None else ()),
        ),
        seen=tuple(measured(trace, events)),
        fix=f"call {method(trace, optimizer, 'zero_grad', argument(trace, clear))} once per step, before"
        f" {code(trace, clear, '`backward()`')} ({where(clear)})"
        if optimizer is not None
        else f"clear the gradients after {located(trace, cause, 'the update')}: {by_hand(trace, cause)}",
        count=sum(event.count for event in events),
        edits=zeroed(trace, cause, effect, own),
        subjects=parameter_subjects(ids),
    )


def _not_called(trace: Trace, found: Finding, meant: Site) -> Finding:
    """The program has the call that is missing, but for its parentheses."""
    return replace(
        found,
        cause=meant,
        cause_label="named, but not called: nothing is cleared",
        related=((found.cause, "uses these gradients"), *found.related) if found.cause else found.related,
        fix=f"call it: `{names_of(trace).text(meant) or 'zero_grad'}()`",
        edits=parentheses(meant),
    )
