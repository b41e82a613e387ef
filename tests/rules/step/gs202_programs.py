"""More programs of GS202: each bad one is reported at its marks, each good one by no rule."""


def bad_by_module() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.Adam(model.parameters())
    for _ in range(3):
        loss = model(torch.randn(8, 3)).pow(2).mean()
        loss.backward()
        model.zero_grad()  # cause: GS202
        opt.step()  # effect: GS202


def bad_by_hand() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model(torch.randn(8, 3)).pow(2).mean().backward()
        for p in model.parameters():
            if p.grad is not None:
                p.grad.zero_()  # cause: GS202
        opt.step()  # effect: GS202


def bad_by_hand_in_a_helper_of_a_longer_run() -> None:
    import torch

    class Trainer:
        def __init__(self, width: int) -> None:
            self.coef = torch.zeros(width, requires_grad=True)
            self.bias = torch.zeros((), requires_grad=True)
            self.optim = torch.optim.Adam([self.coef, self.bias], lr=0.02)

        def clean(self) -> None:
            for p in (self.coef, self.bias):
                p.grad = None  # cause: GS202

        def fit(self, x: torch.Tensor, counts: torch.Tensor) -> float:
            log_rate = torch.mv(x, self.coef) + self.bias
            loss = (log_rate.exp() - counts * log_rate).mean()
            loss.backward()
            self.clean()
            self.optim.step()  # effect: GS202
            return loss.item()

    torch.manual_seed(1)
    trainer = Trainer(5)
    for _ in range(60):
        x = torch.randn(64, 5)
        trainer.fit(x, torch.poisson((0.3 * x[:, 0]).exp()))


def bad_in_a_closure() -> None:
    import torch
    from torch import nn

    model, x = nn.Linear(3, 1), torch.randn(8, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)

    def closure() -> float:
        loss = model(x).pow(2).mean()
        loss.backward()
        opt.zero_grad()  # cause: GS202
        return float(loss.item())

    for _ in range(3):
        opt.step(closure)  # effect: GS202


def bad_with_scaler() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(model(torch.randn(8, 3)).pow(2).mean()).backward()
    opt.zero_grad()  # cause: GS202
    scaler.step(opt)  # effect: GS202


def bad_in_an_attack() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)

    def attack(x: torch.Tensor) -> torch.Tensor:
        x = x.clone().requires_grad_()
        loss = model(x).pow(2).mean()
        model.zero_grad()  # cause: GS202
        loss.backward(inputs=[x])
        assert x.grad is not None
        return (x + 0.1 * x.grad.sign()).detach()

    for _ in range(3):
        opt.zero_grad()
        x = torch.randn(8, 3)
        model(x).pow(2).mean().backward()
        adversarial = attack(x)
        with torch.no_grad():
            robust = model(adversarial).abs().mean()
        opt.step()  # effect: GS202
        print(robust.item())


def bad_in_a_later_phase() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(40):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
    for _ in range(15):
        model(torch.randn(8, 3)).abs().mean().backward()
        opt.zero_grad()  # cause: GS202
        opt.step()  # effect: GS202


def good_another_networks() -> None:
    import torch
    from torch import nn

    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    opt_g = torch.optim.Adam(generator.parameters())
    opt_c = torch.optim.Adam(critic.parameters())
    for _ in range(3):
        opt_g.zero_grad()
        critic(generator(torch.randn(4, 2))).mean().backward()
        opt_c.zero_grad()  # drops what the generator's loss left in the critic
        opt_g.step()
        critic(torch.randn(4, 2)).mean().backward()
        opt_c.step()


def good_bad_batch_skipped() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(6):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        if i == 2:
            opt.zero_grad()
            continue
        opt.step()
    model(torch.randn(8, 3)).pow(2).mean().backward()
    opt.zero_grad()


def good_gradients_combined_by_hand() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        total = [torch.zeros_like(p) for p in model.parameters()]
        for sample in torch.randn(4, 3):
            opt.zero_grad()
            model(sample).pow(2).mean().backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            for summed, p in zip(total, model.parameters(), strict=True):
                summed += p.grad  # type: ignore[arg-type]
        opt.zero_grad()
        for summed, p in zip(total, model.parameters(), strict=True):
            p.grad = summed
        opt.step()


def good_cleared_by_hand_in_a_longer_run() -> None:
    import torch
    from torch import nn

    torch.manual_seed(1)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for turn in range(60):
        model(torch.randn(8, 3)).pow(2).mean().backward()
        if turn % 20 == 7:  # a batch that is left out
            for p in model.parameters():
                p.grad = None
        opt.step()
        for p in model.parameters():
            p.grad = None


def good_step_without_gradients_is_tried_before_any_pass() -> None:
    import torch

    weight = torch.zeros(3, requires_grad=True)
    weight.grad = torch.ones(3)
    opt = torch.optim.Adam([weight], lr=0.1)
    opt.zero_grad()
    opt.step()
    assert not weight.any()
