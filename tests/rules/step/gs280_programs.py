"""More programs of GS280: each bad one is reported at its marks, each good one by no rule."""


def good_task_networks_that_are_trained() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    for _ in range(4):
        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            x = torch.randn(16, 4)
            opt.zero_grad()
            (net(x) - x[:, :1]).pow(2).mean().backward()
            opt.step()


def good_frozen_random_layers() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        mixing = nn.Linear(6, 6).requires_grad_(False)
        x = torch.randn(16, 6)
        opt.zero_grad()
        (net(mixing(x)) - x[:, :1]).pow(2).mean().backward()
        opt.step()
