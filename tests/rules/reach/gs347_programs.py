"""More programs of GS347: each bad one is reported at its marks, each good one by no rule."""


def good_counted_twice_on_purpose() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body = nn.Linear(4, 1)
    opt = torch.optim.SGD(body.parameters(), lr=0.01)
    for _ in range(8):
        error = body(torch.randn(8, 4)).sub(1).pow(2).mean()
        size = body.weight.pow(2).sum()
        doubled = error + error
        opt.zero_grad()
        (doubled + 0.1 * size).backward()
        opt.step()
