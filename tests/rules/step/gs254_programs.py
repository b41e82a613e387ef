"""More programs of GS254: each bad one is reported at its marks, each good one by no rule."""


def good_a_schedule_of_epochs_goes_on() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    pictures = torch.randn(6, 8, 3)
    net = nn.Linear(3, 1)
    first = torch.optim.Adam(net.parameters(), lr=0.05)
    for _ in range(3):
        for picture in pictures:
            first.zero_grad()
            net(picture).pow(2).mean().backward()
            first.step()
    kept = copy.deepcopy(first.state_dict())

    second = torch.optim.Adam(net.parameters(), lr=0.05)
    second.load_state_dict(kept)
    for group in second.param_groups:
        group["initial_lr"] = 0.05
    decay = torch.optim.lr_scheduler.LinearLR(second, 1.0, 0.1, total_iters=10, last_epoch=2)
    for _ in range(7):
        for picture in pictures:
            second.zero_grad()
            net(picture).pow(2).mean().backward()
            second.step()
        decay.step()


def bad_factor_of_the_epoch() -> None:
    import copy
    from typing import Any

    import torch
    from torch import nn
    from torch.optim.lr_scheduler import LambdaLR

    class Job:
        def __init__(self, state: dict[str, Any] | None) -> None:
            self.net = nn.Linear(4, 2)
            self.optim = torch.optim.AdamW(self.net.parameters(), lr=0.01)
            self.epoch = 0
            if state is not None:
                self.net.load_state_dict(state["net"])
                self.optim.load_state_dict(state["optim"])
                self.epoch = state["epoch"]
            for group in self.optim.param_groups:
                group.setdefault("initial_lr", 0.01)
            self.schedule = LambdaLR(  # cause: GS254
                self.optim, lambda n: min((n + 1) / 20, max(0.05, (120 - n) / 100)), last_epoch=self.epoch - 1
            )

        def run(self) -> dict[str, Any]:
            for _ in range(3):
                for _ in range(20):
                    x = torch.randn(16, 4)
                    self.optim.zero_grad()
                    nn.functional.cross_entropy(self.net(x), (x[:, 0] > x[:, 1]).long()).backward()
                    self.optim.step()
                    self.schedule.step()  # effect: GS254
                self.epoch += 1
            state = {"net": self.net.state_dict(), "optim": self.optim.state_dict(), "epoch": self.epoch}
            return copy.deepcopy(state)

    torch.manual_seed(0)
    Job(Job(None).run()).run()
