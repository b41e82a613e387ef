"""More programs of GS226: each bad one is reported at its marks, each good one by no rule."""

from __future__ import annotations


def bad_in_the_loop_of_samples() -> None:
    import torch
    from torch import nn

    model, pending, done = nn.Linear(3, 1), [], 0
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    decay = torch.optim.lr_scheduler.StepLR(opt, 1, gamma=0.7)
    for _ in range(60):
        pending.append(torch.randn(3))
        if len(pending) == 5:
            opt.zero_grad()
            model(torch.stack(pending)).pow(2).mean().backward()
            opt.step()  # effect: GS226
            pending, done = [], done + 1
        if done in (3, 6, 9):
            decay.step()  # cause: GS226


def good_counts_micro_batches() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.1, total_steps=40)
    for batch in range(40):
        (model(torch.randn(8, 3)).pow(2).mean() / 4).backward()
        if batch % 4 == 3:
            opt.step()
            opt.zero_grad()
        schedule.step()


def good_brought_forward_before_training() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    opt.step()
    schedule = torch.optim.lr_scheduler.ExponentialLR(opt, 0.9)
    for _ in range(5):  # the epochs of the run before
        schedule.step()
    for _ in range(8):
        for _ in range(3):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()
        schedule.step()


def good_two_schedules_once_an_epoch() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    warm = torch.optim.lr_scheduler.LinearLR(opt, 0.5, total_iters=2)
    fall = torch.optim.lr_scheduler.ExponentialLR(opt, 0.9)
    for _ in range(8):
        for _ in range(3):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()
        warm.step()
        fall.step()


def good_stepped_with_each_batch() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.1, total_steps=300)
    for _ in range(300):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        schedule.step()


def bad_stepped_by_evaluations_too() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(3, 1)
    adam = torch.optim.Adam(net.parameters(), lr=0.05)
    annealed = torch.optim.lr_scheduler.CosineAnnealingLR(adam, 36)
    parts = {name: [torch.randn(8, 3) for _ in range(2)] for name in ("train", "valid", "test")}

    def go_through(part: str) -> None:
        for rows in parts[part]:
            with torch.set_grad_enabled(part == "train"):
                loss = net(rows).pow(2).mean()
            if part == "train":
                adam.zero_grad()
                loss.backward()
                adam.step()  # effect: GS226
        annealed.step()  # cause: GS226

    for _ in range(12):
        go_through("train")
        go_through("valid")
        go_through("test")
