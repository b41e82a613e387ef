"""More programs of GS249: each bad one is reported at its marks, each good one by no rule."""


def good_second_phase_in_a_loop_of_its_own() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.Adam([*body.parameters(), *head.parameters()], 0.01)
    schedule = torch.optim.lr_scheduler.StepLR(opt, 6, 0.1)
    for _ in range(6):
        for _ in range(4):
            x = torch.randn(16, 4)
            opt.zero_grad()
            (head(body(x).tanh()) - x[:, :1]).pow(2).mean().backward()
            opt.step()
        schedule.step()
    body.requires_grad_(False)
    opt = torch.optim.Adam(head.parameters(), 0.01)
    schedule = torch.optim.lr_scheduler.StepLR(opt, 6, 0.1)
    for _ in range(3):
        for _ in range(4):
            x = torch.randn(16, 4)
            opt.zero_grad()
            (head(body(x).tanh()) - x[:, :1]).pow(2).mean().backward()
            opt.step()
        schedule.step()


def good_each_phase_lowers_its_rate() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.Adam([*body.parameters(), *head.parameters()], 0.01)
    schedule = torch.optim.lr_scheduler.StepLR(opt, 3, 0.1)
    for epoch in range(12):
        if epoch == 6:
            body.requires_grad_(False)
            opt = torch.optim.Adam(head.parameters(), 0.01)
            schedule = torch.optim.lr_scheduler.StepLR(opt, 3, 0.1)
        for _ in range(4):
            x = torch.randn(16, 4)
            opt.zero_grad()
            (head(body(x).tanh()) - x[:, :1]).pow(2).mean().backward()
            opt.step()
        schedule.step()


def good_one_for_each_task() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body = nn.Linear(4, 4)
    for task in range(3):
        head = nn.Linear(4, 1)
        opt = torch.optim.Adam([*body.parameters(), *head.parameters()], 0.01)
        schedule = torch.optim.lr_scheduler.StepLR(opt, 6, 0.1)
        for _ in range(6):
            for _ in range(4):
                x = torch.randn(16, 4)
                opt.zero_grad()
                (head(body(x).tanh()) - x[:, task : task + 1]).pow(2).mean().backward()
                opt.step()
            schedule.step()


def good_smaller_rate_for_the_rest() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.Adam([*body.parameters(), *head.parameters()], 0.01)
    schedule = torch.optim.lr_scheduler.StepLR(opt, 6, 0.1)
    for epoch in range(9):
        if epoch == 6:
            body.requires_grad_(False)
            opt = torch.optim.Adam(head.parameters(), 0.002)
            schedule = torch.optim.lr_scheduler.StepLR(opt, 6, 0.1)
        for _ in range(4):
            x = torch.randn(16, 4)
            opt.zero_grad()
            (head(body(x).tanh()) - x[:, :1]).pow(2).mean().backward()
            opt.step()
        schedule.step()


def bad_one_function_makes_both() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Tuner:
        def __init__(self) -> None:
            self.body, self.head = nn.Linear(4, 4), nn.Linear(4, 1)
            self.setup()

        def setup(self) -> None:
            free = [w for w in [*self.body.parameters(), *self.head.parameters()] if w.requires_grad]
            self.optim = torch.optim.Adam(free, lr=0.01)  # cause: GS249
            self.decay = torch.optim.lr_scheduler.StepLR(self.optim, 6, 0.1)

        def freeze(self) -> None:
            self.body.requires_grad_(False)
            self.setup()

        def epoch(self) -> None:
            for _ in range(4):
                x = torch.randn(16, 4)
                self.optim.zero_grad()
                (self.head(self.body(x).tanh()) - x[:, :1]).pow(2).mean().backward()
                self.optim.step()  # effect: GS249
            self.decay.step()

    torch.manual_seed(0)
    tuner = Tuner()
    for epoch in range(9):
        if epoch == 6:
            tuner.freeze()
        tuner.epoch()


def good_one_function_makes_one_for_each_task() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    heads = [nn.Linear(4, 1) for _ in range(2)]

    class Tuner:
        def setup(self, head: nn.Linear) -> None:
            self.head = head
            self.optim = torch.optim.Adam(head.parameters(), lr=0.01)
            self.decay = torch.optim.lr_scheduler.StepLR(self.optim, 3, 0.1)

        def epoch(self) -> None:
            for _ in range(4):
                x = torch.randn(16, 4)
                self.optim.zero_grad()
                (self.head(x) - x[:, :1]).pow(2).mean().backward()
                self.optim.step()
            self.decay.step()

    tuner = Tuner()
    for head in heads:
        tuner.setup(head)
        for _ in range(5):
            tuner.epoch()
