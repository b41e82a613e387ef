"""More programs of GS215: each bad one is reported at its marks, each good one by no rule."""


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


def bad_cleared_beside_a_wrapper_that_waits() -> None:
    import torch
    from torch import nn

    class Accumulating:
        def __init__(self, optimizer: torch.optim.Optimizer) -> None:
            self.optimizer, self.calls = optimizer, 0

        def step(self) -> None:
            self.calls += 1
            if self.calls % 4 == 0:
                self.optimizer.step()

    model = nn.Linear(3, 1)
    opt = Accumulating(torch.optim.Adam(model.parameters()))
    for _ in range(12):
        loss = model(torch.randn(8, 3)).pow(2).mean() / 4
        loss.backward()  # effect: GS215
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


def bad_cleared_twice_at_every_pass() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(8):
        opt.zero_grad()  # cause: GS215
        model.zero_grad()
        loss = model(torch.randn(8, 3)).pow(2).mean() / 4
        loss.backward()  # effect: GS215
        if i % 4 == 3:
            opt.step()


def bad_cleared_by_hand() -> None:  # fix: by hand
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


def bad_rest_of_an_epoch() -> None:  # fix: by hand
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


def bad_rest_cleared_by_hand() -> None:  # fix: by hand
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


def bad_two_optimizers() -> None:
    import torch
    from torch import nn

    encoder, decoder = nn.Linear(3, 3), nn.Linear(3, 1)
    opt_e = torch.optim.SGD(encoder.parameters(), lr=0.1)
    opt_d = torch.optim.SGD(decoder.parameters(), lr=0.1)
    for i in range(16):
        loss = decoder(encoder(torch.randn(4, 3))).pow(2).mean() / 4
        opt_e.zero_grad()  # cause: GS215
        opt_d.zero_grad()
        loss.backward()  # effect: GS215
        if (i + 1) % 4 == 0:
            opt_e.step()
            opt_d.step()


def good_two_optimizers_in_turn() -> None:
    """What one of them clears of the other's pass was not meant for it."""
    import torch
    from torch import nn

    encoder, decoder = nn.Linear(3, 3), nn.Linear(3, 1)
    opt_e = torch.optim.SGD(encoder.parameters(), lr=0.1)
    opt_d = torch.optim.SGD(decoder.parameters(), lr=0.1)
    for _ in range(8):
        for opt in (opt_e, opt_d):
            opt_e.zero_grad()
            opt_d.zero_grad()
            decoder(encoder(torch.randn(4, 3))).pow(2).mean().backward()
            opt.step()


def bad_one_of_two_optimizers() -> None:
    import torch
    from torch import nn

    encoder, decoder = nn.Linear(3, 3), nn.Linear(3, 1)
    opt_e = torch.optim.SGD(encoder.parameters(), lr=0.1)
    opt_d = torch.optim.SGD(decoder.parameters(), lr=0.1)
    for i in range(16):
        loss = decoder(encoder(torch.randn(4, 3))).pow(2).mean() / 4
        opt_e.zero_grad()  # cause: GS215
        loss.backward()  # effect: GS215
        if (i + 1) % 4 == 0:
            opt_e.step()
            opt_d.step()
            opt_d.zero_grad()


def good_one_of_two_optimizers_steps_seldom() -> None:
    """The encoder follows slowly, with the gradient of the last batch; the decoder learns from each."""
    import torch
    from torch import nn

    encoder, decoder = nn.Linear(3, 3), nn.Linear(3, 1)
    opt_e = torch.optim.SGD(encoder.parameters(), lr=0.01)
    opt_d = torch.optim.SGD(decoder.parameters(), lr=0.1)
    for i in range(16):
        loss = decoder(encoder(torch.randn(4, 3))).pow(2).mean()
        opt_e.zero_grad()
        loss.backward()
        opt_d.step()
        opt_d.zero_grad()
        if (i + 1) % 4 == 0:
            opt_e.step()


def good_two_optimizers_accumulate() -> None:
    import torch
    from torch import nn

    encoder, decoder = nn.Linear(3, 3), nn.Linear(3, 1)
    opt_e = torch.optim.SGD(encoder.parameters(), lr=0.1)
    opt_d = torch.optim.SGD(decoder.parameters(), lr=0.1)
    for i in range(16):
        (decoder(encoder(torch.randn(4, 3))).pow(2).mean() / 4).backward()
        if (i + 1) % 4 == 0:
            opt_e.step()
            opt_e.zero_grad()
            opt_d.step()
            opt_d.zero_grad()


def good_generator_and_discriminator_accumulate() -> None:
    """The generator's gradients from the discriminator's passes are cleared before its own."""
    import torch
    from torch import nn

    made, judged = nn.Linear(2, 3), nn.Linear(3, 1)
    opt_g = torch.optim.SGD(made.parameters(), lr=0.1)
    opt_d = torch.optim.SGD(judged.parameters(), lr=0.1)
    for _ in range(4):
        for _ in range(4):
            fake, true = made(torch.randn(4, 2)), torch.randn(4, 3)
            (judged(fake).mean() - judged(true).mean() + judged(true).pow(2).mean()).backward()
        opt_d.step()
        opt_g.zero_grad()
        for _ in range(4):
            (-judged(made(torch.randn(4, 2))).mean()).backward()
        opt_g.step()
        opt_g.zero_grad()
        opt_d.zero_grad()


def bad_asked_whether_they_are_finite() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(12):
        opt.zero_grad()  # cause: GS215
        model(torch.randn(8, 4)).pow(2).mean().backward()  # effect: GS215
        if any(p.grad is not None and p.grad.isnan().any() for p in model.parameters()):
            raise ValueError("not finite")
        if step % 4 == 3:
            opt.step()


def good_samples_chosen_by_their_gradients() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    chosen: list[torch.Tensor] = []
    for _ in range(24):
        x = torch.randn(8, 4)
        opt.zero_grad()
        model(x).pow(2).mean().backward()
        if model.weight.grad.norm() > 0.5:  # type: ignore[union-attr]
            chosen.append(x)
    for x in chosen[:3]:
        opt.zero_grad()
        model(x).pow(2).mean().backward()
        opt.step()


def bad_dropped_before_ranks_add_up() -> None:  # fix: by hand
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        model = DistributedDataParallel(nn.Linear(4, 1))
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(6):
            for part in range(4):
                opt.zero_grad()  # cause: GS215
                if part < 3:
                    with model.no_sync():
                        (model(torch.randn(8, 4)).pow(2).mean() / 4).backward()  # effect: GS215
                else:
                    (model(torch.randn(8, 4)).pow(2).mean() / 4).backward()
            opt.step()
        del model  # first: freed after the group it would wait for gloo's thread, and hold the GIL
    finally:
        dist.destroy_process_group()


def good_norms_of_one_rank_alone() -> None:
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        model = DistributedDataParallel(nn.Linear(4, 1))
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        norms: list[float] = []
        for _ in range(6):
            with model.no_sync():
                model(torch.randn(8, 4)).pow(2).mean().backward()
            norms.append(float(sum(p.grad.norm() for p in model.parameters() if p.grad is not None)))
            opt.zero_grad()
            model(torch.randn(8, 4)).pow(2).mean().backward()
            opt.step()
            opt.zero_grad()
        del model  # first: freed after the group it would wait for gloo's thread, and hold the GIL
    finally:
        dist.destroy_process_group()


def bad_both_of_a_gan_cleared_at_each_pass() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    maker, judge = nn.Linear(8, 8), nn.Linear(8, 1)
    opt_maker = torch.optim.Adam(maker.parameters(), lr=1e-3)
    opt_judge = torch.optim.Adam(judge.parameters(), lr=1e-3)
    for i in range(24):
        x = torch.randn(4, 8)
        made = maker(x)
        opt_maker.zero_grad()  # cause: GS215
        ((made - x).abs().mean() / 4 - 0.1 * judge(made).mean()).backward()  # effect: GS215
        if i % 4 == 3:
            opt_maker.step()
        opt_judge.zero_grad()  # cause: GS215
        (
            torch.relu(1 - judge(x)).mean() + torch.relu(1 + judge(made.detach())).mean()
        ).backward()  # effect: GS215
        if i % 4 == 3:
            opt_judge.step()


def bad_steps_that_are_given_a_closure_that_does_nothing() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(24):
        opt.zero_grad()  # cause: GS215
        (model(torch.randn(8, 3)).pow(2).mean() / 4).backward()  # effect: GS215
        if i % 4 == 3:
            opt.step(closure=lambda: None)


def bad_cleared_before_the_last_pass_of_each_step() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for i in range(24):
        loss = model(torch.randn(8, 3)).pow(2).mean() / 4
        update = i % 4 == 3
        if update:
            opt.zero_grad()  # cause: GS215
        loss.backward()  # effect: GS215
        if update:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()


def bad_first_of_two_halves_cleared() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(6):
        for half in range(2):
            loss = (model(torch.randn(4, 3)) - 1).pow(2).mean() / 2
            if half == 1:
                model.zero_grad(set_to_none=False)  # cause: GS215
            loss.backward()  # effect: GS215
            if half == 1:
                opt.step()


def good_cleared_before_the_first_pass_of_each_step() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for i in range(24):
        loss = model(torch.randn(8, 3)).pow(2).mean() / 4
        if i % 4 == 0:
            opt.zero_grad()
        loss.backward()
        if i % 4 == 3:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()


def good_generator_adds_to_what_the_critic_has_used() -> None:
    """The critic clears at its own turn what the generator's passes have added to its used gradients."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    maker, judge = nn.Linear(2, 2), nn.Linear(2, 1)
    opt_g, opt_d = torch.optim.Adam(maker.parameters()), torch.optim.Adam(judge.parameters())
    for _ in range(8):
        opt_d.zero_grad()
        (judge(maker(torch.randn(4, 2)).detach()).mean() - judge(torch.randn(4, 2)).mean()).backward()
        opt_d.step()
        opt_g.zero_grad()
        for _ in range(2):
            (-judge(maker(torch.randn(4, 2))).mean() / 2).backward()
        opt_g.step()


def good_a_pass_for_a_look_between_steps() -> None:
    """A pass for the gradient of an input fills the used ones of the parameters too; they are cleared afterwards."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        x = torch.randn(1, 3, requires_grad=True)
        model(x).sum().backward()
        assert x.grad is not None
        opt.zero_grad()
        model(torch.randn(8, 3) + 0.01 * x.grad.sign()).pow(2).mean().backward()
        opt.step()


def good_a_pass_for_what_its_hooks_gather() -> None:
    from typing import Any

    import torch
    from torch import nn

    torch.manual_seed(0)
    scorer, spread, on = nn.Linear(5, 2, bias=False), torch.eye(2), [False]
    opt = torch.optim.SGD(scorer.parameters(), lr=0.05)

    def gather(module: nn.Module, given: Any, came: Any) -> None:
        if on[0]:
            spread.mul_(0.9).add_(0.1 * came[0].t() @ came[0])

    scorer.register_full_backward_hook(gather)
    for _ in range(6):
        x = torch.randn(16, 5)
        logp = scorer(x).log_softmax(1)
        drawn = torch.multinomial(logp.detach().exp(), 1)
        on[0] = True
        opt.zero_grad()
        (-logp.gather(1, drawn).mean()).backward(retain_graph=True)
        on[0] = False
        opt.zero_grad()
        nn.functional.nll_loss(logp, (x[:, 0] > 0).long()).backward()
        assert scorer.weight.grad is not None
        scorer.weight.grad = torch.linalg.solve(spread + 0.1 * torch.eye(2), scorer.weight.grad)
        opt.step()


def bad_wrapper_steps_now_and_then() -> None:
    import torch
    from torch import nn

    class Accumulated:
        def __init__(self, opt: torch.optim.Optimizer) -> None:
            self.opt, self.calls = opt, 0

        def begin(self) -> None:
            self.calls += 1

        def step(self) -> None:
            if self.calls % 4 == 0:
                self.opt.step()

        def zero_grad(self) -> None:
            if self.calls % 4 == 0:
                self.opt.zero_grad()

    model = nn.Linear(3, 1)
    wrapper = Accumulated(torch.optim.SGD(model.parameters(), lr=0.1))
    for _ in range(12):
        wrapper.begin()
        (model(torch.randn(8, 3)).pow(2).mean() / 4).backward()  # effect: GS215
        wrapper.step()
        model.zero_grad()  # cause: GS215


def good_wrapper_steps_and_clears_now_and_then() -> None:
    import torch
    from torch import nn

    class Accumulated:
        def __init__(self, opt: torch.optim.Optimizer) -> None:
            self.opt, self.calls = opt, 0

        def begin(self) -> None:
            self.calls += 1

        def step(self) -> None:
            if self.calls % 4 == 0:
                self.opt.step()

        def zero_grad(self) -> None:
            if self.calls % 4 == 0:
                self.opt.zero_grad()

    model = nn.Linear(3, 1)
    wrapper = Accumulated(torch.optim.SGD(model.parameters(), lr=0.1))
    for _ in range(12):
        wrapper.begin()
        (model(torch.randn(8, 3)).pow(2).mean() / 4).backward()
        wrapper.step()
        wrapper.zero_grad()


def good_passes_for_what_their_hooks_gather() -> None:
    """As a natural gradient has it: the first pass is there for the statistics alone."""
    from typing import Any

    import torch

    torch.manual_seed(0)
    net = torch.nn.Linear(4, 3)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    gathered: list[torch.Tensor] = []

    def gather(module: Any, inner: Any, outer: Any) -> None:
        if gathers:
            gathered.append(outer[0].T @ outer[0])

    net.register_full_backward_hook(gather)
    for _ in range(12):
        x, y = torch.randn(16, 4), torch.randint(3, (16,))
        logits = net(x)
        opt.zero_grad()
        gathers = True
        drawn = torch.distributions.Categorical(logits=logits.detach()).sample()
        torch.nn.functional.cross_entropy(logits, drawn).backward(retain_graph=True)
        gathers = False
        opt.zero_grad()
        torch.nn.functional.cross_entropy(logits, y).backward()
        grad = net.weight.grad
        assert grad is not None
        net.weight.grad = torch.linalg.solve(sum(gathered, torch.eye(3)) / len(gathered), grad)
        opt.step()


def bad_by_hand_before_each_part() -> None:  # fix: by hand
    import torch
    from torch import nn

    def update(net: nn.Module, opt: torch.optim.Optimizer, image: torch.Tensor, mask: torch.Tensor) -> None:
        for part, truth in zip(image.chunk(4), mask.chunk(4), strict=True):
            for w in net.parameters():
                w.grad = None  # cause: GS215
            loss = nn.functional.binary_cross_entropy_with_logits(net(part).squeeze(1), truth) / 4
            loss.backward()  # effect: GS215
        opt.step()

    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 1, 1))
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for _ in range(30):
        image = torch.rand(8, 3, 6, 6)
        update(net, opt, image, (image.mean(1) > 0.5).float())


def good_by_hand_before_all_parts() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 1, 1))
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for _ in range(30):
        image = torch.rand(8, 3, 6, 6)
        for w in net.parameters():
            w.grad = None
        for part in image.chunk(4):
            truth = (part.mean(1) > 0.5).float()
            loss = nn.functional.binary_cross_entropy_with_logits(net(part).squeeze(1), truth) / 4
            loss.backward()
        opt.step()


def good_passes_beside_that_of_their_mean() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(6):
        losses = []
        for _ in range(3):
            x = torch.randn(8, 4)
            loss = (model(x) - x.sum(dim=1, keepdim=True)).pow(2).mean()
            loss.backward(retain_graph=True)
            losses.append(loss)
        opt.zero_grad()
        torch.stack(losses).mean().backward()
        opt.step()
