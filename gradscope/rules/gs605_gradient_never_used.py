"""Backward computes gradients for a network, and nothing ever uses them.

Why: a target network, a teacher or a fixed feature extractor is there to be asked, not to be
trained. Called with gradients on and with parameters that require them, it saves its activations
and backward goes all the way through it, in every pass, for gradients that no step uses.

Fix: call it under `with torch.no_grad():`, or `detach()` its result; where the gradient has to go
through it to what is trained, freeze it with `requires_grad_(False)`.

Silent on: networks that are stepped, updated with their gradients or have them read; the critic
that a generator trains against; programs that step nothing.
At note: a network that the trained part needs the gradient through (only its own parameters'
gradients are for nothing); features for a trained network; an optimizer's gradients that it
clears before its own backward.
"""

from collections.abc import Iterator

from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.rules._calls import calls
from gradscope.rules._common import located, parameter_subjects
from gradscope.rules._data_reads import reads_of_results
from gradscope.rules._rewrites import under_no_grad
from gradscope.rules._unheld import left_behind, left_out
from gradscope.rules._unread import cost_of, dropped, finished, unread
from gradscope.rules._wasted import Waste, joined, wasted
from gradscope.store import Trace


def bad_target_network_with_gradients() -> None:
    import copy

    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    target_net = copy.deepcopy(net)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(4):
        state, after, reward = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8)
        goal = reward + 0.9 * target_net(after).max(dim=1).values  # cause: GS605
        loss = nn.functional.mse_loss(net(state)[:, 0], goal)
        opt.zero_grad()
        loss.backward()  # effect: GS605
        opt.step()
        if step % 2:
            target_net.load_state_dict(net.state_dict())


def bad_teacher_with_gradients() -> None:
    import torch
    from torch import nn

    teacher, student = nn.Linear(4, 3), nn.Linear(4, 3)
    teacher.eval()
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4)
        soft = teacher(x).softmax(dim=1)  # cause: GS605
        loss = nn.functional.kl_div(student(x).log_softmax(dim=1), soft, reduction="batchmean")
        opt.zero_grad()
        loss.backward()  # effect: GS605
        opt.step()


def bad_teacher_that_was_trained_before() -> None:
    import torch
    from torch import nn

    teacher, student = nn.Linear(4, 3), nn.Linear(4, 3)
    opt = torch.optim.SGD(teacher.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        nn.functional.cross_entropy(teacher(torch.randn(8, 4)), torch.randint(0, 3, (8,))).backward()
        opt.step()
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(6):
        x = torch.randn(8, 4)
        soft = teacher(x).softmax(dim=1)  # cause: GS605
        opt.zero_grad()
        nn.functional.mse_loss(student(x).softmax(dim=1), soft).backward()  # effect: GS605
        opt.step()


def good_score_trained_before() -> None:
    import torch
    from torch import nn

    score, maker = nn.Linear(4, 1), nn.Linear(2, 4)
    opt = torch.optim.SGD(score.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        score(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
    opt = torch.optim.SGD(maker.parameters(), lr=0.1)
    for _ in range(6):
        opt.zero_grad()
        (-score(maker(torch.randn(8, 2))).mean()).backward()
        opt.step()


def bad_averaged_teacher_with_gradients() -> None:
    import copy

    import torch
    from torch import nn

    student = nn.Linear(4, 3)
    teacher = copy.deepcopy(student)
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4)
        goal = teacher(x + 0.1)  # cause: GS605
        opt.zero_grad()
        nn.functional.mse_loss(student(x), goal).backward()  # effect: GS605
        opt.step()
        with torch.no_grad():
            for slow, fast in zip(teacher.parameters(), student.parameters(), strict=True):
                slow.lerp_(fast, 0.1)


def bad_features_compared() -> None:
    import torch
    from torch import nn

    features = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
    net = nn.Linear(4, 4)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        coarse, fine = torch.randn(8, 4), torch.randn(8, 4)
        out = net(coarse)
        loss = nn.functional.l1_loss(features(out), features(fine))  # cause: GS605
        opt.zero_grad()
        (loss + nn.functional.mse_loss(out, fine)).backward()  # effect: GS605
        opt.step()


def bad_part_of_a_loss_module() -> None:
    import torch
    from torch import nn

    class Perceptual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.features = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 8)).eval()

        def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            gap: torch.Tensor = self.features(a) - self.features(b)  # cause: GS605
            return gap.abs().mean()

    torch.manual_seed(0)
    model = nn.Linear(3, 3)
    criterion = Perceptual()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        x, y = torch.randn(4, 3), torch.randn(4, 3)
        opt.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()  # effect: GS605
        opt.step()


def good_target_network() -> None:
    import copy

    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    target_net = copy.deepcopy(net)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(4):
        state, after, reward = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8)
        with torch.no_grad():
            goal = reward + 0.9 * target_net(after).max(dim=1).values
        opt.zero_grad()
        nn.functional.mse_loss(net(state)[:, 0], goal).backward()
        opt.step()
        if step % 2:
            target_net.load_state_dict(net.state_dict())


def good_frozen_teacher() -> None:
    import torch
    from torch import nn

    teacher, student = nn.Linear(4, 3).requires_grad_(False), nn.Linear(4, 3)
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4)
        opt.zero_grad()
        nn.functional.mse_loss(student(x), teacher(x)).backward()
        opt.step()


def good_variance_reduction() -> None:
    import copy

    import torch
    from torch import nn

    model, x = nn.Linear(3, 1), torch.randn(12, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        before = copy.deepcopy(model)
        for part in x.split(4):
            opt.zero_grad()
            model(part).pow(2).mean().backward()
            before.zero_grad()
            before(part).pow(2).mean().backward()
            for p, q in zip(model.parameters(), before.parameters(), strict=True):
                assert p.grad is not None
                p.grad.data -= 0.5 * q.grad.data  # type: ignore[union-attr]
            opt.step()


def good_mutual_learning() -> None:
    import torch
    from torch import nn

    first, second = nn.Linear(4, 3), nn.Linear(4, 3)
    opt = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4)
        opt.zero_grad()
        a, b = first(x), second(x)
        nn.functional.kl_div(a.log_softmax(dim=1), b.softmax(dim=1), reduction="batchmean").backward()
        opt.step()


def good_siamese() -> None:
    import torch
    from torch import nn

    net = nn.Linear(4, 3)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        a, b = net(torch.randn(8, 4)), net(torch.randn(8, 4))
        (a - b).pow(2).sum(dim=1).mean().backward()
        opt.step()


def bad_part_of_the_model() -> None:
    import torch
    from torch import nn

    class Pair(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.online, self.target = nn.Linear(4, 3), nn.Linear(4, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            seen = self.online(x)
            goal, other = self.target(x), self.target(-x)  # cause: GS605
            loss: torch.Tensor = (seen - goal).pow(2).mean() + (seen + other).pow(2).mean()
            return loss

    model = Pair()
    opt = torch.optim.SGD(model.online.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4)).backward()  # effect: GS605
        opt.step()
        with torch.no_grad():
            for slow, fast in zip(model.target.parameters(), model.online.parameters(), strict=True):
                slow.mul_(0.9).add_(fast, alpha=0.1)


def good_adversarial_training() -> None:
    import torch
    from torch import nn

    generator = nn.Sequential(nn.Linear(2, 4), nn.Tanh())
    critic = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt_g = torch.optim.SGD(generator.parameters(), lr=0.1)
    opt_c = torch.optim.SGD(critic.parameters(), lr=0.1)
    for _ in range(3):
        fake = generator(torch.randn(8, 2))
        opt_c.zero_grad()
        (critic(fake.detach()).mean() - critic(torch.randn(8, 4)).mean()).backward()
        opt_c.step()
        opt_g.zero_grad()
        (-critic(fake).mean()).backward()
        opt_g.step()


def good_gradients_read() -> None:
    import torch
    from torch import nn

    probe, model = nn.Linear(4, 3), nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4)
        opt.zero_grad()
        probe.zero_grad()
        (model(x) - probe(x)).pow(2).mean().backward()
        assert probe.weight.grad is not None
        probe.weight.grad.norm().item()
        opt.step()


WHY_CLEARED = """what goes into a loss with its graph is saved for backward and gets gradients. They are
cleared before a step uses them: detached, the same result costs neither"""


@rule("GS605", name="gradient-never-used", severity="warning", over=("GS206", "GS314"))
def gradient_never_used(trace: Trace) -> Iterator[Finding]:
    known = calls(trace)
    if not known.paths.stepping or not known.paths.reached.complete:
        return
    forgotten = {p.id for found in (left_out, left_behind) for _, _, left in found(trace) for p in left}
    found: dict[object, Waste] = {}
    for group in unread(trace, known, forgotten):
        waste = wasted(known, group)
        if waste is not None:
            place = (waste.entry.location(), waste.event.site.user.location(), waste.mild)
            found[place] = joined(found[place], waste) if place in found else waste
    for waste in found.values():
        yield _finding(trace, waste, "no step, update or read ever used them")
    for group in finished(trace, known):
        waste = wasted(known, group)
        if waste is not None and not waste.mild:
            yield _finding(trace, waste, "no step, update or read has used them since its training ended")
    for group in dropped(trace, known):
        waste = wasted(known, group)
        if waste is not None and not waste.through:
            yield _cleared(trace, waste)


def _finding(trace: Trace, waste: Waste, unused: str) -> Finding:
    effect = waste.event.site.user
    entry = waste.entry
    if waste.through:
        fix = (
            f"freeze it: `{waste.name.strip('`')}.requires_grad_(False)`; the gradient still goes through it"
        )
    else:
        fix = f"put {located(trace, entry, 'this call')} under `with torch.no_grad():`, or detach its result"
    return Finding(
        message=f"backward computes gradients of {waste.name} that nothing uses",
        cause=entry,
        cause_label="its own parameters get gradients too" if waste.through else "called with gradients on",
        effect=effect,
        effect_label="goes through it in every pass",
        related=_caller(waste),
        seen=(
            cost_of(trace, waste.event.site, waste.times, waste.parameters),
            unused,
        ),
        fix=fix,
        count=waste.times,
        severity="note" if waste.mild else "",
        edits=() if waste.mild else under_no_grad(trace, entry),
        subjects=parameter_subjects(p.id for p in waste.parameters),
    )


def _caller(waste: Waste) -> tuple[tuple[Site, str], ...]:
    """The line of the training function, where the network is a part of the model called there."""
    call = waste.call.entry
    return ((call, "in this call"),) if call.location() != waste.entry.location() else ()


def _cleared(trace: Trace, waste: Waste) -> Finding:
    entry, network = waste.entry, waste.call.event.data["module"]
    reads = [site for site, networks in reads_of_results(trace).items() if networks == {network}]
    return Finding(
        message=f"this pass goes through {waste.name}, and its gradients are cleared unused",
        cause=entry,
        cause_label="its result goes into this loss with its graph",
        effect=waste.event.site.user,
        effect_label="computes gradients that the next `zero_grad()` drops",
        seen=(cost_of(trace, waste.event.site, waste.times, waste.parameters),),
        fix=f"detach the result of {located(trace, entry, 'this call')} where it goes into "
        f"{located(trace, waste.event.site.user, 'this loss')}",
        count=waste.times,
        severity="note",
        related=tuple((site, "`.data` of such a result: `.detach()` is safe") for site in reads),
        why=WHY_CLEARED,
        subjects=parameter_subjects(p.id for p in waste.parameters),
    )
