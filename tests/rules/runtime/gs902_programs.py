"""More programs of GS902: each bad one is reported at its marks, each good one by no rule."""


def bad_item_after_the_step() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    total = 0.0
    for _ in range(8):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward()
        opt.step()
        total += loss.item()  # cause: GS902


def good_number_at_the_end() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    total = torch.zeros(())
    for _ in range(8):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward()
        total += loss.detach()
        opt.step()
    total.item()
