"""More programs of GS203: each bad one is reported at its marks, each good one by no rule."""


def bad_two_optimizers() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    trunk, head = nn.Linear(3, 3), nn.Linear(3, 1)
    opt_trunk = torch.optim.SGD(trunk.parameters(), lr=0.1)
    opt_head = torch.optim.SGD(head.parameters(), lr=0.1)
    for _ in range(3):
        opt_trunk.zero_grad()  # cause: GS203
        loss = head(trunk(torch.randn(8, 3))).pow(2).mean()
        loss.backward()
        opt_trunk.step()
        opt_head.step()  # effect: GS203


def good_both_cleared() -> None:
    import torch
    from torch import nn

    trunk, head = nn.Linear(3, 3), nn.Linear(3, 1)
    opt_trunk = torch.optim.SGD(trunk.parameters(), lr=0.1)
    opt_head = torch.optim.SGD(head.parameters(), lr=0.1)
    for _ in range(3):
        opt_trunk.zero_grad()
        opt_head.zero_grad()
        head(trunk(torch.randn(8, 3))).pow(2).mean().backward()
        opt_trunk.step()
        opt_head.step()
