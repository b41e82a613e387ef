"""More programs of GS251: each bad one is reported at its marks, each good one by no rule."""


def bad_factor_and_size_swapped() -> None:
    import torch
    from torch import nn
    from torch.optim.lr_scheduler import StepLR

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    scheduler = StepLR(opt, 0.1, 3)  # type: ignore[arg-type]  # cause: GS251
    for _ in range(6):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        scheduler.step()  # effect: GS251


def good_whole_number_as_a_float() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.StepLR(opt, step_size=0.4 * 5, gamma=0.5)  # type: ignore[arg-type]
    for _ in range(6):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        scheduler.step()


def good_a_half_divides_every_second_turn() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.StepLR(opt, step_size=5 / 2, gamma=0.5)  # type: ignore[arg-type]
    for _ in range(8):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        scheduler.step()


def good_the_run_ends_before_the_first_change() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.StepLR(opt, step_size=100 / 3)  # type: ignore[arg-type]
    for _ in range(8):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        scheduler.step()


def good_a_factor_of_one_holds_the_rate() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.StepLR(opt, step_size=0.3, gamma=1.0)  # type: ignore[arg-type]
    for _ in range(8):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        scheduler.step()


def bad_a_third_of_the_epochs() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, epochs = nn.Linear(3, 1), 10
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.StepLR(opt, epochs / 3)  # type: ignore[arg-type]  # cause: GS251
    for _ in range(epochs):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        scheduler.step()  # effect: GS251


def bad_factor_for_the_turns() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, decay = nn.Linear(3, 1), 0.7
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.StepLR(opt, decay)  # type: ignore[arg-type]  # cause: GS251
    for _ in range(6):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        scheduler.step()  # effect: GS251
