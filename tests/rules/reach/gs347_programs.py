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


def bad_added_to_the_sum_that_it_began() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    picture = nn.Parameter(torch.randn(4, 8))
    opt = torch.optim.Adam([picture], lr=0.1)
    wanted, shown = torch.randn(4, 4), torch.randn(4, 8)
    for _ in range(8):
        style = (picture @ picture.T - wanted).pow(2).mean()
        content = (picture - shown).pow(2).mean()
        loss = style
        loss += style  # cause: GS347
        opt.zero_grad()
        loss.backward()  # effect: GS347
        opt.step()
    print(content.item() > 0)
