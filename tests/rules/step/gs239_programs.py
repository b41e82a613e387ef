"""More programs of GS239: each bad one is reported at its marks, each good one by no rule."""


def bad_made_in_a_function() -> None:
    import torch
    from torch import nn
    from torch.optim import lr_scheduler

    def schedules(d_opt, g_opt):
        first = lr_scheduler.MultiStepLR(g_opt, [2, 4], 0.5)  # cause: GS239
        second = lr_scheduler.MultiStepLR(g_opt, [2, 4], 0.5)
        return first, second

    g, d = nn.Linear(3, 3), nn.Linear(3, 1)
    d_opt = torch.optim.SGD(d.parameters(), lr=0.1)
    g_opt = torch.optim.SGD(g.parameters(), lr=0.1)
    made = schedules(d_opt, g_opt)
    for _ in range(6):
        for _ in range(3):
            d_opt.zero_grad()
            d(g(torch.randn(8, 3)).detach()).pow(2).mean().backward()
            d_opt.step()  # effect: GS239
            g_opt.zero_grad()
            d(g(torch.randn(8, 3))).mean().backward(inputs=list(g.parameters()))
            g_opt.step()
        for schedule in made:
            schedule.step()


def bad_in_a_class() -> None:
    import torch
    from torch import nn

    class Trainer:
        def __init__(self):
            self.enc, self.dec = nn.Linear(4, 2), nn.Linear(2, 4)
            self.opt_enc = torch.optim.Adam(self.enc.parameters(), lr=0.01)
            self.opt_dec = torch.optim.Adam(self.dec.parameters(), lr=0.01)
            self.sched_enc = torch.optim.lr_scheduler.ExponentialLR(self.opt_enc, gamma=0.9)
            self.sched_dec = torch.optim.lr_scheduler.ExponentialLR(  # cause: GS239
                optimizer=self.opt_enc, gamma=0.9
            )

        def step(self, x):
            self.opt_enc.zero_grad()
            self.opt_dec.zero_grad()
            (self.dec(self.enc(x)) - x).pow(2).mean().backward()
            self.opt_enc.step()
            self.opt_dec.step()  # effect: GS239
            self.sched_enc.step()
            self.sched_dec.step()

    trainer = Trainer()
    for _ in range(8):
        trainer.step(torch.randn(8, 4))


def bad_one_of_three() -> None:  # fix: by hand
    import torch
    from torch import nn
    from torch.optim.lr_scheduler import CosineAnnealingLR

    nets = [nn.Linear(3, 1) for _ in range(3)]
    a, b, c = (torch.optim.SGD(net.parameters(), lr=0.1) for net in nets)
    first, second = CosineAnnealingLR(a, T_max=10), CosineAnnealingLR(b, T_max=10)
    third = CosineAnnealingLR(b, T_max=10)  # cause: GS239
    for _ in range(8):
        for net, opt in zip(nets, (a, b, c), strict=True):
            opt.zero_grad()
            net(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()  # effect: GS239
        first.step()
        second.step()
        third.step()


def bad_beside_two_that_have_none() -> None:  # fix: by hand
    import torch
    from torch import nn

    nets = [nn.Linear(3, 1) for _ in range(3)]
    a, b, c = (torch.optim.SGD(net.parameters(), lr=0.1) for net in nets)
    schedules = [
        torch.optim.lr_scheduler.StepLR(a, 2, 0.5),
        torch.optim.lr_scheduler.StepLR(a, 2, 0.5),  # cause: GS239
    ]
    for _ in range(6):
        for net, opt in zip(nets, (a, b, c), strict=True):
            opt.zero_grad()
            net(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()  # effect: GS239
        for schedule in schedules:
            schedule.step()


def bad_no_rate_changed_yet() -> None:
    import torch
    from torch import nn

    a, b = nn.Linear(3, 1), nn.Linear(3, 1)
    opt_a = torch.optim.SGD(a.parameters(), lr=0.1)
    opt_b = torch.optim.SGD(b.parameters(), lr=0.1)
    schedule_a = torch.optim.lr_scheduler.StepLR(opt_a, 100)
    schedule_b = torch.optim.lr_scheduler.StepLR(opt_a, 100)  # cause: GS239
    for _ in range(4):
        opt_a.zero_grad()
        opt_b.zero_grad()
        (a(torch.randn(8, 3)) - b(torch.randn(8, 3))).pow(2).mean().backward()
        opt_a.step()
        opt_b.step()  # effect: GS239
        schedule_a.step()
        schedule_b.step()


def good_warm_up_and_decay() -> None:
    import torch
    from torch import nn
    from torch.optim.lr_scheduler import LambdaLR, StepLR

    a, b = nn.Linear(3, 1), nn.Linear(3, 1)
    opt_a = torch.optim.SGD(a.parameters(), lr=0.1)
    opt_b = torch.optim.SGD(b.parameters(), lr=0.1)
    schedules = [LambdaLR(opt_a, lambda i: min(1.0, (i + 1) / 4)), StepLR(opt_a, 4, 0.5)]
    for _ in range(8):
        opt_a.zero_grad()
        opt_b.zero_grad()
        (a(torch.randn(8, 3)) - b(torch.randn(8, 3))).pow(2).mean().backward()
        opt_a.step()
        opt_b.step()
        for schedule in schedules:
            schedule.step()


def good_two_decays_that_differ() -> None:
    import torch
    from torch import nn
    from torch.optim.lr_scheduler import MultiStepLR

    a, b = nn.Linear(3, 1), nn.Linear(3, 1)
    opt_a = torch.optim.SGD(a.parameters(), lr=0.1)
    opt_b = torch.optim.SGD(b.parameters(), lr=0.1)
    schedules = [MultiStepLR(opt_a, [2], 0.5), MultiStepLR(opt_a, [4], 0.1)]
    for _ in range(8):
        opt_a.zero_grad()
        opt_b.zero_grad()
        (a(torch.randn(8, 3)) - b(torch.randn(8, 3))).pow(2).mean().backward()
        opt_a.step()
        opt_b.step()
        for schedule in schedules:
            schedule.step()


def good_one_after_the_other() -> None:
    import torch
    from torch import nn
    from torch.optim.lr_scheduler import ExponentialLR

    a, b = nn.Linear(3, 1), nn.Linear(3, 1)
    opt_a = torch.optim.SGD(a.parameters(), lr=0.1)
    opt_b = torch.optim.SGD(b.parameters(), lr=0.1)
    for _ in range(2):
        for group in opt_a.param_groups:
            group["lr"] = group["initial_lr"] = 0.1
        schedule = ExponentialLR(opt_a, 0.9)
        for _ in range(5):
            opt_a.zero_grad()
            opt_b.zero_grad()
            (a(torch.randn(8, 3)) - b(torch.randn(8, 3))).pow(2).mean().backward()
            opt_a.step()
            opt_b.step()
            schedule.step()


def good_in_a_sequence() -> None:
    import torch
    from torch import nn
    from torch.optim.lr_scheduler import LinearLR, SequentialLR

    a, b = nn.Linear(3, 1), nn.Linear(3, 1)
    opt_a = torch.optim.SGD(a.parameters(), lr=0.1)
    opt_b = torch.optim.SGD(b.parameters(), lr=0.1)
    schedule = SequentialLR(opt_a, [LinearLR(opt_a, 0.5), LinearLR(opt_a, 0.5)], milestones=[4])
    for _ in range(8):
        opt_a.zero_grad()
        opt_b.zero_grad()
        (a(torch.randn(8, 3)) - b(torch.randn(8, 3))).pow(2).mean().backward()
        opt_a.step()
        opt_b.step()
        schedule.step()


def bad_plans_of_the_first() -> None:  # fix: by hand
    import torch
    from torch import nn
    from torch.optim.lr_scheduler import CosineAnnealingLR

    def plans(optimizers: list[torch.optim.Optimizer], turns: int) -> list[CosineAnnealingLR]:
        first = optimizers[0]
        return [CosineAnnealingLR(first, T_max=turns, eta_min=1e-4) for _ in optimizers]  # cause: GS239

    torch.manual_seed(0)
    words, classify = nn.EmbeddingBag(30, 12), nn.Linear(12, 3)
    sparse = torch.optim.Adagrad(words.parameters(), lr=0.1)
    dense = torch.optim.Adam(classify.parameters(), lr=0.02)
    schedules = plans([sparse, dense], 6)
    for _ in range(6):
        text = torch.randint(0, 30, (45, 5))
        loss = nn.functional.cross_entropy(classify(words(text)), text[:, 0] % 3)
        sparse.zero_grad()
        dense.zero_grad()
        loss.backward()
        sparse.step()
        dense.step()  # effect: GS239
        for schedule in schedules:
            schedule.step()


def bad_functions_of_one() -> None:
    import torch
    from torch import nn
    from torch.optim.lr_scheduler import LambdaLR

    def falls(turn: int) -> float:
        return 1 - turn / 8

    torch.manual_seed(0)
    body, head = nn.Linear(4, 4), nn.Linear(4, 1)
    of_body = torch.optim.SGD(body.parameters(), lr=0.05)
    of_head = torch.optim.SGD(head.parameters(), lr=0.1)
    slow = LambdaLR(of_body, falls)
    fast = LambdaLR(of_body, falls)  # cause: GS239
    for _ in range(6):
        of_body.zero_grad()
        of_head.zero_grad()
        (head(torch.tanh(body(torch.randn(8, 4)))) - 1).abs().mean().backward()
        of_body.step()
        of_head.step()  # effect: GS239
        slow.step()
        fast.step()


def good_cosines_of_their_own() -> None:
    import torch
    from torch import nn
    from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR

    torch.manual_seed(0)
    body, head = nn.Linear(4, 4), nn.Linear(4, 1)
    optimizers = [torch.optim.SGD(part.parameters(), lr=0.05) for part in (body, head)]
    schedules = [CosineAnnealingLR(one, T_max=6, eta_min=1e-4) for one in optimizers]
    warm = LambdaLR(optimizers[0], lambda turn: 1.0)
    for _ in range(6):
        for one in optimizers:
            one.zero_grad()
        (head(torch.tanh(body(torch.randn(8, 4)))) - 1).abs().mean().backward()
        for one in optimizers:
            one.step()
        for schedule in schedules:
            schedule.step()
    assert warm.last_epoch == 0
