"""More programs of GS206: each bad one is reported at its marks, each good one by no rule."""


def bad_layer_added_later() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3))
    opt = torch.optim.Adam(model.parameters())  # cause: GS206
    model.append(nn.Linear(3, 1))
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()  # effect: GS206
        opt.step()
        with torch.no_grad():
            next(model[1].parameters()).clamp_(-1, 1)  # a bound trains nothing


def bad_encoder_forgotten() -> None:
    import torch
    from torch import nn

    encoder, decoder = nn.Linear(3, 3), nn.Linear(3, 1)
    opt = torch.optim.SGD(decoder.parameters(), lr=0.1)  # cause: GS206
    for _ in range(3):
        opt.zero_grad()
        decoder(encoder(torch.randn(8, 3))).pow(2).mean().backward()  # effect: GS206
        opt.step()


def bad_head_forgotten() -> None:
    import torch
    from torch import nn

    encoder, head = nn.Linear(3, 3), nn.Linear(3, 1)
    opt = torch.optim.SGD(encoder.parameters(), lr=0.1)  # cause: GS206
    for _ in range(3):
        opt.zero_grad()
        head(encoder(torch.randn(8, 3))).pow(2).mean().backward()  # effect: GS206
        opt.step()


def bad_loss_that_learns() -> None:
    import torch
    from torch import nn

    class Weighted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.zeros(1))

        def forward(self, error: torch.Tensor) -> torch.Tensor:
            return (torch.exp(-self.scale) * error + self.scale).mean()

    model, weigh = nn.Linear(3, 1), Weighted()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)  # cause: GS206
    for _ in range(3):
        opt.zero_grad()
        weigh(model(torch.randn(8, 3)).pow(2)).backward()  # effect: GS206
        opt.step()


def bad_adapters_put_in_later() -> None:
    import torch
    from torch import nn

    class Adapted(nn.Module):
        def __init__(self, base: nn.Linear) -> None:
            super().__init__()
            self.base, self.more = base.requires_grad_(False), nn.Linear(3, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self.base(x) + self.more(x)
            return y

    model = nn.Sequential(nn.Linear(3, 3))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)  # cause: GS206
    model[0] = Adapted(model[0])  # type: ignore[arg-type]
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()  # effect: GS206
        opt.step()


def bad_adapters_added_after_the_optimizer() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.base, self.more = nn.Linear(3, 3), nn.ModuleList()

        def add_adapter(self) -> None:
            self.requires_grad_(False)
            self.more.append(nn.Linear(3, 3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.base(x)
            for layer in self.more:
                x = x + layer(x)
            return x

    def train(model: nn.Module, opt: torch.optim.Optimizer) -> None:
        for _ in range(3):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()  # effect: GS206
            opt.step()

    model = Net()
    train(model, torch.optim.SGD(model.parameters(), lr=0.1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)  # cause: GS206
    model.add_adapter()
    train(model, opt)


def good_judged_by_another_model() -> None:
    import torch
    from torch import nn

    model, judge = nn.Linear(3, 3), nn.Linear(3, 1).eval()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        judge(model(torch.randn(8, 3))).pow(2).mean().backward()
        opt.step()


def good_features_of_a_loaded_model() -> None:
    import torch
    from torch import nn

    features, head = nn.Linear(3, 3), nn.Linear(3, 1)
    features.load_state_dict(nn.Linear(3, 3).state_dict())
    opt = torch.optim.SGD(head.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        head(features(torch.randn(8, 3))).pow(2).mean().backward()
        opt.step()


def good_layers_passed_over() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2), nn.BatchNorm1d(2))
    adapted: list[nn.Parameter] = []
    for name, layer in model.named_modules():
        if "4" in name:
            continue
        if isinstance(layer, nn.BatchNorm1d):
            adapted += layer.parameters()
    opt = torch.optim.SGD(adapted, lr=0.01)
    for p in (model[0].weight, model[0].bias, model[3].weight, model[3].bias):
        p.requires_grad_(False)
    for _ in range(3):
        opt.zero_grad()
        chances = model(torch.randn(8, 4)).softmax(dim=1)
        (-(chances * chances.log()).sum(dim=1)).mean().backward()
        opt.step()


def good_fine_tuning() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    model[0].requires_grad_(False)
    opt = torch.optim.SGD(model[1].parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def good_updated_by_hand() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    opt = torch.optim.SGD(model[0].parameters(), lr=0.1)
    for _ in range(3):
        model.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        with torch.no_grad():
            for p in model[1].parameters():
                p.sub_(0.1 * p.grad)  # type: ignore[operator]


def good_image_optimized() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    image = torch.zeros(1, 3, requires_grad=True)
    opt = torch.optim.SGD([image], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(image).pow(2).mean().backward()
        opt.step()


def bad_weights_of_the_loss() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    balance = nn.Parameter(torch.zeros(2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)  # cause: GS206
    for _ in range(3):
        losses = model(torch.randn(8, 3)).pow(2).mean(0)
        opt.zero_grad()
        ((-balance).exp() * losses + balance).sum().backward()  # effect: GS206
        opt.step()


def good_weights_of_the_loss() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    balance, fixed = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.ones(2), requires_grad=False)
    by_hand = nn.Parameter(torch.ones(1))
    opt = torch.optim.SGD([*model.parameters(), balance], lr=0.1)
    for _ in range(3):
        losses = model(torch.randn(8, 3)).pow(2).mean(0) * fixed * by_hand
        opt.zero_grad()
        ((-balance).exp() * losses + balance).sum().backward()
        opt.step()
        with torch.no_grad():
            by_hand += 0.1 * by_hand.grad  # type: ignore[misc, operator]
        by_hand.grad = None


def good_part_in_evaluation_mode_left_out() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.backbone = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU())
            self.head = nn.Linear(4, 1)

        def train(self, mode=True):
            super().train(mode)
            self.backbone.eval()
            return self

        def forward(self, x):
            return self.head(self.backbone(x))

    torch.manual_seed(0)
    model = Net()
    opt = torch.optim.SGD(model.head.parameters(), lr=0.1)
    for _ in range(4):
        model.train()
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def bad_layer_forgotten_though_another_rests() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.backbone = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU())
            self.neck, self.head = nn.Linear(4, 4), nn.Linear(4, 1)

        def forward(self, x):
            return self.head(self.neck(self.backbone(x)))

    torch.manual_seed(0)
    model = Net()
    model.backbone.requires_grad_(False)
    opt = torch.optim.SGD(model.head.parameters(), lr=0.1)  # cause: GS206
    for _ in range(4):
        model.train()
        model.backbone.eval()
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()  # effect: GS206
        opt.step()


def bad_new_parameter_in_the_old_one_s_place() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Scale(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.factor = nn.Parameter(torch.ones(4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.factor

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), Scale(), nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(8):
        if step == 4:
            model[1].factor = nn.Parameter(torch.full((4,), 2.0))  # cause: GS206
        loss = (model(torch.randn(8, 4)) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS206
        opt.step()


def good_new_values_in_the_old_parameter() -> None:
    import torch
    from torch import nn

    class Scale(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.factor = nn.Parameter(torch.ones(4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.factor

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), Scale(), nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(8):
        if step == 4:
            with torch.no_grad():
                model[1].factor.copy_(torch.full((4,), 2.0))
        loss = (model(torch.randn(8, 4)) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_frozen_once_it_is_trained() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    trunk, head, probe = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(1, 1)
    opt = torch.optim.SGD(head.parameters(), lr=0.1)  # cause: GS206
    for _ in range(30):
        opt.zero_grad()
        head(torch.relu(trunk(torch.randn(16, 4)))).pow(2).mean().backward()  # effect: GS206
        opt.step()
    for part in (trunk, head):
        part.requires_grad_(False)
    last = torch.optim.SGD(probe.parameters(), lr=0.1)
    for _ in range(30):
        last.zero_grad()
        probe(head(torch.relu(trunk(torch.randn(16, 4))))).pow(2).mean().backward()
        last.step()


def bad_both_optimizers_of_the_discriminator() -> None:
    import torch
    from torch import nn

    generator, judge = nn.Linear(4, 2), nn.Linear(2, 1)
    opt_g = torch.optim.Adam(judge.parameters())  # cause: GS206
    opt_j = torch.optim.Adam(judge.parameters())
    for _ in range(3):
        fake = generator(torch.randn(16, 4))
        opt_j.zero_grad()
        (judge(fake.detach()).exp().mean() - judge(torch.randn(16, 2)).mean()).backward()
        opt_j.step()
        opt_g.zero_grad()
        judge(fake).mean().neg().backward()  # effect: GS206
        opt_g.step()


def bad_step_size_made_by_the_first_forward() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Quantizer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.begun = False

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if not self.begun:
                self.size = nn.Parameter(x.detach().abs().mean())  # cause: GS206
                self.begun = True
            return torch.tanh(x / self.size) * self.size

    model = nn.Sequential(nn.Linear(3, 4), Quantizer(), nn.Linear(4, 4), Quantizer(), nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        opt.zero_grad()
        (model(torch.randn(8, 3)) - 1).pow(2).mean().backward()  # effect: GS206
        opt.step()


def bad_gains_of_the_width_that_comes() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Gains(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_parameter("weight", None)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if self.weight is None:
                self.weight = nn.Parameter(torch.ones(x.shape[-1]))  # cause: GS206
            return x * self.weight

    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), Gains(), nn.Linear(4, 1))
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(6):
        opt.zero_grad()
        (model(torch.randn(8, 3)) - 1).pow(2).mean().backward()  # effect: GS206
        opt.step()


def bad_head_of_the_width_that_comes() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.trunk = nn.Linear(3, 4)
            self.head: nn.Linear | None = None

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = torch.relu(self.trunk(x)).flatten(1)
            if self.head is None:
                self.head = nn.Linear(x.shape[1], 1)  # cause: GS206
            y: torch.Tensor = self.head(x)
            return y

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        opt.zero_grad()
        (model(torch.randn(8, 3)) - 1).pow(2).mean().backward()  # effect: GS206
        opt.step()


def good_first_forward_before_the_optimizer() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Gains(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_parameter("weight", None)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if self.weight is None:
                self.weight = nn.Parameter(torch.ones(x.shape[-1]))
            return x * self.weight

    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), Gains(), nn.Linear(4, 1))
    with torch.no_grad():
        model(torch.randn(2, 3))
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(6):
        opt.zero_grad()
        (model(torch.randn(8, 3)) - 1).pow(2).mean().backward()
        opt.step()


def good_given_to_the_optimizer_once_it_is_there() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Gains(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_parameter("weight", None)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if self.weight is None:
                self.weight = nn.Parameter(torch.ones(x.shape[-1]))
            return x * self.weight

    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), Gains(), nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(6):
        opt.zero_grad()
        loss = (model(torch.randn(8, 3)) - 1).pow(2).mean()
        if step == 0:
            opt.add_param_group({"params": [model[2].weight]})
        loss.backward()
        opt.step()


def bad_bottleneck_in_no_group() -> None:
    import torch
    from torch import nn

    trunk, bottleneck, head = nn.Linear(4, 8), nn.Linear(8, 4), nn.Linear(4, 2)
    opt = torch.optim.SGD(  # cause: GS206
        [
            {"params": trunk.parameters()},
            {"params": head.parameters(), "lr": 0.2},
        ],
        lr=0.1,
    )
    for _ in range(3):
        opt.zero_grad()
        x, y = torch.randn(16, 4), torch.randint(0, 2, (16,))
        loss = nn.functional.cross_entropy(head(bottleneck(trunk(x)).relu()), y)
        loss.backward()  # effect: GS206
        opt.step()


def bad_bottleneck_in_no_list() -> None:
    import torch
    from torch import nn

    below, neck, top = nn.Linear(4, 8), nn.Linear(8, 4), nn.Linear(4, 2)
    opt = torch.optim.Adam(list(below.parameters()) + list(top.parameters()), lr=0.01)  # cause: GS206
    for _ in range(3):
        opt.zero_grad()
        x, y = torch.randn(16, 4), torch.randint(0, 2, (16,))
        loss = nn.functional.cross_entropy(top(neck(below(x)).relu()), y)
        loss.backward()  # effect: GS206
        opt.step()


def bad_unfrozen_in_the_middle() -> None:  # fix: by hand
    import torch
    from torch import nn

    body, head = nn.Sequential(nn.Linear(3, 8), nn.Tanh()), nn.Linear(8, 1)
    for p in body.parameters():
        p.requires_grad = False
    model = nn.Sequential(body, head)
    opt = torch.optim.SGD((p for p in model.parameters() if p.requires_grad), lr=0.1)
    for step in range(120):
        if step == 70:
            for p in body.parameters():
                p.requires_grad = True  # cause: GS206
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()  # effect: GS206
        opt.step()


def good_unfrozen_in_the_middle_and_held_all_the_time() -> None:
    import torch
    from torch import nn

    body, head = nn.Sequential(nn.Linear(3, 8), nn.Tanh()), nn.Linear(8, 1)
    for p in body.parameters():
        p.requires_grad = False
    model = nn.Sequential(body, head)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(120):
        if step == 70:
            for p in body.parameters():
                p.requires_grad = True
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def bad_one_of_two_given_twice() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Judges(nn.Module):
        def __init__(self, sizes: tuple[int, ...]) -> None:
            super().__init__()
            self.judges = nn.ModuleList(
                nn.Sequential(nn.Linear(n, 6), nn.ReLU(), nn.Linear(6, 1)) for n in sizes
            )

        def loss(self, real: torch.Tensor, fake: torch.Tensor) -> torch.Tensor:
            total = torch.zeros(())
            for judge in self.judges:
                n = judge[0].in_features
                total = total + (judge(real[:, :n]) - 1).square().mean() + judge(fake[:, :n]).square().mean()
            return total

    maker, near, far = nn.Linear(3, 8), Judges((4, 8)), Judges((2, 6))
    held = list(near.parameters()) + list(near.parameters())
    opt_maker = torch.optim.Adam(maker.parameters())
    opt_judges = torch.optim.Adam(held)  # cause: GS206
    for _ in range(4):
        fake, real = maker(torch.randn(16, 3)), torch.randn(16, 8)
        opt_judges.zero_grad()
        (near.loss(real, fake.detach()) + far.loss(real, fake.detach())).backward()  # effect: GS206
        opt_judges.step()
        opt_maker.zero_grad()
        (near.loss(fake, real) + far.loss(fake, real)).backward()
        opt_maker.step()


def good_one_that_judges_beside_a_term_of_its_own() -> None:
    """A network that chance has drawn compares: its distance reaches what is trained, its own size is frozen."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, compared = nn.Linear(3, 8), nn.Sequential(nn.Linear(8, 6), nn.ReLU()).requires_grad_(False)
    opt = torch.optim.Adam(model.parameters())
    for _ in range(4):
        out, wanted = model(torch.randn(16, 3)), torch.randn(16, 8)
        loss = (compared(out) - compared(wanted)).square().mean() + (out - wanted).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_head_is_evaluated_as_well() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, head = nn.Linear(4, 8), nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3))
    opt = torch.optim.SGD(encoder.parameters(), lr=0.1)  # cause: GS206
    for _ in range(2):
        encoder.train()
        head.train()
        x, y = torch.randn(16, 4), torch.randint(0, 3, (16,))
        for _ in range(3):
            opt.zero_grad()
            nn.functional.cross_entropy(head(encoder(x)[torch.arange(16)]), y).backward()  # effect: GS206
            opt.step()
        encoder.eval()
        head.eval()
        with torch.no_grad():
            print((head(encoder(x)).argmax(1) == y).float().mean().item())


def bad_frozen_for_one_of_the_passes() -> None:
    """It trains when the optimizers are made: that it is frozen for another's pass has nothing to do with it."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    nets = nn.ModuleDict({"model": nn.Linear(4, 4), "actor": nn.Linear(4, 2), "value": nn.Linear(4, 1)})
    model, actor, value = nets.values()
    model_opt = torch.optim.Adam(model.parameters(), lr=0.01)  # cause: GS206
    actor_opt = torch.optim.Adam(actor.parameters(), lr=0.01)
    for _ in range(4):
        x = torch.randn(16, 4)
        state = model(x)
        model_loss = (state - x).pow(2).mean()
        for p in value.parameters():
            p.requires_grad = False
        actor_loss = -value(torch.cat([state.detach()[:, :2], actor(state.detach())], 1)).mean()
        for p in value.parameters():
            p.requires_grad = True
        value_loss = (value(state.detach()) - x.sum(1, keepdim=True)).pow(2).mean()
        model_opt.zero_grad()
        actor_opt.zero_grad()
        value.zero_grad()
        model_loss.backward()
        actor_loss.backward()
        value_loss.backward()  # effect: GS206
        model_opt.step()
        actor_opt.step()


def bad_a_network_with_a_loss_of_its_own() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    actor, value = nn.Linear(4, 2), nn.Linear(4, 1)
    actor_opt = torch.optim.Adam(actor.parameters(), lr=0.01)  # cause: GS206
    for _ in range(6):
        x = torch.randn(16, 4)
        actor_loss = (actor(x) - x[:, :2]).pow(2).mean()
        value_loss = (value(x) - x.sum(1, keepdim=True)).pow(2).mean()
        actor_opt.zero_grad()
        value.zero_grad()
        actor_loss.backward()
        value_loss.backward()  # effect: GS206
        actor_opt.step()


def good_gradients_of_a_random_network_that_are_read() -> None:
    """How large its gradients are at the start is all that is asked of it."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    trained, random = nn.Linear(4, 2), nn.Linear(4, 1)
    opt = torch.optim.Adam(trained.parameters(), lr=0.01)
    for _ in range(6):
        x = torch.randn(16, 4)
        random.zero_grad()
        (random(x) - x.sum(1, keepdim=True)).pow(2).mean().backward()
        assert random.weight.grad is not None
        size = random.weight.grad.norm() + random.bias.grad.norm()
        opt.zero_grad()
        ((trained(x) - x[:, :2]).pow(2).mean() / (1 + size)).backward()
        opt.step()


def bad_table_grown_while_training() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Recommender(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.mix = nn.Parameter(0.1 * torch.randn(6, 4)), nn.Linear(4, 4)

        def forward(self, seen: torch.Tensor) -> torch.Tensor:
            return self.mix(nn.functional.embedding(seen, self.table)) @ self.table.t()

        def grow(self) -> None:
            fresh = 0.1 * torch.randn(3, 4)
            self.table = nn.Parameter(torch.cat([self.table.detach(), fresh]))  # cause: GS206

    net = Recommender()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for day in range(8):
        if day == 4:
            net.grow()
        seen = torch.randint(0, len(net.table), (16,))
        loss = nn.functional.cross_entropy(net(seen), (seen + 1) % len(net.table))
        opt.zero_grad()
        loss.backward()  # effect: GS206
        opt.step()


def good_table_grown_in_the_optimizer_too() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Recommender(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.mix = nn.Parameter(0.1 * torch.randn(6, 4)), nn.Linear(4, 4)

        def forward(self, seen: torch.Tensor) -> torch.Tensor:
            return self.mix(nn.functional.embedding(seen, self.table)) @ self.table.t()

    net = Recommender()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for day in range(8):
        if day in (2, 4):
            old = net.table
            net.table = nn.Parameter(torch.cat([old.detach(), 0.1 * torch.randn(3, 4)]))
            for group in opt.param_groups:
                group["params"] = [net.table if p is old else p for p in group["params"]]
        seen = torch.randint(0, len(net.table), (16,))
        loss = nn.functional.cross_entropy(net(seen), (seen + 1) % len(net.table))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_plain_leaves_that_weigh() -> None:
    import torch
    from torch import nn

    body, first, second = nn.Linear(6, 8), nn.Linear(8, 1), nn.Linear(8, 3)
    spread = torch.zeros(2, requires_grad=True)
    mix = (torch.randn(8, 8) * 0.3).requires_grad_()
    layers = nn.ModuleList([body, first, second])
    opt = torch.optim.Adam(layers.parameters(), lr=0.01)  # cause: GS206
    x, y, label = torch.randn(32, 6), torch.randn(32, 1), torch.randint(0, 3, (32,))
    for _ in range(6):
        z = torch.relu(body(x)) @ mix
        one, two = nn.functional.mse_loss(first(z), y), nn.functional.cross_entropy(second(z), label)
        loss = (-spread[0]).exp() * one + spread[0] + (-spread[1]).exp() * two + spread[1]
        opt.zero_grad()
        loss.backward()  # effect: GS206
        opt.step()


def good_data_that_require_a_gradient() -> None:
    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    x = torch.linspace(0, 1, 20).reshape(-1, 1).requires_grad_()
    start = torch.tensor(0.0, requires_grad=True)
    for _ in range(6):
        u = net(x)
        (slope,) = torch.autograd.grad(u.sum(), x, create_graph=True)
        begun = net(start.view(1, 1))
        (first,) = torch.autograd.grad(begun.sum(), start, create_graph=True)
        loss = (slope + u).square().mean() + (begun - 1).square().mean() + (first + 1).square()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_weights_of_the_terms() -> None:
    import torch
    from torch import nn

    class Weighted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.log_vars = nn.Parameter(torch.zeros(2))

        def forward(self, *terms: torch.Tensor) -> torch.Tensor:
            total = sum(torch.exp(-self.log_vars[i]) * t + self.log_vars[i] for i, t in enumerate(terms))
            assert isinstance(total, torch.Tensor)
            return total

    torch.manual_seed(0)
    body, one, two, weighted = nn.Linear(8, 16), nn.Linear(16, 1), nn.Linear(16, 3), Weighted()
    layers = [*body.parameters(), *one.parameters(), *two.parameters()]
    opt = torch.optim.Adam(layers, lr=0.01)  # cause: GS206
    for _ in range(3):
        x = torch.randn(16, 8)
        h = torch.relu(body(x))
        miss = (one(h) - x.sum(1, keepdim=True)).pow(2).mean()
        loss = weighted(miss, nn.functional.cross_entropy(two(h), x[:, :3].argmax(1)))
        opt.zero_grad()
        loss.backward()  # effect: GS206
        opt.step()


def bad_parameter_replaced_by_its_own_layer() -> None:
    import torch
    from torch import nn

    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.scale

        def begin_at(self, x: torch.Tensor) -> None:
            self.scale = nn.Parameter(1 / x.std().view(1))  # cause: GS206

    torch.manual_seed(0)
    x = 3 * torch.randn(64, 4)
    model = nn.Sequential(Scaled(), nn.Linear(4, 2))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    with torch.no_grad():
        model(x)
    model[0].begin_at(x)
    for _ in range(6):
        opt.zero_grad()
        model(x).pow(2).mean().backward()  # effect: GS206
        opt.step()


def good_parameter_replaced_before_its_optimizer_is_made() -> None:
    import torch
    from torch import nn

    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.scale

    torch.manual_seed(0)
    x = 3 * torch.randn(64, 4)
    model = nn.Sequential(Scaled(), nn.Linear(4, 2))
    with torch.no_grad():
        model(x)
    model[0].scale = nn.Parameter(1 / x.std().view(1))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(6):
        opt.zero_grad()
        model(x).pow(2).mean().backward()
        opt.step()


def good_new_parameter_given_to_its_optimizer() -> None:
    """A prompt that begins anew for each task, and is handed over."""
    import torch
    from torch import nn

    class Prompted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.prompt, self.head = nn.Parameter(torch.zeros(4)), nn.Linear(4, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.head(x + self.prompt)

    torch.manual_seed(0)
    model = Prompted()
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for task in range(2):
        if task:
            model.prompt = nn.Parameter(torch.zeros(4))
            opt.add_param_group({"params": [model.prompt]})
        for _ in range(6):
            x = torch.randn(16, 4) + task
            opt.zero_grad()
            (model(x)[:, 0] - x.sum(1)).pow(2).mean().backward()
            opt.step()


def good_parameter_swapped_for_an_attack_and_put_back() -> None:
    """Adversarial weight perturbation: other weights stand in for a pass, whose gradient is not wanted."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(6):
        x = torch.randn(16, 4)
        own = model.weight
        (slope,) = torch.autograd.grad((model(x)[:, 0] - x.sum(1)).pow(2).mean(), own)
        model.weight = nn.Parameter(own.detach() + 0.01 * slope, requires_grad=False)
        with torch.no_grad():
            worse = model(x)
        model.weight = own
        opt.zero_grad()
        ((model(x)[:, 0] - x.sum(1)).pow(2) * (1 + worse[:, 0].abs())).mean().backward()
        opt.step()
