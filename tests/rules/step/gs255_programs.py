"""More programs of GS255: each bad one is reported at its marks, each good one by no rule."""


def good_restarts_after_a_warm_up_that_was_done() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(3, 1)
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(6):
        for turn in range(20):
            sgd.param_groups[0]["lr"] = 0.1 * min(1.0, (turn + 0.01) / 10)
            sgd.zero_grad()
            (net(torch.randn(8, 3)) - 1).pow(2).mean().backward()
            sgd.step()


def bad_counted_anew_for_a_class() -> None:  # fix: by hand
    import torch
    from torch import nn

    class WarmUp:
        def __init__(self, optim: torch.optim.Optimizer, peak: float, steps: int) -> None:
            self.optim, self.peak, self.steps = optim, peak, steps

        def set(self, count: int) -> None:
            share = min(count / self.steps, 1.0)
            for group in self.optim.param_groups:
                group.update(lr=self.peak * share)  # cause: GS255

    def fit(net: nn.Module, notes: torch.Tensor, epochs: int) -> None:
        optim = torch.optim.Adam(net.parameters(), lr=0.01)
        warm = WarmUp(optim, 0.01, 50)
        for _ in range(epochs):
            done = 0
            for part in notes[torch.randperm(len(notes))].split(10):
                done += 1
                warm.set(done)
                optim.zero_grad()
                (net(part) - part.roll(1, 1)).pow(2).mean().backward()
                optim.step()  # effect: GS255

    torch.manual_seed(0)
    fit(nn.Linear(5, 5), torch.randn(150, 5), 6)


def bad_schedule_made_in_each_epoch() -> None:  # fix: by hand
    import torch
    from torch import nn
    from torch.optim.lr_scheduler import LambdaLR

    def epoch(net: nn.Module, adam: torch.optim.Optimizer, speeds: torch.Tensor) -> None:
        plan = LambdaLR(adam, lambda step: min(1.0, (step + 1) / 40))  # cause: GS255
        for part in speeds[torch.randperm(len(speeds))].split(10):
            adam.zero_grad()
            nn.functional.mse_loss(net(part), part[:, :1] * part[:, 1:2]).backward()
            adam.step()  # effect: GS255
            plan.step()

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
    adam = torch.optim.Adam(net.parameters(), lr=0.01)
    speeds = torch.randn(150, 5)
    for _ in range(6):
        epoch(net, adam, speeds)


def bad_schedule_made_in_the_loop() -> None:
    import torch
    from torch import nn
    from torch.optim.lr_scheduler import LambdaLR

    torch.manual_seed(0)
    net, days = nn.Linear(5, 5), torch.randn(120, 5)
    optim = torch.optim.SGD(net.parameters(), lr=0.05)
    for _ in range(6):
        warm = LambdaLR(optim, lambda step: (step + 1) / 60)  # cause: GS255
        for part in days.split(10):
            loss = (net(part) - part.roll(1, 1)).pow(2).mean()
            optim.zero_grad()
            loss.backward()
            optim.step()  # effect: GS255
            warm.step()


def good_new_schedules_whose_warm_up_ends() -> None:
    import torch
    from torch import nn
    from torch.optim.lr_scheduler import LambdaLR

    def task(net: nn.Module, adam: torch.optim.Optimizer, speeds: torch.Tensor) -> None:
        plan = LambdaLR(adam, lambda step: min(1.0, (step + 1) / 12))
        for part in speeds[torch.randperm(len(speeds))].split(10):
            adam.zero_grad()
            nn.functional.mse_loss(net(part), part[:, :1] * part[:, 1:2]).backward()
            adam.step()
            plan.step()

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
    adam = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(6):
        task(net, adam, torch.randn(200, 5) + torch.randn(5))
