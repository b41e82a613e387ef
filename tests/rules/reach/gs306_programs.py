"""More programs of GS306: each bad one is reported at its marks, each good one by no rule."""


def bad_hidden_state_carried() -> None:
    import torch
    from torch import nn

    cell, out = nn.RNNCell(4, 8), nn.Linear(8, 1)
    opt = torch.optim.SGD([*cell.parameters(), *out.parameters()], lr=0.1)
    hidden = torch.zeros(2, 8)
    for _ in range(3):
        opt.zero_grad()
        hidden = cell(torch.randn(2, 4), hidden)  # cause: GS306
        loss = out(hidden).pow(2).mean()
        loss.backward()  # effect: GS306
        opt.step()


def bad_made_before_the_loop() -> None:  # fix: by hand
    import torch
    from torch import nn

    table, out = nn.Parameter(torch.randn(4, 8)), nn.Linear(8, 1)
    opt = torch.optim.SGD([table, *out.parameters()], lr=0.1)
    features = torch.randn(6, 4) @ table  # cause: GS306
    for _ in range(3):
        opt.zero_grad()
        loss = out(torch.relu(features)).pow(2).mean()
        loss.backward()  # effect: GS306
        opt.step()


def good_detached_hidden_state() -> None:
    import torch
    from torch import nn

    cell, out = nn.RNNCell(4, 8), nn.Linear(8, 1)
    opt = torch.optim.SGD([*cell.parameters(), *out.parameters()], lr=0.1)
    hidden = torch.zeros(2, 8)
    for _ in range(3):
        opt.zero_grad()
        hidden = cell(torch.randn(2, 4), hidden.detach())
        out(hidden).pow(2).mean().backward()
        opt.step()
