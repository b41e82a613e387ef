"""More programs of GS395."""

from __future__ import annotations


def bad_behind_the_loop() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 1))
    decay = [p for p in model.parameters() if p.ndim > 1]
    rest = [p for p in model.parameters() if p.ndim == 1]
    opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": rest}], lr=0.001)
    for step in range(8):
        lr = 0.01 * (8 - step)
        for group in opt.param_groups:
            opt.zero_grad()
        group["lr"] = lr  # cause: GS395
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()  # effect: GS395


def bad_in_a_function_of_its_own() -> None:
    import torch
    from torch import nn

    def adjust(optimizer, epoch):
        rate = 0.1 * 0.1 ** (epoch // 2)
        for group in optimizer.state_dict()["param_groups"]:
            group["lr"] = rate  # cause: GS395

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(4):
        adjust(opt, epoch)
        for _ in range(3):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()  # effect: GS395


def good_state_that_is_loaded_again() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(8):
        state = opt.state_dict()
        for group in state["param_groups"]:
            group["lr"] = 0.1 * 0.5**step
        opt.load_state_dict(state)
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def good_rate_of_the_head_alone() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Linear(3, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([{"params": body.parameters()}, {"params": head.parameters()}], lr=0.01)
    for step in range(8):
        opt.param_groups[-1]["lr"] = 0.1 * 0.5**step
        opt.zero_grad()
        head(body(torch.randn(8, 3)).relu()).pow(2).mean().backward()
        opt.step()


def good_rate_looked_at_in_the_state() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(8):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        print([group["lr"] for group in opt.state_dict()["param_groups"]])


def bad_remainder_of_one_term() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    rate = 0.1
    opt = torch.optim.SGD(model.parameters(), lr=rate)
    for epoch in range(3):
        for i in range(12):
            x = torch.randn(8, 4)
            opt.zero_grad()
            nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long()).backward()
            opt.step()
            if i + epoch * 12 % 10 == 0 and i > 0:  # cause: GS395
                rate *= 0.5
                for group in opt.param_groups:
                    group["lr"] = rate  # effect: GS395


def good_not_yet() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    rate = 0.1
    opt = torch.optim.SGD(model.parameters(), lr=rate)
    for epoch in range(3):
        for i in range(12):
            x = torch.randn(8, 4)
            opt.zero_grad()
            nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long()).backward()
            opt.step()
            if (i + epoch * 12) % 100 == 0 and i > 0:
                rate *= 0.5
                for group in opt.param_groups:
                    group["lr"] = rate


def bad_always_the_first_group() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Linear(4, 4), nn.Linear(4, 2)
    opt = torch.optim.SGD(
        [
            {"params": [body.weight], "lr": 0.1},
            {"params": [body.bias], "lr": 0.1},
            {"params": head.parameters(), "lr": 0.5},
        ]
    )
    for step in range(12):
        x = torch.randn(8, 4)
        rate = 0.1 * 0.9**step
        for i in range(2):
            opt.param_groups[0]["lr"] = rate  # cause: GS395
        for i in range(2, len(opt.param_groups)):
            opt.param_groups[i]["lr"] = 5 * rate
        opt.zero_grad()
        nn.functional.cross_entropy(head(body(x)), (x[:, 0] > 0).long()).backward()
        opt.step()  # effect: GS395


def good_one_group_by_its_number() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Linear(4, 4), nn.Linear(4, 2)
    opt = torch.optim.SGD(
        [{"params": body.parameters(), "lr": 0.1}, {"params": head.parameters(), "lr": 0.5}]
    )
    for epoch in range(2):
        for step in range(6):
            x = torch.randn(8, 4)
            opt.param_groups[1]["lr"] = 0.5 * 0.9 ** (6 * epoch + step)
            opt.zero_grad()
            nn.functional.cross_entropy(head(body(x)), (x[:, 0] > 0).long()).backward()
            opt.step()
