"""More programs of GS370: each bad one is reported at its marks, each good one by no rule."""


def bad_more_than_one_of_a_mask() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(5):
        x = torch.randn(16, 4)
        wanted = x[:, 0] > 0
        opt.zero_grad()
        (net(x)[:, 0] - wanted.float()).square().mean().backward()
        opt.step()
        hits = torch.add(net(x)[:, 0] > 0, wanted)
        both = hits > 1  # cause: GS370
        print(both.sum().item())


def good_compared_with_one_and_with_numbers() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(5):
        x = torch.randn(16, 4)
        wanted = x[:, 0] > 0
        opt.zero_grad()
        (net(x)[:, 0] - wanted.float()).square().mean().backward()
        opt.step()
        found = net(x)[:, 0] > 0
        print((found == 1).sum().item(), ((found + wanted) >= 1).sum().item(), (x > 2).sum().item())
