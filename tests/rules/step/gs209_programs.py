"""More programs of GS209: each bad one is reported at its marks, each good one by no rule."""


def bad_scaled_in_a_trainer() -> None:
    import torch
    from torch import nn

    class Trainer:
        def __init__(self) -> None:
            self.model = nn.Linear(4, 1)
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
            self.scaler = torch.amp.GradScaler("cpu")

        def step(self) -> None:
            loss = self.model(torch.randn(8, 4)).pow(2).mean()
            self.scaler.scale(loss).backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)  # cause: GS209
            self.scaler.step(self.optimizer)  # effect: GS209
            self.scaler.update()
            self.optimizer.zero_grad()

    trainer = Trainer()
    for _ in range(3):
        trainer.step()


def bad_before_backward() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = model(torch.randn(8, 3)).pow(2).mean()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)  # cause: GS209
        loss.backward()
        opt.step()  # effect: GS209


def bad_before_unscale() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    for _ in range(3):
        opt.zero_grad()
        loss = model(torch.randn(8, 3)).pow(2).mean()
        scaler.scale(loss).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # cause: GS209
        scaler.step(opt)  # effect: GS209
        scaler.update()


def bad_every_micro_batch() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(8):
        (model(torch.randn(8, 3)).pow(2).mean() / 4).backward()  # effect: GS209
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # cause: GS209
        if i % 4 == 3:
            opt.step()
            opt.zero_grad()


def bad_generator() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    parameters = (p for p in model.parameters() if p.requires_grad)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)  # cause: GS209
        opt.step()  # effect: GS209


def good_norm_for_a_log() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    norms = []
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        norms.append(float(nn.utils.clip_grad_norm_(model.parameters(), float("inf"))))


def good_accumulation() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(8):
        (model(torch.randn(8, 3)).pow(2).mean() / 4).backward()
        if i % 4 == 3:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            opt.zero_grad()


def good_per_sample() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        total = [torch.zeros_like(p) for p in model.parameters()]
        for sample in torch.randn(4, 3):
            model.zero_grad()
            model(sample).pow(2).mean().backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            for summed, p in zip(total, model.parameters(), strict=True):
                summed += p.grad  # type: ignore[arg-type]
        for summed, p in zip(total, model.parameters(), strict=True):
            p.grad = summed
        opt.step()


def good_two_networks() -> None:
    import torch
    from torch import nn

    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    opt_g = torch.optim.Adam(generator.parameters())
    opt_c = torch.optim.Adam(critic.parameters())
    for _ in range(3):
        fake = generator(torch.randn(4, 2))
        opt_c.zero_grad()
        (critic(fake.detach()).mean() - critic(torch.randn(4, 2)).mean()).backward()
        nn.utils.clip_grad_norm_(critic.parameters(), 1.0)
        opt_c.step()
        opt_g.zero_grad()
        critic(fake).mean().neg().backward()
        nn.utils.clip_grad_norm_(generator.parameters(), 1.0)
        opt_g.step()


def bad_clipped_too_late_on_a_condition() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    limit = 0.5
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        loss = (10 * model(torch.randn(8, 3))).pow(2).mean()
        loss.backward()
        opt.step()  # effect: GS209
        if limit is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), limit)  # cause: GS209


def bad_steps_in_hooks() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    opts = {p: torch.optim.SGD([p], lr=0.1) for p in model.parameters()}

    def step(p: torch.Tensor) -> None:
        opts[p].step()
        opts[p].zero_grad()

    for p in model.parameters():
        p.register_post_accumulate_grad_hook(step)  # related: GS209
    for _ in range(4):
        model(torch.randn(8, 4)).pow(2).sum().backward()  # effect: GS209
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # cause: GS209


def good_each_clipped_in_its_hook() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    opts = {p: torch.optim.SGD([p], lr=0.1) for p in model.parameters()}

    def step(p: torch.Tensor) -> None:
        nn.utils.clip_grad_norm_([p], 1.0)
        opts[p].step()
        opts[p].zero_grad()

    for p in model.parameters():
        p.register_post_accumulate_grad_hook(step)
    for _ in range(4):
        model(torch.randn(8, 4)).pow(2).sum().backward()


def good_norm_of_what_no_pass_has_reached() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, head = nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).sum().backward()
        nn.utils.clip_grad_norm_([*model.parameters(), *head.parameters()], 1.0)
        opt.step()


def good_step_left_out_for_what_is_not_finite() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for number in range(8):
        x = torch.randn(8, 3)
        if number == 5:
            x[0, 0] = float("inf")
        model(x).mean().backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if torch.isfinite(norm):
            opt.step()
            opt.zero_grad()


def bad_unscaled_after_the_clip() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    for _ in range(4):
        opt.zero_grad()
        scaler.scale(model(torch.randn(8, 3)).pow(2).mean()).backward()
        nn.utils.clip_grad_value_(model.parameters(), 0.5)  # cause: GS209
        scaler.unscale_(opt)  # effect: GS209
        scaler.step(opt)
        scaler.update()


def bad_unscaled_after_the_clip_by_another_method() -> None:
    import torch
    from torch import nn

    class Trainer:
        def __init__(self) -> None:
            self.model = nn.Linear(4, 1)
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
            self.scaler = torch.amp.GradScaler("cpu")

        def clip(self) -> None:
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)  # cause: GS209

        def unscale(self) -> None:
            self.scaler.unscale_(self.optimizer)  # effect: GS209

        def fit(self) -> None:
            for turn in range(8):
                loss = self.model(torch.randn(8, 4)).pow(2).mean() / 2
                self.scaler.scale(loss).backward()
                if turn % 2 == 1:
                    self.clip()
                    self.unscale()
                    self.scaler.step(self.optimizer)
                    self.scaler.update()
                    self.optimizer.zero_grad()

    Trainer().fit()


def good_unscaled_before_the_clip_by_another_method() -> None:
    import torch
    from torch import nn

    model = nn.ModuleList([nn.Linear(3, 1), nn.Linear(3, 1)])
    one, two = (torch.optim.SGD(part.parameters(), lr=0.1) for part in model)
    scaler = torch.amp.GradScaler("cpu")

    def unscale() -> None:
        for opt in (one, two):
            scaler.unscale_(opt)

    for _ in range(4):
        x = torch.randn(8, 3)
        loss = (model[0](x) + model[1](x)).pow(2).mean()
        scaler.scale(loss).backward()
        unscale()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(one)
        scaler.step(two)
        scaler.update()
        model.zero_grad()


def bad_clips_the_critic_for_the_generator() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Pair:
        def __init__(self) -> None:
            self.maker, self.critic = nn.Linear(3, 2), nn.Linear(2, 1)
            weights = list(self.maker.parameters())
            self.opt_m = torch.optim.SGD(weights, lr=0.1)
            self.opt_c = torch.optim.SGD(self.critic.parameters(), lr=0.1)

        def judge(self) -> None:
            self.opt_c.zero_grad()
            fake = self.maker(torch.randn(8, 3)).detach()
            (self.critic(fake).pow(2).mean() + (self.critic(torch.randn(8, 2)) - 1).pow(2).mean()).backward()
            nn.utils.clip_grad_norm_(self.critic.parameters(), 1.0)
            self.opt_c.step()

        def make(self) -> None:
            self.opt_m.zero_grad()
            (self.critic(self.maker(torch.randn(8, 3))) - 1).pow(2).mean().backward()
            nn.utils.clip_grad_norm_(self.critic.parameters(), 1.0)  # cause: GS209
            self.opt_m.step()  # effect: GS209

    pair = Pair()
    for _ in range(4):
        pair.judge()
        pair.make()


def good_both_clipped_together() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    maker, critic = nn.Linear(3, 2), nn.Linear(2, 1)
    opt_m = torch.optim.SGD(maker.parameters(), lr=0.1)
    opt_c = torch.optim.SGD(critic.parameters(), lr=0.1)
    for _ in range(4):
        opt_c.zero_grad()
        fake = maker(torch.randn(8, 3)).detach()
        (critic(fake).pow(2).mean() + (critic(torch.randn(8, 2)) - 1).pow(2).mean()).backward()
        nn.utils.clip_grad_norm_(critic.parameters(), 1.0)
        opt_c.step()
        opt_m.zero_grad()
        (critic(maker(torch.randn(8, 3))) - 1).pow(2).mean().backward()
        nn.utils.clip_grad_norm_([*maker.parameters(), *critic.parameters()], 1.0)
        opt_m.step()


def good_other_step_comes_first() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Linear(3, 4), nn.Linear(4, 1)
    opt_b = torch.optim.SGD(body.parameters(), lr=0.1)
    opt_h = torch.optim.SGD(head.parameters(), lr=0.1)
    for _ in range(4):
        opt_b.zero_grad()
        opt_h.zero_grad()
        head(torch.relu(body(torch.randn(8, 3)))).pow(2).mean().backward()
        nn.utils.clip_grad_norm_(body.parameters(), 1.0)
        opt_h.step()
        opt_b.step()


def bad_optimizers_hold_each_others_modules() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 3), nn.Linear(3, 6)
    wanted = torch.randn(16, 6)
    first = torch.optim.Adam(encoder.parameters(), lr=0.01)  # cause: GS209
    second = torch.optim.Adam(decoder.parameters(), lr=0.01)
    for _ in range(6):
        x = torch.randn(16, 6)
        made = decoder(torch.randn(16, 3))
        loss = nn.functional.mse_loss(decoder(encoder(x)), x) + (made - wanted).pow(2).mean()
        first.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(decoder.parameters(), 1.0)  # effect: GS209
        first.step()
        loss = nn.functional.mse_loss(decoder(encoder(x)), x) + encoder(x).pow(2).mean()
        second.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
        second.step()


def bad_clips_stand_in_each_others_place() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 3), nn.Linear(3, 6)
    first = torch.optim.Adam(encoder.parameters(), lr=0.01)
    second = torch.optim.Adam(decoder.parameters(), lr=0.01)
    for _ in range(6):
        x = torch.randn(16, 6)
        first.zero_grad()
        nn.functional.mse_loss(decoder(encoder(x)), x).backward()
        nn.utils.clip_grad_norm_(decoder.parameters(), 1.0)  # cause: GS209
        first.step()  # effect: GS209
        second.zero_grad()
        nn.functional.mse_loss(decoder(encoder(x)), x).backward()
        nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
        second.step()


def good_each_steps_what_was_clipped_sooner() -> None:
    """Both clips come before both steps, in the other order: what they clip is used."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 3), nn.Linear(3, 6)
    first = torch.optim.Adam(encoder.parameters(), lr=0.01)
    second = torch.optim.Adam(decoder.parameters(), lr=0.01)
    for _ in range(6):
        x = torch.randn(16, 6)
        first.zero_grad()
        second.zero_grad()
        nn.functional.mse_loss(decoder(encoder(x)), x).backward()
        nn.utils.clip_grad_norm_(decoder.parameters(), 1.0)
        nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
        first.step()
        second.step()


def good_two_optimizers_each_clipped() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 3), nn.Linear(3, 6)
    first = torch.optim.Adam(encoder.parameters(), lr=0.01)
    second = torch.optim.Adam(decoder.parameters(), lr=0.01)
    for _ in range(6):
        x = torch.randn(16, 6)
        first.zero_grad()
        loss = nn.functional.mse_loss(decoder(encoder(x)), x) + encoder(x).pow(2).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
        first.step()
        second.zero_grad()
        nn.functional.mse_loss(decoder(encoder(x).detach()), x).backward()
        nn.utils.clip_grad_norm_(decoder.parameters(), 1.0)
        second.step()


def bad_by_hand_after_the_step() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Fitter:
        def __init__(self, net, limit):
            self.net, self.limit = net, limit
            self.opt = torch.optim.RMSprop(net.parameters(), lr=2e-3)

        def limit_gradients(self):
            for weight in self.net.parameters():
                if weight.grad is not None:
                    weight.grad.clamp_(-self.limit, self.limit)  # cause: GS209

        def update(self, series, wanted):
            self.opt.zero_grad()
            nn.functional.huber_loss(self.net(series).squeeze(1), wanted).backward()
            self.opt.step()  # effect: GS209
            self.limit_gradients()

    torch.manual_seed(0)
    fitter = Fitter(nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 1)), 0.05)
    for _ in range(8):
        series = torch.randn(16, 7).cumsum(1)
        fitter.update(series[:, :6], series[:, 6])


def good_by_hand_before_the_step() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 1))
    opt = torch.optim.RMSprop(net.parameters(), lr=2e-3)
    for _ in range(8):
        series = torch.randn(16, 7).cumsum(1)
        opt.zero_grad()
        nn.functional.huber_loss(net(series[:, :6]).squeeze(1), series[:, 6]).backward()
        for weight in net.parameters():
            weight.grad.data.clamp_(-0.05, 0.05)
        opt.step()
        series.clamp_(-1, 1)


def bad_after_the_step_with_a_frozen_layer() -> None:
    """The frozen layer has no gradient at any clip, the others one that the step has used."""
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    model[0].requires_grad_(False)
    opt = torch.optim.SGD(model[2].parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        (model(torch.randn(8, 3)) - 1).pow(2).mean().backward()
        opt.step()  # effect: GS209
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # cause: GS209


def bad_after_the_step_until_the_loss_is_infinite() -> None:
    import torch
    from torch import nn

    torch.manual_seed(9)
    x = torch.randn(200, 6)
    x[::10] *= 40
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(12):
        opt.zero_grad()
        loss = (model(x) - 3 * x[:, :1]).pow(2).mean()
        loss.backward()
        opt.step()  # effect: GS209
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # cause: GS209


def good_before_the_step_at_the_same_rate() -> None:
    import torch
    from torch import nn

    torch.manual_seed(9)
    x = torch.randn(200, 6)
    x[::10] *= 40
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(12):
        opt.zero_grad()
        loss = (model(x) - 3 * x[:, :1]).pow(2).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()


def bad_the_step_stands_outside() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    done, every = 0, 4
    for _ in range(16):
        x = torch.randn(8, 3)
        nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long()).backward()
        done += 1
        if done % every == 0:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)  # effect: GS209
        opt.step()  # cause: GS209
        opt.zero_grad()


def good_the_norm_is_looked_at_now_and_then() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(16):
        x = torch.randn(8, 3)
        nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long()).backward()
        if step % 4 == 0:
            print(torch.nn.utils.clip_grad_norm_(model.parameters(), 1e9))
        opt.step()
        opt.zero_grad()
