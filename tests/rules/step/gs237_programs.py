"""More programs of GS237: each bad one is reported at its marks, each good one by no rule."""


def bad_turn_left_out_by_continue() -> None:
    import math

    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    opt = torch.optim.Adam(model.parameters())
    data = [torch.randn(8, 3) for _ in range(24)]
    data[7][2, 1] = float("nan")
    for x in data:
        loss = model(x).pow(2).mean()
        loss.backward()  # effect: GS237
        norm = sum(float(p.grad.norm()) for p in model.parameters())
        if not math.isfinite(norm):
            print("left out")
            continue
        opt.step()
        opt.zero_grad()  # cause: GS237


def bad_accumulated() -> None:
    import math

    import torch
    from torch import nn

    def update(x, number):
        (model(x).pow(2).mean() / 4).backward()  # effect: GS237
        if number % 4:
            return
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if not math.isfinite(norm):
            print("left out")
        else:
            opt.step()
            model.zero_grad()  # cause: GS237

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    data = [torch.randn(8, 3) for _ in range(40)]
    data[9][0] = float("inf")
    for number, x in enumerate(data, 1):
        update(x, number)


def bad_in_a_function_of_its_own() -> None:  # fix: by hand
    import torch
    from torch import nn

    def update():
        opt.step()
        opt.zero_grad()  # cause: GS237

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(20):
        x = torch.randn(8, 3)
        x[0, 0] = float("inf") if i == 6 else 0.0
        model(x).pow(2).mean().backward()  # effect: GS237
        if all(bool(p.grad.isfinite().all()) for p in model.parameters()):
            update()


def bad_one_of_two_networks() -> None:
    import torch
    from torch import nn

    actor, critic = nn.Linear(3, 1), nn.Linear(3, 1)
    opt_a = torch.optim.SGD(actor.parameters(), lr=0.1)
    opt_c = torch.optim.SGD(critic.parameters(), lr=0.1)
    for i in range(16):
        x = torch.randn(8, 3)
        broken = x / 0 if i == 4 else x
        critic(broken).pow(2).mean().backward()  # effect: GS237
        if torch.isfinite(nn.utils.clip_grad_norm_(critic.parameters(), 1.0)):
            opt_c.step()
            opt_c.zero_grad()  # cause: GS237
        actor(x).add(1).pow(2).mean().backward()
        opt_a.step()
        opt_a.zero_grad()


def good_cleared_before_the_pass() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(16):
        x = torch.randn(8, 3)
        x[0, 0] = float("inf") if i == 5 else 0.0
        opt.zero_grad()
        model(x).pow(2).mean().backward()
        if torch.isfinite(nn.utils.clip_grad_norm_(model.parameters(), 1.0)):
            opt.step()


def good_cleared_at_the_next_turn() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(40):
        if i % 4 == 0:
            opt.zero_grad()
        x = torch.randn(8, 3)
        x[0, 0] = float("inf") if i == 17 else 0.0
        (model(x).pow(2).mean() / 4).backward()
        if i % 4 == 3 and all(bool(p.grad.isfinite().all()) for p in model.parameters()):
            opt.step()


def good_the_run_ends_there() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(40):
        x = torch.randn(8, 3)
        x[0, 0] = float("inf") if i == 37 else 0.0
        (model(x).pow(2).mean() / 4).backward()
        if i % 4 == 3 and all(bool(p.grad.isfinite().all()) for p in model.parameters()):
            opt.step()
            opt.zero_grad()


def good_cleaned_by_hand() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(16):
        x = torch.randn(8, 3)
        x[0, 0] = float("inf") if i == 5 else 0.0
        model(x).pow(2).mean().backward()
        if not torch.isfinite(nn.utils.clip_grad_norm_(model.parameters(), 1.0)):
            for p in model.parameters():
                p.grad.fill_(0.0)
            continue
        opt.step()
        opt.zero_grad()


def good_studied_after_the_training() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
    opt.zero_grad()
    found = []
    for i in range(12):
        x = torch.randn(1, 3) / (i - 4)
        x.requires_grad_()
        model(x).sum().backward()
        found.append(x.grad.abs().max().item())
