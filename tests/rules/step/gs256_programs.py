"""Further programs of GS256."""

from __future__ import annotations


def bad_conditional() -> None:
    import copy
    import math

    import torch
    from torch import nn

    def rate_at(epoch: int) -> float:
        return 0.02 + 0.49 * (1 + math.cos(math.pi * min(epoch, 4) / 4))

    class Run:
        def __init__(self, checkpoint: dict[str, dict[str, object]] | None = None):
            self.model = nn.Linear(3, 1)
            self.opt = torch.optim.SGD(self.model.parameters(), lr=0.05)
            if checkpoint is not None:
                self.model.load_state_dict(checkpoint["model"])
                self.opt.load_state_dict(checkpoint["opt"])
            self.schedule = torch.optim.lr_scheduler.LambdaLR(self.opt, rate_at)  # cause: GS256
            if checkpoint is not None:
                self.schedule.load_state_dict(checkpoint["schedule"])

        def fit(self, epochs: int) -> None:
            for _ in range(epochs):
                for x in data:
                    self.opt.zero_grad()
                    self.model(x).sub(1).pow(2).mean().backward()
                    self.opt.step()  # effect: GS256
                self.schedule.step()

    torch.manual_seed(0)
    data = torch.randn(20, 8, 3)
    first = Run()
    first.fit(3)
    kept = {
        "model": first.model.state_dict(),
        "opt": first.opt.state_dict(),
        "schedule": first.schedule.state_dict(),
    }
    Run(copy.deepcopy(kept)).fit(1)


def bad_never_loaded() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    data = torch.randn(20, 8, 3)
    kept: dict[str, dict[str, object]] = {}
    for run in range(2):
        model = nn.Linear(3, 1)
        opt = torch.optim.SGD(model.parameters(), lr=0.05)
        schedule = torch.optim.lr_scheduler.StepLR(opt, 2)  # cause: GS256
        if run:
            model.load_state_dict(kept["model"])
            schedule.load_state_dict(kept["schedule"])
        for _ in range(3):
            for x in data:
                opt.zero_grad()
                model(x).sub(1).pow(2).mean().backward()
                opt.step()  # effect: GS256
            schedule.step()
        kept = {"model": model.state_dict(), "schedule": schedule.state_dict()}


def bad_put_where_it_was() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    data = torch.randn(20, 8, 3)
    kept: dict[str, dict[str, object]] = {}
    for run in range(2):
        model = nn.Linear(3, 1)
        opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        if run:
            opt.load_state_dict(kept["opt"])
        schedule = torch.optim.lr_scheduler.LambdaLR(opt, lambda epoch: 0.5**epoch)  # cause: GS256
        schedule.last_epoch = 3 * run - 1
        for _ in range(3):
            for x in data:
                opt.zero_grad()
                model(x).sub(1).pow(2).mean().backward()
                opt.step()  # effect: GS256
            schedule.step()
        kept = {"opt": copy.deepcopy(opt.state_dict())}


def good_rates_put_there_too() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    data = torch.randn(20, 8, 3)
    kept: dict[str, dict[str, object]] = {}
    for run in range(2):
        model = nn.Linear(3, 1)
        opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        if run:
            opt.load_state_dict(kept["opt"])
        rates = [group["lr"] for group in opt.param_groups]
        schedule = torch.optim.lr_scheduler.LambdaLR(opt, lambda epoch: 0.5**epoch)
        schedule.last_epoch = 3 * run
        for group, rate in zip(opt.param_groups, rates, strict=True):
            group["lr"] = rate
        for _ in range(3):
            for x in data:
                opt.zero_grad()
                model(x).sub(1).pow(2).mean().backward()
                opt.step()
            schedule.step()
        kept = {"opt": copy.deepcopy(opt.state_dict())}


def good_begins_anew() -> None:
    """Fine-tuning: the optimizer goes on, the schedule begins."""
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    data = torch.randn(20, 8, 3)
    kept: dict[str, dict[str, object]] = {}
    for run in range(2):
        model = nn.Linear(3, 1)
        opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        if run:
            opt.load_state_dict(kept["opt"])
        schedule = torch.optim.lr_scheduler.StepLR(opt, 2)
        for _ in range(3):
            for x in data:
                opt.zero_grad()
                model(x).sub(1).pow(2).mean().backward()
                opt.step()
            schedule.step()
        kept = {"opt": copy.deepcopy(opt.state_dict())}


def good_before_the_first_fall() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    data = torch.randn(20, 8, 3)
    kept: dict[str, dict[str, object]] = {}
    for run in range(2):
        model = nn.Linear(3, 1)
        opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        if run:
            opt.load_state_dict(kept["opt"])
        schedule = torch.optim.lr_scheduler.StepLR(opt, 9)
        if run:
            schedule.load_state_dict(kept["schedule"])
        for _ in range(3):
            for x in data:
                opt.zero_grad()
                model(x).sub(1).pow(2).mean().backward()
                opt.step()
            schedule.step()
        kept = {"opt": copy.deepcopy(opt.state_dict()), "schedule": schedule.state_dict()}


def good_rate_of_its_own() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    data = torch.randn(20, 8, 3)
    kept: dict[str, dict[str, object]] = {}
    for run in range(2):
        model = nn.Linear(3, 1)
        opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        if run:
            opt.load_state_dict(kept["opt"])
        schedule = torch.optim.lr_scheduler.StepLR(opt, 2)
        if run:
            schedule.load_state_dict(kept["schedule"])
            for group in opt.param_groups:
                group["lr"] = 0.02
        for _ in range(3):
            for x in data:
                opt.zero_grad()
                model(x).sub(1).pow(2).mean().backward()
                opt.step()
            schedule.step()
        kept = {"opt": copy.deepcopy(opt.state_dict()), "schedule": schedule.state_dict()}


def bad_of_a_chain() -> None:
    import copy
    from typing import Any

    import torch
    from torch import nn
    from torch.optim.lr_scheduler import ChainedScheduler, ConstantLR, LambdaLR

    class Session:
        def __init__(self, stored: dict[str, Any] | None) -> None:
            self.net = nn.Linear(3, 1)
            self.optim = torch.optim.SGD(self.net.parameters(), lr=0.01, momentum=0.9)
            if stored is not None:
                self.net.load_state_dict(stored["net"])
                self.optim.load_state_dict(stored["optim"])
            parts = [LambdaLR(self.optim, lambda n: 1 / (1 + n)), ConstantLR(self.optim, 1.0)]
            self.plan = ChainedScheduler(parts)  # cause: GS256
            if stored is not None:
                self.plan.load_state_dict(stored["plan"])

        def run(self, turns: int) -> dict[str, Any]:
            for _ in range(turns):
                for _ in range(4):
                    x = torch.randn(16, 3)
                    self.optim.zero_grad()
                    nn.functional.mse_loss(self.net(x), x.sum(1, keepdim=True)).backward()
                    self.optim.step()  # effect: GS256
                self.plan.step()
            parts = {"net": self.net, "optim": self.optim, "plan": self.plan}
            return copy.deepcopy({name: part.state_dict() for name, part in parts.items()})

    torch.manual_seed(0)
    stored = Session(None).run(4)
    Session(stored).run(3)
