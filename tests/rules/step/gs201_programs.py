"""More programs of GS201: each bad one is reported at its marks, each good one by no rule."""


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


def bad_other_pass_left_behind_though_weights_are_clamped() -> None:
    import torch
    from torch import nn

    maker, critic = nn.Linear(2, 3), nn.Linear(3, 1)
    opt_maker = torch.optim.SGD(maker.parameters(), lr=0.01)
    opt_critic = torch.optim.SGD(critic.parameters(), lr=0.01)
    for _ in range(5):
        critic(torch.randn(8, 3)).mean().neg().backward()  # effect: GS201
        opt_critic.step()
        opt_critic.zero_grad()
        critic(maker(torch.randn(8, 2))).mean().neg().backward()  # cause: GS201
        with torch.no_grad():
            for p in critic.parameters():
                p.clamp_(-0.5, 0.5)
        opt_maker.step()
        opt_maker.zero_grad()


def bad_left_behind_and_printed() -> None:
    import torch
    from torch import nn

    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    opt_g = torch.optim.SGD(generator.parameters(), lr=0.1)
    opt_c = torch.optim.SGD(critic.parameters(), lr=0.1)
    for _ in range(4):
        critic(torch.randn(8, 2)).mean().backward()  # effect: GS201
        size = max(p.grad.norm().item() for p in critic.parameters() if p.grad is not None)
        print(f"{size:.3f}")
        opt_c.step()
        opt_c.zero_grad()
        critic(generator(torch.randn(8, 2))).mean().neg().backward()  # cause: GS201
        opt_g.step()
        opt_g.zero_grad()


def good_left_behind_and_zeroed_by_hand() -> None:
    import torch
    from torch import nn

    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    opt_g = torch.optim.SGD(generator.parameters(), lr=0.1)
    opt_c = torch.optim.SGD(critic.parameters(), lr=0.1)
    for _ in range(4):
        critic(torch.randn(8, 2)).mean().backward()
        opt_c.step()
        opt_c.zero_grad()
        critic(generator(torch.randn(8, 2))).mean().neg().backward()
        opt_g.step()
        opt_g.zero_grad()
        for p in critic.parameters():
            if p.grad is not None:
                p.grad.detach().zero_()


def bad_critic_of_two_passes_never_cleared() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    maker, critic = nn.Linear(2, 3), nn.Linear(3, 1)
    opt_g = torch.optim.Adam(maker.parameters(), lr=1e-3)
    opt_d = torch.optim.Adam(critic.parameters(), lr=1e-3)
    for _ in range(6):
        nn.functional.softplus(-critic(torch.randn(4, 3) + 1)).mean().backward()
        fake = maker(torch.randn(4, 2))
        nn.functional.softplus(critic(fake.detach())).mean().backward()
        opt_d.step()  # cause: GS201
        opt_g.zero_grad()
        nn.functional.softplus(-critic(fake)).mean().backward()  # effect: GS201
        opt_g.step()


def bad_critic_of_several_small_passes_never_cleared() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    maker, critic = nn.Linear(2, 3), nn.Linear(3, 1)
    opt_g = torch.optim.Adam(maker.parameters(), lr=1e-3)
    opt_d = torch.optim.Adam(critic.parameters(), lr=1e-3)
    for _ in range(6):
        for _ in range(3):
            fake = maker(torch.randn(4, 2)).detach()
            (critic(fake).mean() / 3 - critic(torch.randn(4, 3)).mean() / 3).backward()
        opt_d.step()  # cause: GS201
        opt_g.zero_grad()
        (-critic(maker(torch.randn(4, 2))).mean()).backward()  # effect: GS201
        opt_g.step()


def good_critic_of_two_passes_cleared_before_the_first() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    maker, critic = nn.Linear(2, 3), nn.Linear(3, 1)
    opt_g = torch.optim.Adam(maker.parameters(), lr=1e-3)
    opt_d = torch.optim.Adam(critic.parameters(), lr=1e-3)
    for _ in range(6):
        opt_d.zero_grad()
        nn.functional.softplus(-critic(torch.randn(4, 3) + 1)).mean().backward()
        fake = maker(torch.randn(4, 2))
        nn.functional.softplus(critic(fake.detach())).mean().backward()
        opt_d.step()
        opt_g.zero_grad()
        nn.functional.softplus(-critic(fake)).mean().backward()
        opt_g.step()


def bad_gradients_lent_and_never_cleared() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    shared, local = nn.Linear(4, 2), nn.Linear(4, 2)
    opt = torch.optim.SGD(shared.parameters(), lr=0.1)
    for _ in range(4):
        local.load_state_dict(shared.state_dict())
        local(torch.randn(16, 4)).pow(2).mean().backward()  # effect: GS201
        for mine, theirs in zip(local.parameters(), shared.parameters(), strict=True):
            theirs.grad = mine.grad.clone()
        opt.step()  # cause: GS201


def bad_adapters_whose_second_matrix_begins_at_zero() -> None:
    """The first gradient of the first matrix is zero, since the second one is."""
    import torch
    from torch import nn

    class Adapter(nn.Module):
        def __init__(self, base: nn.Linear) -> None:
            super().__init__()
            self.base = base.requires_grad_(False)
            self.down = nn.Parameter(torch.randn(2, base.in_features))
            self.up = nn.Parameter(torch.zeros(base.out_features, 2))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            given: torch.Tensor = self.base(x)
            return given + x @ self.down.t() @ self.up.t()

    torch.manual_seed(0)
    model = nn.Sequential(Adapter(nn.Linear(4, 8)), nn.ReLU(), Adapter(nn.Linear(8, 3)))
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=0.01)
    for _ in range(5):
        x, label = torch.randn(16, 4), torch.randint(0, 3, (16,))
        nn.functional.cross_entropy(model(x), label).backward()  # effect: GS201
        opt.step()  # cause: GS201


def bad_gate_that_begins_closed() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    branch, gate, last = nn.Linear(4, 4), nn.Parameter(torch.zeros(1)), nn.Linear(4, 1)
    opt = torch.optim.SGD([*branch.parameters(), gate, *last.parameters()], lr=0.05)

    def one_step() -> None:
        opt.step()  # cause: GS201

    for _ in range(5):
        x = torch.randn(16, 4)
        h = x + gate * torch.tanh(branch(x))
        loss = (last(h).squeeze(1) - x.sum(1)).pow(2).mean()
        loss.backward()  # effect: GS201
        one_step()


def good_adapters_cleared_where_nobody_sees_it() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    base = nn.Linear(4, 3).requires_grad_(False)
    down, up = nn.Parameter(torch.randn(2, 4)), nn.Parameter(torch.zeros(3, 2))
    opt = torch.optim.SGD([down, up], lr=0.05)
    for _ in range(5):
        x, label = torch.randn(16, 4), torch.randint(0, 3, (16,))
        loss = nn.functional.cross_entropy(base(x) + x @ down.t() @ up.t(), label)
        loss.backward()
        opt.step()
        for p in (down, up):
            p.grad.data.numpy()[:] = 0  # type: ignore[union-attr]


def good_gate_that_begins_closed_and_gradients_of_two_passes() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    branch, gate, last = nn.Linear(4, 4), nn.Parameter(torch.zeros(1)), nn.Linear(4, 1)
    opt = torch.optim.SGD([*branch.parameters(), gate, *last.parameters()], lr=0.05)
    for turn in range(8):
        x = torch.randn(16, 4)
        h = x + gate * torch.tanh(branch(x))
        loss = (last(h).squeeze(1) - x.sum(1)).pow(2).mean()
        (loss / 2).backward()
        if turn % 2:
            opt.step()
            opt.zero_grad()


def bad_gradients_that_grow_without_end() -> None:
    """The growth comes from the sum: it is told once, by its cause."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
    opt = torch.optim.Adam(model.parameters(), lr=0.1)
    x = torch.randn(64, 6)
    y = x.sum(1, keepdim=True)
    for _ in range(60):
        loss = (model(x) - y).pow(2).mean()
        loss.backward()  # effect: GS201
        opt.step()  # cause: GS201


def good_signs_put_back_behind_a_score() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 3))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(8, 8)), torch.randint(0, 3, (8,))).backward()
        opt.step()
    for _ in range(6):
        signs = {}
        with torch.no_grad():
            for name, kept in model.state_dict().items():
                signs[name] = torch.sign(kept)
                kept.abs_()
        model(torch.ones(1, 8)).sum().backward()
        scores = []
        for p in model.parameters():
            scores.append(torch.clone(p.grad * p).detach().abs_())
            p.grad.zero_()
        with torch.no_grad():
            for name, kept in model.state_dict().items():
                kept.mul_(signs[name])
        print(sum(score.sum().item() for score in scores) > 0)
