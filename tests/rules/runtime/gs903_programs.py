"""More programs of GS903: each bad one is reported at its marks, each good one by no rule."""


def good_two_optimizers() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
    first = torch.optim.SGD(model[0].parameters(), lr=0.1)
    second = torch.optim.SGD(model[1].parameters(), lr=0.1)
    for _ in range(3):
        model.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        first.step()
        second.step()
