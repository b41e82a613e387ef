"""More programs of GS204: each bad one is reported at its marks, each good one by no rule."""


def bad_backward_forgotten() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        loss = model(torch.randn(8, 3)).pow(2).mean()
        opt.step()  # cause: GS204
        assert loss >= 0


def bad_discriminator_without_backward() -> None:  # fix: by hand
    import torch
    from torch import nn

    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    opt_g = torch.optim.Adam(generator.parameters())
    opt_d = torch.optim.Adam(critic.parameters())
    for _ in range(4):
        fake = generator(torch.randn(4, 2))
        d_loss = critic(fake.detach()).mean() - critic(torch.randn(4, 2)).mean()
        opt_d.zero_grad()  # what it clears was made for the generator
        opt_d.step()  # cause: GS204
        opt_g.zero_grad()
        critic(fake).mean().neg().backward()
        opt_g.step()
        assert d_loss.requires_grad


def bad_cleared_late() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        loss = model(torch.randn(8, 3)).pow(2).mean()
        opt.zero_grad()
        opt.step()  # cause: GS204
        loss.backward()


def bad_backward_not_called() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        loss = model(torch.randn(8, 3)).pow(2).mean()
        loss.backward  # cause: GS204
        opt.step()  # effect: GS204


def bad_policy_without_its_backward() -> None:  # fix: by hand
    import torch
    from torch import nn

    actor, critic = nn.Linear(3, 2), nn.Linear(3, 1)
    opt_a = torch.optim.SGD(actor.parameters(), lr=0.1)
    opt_c = torch.optim.SGD(critic.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 3)
        with torch.no_grad():
            action = torch.distributions.Categorical(logits=actor(x)).sample()
        gain = (action == 1).float()
        opt_c.zero_grad()
        value = critic(x).squeeze(1)
        (value - gain).pow(2).mean().backward()
        opt_c.step()
        chosen = torch.distributions.Categorical(logits=actor(x)).log_prob(action)
        loss = -(chosen * (gain - value.detach())).mean()
        opt_a.zero_grad()
        opt_a.step()  # cause: GS204
        print(loss.item())


def bad_in_a_later_phase() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(40):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
    for _ in range(15):
        opt.zero_grad()
        loss = model(torch.randn(8, 3)).abs().mean()
        opt.step()  # cause: GS204
    assert loss.requires_grad


def bad_closure() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.LBFGS(model.parameters(), max_iter=4)
    x = torch.randn(8, 3)

    def closure() -> torch.Tensor:
        opt.zero_grad()
        loss: torch.Tensor = model(x).pow(2).mean()
        return loss

    for _ in range(2):
        opt.step(closure)  # cause: GS204


def good_closure_that_sets_the_gradients() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.LBFGS(model.parameters(), max_iter=4)
    x = torch.randn(8, 3)

    def closure() -> float:
        loss = model(x).pow(2).mean()
        grads = torch.autograd.grad(loss, list(model.parameters()))
        for p, grad in zip(model.parameters(), grads, strict=True):
            p.grad = grad
        return float(loss)

    for _ in range(2):
        opt.step(closure)


def bad_optimizer_of_the_phase_before() -> None:
    import torch
    from torch import nn

    encoder, decoder, head = nn.Linear(4, 2), nn.Linear(2, 4), nn.Linear(2, 2)
    pretrain = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.1)
    opt = torch.optim.SGD(head.parameters(), lr=0.1)
    for _ in range(6):
        x = torch.randn(8, 4)
        pretrain.zero_grad()
        (decoder(encoder(x)) - x).pow(2).mean().backward()
        pretrain.step()
    pretrain.zero_grad()
    for _ in range(2):
        x = torch.randn(8, 4)
        opt.zero_grad()
        loss = nn.functional.cross_entropy(head(encoder(x).detach()), x.argmax(1) % 2)
        loss.backward()  # effect: GS204
        pretrain.step()  # cause: GS204


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

    opt.step(closure)


def good_warm_up() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(opt, 2)
    opt.step()  # so that the scheduler does not complain
    for _ in range(3):
        scheduler.step()
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def good_schedule_tried_out_by_itself() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
    probe = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.1)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(probe, 10)
    for _ in range(10):
        probe.step()
        scheduler.step()


def good_last_batches() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        for i in range(4):
            (model(torch.randn(8, 3)).pow(2).mean() / 2).backward()
            if i % 2:
                opt.step()
                opt.zero_grad()
        opt.step()  # where the batches do not divide evenly
        opt.zero_grad()


def good_gradient_by_hand() -> None:
    import torch

    model = torch.nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = model(torch.randn(8, 3)).pow(2).mean()
        gradients = torch.autograd.grad(loss, list(model.parameters()))
        for p, gradient in zip(model.parameters(), gradients, strict=True):
            p.grad = gradient
        opt.step()


def good_step_first() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.step()  # with the gradients of the round before
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()


def good_optimizer_goes_back_itself() -> None:
    import torch
    from torch import nn

    class Own(torch.optim.Optimizer):
        def __init__(self, model: nn.Module) -> None:
            super().__init__(model.parameters(), {"lr": 0.1})
            self.model = model

        def step(self, x: torch.Tensor, memory: bool) -> None:  # type: ignore[override]
            self.zero_grad()
            self.model(x).pow(2).mean().backward()
            moves = [(p, self.defaults["lr"] * p.grad) for p in self.model.parameters() if p.grad is not None]
            if memory:
                self.zero_grad()
                self.model(torch.ones(2, 3)).mean()
            with torch.no_grad():
                for p, move in moves:
                    p -= move

    model = nn.Linear(3, 1)
    opt = Own(model)
    for number in range(12):
        opt.step(torch.randn(8, 3), number >= 6)
        if number == 5:  # how much each weight matters
            weights = list(model.parameters())
            slopes = torch.autograd.grad(model(torch.ones(2, 3)).sum(), weights)
            assert all(slope.isfinite().all() for slope in slopes)


def bad_leaf_made_of_numbers() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    actor = nn.Linear(4, 3)
    learns = torch.optim.Adam(actor.parameters(), lr=0.01)
    for _ in range(4):
        likely = torch.from_numpy(torch.rand(16).log().numpy().copy())  # as it comes from a process of actors
        gain = torch.randn(16)
        loss = -(likely.requires_grad_() * gain).mean()  # cause: GS204
        learns.zero_grad()
        loss.backward()  # effect: GS204
        learns.step()


def good_target_detached() -> None:
    import copy

    import torch
    from torch import nn

    actor, critic = nn.Linear(4, 2), nn.Linear(6, 1)
    target = copy.deepcopy(critic)
    opt_actor = torch.optim.Adam(actor.parameters(), lr=1e-3)
    opt_critic = torch.optim.Adam(critic.parameters(), lr=1e-3)
    for _ in range(6):
        state, reward = torch.randn(8, 4), torch.randn(8, 1)
        action = actor(state).detach()
        value = critic(torch.cat([state, action], 1))
        with torch.no_grad():
            after = reward + 0.9 * target(torch.cat([state, action], 1))
        opt_critic.zero_grad()
        nn.functional.mse_loss(value, after).backward()
        opt_critic.step()
        opt_actor.zero_grad()
        critic.requires_grad_(False)
        (-critic(torch.cat([state, actor(state)], 1)).mean()).backward()
        critic.requires_grad_(True)
        opt_actor.step()
        with torch.no_grad():
            for old, new in zip(target.parameters(), critic.parameters()):
                old.copy_(0.9 * old + 0.1 * new)


def detached_in_place_of_the_target() -> None:
    import copy

    import torch
    from torch import nn

    actor, critic = nn.Linear(4, 2), nn.Linear(6, 1)
    target = copy.deepcopy(critic)
    opt_actor = torch.optim.Adam(actor.parameters(), lr=1e-3)
    opt_critic = torch.optim.Adam(critic.parameters(), lr=1e-3)
    for _ in range(6):
        state, reward = torch.randn(8, 4), torch.randn(8, 1)
        action = actor(state).detach()
        value = critic(torch.cat([state, action], 1)).detach()
        after = reward + 0.9 * target(torch.cat([state, action], 1))
        opt_critic.zero_grad()
        nn.functional.mse_loss(value, after).backward()
        opt_critic.step()
        opt_actor.zero_grad()
        (-critic(torch.cat([state, actor(state)], 1)).mean()).backward()
        opt_actor.step()
        with torch.no_grad():
            for old, new in zip(target.parameters(), critic.parameters()):
                old.copy_(0.9 * old + 0.1 * new)


def bad_backward_in_the_other_branch() -> None:
    """q2922: with several batches a step the loss is divided, and only without them it is gone back from."""
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = 4
    for turn in range(8):
        loss = model(torch.randn(8, 3)).pow(2).mean()
        if batches > 1:
            loss = loss / batches
        else:
            loss.backward()  # cause: GS204
        if (turn + 1) % batches == 0:
            opt.step()  # effect: GS204
            opt.zero_grad()


def bad_backward_under_a_condition_that_never_holds() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        loss = model(torch.randn(8, 3)).pow(2).mean()
        if loss.isnan():
            loss.backward()  # cause: GS204
        opt.step()  # effect: GS204


def bad_switched_off() -> None:
    import torch
    from torch import nn

    def trains(model: nn.Module, on: bool) -> None:
        for p in model.parameters():
            p.requires_grad = on

    torch.manual_seed(0)
    maker, critic = nn.Linear(3, 2), nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
    first, second = torch.optim.Adam(critic.parameters()), torch.optim.Adam(maker.parameters())
    for turn in range(6):
        real = torch.randn(16, 2)
        trains(critic, True)
        trains(maker, False)
        loss = nn.functional.softplus(critic(maker(torch.randn(16, 3)))).mean()
        loss = loss + nn.functional.softplus(-critic(real)).mean()
        first.zero_grad()
        loss.backward()
        first.step()
        trains(critic, False)  # cause: GS204
        trains(maker, True)
        if turn % 2 == 0:
            real.requires_grad = True
            slope = torch.autograd.grad(critic(real).sum(), real, create_graph=True)[0]
            penalty = slope.pow(2).sum(1).mean()
            first.zero_grad()
            (penalty + 0 * critic(real).mean()).backward()
            first.step()  # effect: GS204
        second.zero_grad()
        nn.functional.softplus(-critic(maker(torch.randn(16, 3)))).mean().backward()
        second.step()
