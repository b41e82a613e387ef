"""More programs of GS301: each bad one is reported at its marks, each good one by no rule."""


def bad_codebook_compared_by_hand() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Quantizer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.codes = nn.Embedding(6, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            code = self.codes(torch.cdist(x, self.codes.weight).argmin(1))
            return x + (code - x).detach()  # cause: GS301

    encoder, quantizer, decoder = nn.Linear(5, 4), Quantizer(), nn.Linear(4, 5)
    parts = nn.ModuleList([encoder, quantizer, decoder])
    opt = torch.optim.SGD(parts.parameters(), lr=0.05)
    for _ in range(20):
        x = torch.randn(16, 5)
        hidden = encoder(x)
        stands = quantizer(hidden)
        moved = (stands - hidden.detach()).pow(2).mean()
        loss = (decoder(stands) - x).pow(2).mean() + moved
        opt.zero_grad()
        loss.backward()  # effect: GS301
        opt.step()


def bad_no_grad_around_trained_layers() -> None:  # fix: by hand
    import torch
    from torch import nn

    trunk, head = nn.Linear(4, 8), nn.Linear(8, 1)
    opt = torch.optim.SGD([*trunk.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        with torch.no_grad():  # cause: GS301
            features = torch.relu(trunk(torch.randn(16, 4)))
        loss = head(features).pow(2).mean()
        loss.backward()  # effect: GS301
        opt.step()


def bad_number_as_factor() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    scale = torch.ones((), requires_grad=True)
    opt = torch.optim.SGD([*model.parameters(), scale], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean() * scale.item()  # cause: GS301
        loss.backward()  # effect: GS301
        opt.step()


def bad_number_with_a_name() -> None:
    import torch
    from torch import nn

    model, weigher = nn.Linear(4, 1), nn.Linear(4, 1)
    opt = torch.optim.SGD([*model.parameters(), *weigher.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4)
        opt.zero_grad()
        weight = weigher(x).mean().item()  # cause: GS301
        loss = weight * model(x).pow(2).mean()
        loss.backward()  # effect: GS301
        opt.step()


def bad_sample_without_a_gradient() -> None:  # fix: by hand
    import torch
    from torch import nn

    encoder, decoder = nn.Linear(4, 2), nn.Linear(2, 4)
    opt = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        x = torch.randn(8, 4)
        code = torch.distributions.Normal(encoder(x), 0.1).sample()  # cause: GS301
        nn.functional.mse_loss(decoder(code), x).backward()  # effect: GS301
        opt.step()


def bad_numbers_in_a_list() -> None:  # fix: by hand
    import torch
    from torch import nn

    trunk, head = nn.Linear(4, 1), nn.Linear(2, 1)
    opt = torch.optim.SGD([*trunk.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        rows = []
        for x in torch.randn(3, 4):
            rows.append([float(trunk(x)), 1.0])  # cause: GS301
        head(torch.tensor(rows)).pow(2).mean().backward()  # effect: GS301
        opt.step()


def bad_states_gathered_as_numbers() -> None:
    import numpy as np
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.GRUCell(3, 6)

        def forward(self, frames: torch.Tensor) -> torch.Tensor:
            state, states = torch.zeros(frames.shape[1], 6), []
            for frame in frames:
                state = self.cell(frame, state)
                states.append(state.tolist())  # cause: GS301
            return torch.tensor(np.array(states), dtype=torch.float32)

    encoder, tagger = Encoder(), nn.Linear(6, 2)
    opt = torch.optim.Adam([*encoder.parameters(), *tagger.parameters()], lr=5e-3)
    for _ in range(3):
        frames = torch.randn(4, 12, 3)
        goal = (frames.cumsum(0)[..., 0] > 0).long()
        loss = nn.functional.cross_entropy(tagger(encoder(frames)).flatten(0, 1), goal.flatten())
        opt.zero_grad()
        loss.backward()  # effect: GS301
        opt.step()


def good_states_stacked_and_their_means_kept_as_numbers() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.GRUCell(3, 6)
            self.shown: list[float] = []

        def forward(self, frames: torch.Tensor) -> torch.Tensor:
            state, states = torch.zeros(frames.shape[1], 6), []
            for frame in frames:
                state = self.cell(frame, state)
                states.append(state)
                self.shown.append(state.mean().tolist())
            return torch.stack(states)

    encoder, tagger = Encoder(), nn.Linear(6, 2)
    opt = torch.optim.Adam([*encoder.parameters(), *tagger.parameters()], lr=5e-3)
    for _ in range(3):
        frames = torch.randn(4, 12, 3)
        goal = (frames.cumsum(0)[..., 0] > 0).long()
        loss = nn.functional.cross_entropy(tagger(encoder(frames)).flatten(0, 1), goal.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_generator_after_its_discriminator() -> None:
    import torch
    from torch import nn

    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    opt_g = torch.optim.Adam(generator.parameters())
    opt_c = torch.optim.Adam(critic.parameters())
    for _ in range(3):
        fake = generator(torch.randn(4, 2))
        opt_c.zero_grad()
        (critic(fake.detach()).mean() - critic(torch.randn(4, 2)).mean()).backward()
        opt_c.step()
        opt_g.zero_grad()
        loss = -critic(fake.detach()).mean()  # cause: GS301
        loss.backward()  # effect: GS301
        opt_g.step()


def bad_copy_of_the_parameters() -> None:
    import torch
    from torch import nn
    from torch.func import functional_call

    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    own = {k: v.detach().clone().requires_grad_() for k, v in net.named_parameters()}
    opt = torch.optim.SGD(own.values(), lr=0.1)
    for _ in range(3):
        used = {k: v.detach() if k.startswith("0") else v for k, v in own.items()}  # cause: GS301
        opt.zero_grad()
        functional_call(net, used, (torch.randn(8, 4),)).pow(2).mean().backward()  # effect: GS301
        opt.step()


def bad_detach_from_some_step_on() -> None:
    import torch
    from torch import nn

    trunk, head = nn.Linear(4, 8), nn.Linear(8, 1)
    opt = torch.optim.SGD([*trunk.parameters(), *head.parameters()], lr=0.1)
    for step in range(20):
        opt.zero_grad()
        hidden = trunk(torch.randn(16, 4))
        if step >= 12:
            hidden = hidden.detach()  # cause: GS301
        head(hidden).pow(2).mean().backward()  # effect: GS301
        opt.step()


def bad_with_an_optimizer_that_never_steps() -> None:  # fix: by hand
    import torch
    from torch import nn

    trunk, head = nn.Linear(4, 8), nn.Linear(8, 1)
    opt_trunk = torch.optim.SGD(trunk.parameters(), lr=0.1)
    opt_head = torch.optim.SGD(head.parameters(), lr=0.1)
    for _ in range(3):
        opt_trunk.zero_grad()
        opt_head.zero_grad()
        features = trunk(torch.randn(16, 4)).detach()  # cause: GS301
        head(features).pow(2).mean().backward()  # effect: GS301
        opt_head.step()


def bad_detached_after_each_layer() -> None:
    import torch
    from torch import nn

    first, second, last = nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 1)
    opt = torch.optim.SGD([*first.parameters(), *second.parameters(), *last.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        hidden = torch.relu(first(torch.randn(8, 4))).detach()
        hidden = torch.relu(second(hidden)).detach()  # cause: GS301
        last(hidden).pow(2).mean().backward()  # effect: GS301
        opt.step()


def bad_both_sides_detached() -> None:
    import torch
    from torch import nn

    encoder, head = nn.Linear(4, 8), nn.Linear(16, 1)
    opt = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        left = torch.relu(encoder(torch.randn(8, 4))).detach()  # cause: GS301
        right = torch.relu(encoder(torch.randn(8, 4))).detach()
        head(torch.cat([left, right], dim=1)).pow(2).mean().backward()  # effect: GS301
        opt.step()


def good_optimizer_of_a_later_phase() -> None:
    import torch
    from torch import nn

    trunk, head = nn.Linear(4, 8), nn.Linear(8, 1)
    slow = torch.optim.SGD(trunk.parameters(), lr=0.001)
    opt = torch.optim.SGD(head.parameters(), lr=0.1)
    for epoch in range(3):
        features = trunk(torch.randn(16, 4))
        if epoch < 5:
            features = features.detach()
        opt.zero_grad()
        head(features).pow(2).mean().backward()
        opt.step()
        if epoch >= 5:
            slow.step()
            slow.zero_grad()


def good_frozen_in_one_optimizer() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    model[0].requires_grad_(False)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        with torch.no_grad():
            features = model[0](torch.randn(16, 4))
        model[2](model[1](features)).pow(2).mean().backward()
        opt.step()


def good_adversarial_steps() -> None:
    import torch
    from torch import nn

    generator, critic = nn.Linear(2, 4), nn.Linear(4, 1)
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


def good_averaged_target() -> None:
    import copy

    import torch
    from torch import nn

    online = nn.Linear(4, 4)
    target = copy.deepcopy(online)
    predictor = nn.Linear(4, 4)
    opt = torch.optim.SGD([*online.parameters(), *predictor.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4)
        opt.zero_grad()
        with torch.no_grad():
            goal = target(x)
        (predictor(online(x)) - goal).pow(2).mean().backward()
        opt.step()
        with torch.no_grad():
            for slow, fast in zip(target.parameters(), online.parameters(), strict=True):
                slow.mul_(0.9).add_(fast, alpha=0.1)


def bad_actor_through_numpy_beside_its_critic() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    actor, critic = nn.Linear(3, 2), nn.Linear(3, 1)
    opt = torch.optim.SGD([*actor.parameters(), *critic.parameters()], lr=0.01)
    for _ in range(4):
        x = torch.randn(8, 3)
        mean = actor(x).detach().numpy() * 2  # cause: GS301
        chosen = torch.distributions.Normal(torch.as_tensor(mean), 1.0)  # related: GS301
        action = chosen.sample()
        delta = -action.pow(2).sum(1) - critic(x).squeeze(1)
        log_prob = chosen.log_prob(action).sum(1)
        loss = -(log_prob * delta.detach()).mean() + delta.pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS301
        opt.step()


def bad_samples_that_come_back_as_numbers() -> None:  # fix: by hand
    """The critic's own `detach()` is right."""
    import torch
    from torch import nn

    maker, critic = nn.Linear(4, 2), nn.Linear(2, 1)
    steps = [torch.optim.Adam(m.parameters()) for m in (maker, critic)]
    judge = nn.BCEWithLogitsLoss()
    for _ in range(4):
        made = maker(torch.randn(8, 4))
        steps[1].zero_grad()
        real, false = critic(torch.randn(8, 2)), critic(made.detach())
        (judge(real, torch.ones(8, 1)) + judge(false, torch.zeros(8, 1))).backward()
        steps[1].step()
        steps[0].zero_grad()
        seen = torch.tensor(made.tolist())  # cause: GS301
        judge(critic(seen), torch.ones(8, 1)).backward()  # effect: GS301
        steps[0].step()


def bad_frozen_when_all_is_over() -> None:
    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        hidden = net[1](net[0](torch.randn(8, 4))).detach()  # cause: GS301
        net[2](hidden).pow(2).mean().backward()  # effect: GS301
        opt.step()
    net.eval().requires_grad_(False)


def bad_frozen_after_a_long_training() -> None:
    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(100):
        opt.zero_grad()
        hidden = net[1](net[0](torch.randn(8, 4))).detach()  # cause: GS301
        net[2](hidden).pow(2).mean().backward()  # effect: GS301
        opt.step()
    for p in net.parameters():
        p.requires_grad = False


def bad_frozen_once_it_is_trained() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    trunk, head = nn.Linear(4, 8), nn.Linear(8, 1)
    model = nn.ModuleList([trunk, head])
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(30):
        opt.zero_grad()
        hidden = torch.relu(trunk(torch.randn(16, 4)))
        head(hidden.detach()).pow(2).mean().backward()  # effect: GS301  # cause: GS301
        opt.step()
    model.requires_grad_(False)
    model.eval()
    trunk(torch.randn(16, 4))


def bad_frozen_before_the_next_is_trained() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    trunk, head, probe = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(1, 1)
    opt = torch.optim.SGD([*trunk.parameters(), *head.parameters()], lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        hidden = torch.relu(trunk(torch.randn(16, 4)))
        head(hidden.detach()).pow(2).mean().backward()  # effect: GS301  # cause: GS301
        opt.step()
    for part in (trunk, head):
        part.requires_grad_(False)
    last = torch.optim.SGD(probe.parameters(), lr=0.1)
    for _ in range(30):
        last.zero_grad()
        probe(head(torch.relu(trunk(torch.randn(16, 4))))).pow(2).mean().backward()
        last.step()


def good_one_layer_after_the_other() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layers = [nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 1)]
    for trained in layers:
        for layer in layers:
            layer.requires_grad_(layer is trained)
        opt = torch.optim.SGD(trained.parameters(), lr=0.1)
        for _ in range(20):
            x = torch.randn(8, 4)
            for layer in layers:
                x = torch.tanh(layer(x))
            opt.zero_grad()
            x.pow(2).mean().backward()
            opt.step()


def good_each_frozen_while_the_other_trains() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    maker, judge = nn.Linear(4, 3), nn.Linear(3, 1)
    opt_maker = torch.optim.Adam(maker.parameters(), lr=1e-3)
    opt_judge = torch.optim.Adam(judge.parameters(), lr=1e-3)
    for _ in range(40):
        judge.requires_grad_(True)
        maker.requires_grad_(False)
        opt_judge.zero_grad()
        (judge(maker(torch.randn(8, 4))).mean() - judge(torch.randn(8, 3)).mean()).backward()
        opt_judge.step()
        judge.requires_grad_(False)
        maker.requires_grad_(True)
        opt_maker.zero_grad()
        (-judge(maker(torch.randn(8, 4))).mean()).backward()
        opt_maker.step()


def bad_new_tensor_and_an_optimizer_that_never_steps() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    one, two = nn.Linear(3, 3), nn.Linear(3, 1)
    opt_one = torch.optim.SGD(one.parameters(), lr=0.1)
    opt_two = torch.optim.SGD(two.parameters(), lr=0.1)
    for _ in range(3):
        opt_one.zero_grad()
        opt_two.zero_grad()
        hidden = torch.tensor(one(torch.randn(8, 3)).tolist())  # cause: GS301
        two(hidden).pow(2).mean().backward()  # effect: GS301
        opt_two.step()


def bad_stand_in_compared() -> None:
    import torch
    from torch import nn

    class Quantizer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.codes = nn.Embedding(8, 4)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            chosen = self.codes(torch.cdist(x, self.codes.weight).argmin(1))
            return x + (chosen - x).detach(), chosen  # cause: GS301

    torch.manual_seed(0)
    encoder, quantizer, decoder = nn.Linear(6, 4), Quantizer(), nn.Linear(4, 6)
    opt = torch.optim.Adam([*encoder.parameters(), *quantizer.parameters(), *decoder.parameters()])
    for _ in range(4):
        x = torch.randn(16, 6)
        z = encoder(x)
        passed, chosen = quantizer(z)
        loss = nn.functional.mse_loss(decoder(passed), x)
        loss = loss + nn.functional.mse_loss(passed, z.detach())
        loss = loss + 0.25 * nn.functional.mse_loss(z, chosen.detach())
        opt.zero_grad()
        loss.backward()  # effect: GS301
        opt.step()


def bad_made_samples_detached_for_both_losses() -> None:
    import torch
    from torch import nn

    generator, judge = nn.Linear(3, 3), nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    first = torch.optim.Adam(generator.parameters())
    second = torch.optim.Adam(judge.parameters())
    for _ in range(3):
        fake = generator(torch.randn(5, 3)).detach()  # cause: GS301
        second.zero_grad()
        ((judge(torch.randn(5, 3) + 2) - 1).pow(2).mean() + judge(fake).pow(2).mean()).backward()
        second.step()
        first.zero_grad()
        (judge(fake) - 1).pow(2).mean().backward()  # effect: GS301
        first.step()


def bad_weights_of_the_chosen_experts_detached() -> None:
    """The indices of `topk` lead to the loss as well, and never have a gradient."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    router, experts = nn.Linear(4, 3), nn.ModuleList(nn.Linear(4, 1) for _ in range(3))
    opt = torch.optim.SGD([*router.parameters(), *experts.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4)
        weights, chosen = router(x).softmax(-1).topk(2)
        weights = (weights / weights.sum(-1, keepdim=True)).detach()  # cause: GS301
        out = torch.zeros(8, 1)
        for number, expert in enumerate(experts):
            rows, place = torch.where(chosen == number)
            out = out.index_add(0, rows, expert(x[rows]) * weights[rows, place, None])
        loss = nn.functional.mse_loss(out, x.sum(-1, keepdim=True))
        opt.zero_grad()
        loss.backward()  # effect: GS301
        opt.step()


def bad_adversary_that_clears_both() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    g = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
    d = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(), nn.Linear(8, 1))
    opt_g, opt_d = torch.optim.RMSprop(g.parameters()), torch.optim.RMSprop(d.parameters())
    for _ in range(8):
        fake = g(torch.randn(8, 4)).detach()  # cause: GS301
        (F.softplus(-d(torch.randn(8, 4) + 2)).mean() + F.softplus(d(fake)).mean()).backward()
        opt_d.step()
        d.zero_grad()
        F.softplus(-d(fake)).mean().backward()  # effect: GS301
        opt_g.step()
        g.zero_grad()
        d.zero_grad()


def bad_losses_put_into_a_tensor() -> None:
    import torch
    from torch import nn

    one, two = nn.Linear(4, 1), nn.Linear(4, 1)
    weights = nn.Parameter(torch.ones(2))
    opt = torch.optim.SGD([*one.parameters(), *two.parameters(), weights], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        x = torch.randn(8, 4)
        losses = [layer(x).pow(2).mean() for layer in (one, two)]
        loss = (torch.Tensor(losses) / weights**2).sum() + weights.prod().log()  # cause: GS301
        loss.backward()  # effect: GS301
        opt.step()


def good_encoder_that_follows_another_under_no_grad() -> None:
    import torch
    from torch import nn

    class Pair(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.asks, self.holds = nn.Linear(8, 4), nn.Linear(8, 4)
            self.holds.load_state_dict(self.asks.state_dict())

    torch.manual_seed(0)
    pair = Pair()
    opt = torch.optim.SGD(pair.parameters(), lr=0.05)
    for _ in range(12):
        x = torch.randn(16, 8)
        asked = pair.asks(x + 0.1 * torch.randn(16, 8))
        with torch.no_grad():
            key = pair.holds(x + 0.1 * torch.randn(16, 8))
        loss = nn.functional.cross_entropy(asked @ key.t(), torch.arange(16))
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            for own, other in zip(pair.asks.parameters(), pair.holds.parameters(), strict=True):
                other.copy_(0.05 * own + 0.95 * other)


def bad_shrunk_by_numpy() -> None:  # fix: by hand
    import numpy as np
    import torch
    from torch import nn

    def shrink(feats: torch.Tensor) -> torch.Tensor:
        grid = feats.detach().cpu().numpy()  # cause: GS301
        n, c, h, w = grid.shape
        small = grid.reshape(n, c, h // 2, 2, w // 2, 2).mean(axis=(3, 5))
        return torch.from_numpy(np.ascontiguousarray(small))

    torch.manual_seed(30)
    eye, fuse = nn.Conv2d(1, 6, 3, padding=1), nn.Conv2d(6, 1, 1)
    opt = torch.optim.Adam([*eye.parameters(), *fuse.parameters()], lr=1e-2)
    for _ in range(4):
        left = torch.rand(8, 1, 12, 12)
        depth = nn.functional.avg_pool2d((left - left.roll(1, -1)).abs(), 2)
        loss = nn.functional.l1_loss(fuse(shrink(torch.relu(eye(left)))), depth)
        opt.zero_grad()
        loss.backward()  # effect: GS301
        opt.step()


def bad_reversible_blocks_that_are_given_data() -> None:
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.f, self.g = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            one, two = torch.chunk(x, 2, dim=1)
            with torch.no_grad():
                one = one + self.f(two)
                two = two + self.g(one)
            return torch.cat([one, two], dim=1)

        def back(self, y: torch.Tensor, given: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            one, two = torch.chunk(y, 2, dim=1)
            first, second = torch.chunk(given, 2, dim=1)
            one = one.detach().requires_grad_()
            with torch.enable_grad():
                made = self.g(one)
                made.backward(second)
            two = (two - made).detach().requires_grad_()
            first = first + one.grad
            with torch.enable_grad():
                made = self.f(two)
                made.backward(first)
            return torch.cat([one.detach() - made.detach(), two.detach()], 1), torch.cat(
                [first, second + two.grad], 1
            )

    class Through(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, blocks):
            for block in blocks:
                x = block(x)
            ctx.y, ctx.blocks = x.detach(), blocks
            return x

        @staticmethod
        def backward(ctx, given):
            y = ctx.y
            for block in reversed(ctx.blocks):
                y, given = block.back(y, given)
            return given, None

    class Sequence(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList([Block(), Block()])

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return Through.apply(x, self.blocks)  # cause: GS301

    torch.manual_seed(0)
    model = nn.Sequential(Sequence(), nn.Linear(8, 1))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(12):
        x = torch.randn(16, 8)
        opt.zero_grad()
        (model(x)[:, 0] - x[:, 0] * x[:, 1]).pow(2).mean().backward()  # effect: GS301
        opt.step()
