"""More programs of GS217: each bad one is reported at its marks, each good one by no rule."""


def bad_cosine_of_epochs_in_every_batch() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=4)  # cause: GS217
    for _ in range(4):
        for _ in range(6):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()
            scheduler.step()  # effect: GS217


def bad_one_cycle_of_batches_once_per_epoch() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.1, total_steps=20)  # cause: GS217
    for _ in range(4):
        for _ in range(5):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()
        scheduler.step()  # effect: GS217


def bad_switched_off_with_zero() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(opt, step_size=2, gamma=0)  # cause: GS217
    for _ in range(8):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        scheduler.step()  # effect: GS217


def good_steps_at_epochs() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(opt, [3, 5])
    for _ in range(8):
        for _ in range(3):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()
        scheduler.step()


def good_warm_restarts_and_decay_per_batch() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    restarts = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=4)
    other = torch.optim.SGD(model.parameters(), lr=0.1)
    decay = torch.optim.lr_scheduler.ExponentialLR(other, gamma=0.8)
    for _ in range(20):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        other.step()
        restarts.step()
        decay.step()


def good_cosine_over_the_whole_run() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=20)
    for _ in range(4):
        for _ in range(5):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()
            scheduler.step()


def bad_rate_written_at_every_step() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.StepLR(opt, 15, gamma=0.1)
    for _ in range(20):
        for _ in range(5):
            opt.zero_grad()
            (model(torch.randn(8, 4)) - 1).pow(2).mean().backward()
            for group in opt.param_groups:
                group["lr"] *= 0.8  # cause: GS217
            opt.step()
        schedule.step()  # effect: GS217


def good_rate_written_once() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for group in opt.param_groups:
        group["lr"] = 8e-3
    schedule = torch.optim.lr_scheduler.StepLR(opt, 15, gamma=0.1)
    for _ in range(20):
        for _ in range(5):
            opt.zero_grad()
            (model(torch.randn(8, 4)) - 1).pow(2).mean().backward()
            opt.step()
        schedule.step()
