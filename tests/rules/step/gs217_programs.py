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
    scale = torch.ones(1, requires_grad=True)
    other = torch.optim.SGD([scale], lr=0.1)
    decay = torch.optim.lr_scheduler.ExponentialLR(other, gamma=0.8)
    for _ in range(20):
        opt.zero_grad()
        other.zero_grad()
        (scale * model(torch.randn(8, 3))).pow(2).mean().backward()
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


def bad_cosine_shorter_by_the_warm_up() -> None:
    import torch
    from torch import nn

    def schedule(
        opt: torch.optim.Optimizer, warm_up: int, total: int
    ) -> torch.optim.lr_scheduler.LRScheduler:
        return torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=total - warm_up)  # cause: GS217

    model = nn.Linear(3, 1)
    opt = torch.optim.AdamW(model.parameters(), lr=0.1)
    scheduler = schedule(opt, 4, 12)
    for _ in range(12):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        scheduler.step()  # effect: GS217


def bad_cosine_of_half_the_epochs() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 6, eta_min=0.01)  # cause: GS217
    for _ in range(10):
        for _ in range(3):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()
        scheduler.step()  # effect: GS217


def good_cosine_after_a_warm_up() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    schedules = torch.optim.lr_scheduler
    warm_up = schedules.LinearLR(opt, 0.1, total_iters=4)
    cosine = schedules.CosineAnnealingLR(opt, T_max=8)
    scheduler = schedules.SequentialLR(opt, [warm_up, cosine], milestones=[4])
    for _ in range(12):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        scheduler.step()


def good_cosine_one_turn_too_many() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=12)
    for _ in range(13):
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


def bad_restarts_within_an_epoch() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader

    def epoch() -> None:
        for x in loader:
            opt.zero_grad()
            model(x).pow(2).mean().backward()
            opt.step()
            scheduler.step()  # effect: GS217

    torch.manual_seed(0)
    loader = DataLoader(torch.randn(40, 3), batch_size=2, shuffle=True)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=4)  # cause: GS217
    for _ in range(5):
        epoch()


def good_restarts_after_epochs() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader

    def epoch() -> None:
        for x in loader:
            opt.zero_grad()
            model(x).pow(2).mean().backward()
            opt.step()
        scheduler.step()

    torch.manual_seed(0)
    loader = DataLoader(torch.randn(40, 3), batch_size=2, shuffle=True)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=4)
    for _ in range(9):
        epoch()


def good_a_restart_in_each_epoch() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader

    def epoch() -> None:
        for x in loader:
            opt.zero_grad()
            model(x).pow(2).mean().backward()
            opt.step()
            scheduler.step()

    torch.manual_seed(0)
    loader = DataLoader(torch.randn(40, 3), batch_size=2, shuffle=True)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=20)
    for _ in range(5):
        epoch()


def good_restarts_that_grow_apart() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader

    def epoch() -> None:
        for x in loader:
            opt.zero_grad()
            model(x).pow(2).mean().backward()
            opt.step()
            scheduler.step()

    torch.manual_seed(0)
    loader = DataLoader(torch.randn(40, 3), batch_size=2, shuffle=True)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=4, T_mult=2)
    for _ in range(5):
        epoch()


def good_short_periods_in_a_short_run() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader

    def epoch() -> None:
        for x in loader:
            opt.zero_grad()
            model(x).pow(2).mean().backward()
            opt.step()
            scheduler.step()

    torch.manual_seed(0)
    loader = DataLoader(torch.randn(40, 3), batch_size=2, shuffle=True)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=5)
    for _ in range(3):
        epoch()


def good_restarts_by_fractions_of_an_epoch() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader

    def epoch(number: int) -> None:
        for i, x in enumerate(loader):
            opt.zero_grad()
            model(x).pow(2).mean().backward()
            opt.step()
            scheduler.step(number + i / len(loader))

    torch.manual_seed(0)
    loader = DataLoader(torch.randn(40, 3), batch_size=2, shuffle=True)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=2)
    for number in range(6):
        epoch(number)


def good_plateau_of_what_stands_still() -> None:
    import torch

    torch.manual_seed(0)
    w = torch.zeros(3, requires_grad=True)
    x = torch.rand(64, 3)
    y = x.sum(1) + torch.randn(64)
    opt = torch.optim.SGD([w], lr=0.5)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=2)
    for _ in range(150):
        loss = (x @ w - y).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        scheduler.step(loss.item())


def bad_stepped_with_each_part_of_a_batch() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    learner = nn.Linear(4, 1)
    sgd = torch.optim.SGD(learner.parameters(), lr=0.1)
    falling = torch.optim.lr_scheduler.LambdaLR(sgd, lambda turn: max(0.0, 1 - turn / 40))  # cause: GS217
    parts = 0
    while parts < 160:
        x = torch.randn(8, 4)
        ((learner(x) - x[:, :1]).pow(2).mean() / 4).backward()
        parts += 1
        if parts % 4 == 0:
            sgd.step()
            sgd.zero_grad()
        falling.step()  # effect: GS217


def bad_a_cosine_of_its_own_in_waves_of_a_few_batches() -> None:
    import math

    import torch
    from torch import nn

    torch.manual_seed(0)
    epochs, rows = 8, torch.randn(20, 6, 3)

    def factor(turn):
        return 0.5 * (1 + math.cos(math.pi * turn / epochs))

    net = nn.Linear(3, 1)
    sgd = torch.optim.SGD(net.parameters(), lr=0.05)
    wave = torch.optim.lr_scheduler.LambdaLR(sgd, factor)  # cause: GS217
    for _ in range(epochs):
        for row in rows:
            sgd.zero_grad()
            net(row).sub(1).pow(2).mean().backward()
            sgd.step()
            wave.step()  # effect: GS217


def good_a_cosine_of_its_own_over_all_batches() -> None:
    import math

    import torch
    from torch import nn

    torch.manual_seed(0)
    epochs, rows = 8, torch.randn(20, 6, 3)

    def factor(turn):
        return 0.5 * (1 + math.cos(math.pi * turn / (epochs * len(rows))))

    net = nn.Linear(3, 1)
    sgd = torch.optim.SGD(net.parameters(), lr=0.05)
    wave = torch.optim.lr_scheduler.LambdaLR(sgd, factor)
    for _ in range(epochs):
        for row in rows:
            sgd.zero_grad()
            net(row).sub(1).pow(2).mean().backward()
            sgd.step()
            wave.step()


def good_waves_that_a_class_of_torch_is_asked_for() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rows = torch.randn(20, 6, 3)
    net = nn.Linear(3, 1)
    sgd = torch.optim.SGD(net.parameters(), lr=0.05)
    wave = torch.optim.lr_scheduler.CyclicLR(sgd, 0.001, 0.05, step_size_up=5)
    for _ in range(8):
        for row in rows:
            sgd.zero_grad()
            net(row).sub(1).pow(2).mean().backward()
            sgd.step()
            wave.step()


def good_told_the_epoch_in_each_batch() -> None:
    import warnings

    import torch
    from torch import nn

    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=4, eta_min=1e-5)
    for epoch in range(4):
        for _ in range(5):
            schedule.step(epoch=epoch)
            x = torch.randn(16, 4)
            opt.zero_grad()
            (model(x) - x[:, :1]).pow(2).mean().backward()
            opt.step()


def bad_a_line_to_zero_per_batch() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Run:
        def __init__(self, epochs):
            self.net = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
            self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1, momentum=0.9)
            self.plan = torch.optim.lr_scheduler.PolynomialLR(self.opt, total_iters=epochs)  # cause: GS217

        def epoch(self, v, price):
            for rows in torch.randperm(len(v)).split(16):
                loss = (self.net(v[rows])[:, 0] - price[rows]).square().mean()
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                self.plan.step()  # effect: GS217

    torch.manual_seed(0)
    v = torch.randn(128, 6)
    run = Run(6)
    for _ in range(6):
        run.epoch(v, v[:, 0] * v[:, 1])


def good_a_line_to_zero_at_the_end() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(6, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    plan = torch.optim.lr_scheduler.PolynomialLR(opt, total_iters=48)
    for _ in range(6):
        for _ in range(8):
            opt.zero_grad()
            (net(torch.randn(16, 6)) - 1).square().mean().backward()
            opt.step()
            plan.step()


def good_averaging_takes_over_the_rate() -> None:
    import torch
    from torch import nn
    from torch.optim.swa_utils import SWALR, AveragedModel

    torch.manual_seed(0)
    net = nn.Linear(6, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    plan = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.1, total_steps=32)
    averaged, calm = AveragedModel(net), SWALR(opt, swa_lr=0.02, anneal_epochs=2)
    for epoch in range(4):
        for _ in range(8):
            opt.zero_grad()
            x = torch.randn(16, 6)
            (net(x) - x.sum(1, keepdim=True)).square().mean().backward()
            opt.step()
            if epoch < 1:
                plan.step()
        if epoch >= 1:
            averaged.update_parameters(net)
            calm.step()
    with torch.no_grad():
        print(averaged(torch.randn(4, 6)))


def bad_one_cycle_of_batches_beside_a_warm_up() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(6, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    warm_up = torch.optim.lr_scheduler.ConstantLR(opt, 0.5, total_iters=6)
    plan = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=32)  # cause: GS217
    for _ in range(4):
        for _ in range(8):
            opt.zero_grad()
            x = torch.randn(16, 6)
            (net(x) - x.sum(1, keepdim=True)).square().mean().backward()
            opt.step()
            warm_up.step()
        plan.step()  # effect: GS217


def bad_a_warm_up_by_the_epoch() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    warm = torch.optim.lr_scheduler.LambdaLR(opt, lambda turn: min(1.0, (turn + 1) / 200))  # cause: GS217
    for _ in range(5):
        for _ in range(20):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()
        warm.step()  # effect: GS217


def good_a_warm_up_of_epochs_in_a_short_run() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    warm = torch.optim.lr_scheduler.LambdaLR(opt, lambda turn: min(1.0, (turn + 1) / 10))
    for _ in range(5):
        for _ in range(20):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()
        warm.step()
