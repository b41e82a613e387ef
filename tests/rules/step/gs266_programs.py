"""More programs of GS266: each bad one is reported at its marks, each good one by no rule."""


def bad_of_one_object() -> None:
    import copy
    from typing import Any

    import torch
    from torch import nn

    torch.manual_seed(0)
    data = torch.randn(10, 8, 3)

    class Trainer:
        def __init__(self) -> None:
            self.model = nn.Linear(3, 1)
            self.opt = torch.optim.Adam(self.model.parameters(), lr=0.05)
            warm = torch.optim.lr_scheduler.LinearLR(self.opt, start_factor=0.1, total_iters=2)
            down = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, T_max=6)
            self.schedule = torch.optim.lr_scheduler.SequentialLR(self.opt, [warm, down], milestones=[2])

        def save(self) -> dict[str, Any]:
            return copy.deepcopy({"model": self.model.state_dict(), "opt": self.opt.state_dict()})

        def load(self, saved: dict[str, Any]) -> None:
            self.model.load_state_dict(saved["model"])
            self.opt.load_state_dict(saved["opt"])  # cause: GS266

        def train(self) -> None:
            for _ in range(4):
                for x in data:
                    self.opt.zero_grad()
                    self.model(x).sub(1).pow(2).mean().backward()
                    self.opt.step()
                self.schedule.step()  # effect: GS266

    first = Trainer()
    first.train()
    resumed = Trainer()
    resumed.load(first.save())
    resumed.train()


def good_stepped_up_to_where_it_was() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    data = torch.randn(10, 8, 3)
    saved: dict[str, dict[str, object]] = {}
    for run in range(2):
        model = nn.Linear(3, 1)
        opt = torch.optim.Adam(model.parameters(), lr=0.05)
        if run:
            model.load_state_dict(saved["model"])
            opt.load_state_dict(saved["opt"])
        schedule = torch.optim.lr_scheduler.LambdaLR(opt, lambda t: 0.8**t, last_epoch=3 * run - 1)
        for _ in range(3):
            for x in data:
                opt.zero_grad()
                model(x).sub(1).pow(2).mean().backward()
                opt.step()
            schedule.step()
        saved = copy.deepcopy({"model": model.state_dict(), "opt": opt.state_dict()})


def good_back_to_the_best_one() -> None:
    """The same schedule goes on."""
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    data = torch.randn(10, 8, 3)
    model = nn.Linear(3, 1)
    opt = torch.optim.Adam(model.parameters(), lr=0.05)
    schedule = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.8)
    for epoch in range(5):
        for x in data:
            opt.zero_grad()
            model(x).sub(1).pow(2).mean().backward()
            opt.step()
        schedule.step()
        if epoch == 1:
            best = copy.deepcopy((model.state_dict(), opt.state_dict()))
        if epoch == 3:
            model.load_state_dict(best[0])
            opt.load_state_dict(best[1])


def bad_made_behind_the_load() -> None:  # fix: by hand
    import io
    from typing import Any

    import torch
    from torch import nn

    data = torch.randn(40, 8, 3)

    def session(disk: Any) -> Any:
        net = nn.Linear(3, 1)
        opt = torch.optim.AdamW(net.parameters(), lr=0.02)
        if disk is not None:
            found = torch.load(disk)
            net.load_state_dict(found["net"])
            opt.load_state_dict(found["opt"])  # cause: GS266
        warmup = torch.optim.lr_scheduler.LambdaLR(opt, lambda done: 1 / (1 + done / 9))
        for x in data:
            opt.zero_grad()
            nn.functional.smooth_l1_loss(net(x), x.sum(1, keepdim=True)).backward()
            opt.step()
            warmup.step()  # effect: GS266
        kept = io.BytesIO()
        torch.save({"net": net.state_dict(), "opt": opt.state_dict()}, kept)
        kept.seek(0)
        return kept

    torch.manual_seed(0)
    session(session(None))


def good_made_before_the_load() -> None:
    import io
    from typing import Any

    import torch
    from torch import nn

    data = torch.randn(40, 8, 3)

    def session(disk: Any) -> Any:
        net = nn.Linear(3, 1)
        opt = torch.optim.AdamW(net.parameters(), lr=0.02)
        warmup = torch.optim.lr_scheduler.LambdaLR(opt, lambda done: 1 / (1 + done / 9))
        if disk is not None:
            found = torch.load(disk)
            net.load_state_dict(found["net"])
            warmup.load_state_dict(found["warmup"])
            opt.load_state_dict(found["opt"])
        for x in data:
            opt.zero_grad()
            nn.functional.smooth_l1_loss(net(x), x.sum(1, keepdim=True)).backward()
            opt.step()
            warmup.step()
        kept = io.BytesIO()
        torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "warmup": warmup.state_dict()}, kept)
        kept.seek(0)
        return kept

    torch.manual_seed(0)
    session(session(None))
