"""More programs of GS260: each bad one is reported at its marks, each good one by no rule."""


def good_the_slope_of_an_input_is_wanted() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    shown = []
    for turn in range(30):
        x = torch.randn(4, 4, requires_grad=True)
        loss = nn.functional.cross_entropy(model(x), torch.zeros(4, dtype=torch.long))
        loss.backward()
        assert x.grad is not None
        shown.append(x.grad.abs().sum().item())
        if turn % 10 == 0:
            print(turn, loss.item(), shown[-1])
