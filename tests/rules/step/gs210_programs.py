"""More programs of GS210: each bad one is reported at its marks, each good one by no rule."""


def bad_never_stepped() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(opt, 0.9)  # cause: GS210
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()  # effect: GS210
    assert scheduler.get_last_lr()


def bad_epoch_in_a_function() -> None:
    import torch
    from torch import nn

    def train(model: nn.Module, opt: torch.optim.Optimizer) -> None:
        for _ in range(2):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()  # effect: GS210

    def fit(model: nn.Module) -> None:
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        scheduler = torch.optim.lr_scheduler.StepLR(opt, 2, gamma=0.5)
        for _ in range(3):
            scheduler.step()  # cause: GS210
            train(model, opt)

    fit(nn.Linear(3, 1))


def good_each_kind() -> None:
    import torch
    from torch import nn
    from torch.optim import lr_scheduler as schedules

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    warm_up = schedules.LinearLR(opt, 0.1, total_iters=2)
    both = schedules.SequentialLR(opt, [warm_up, schedules.CosineAnnealingLR(opt, 4)], milestones=[2])
    plateau = schedules.ReduceLROnPlateau(opt)
    scale = torch.ones(1, requires_grad=True)
    cycle = schedules.OneCycleLR(torch.optim.SGD([scale], lr=0.1), 0.1, total_steps=9)
    for _ in range(4):
        opt.zero_grad()
        cycle.optimizer.zero_grad()
        loss = (scale * model(torch.randn(8, 3))).pow(2).mean()
        loss.backward()
        opt.step()
        cycle.optimizer.step()
        cycle.step()
        both.step()
        plateau.step(loss.item())


def good_restarted() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.LambdaLR(opt, lambda epoch: 0.9**epoch)
    for _ in range(3):
        scheduler.step()  # to where the checkpoint was
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        scheduler.step()


def good_tried_out() -> None:
    import torch

    opt = torch.optim.SGD(torch.nn.Linear(3, 1).parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 10)
    rates = []
    for _ in range(10):
        rates.append(scheduler.get_last_lr()[0])
        scheduler.step()


def good_first_step_skipped() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(opt, 5)
    scaler = torch.amp.GradScaler("cpu", init_scale=1e30)
    for i in range(4):
        opt.zero_grad()
        x = torch.full((8, 3), 1e12 if i == 0 else 1e-3)
        scaler.scale(model(x).pow(2).mean()).backward()
        scaler.step(opt)
        scaler.update(1.0)
        scheduler.step()


def good_counts_micro_batches() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(opt, 50)
    for i in range(8):
        (model(torch.randn(8, 3)).pow(2).mean() / 2).backward()
        if i % 2:
            opt.step()
            opt.zero_grad()
        scheduler.step()


def good_given_to_a_library() -> None:
    from functools import partial

    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.LambdaLR(opt, lambda epoch: 0.5**epoch)
    handlers = [partial(setattr, scheduler, "last_epoch")]
    for epoch in range(3):
        handlers[0](epoch)
        opt.param_groups[0]["lr"] = scheduler.base_lrs[0] * scheduler.lr_lambdas[0](scheduler.last_epoch)
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def bad_condition_compares_the_rate_with_one() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    warm_up = torch.optim.lr_scheduler.LinearLR(opt, 0.1, total_iters=5)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 40)
    for _ in range(40):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        if opt.param_groups[0]["lr"] < 1.0:  # cause: GS210
            warm_up.step()
        else:
            cosine.step()  # effect: GS210


def bad_counter_of_a_function_stands_still() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Schedule:
        def __init__(self, opt: torch.optim.Optimizer) -> None:
            self.updates = 0
            self.first = torch.optim.lr_scheduler.LinearLR(opt, 0.1, total_iters=5)
            self.second = torch.optim.lr_scheduler.ExponentialLR(opt, 0.99)

        def warming(self) -> bool:
            return self.updates < 5  # cause: GS210

        def step(self) -> None:
            if self.warming():
                self.first.step()
            else:
                self.second.step()  # effect: GS210

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = Schedule(opt)
    for _ in range(40):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        schedule.step()


def good_run_ends_within_the_warm_up() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    warm_up = torch.optim.lr_scheduler.LinearLR(opt, 0.1, total_iters=30)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 400)
    for step in range(24):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        if step < 30:
            warm_up.step()
        else:
            cosine.step()


def good_both_have_their_turn() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    warm_up = torch.optim.lr_scheduler.LinearLR(opt, 0.1, total_iters=5)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 40)
    for step in range(40):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        if step < 5:
            warm_up.step()
        else:
            cosine.step()


def good_steps_the_inner_one_itself() -> None:
    import torch
    from torch import nn

    class WarmUp(torch.optim.lr_scheduler.LRScheduler):
        def __init__(
            self, optimizer: torch.optim.Optimizer, turns: int, after_it: torch.optim.lr_scheduler.StepLR
        ):
            self.turns, self.after = turns, after_it
            super().__init__(optimizer)

        def get_lr(self) -> list[float]:
            return [base * min(1.0, (self.last_epoch + 1) / self.turns) for base in self.base_lrs]

        def step(self, epoch: int | None = None) -> None:
            if self.last_epoch < self.turns:
                super().step(epoch)
            else:
                self.after.step()

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = WarmUp(opt, 4, torch.optim.lr_scheduler.StepLR(opt, 30))
    for _ in range(24):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        scheduler.step()


def good_schedule_is_told_its_turn() -> None:
    import warnings

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 10)
    for turn in range(10):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            schedule.step(turn)
        opt.zero_grad()
        model(torch.randn(4, 3)).pow(2).mean().backward()
        opt.step()


def bad_never_stepped_in_another_function() -> None:
    import torch
    from torch import nn

    class Trainer:
        def __init__(self, rate: float, decay: float) -> None:
            self.net = nn.Linear(3, 1)
            self.opt = torch.optim.SGD(self.net.parameters(), lr=rate)
            self.decaying = torch.optim.lr_scheduler.ExponentialLR(self.opt, gamma=decay)  # cause: GS210

        def one(self, batch: torch.Tensor) -> float:
            self.opt.zero_grad()
            loss = self.net(batch).pow(2).mean()
            loss.backward()
            self.opt.step()  # effect: GS210
            return loss.item()

        def fit(self, batches: list[torch.Tensor]) -> None:
            for _ in range(5):
                losses = [self.one(batch) for batch in batches]
                print(sum(losses) / len(losses))

    torch.manual_seed(0)
    Trainer(0.1, 0.5).fit([torch.randn(8, 3) for _ in range(6)])


def bad_never_stepped_though_it_counts_batches() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    halving = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=12)  # cause: GS210
    for _ in range(3):
        for _ in range(4):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()  # effect: GS210
    assert halving.get_last_lr()


def bad_before_a_step_that_one_of_two_branches_makes() -> None:
    """Put right behind the step, `if` and all, the schedule would part the `if` from its `else`."""
    import torch
    from torch import nn

    class Mask:
        def __init__(self, opt: torch.optim.Optimizer) -> None:
            self.opt = opt

        def step(self) -> None:
            self.opt.step()  # effect: GS210

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(opt, 1)
    mask = Mask(opt)
    for _ in range(3):
        if scheduler is not None:
            scheduler.step()  # cause: GS210
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        if mask is not None:
            mask.step()
        else:
            opt.step()


def bad_own_schedule_never_stepped_beside_the_epochs() -> None:
    import torch
    from torch import nn

    class WarmUp(torch.optim.lr_scheduler.LRScheduler):
        def __init__(self, optimizer, turns):
            self.turns = turns
            super().__init__(optimizer)

        def get_lr(self):
            return [base * min(1, (self.last_epoch + 1) / self.turns) for base in self.base_lrs]

    def epoch_of(model, opt):
        for _ in range(4):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()  # effect: GS210

    def train(model, opt):
        schedule = WarmUp(opt, 10)  # cause: GS210
        for _ in range(3):
            epoch_of(model, opt)
        print(schedule.turns)

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    train(model, opt)
