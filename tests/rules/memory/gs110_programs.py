"""More programs of GS110: each bad one is reported at its marks, each good one by no rule."""


def bad_target_is_the_network() -> None:  # fix: by hand
    import torch
    from torch import nn

    online = nn.Linear(4, 2)
    target = online
    opt = torch.optim.SGD(online.parameters(), lr=0.1)
    for step in range(6):
        value = online(torch.randn(8, 4)).max(dim=1).values
        with torch.no_grad():
            then = target(torch.randn(8, 4)).max(dim=1).values
        opt.zero_grad()
        nn.functional.mse_loss(value, 1 + 0.9 * then).backward()
        opt.step()
        if step % 2:
            target.load_state_dict(online.state_dict())  # cause: GS110


def bad_first_state_for_each_run() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    first = model.state_dict()  # cause: GS110
    for _ in range(2):
        for _ in range(2):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()
        model.load_state_dict(first)  # effect: GS110


def good_target_is_a_copy() -> None:
    import copy

    import torch
    from torch import nn

    online = nn.Linear(4, 2)
    target = copy.deepcopy(online)
    opt = torch.optim.SGD(online.parameters(), lr=0.1)
    for step in range(6):
        value = online(torch.randn(8, 4)).max(dim=1).values
        with torch.no_grad():
            then = target(torch.randn(8, 4)).max(dim=1).values
        opt.zero_grad()
        nn.functional.mse_loss(value, 1 + 0.9 * then).backward()
        opt.step()
        if step % 2:
            target.load_state_dict(online.state_dict())


def good_best_state_cloned() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    best = {name: value.clone() for name, value in model.state_dict().items()}
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        best = {name: value.detach().cpu().clone() for name, value in model.state_dict().items()}
    model.load_state_dict(best)


def good_loaded_once_as_it_is() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    model.load_state_dict(model.state_dict())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
