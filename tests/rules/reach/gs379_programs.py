"""More programs of GS379: each bad one is reported at its marks, each good one by no rule."""

from __future__ import annotations


def bad_rounded() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Linear(4, 16), nn.Linear(16, 1)
    opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for _ in range(5):
        x = torch.randn(64, 4)
        level = body(x)
        hidden = level + (torch.round(4 * level) / 4 - level)  # cause: GS379
        loss = (head(hidden) - x[:, :1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS379
        opt.step()


def good_rounded() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Linear(4, 16), nn.Linear(16, 1)
    opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for _ in range(5):
        x = torch.randn(64, 4)
        level = body(x)
        soft = torch.sigmoid(level)
        hidden = level + (torch.round(4 * level) / 4 - level).detach() + (soft + (level - soft))
        loss = (head(hidden) - x[:, :1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
