"""More programs of GS262: each bad one is reported at its marks, each good one by no rule."""


def bad_left_out_in_the_first_branch() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    steps = 5
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.LambdaLR(opt, lambda turn: max(0.0, 1 - turn / (60 // steps)))
    for i, x in enumerate(torch.randn(60, 8, 4)):
        loss = nn.functional.mse_loss(model(x), x[:, :1])
        loss /= steps
        loss.backward()
        if i % steps == 0:  # cause: GS262
            continue_without = True
        else:
            continue_without = False
            opt.step()  # effect: GS262
            scheduler.step()
            opt.zero_grad()
        assert continue_without in (True, False)


def bad_remainder_for_its_absence() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    steps = 4
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for i in range(40):
        x = torch.randn(8, 4)
        (nn.functional.mse_loss(model(x), x[:, :1]) / steps).backward()
        if (i + 1) % steps:  # cause: GS262
            opt.step()  # effect: GS262
            opt.zero_grad()


def good_two_networks_in_turn() -> None:
    """One is trained in four batches of five, the other in the fifth."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic, maker = nn.Linear(4, 1), nn.Linear(4, 4)
    judging = torch.optim.Adam(critic.parameters(), lr=0.01)
    making = torch.optim.Adam(maker.parameters(), lr=0.01)
    for i in range(30):
        noise, real = torch.randn(8, 4), torch.randn(8, 4) + 1
        if i % 5 == 0:
            making.zero_grad()
            (-critic(maker(noise)).mean() / 5).backward()
            making.step()
        else:
            judging.zero_grad()
            loss = (critic(maker(noise).detach()).mean() - critic(real).mean()).pow(2)
            (loss / 5).backward()
            judging.step()


def good_counted_down() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    steps = 4
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for i in range(40):
        x = torch.randn(8, 4)
        (nn.functional.mse_loss(model(x), x[:, :1]) / steps).backward()
        if (i + 1) % steps != 0:
            continue
        opt.step()
        opt.zero_grad()


def bad_goes_on_in_each_third_round() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    steps = 3
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for i in range(45):
        x = torch.randn(8, 4)
        (nn.functional.mse_loss(model(x), x[:, :1]) / steps).backward()
        if (i + 1) % steps == 0:  # cause: GS262
            continue
        opt.step()  # effect: GS262
        opt.zero_grad()


def good_goes_on_in_all_but_each_third_round() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    steps = 3
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for i in range(45):
        x = torch.randn(8, 4)
        (nn.functional.mse_loss(model(x), x[:, :1]) / steps).backward()
        if (i + 1) % steps != 0:
            continue
        opt.step()
        opt.zero_grad()


def bad_function_that_is_left() -> None:
    import torch
    from torch import nn

    class Accumulator:
        def __init__(self, optim: torch.optim.Optimizer, size: int) -> None:
            self.optim, self.size, self.count = optim, size, 0

        def backward(self, loss: torch.Tensor) -> None:
            torch.div(loss, self.size).backward()  # type: ignore[no-untyped-call]
            self.count += 1
            if self.count % self.size == 0:  # cause: GS262
                return
            self.optim.step()  # effect: GS262
            self.optim.zero_grad()

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    steps = Accumulator(torch.optim.Adam(model.parameters(), lr=0.002), 5)
    for _ in range(30):
        steps.backward(nn.functional.mse_loss(model(torch.randn(8, 4)), torch.ones(8, 1)))


def good_function_that_is_left_in_all_but_one() -> None:
    import torch
    from torch import nn

    class Accumulator:
        def __init__(self, optim: torch.optim.Optimizer, size: int) -> None:
            self.optim, self.size, self.count = optim, size, 0

        def backward(self, loss: torch.Tensor) -> None:
            torch.div(loss, self.size).backward()  # type: ignore[no-untyped-call]
            self.count += 1
            if self.count % self.size != 0:
                return
            self.optim.step()
            self.optim.zero_grad()

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    steps = Accumulator(torch.optim.Adam(model.parameters(), lr=0.002), 5)
    for _ in range(30):
        steps.backward(nn.functional.mse_loss(model(torch.randn(8, 4)), torch.ones(8, 1)))


def bad_divided_by_nothing() -> None:
    """The remainder by itself is taken for its absence."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    accumulations, batches = 4, 16
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(3):
        for i in range(batches):
            done = batches * epoch + i
            nn.functional.mse_loss(model(torch.randn(8, 4)), torch.ones(8, 1)).backward()
            if done % accumulations:  # cause: GS262
                opt.step()  # effect: GS262
                opt.zero_grad()


def good_measured_in_each_fourth() -> None:
    """Its branch has a purpose of its own."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.02)
    for i in range(40):
        (nn.functional.mse_loss(model(torch.randn(8, 4)), torch.ones(8, 1)) / 2).backward()
        if i % 4:
            opt.step()
            opt.zero_grad()
        else:
            assert model.weight.grad is not None and model.weight.grad.isfinite().all()


def good_every_other_batch() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.02)
    for i in range(40):
        (nn.functional.mse_loss(model(torch.randn(8, 4)), torch.ones(8, 1)) / 2).backward()
        if i % 2:
            opt.step()
            opt.zero_grad()
