"""More programs of GS605: each bad one is reported at its marks, each good one by no rule."""


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


def bad_features_compared() -> None:  # fix: by hand
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


def bad_part_of_a_loss_module() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Perceptual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.features = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 8)).eval()

        def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            gap: torch.Tensor = self.features(a) - self.features(b)
            return gap.abs().mean()

    torch.manual_seed(0)
    model = nn.Linear(3, 3)
    criterion = Perceptual()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        x, y = torch.randn(4, 3), torch.randn(4, 3)
        opt.zero_grad()
        loss = criterion(model(x), y)  # cause: GS605
        loss.backward()  # effect: GS605
        opt.step()


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


def good_a_pass_for_its_hooks() -> None:
    """The gradient of a layer's result is what the pass is for: it ranks the units."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    first, last = nn.Linear(8, 16), nn.Linear(16, 2)
    opt = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.1)
    x = torch.randn(32, 8)
    y = (x[:, 0] > 0).long()
    ranks: list[torch.Tensor] = []
    for step in range(12):
        opt.zero_grad()
        if step % 3 == 0:
            given = torch.relu(first(x))
            given.register_hook(lambda grad, given=given: ranks.append((grad * given).mean(0).detach()))
            nn.functional.cross_entropy(last(given), y).backward()
            opt.zero_grad()
        nn.functional.cross_entropy(last(torch.relu(first(x))), y).backward()
        opt.step()
    print(torch.stack(ranks).sum(0).argmin().item())


def bad_penalty_on_what_the_features_give() -> None:  # fix: by hand
    import torch
    from torch import nn

    features = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
    classes, domains = nn.Linear(8, 3), nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 2))
    gen = torch.optim.SGD([*features.parameters(), *classes.parameters()], lr=0.05)
    disc = torch.optim.SGD(domains.parameters(), lr=0.05)
    for step in range(12):
        x, y, d = torch.randn(8, 4), torch.randint(3, (8,)), torch.randint(2, (8,))
        z = features(x)  # cause: GS605
        loss = nn.functional.cross_entropy(domains(z), d)
        (slope,) = torch.autograd.grad(loss, [z], create_graph=True)
        loss = loss + slope.pow(2).sum(1).mean()
        if step % 2:
            disc.zero_grad()
            loss.backward()  # effect: GS605
            disc.step()
        else:
            gen.zero_grad()
            disc.zero_grad()
            (nn.functional.cross_entropy(classes(z), y) - loss).backward()
            gen.step()


def good_clipped_by_the_norm_of_both() -> None:
    """One of two networks is stepped; the gradients of both went into the norm that scales its."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 3), nn.Linear(3, 6)
    both = [*encoder.parameters(), *decoder.parameters()]
    opts = [torch.optim.SGD(net.parameters(), 0.1) for net in (encoder, decoder)]
    for _ in range(6):
        for line in (0, 1):
            x = torch.randn(32, 6)
            for opt in opts:
                opt.zero_grad()
            loss = (decoder(encoder(x)) - x).pow(2).mean()
            if line:
                loss.backward()
            else:
                loss.mean().backward()
            nn.utils.clip_grad_norm_(both, 0.5)
            opts[line].step()


def good_a_hook_keeps_it_in_a_global() -> None:
    import torch
    from torch import nn

    kept = None

    def keep(module, grad_in, grad_out):
        nonlocal kept
        kept = grad_out[0].detach()

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(6):
        x = torch.randn(8, 4)
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), (x[:, 0] > 0).long()).backward()
        opt.step()
    for _ in range(3):
        handle = net[0].register_full_backward_hook(keep)
        net.zero_grad()
        net(torch.randn(8, 4))[:, 1].sum().backward()
        handle.remove()
        print(kept.mean(0))


def bad_one_forward_for_two_passes() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Mixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem, self.head = nn.Linear(4, 6), nn.Linear(6, 2)
            self.ways = nn.ModuleList(nn.Linear(6, 6) for _ in range(2))
            self.shares = nn.Parameter(torch.zeros(2))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.stem(x)  # cause: GS605
            shares = self.shares.softmax(0)
            return self.head(shares[0] * self.ways[0](x) + shares[1] * self.ways[1](x))

    net = Mixed()
    shares = torch.optim.Adam([net.shares], lr=0.01)
    weights = torch.optim.SGD([p for name, p in net.named_parameters() if name != "shares"], lr=0.05)
    for _ in range(4):
        shares.zero_grad()
        loss = nn.functional.cross_entropy(net(torch.randn(16, 4)), torch.randint(2, (16,)))
        loss.backward()  # effect: GS605
        shares.step()
        weights.zero_grad()
        nn.functional.cross_entropy(net(torch.randn(16, 4)), torch.randint(2, (16,))).backward()
        weights.step()
