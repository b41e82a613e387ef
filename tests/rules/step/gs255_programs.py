"""More programs of GS255: each bad one is reported at its marks, each good one by no rule."""


def good_restarts_after_a_warm_up_that_was_done() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(3, 1)
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(6):
        for turn in range(20):
            sgd.param_groups[0]["lr"] = 0.1 * min(1.0, (turn + 0.01) / 10)
            sgd.zero_grad()
            (net(torch.randn(8, 3)) - 1).pow(2).mean().backward()
            sgd.step()
