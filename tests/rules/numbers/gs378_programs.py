"""More programs of GS378: each bad one is reported at its marks, each good one by no rule."""


def bad_mask_of_a_picture() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 1, 3, padding=1), nn.Sigmoid())
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        mask = (torch.rand(4, 1, 8, 8) < 0.6).float() * 255
        shown = model(mask / 255 + torch.randn(4, 1, 8, 8))
        inter = (shown * mask).sum()  # cause: GS378
        loss = 1 - (2 * inter + 1) / (shown.sum() + mask.sum() + 1)  # effect: GS378
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_mask_from_zero_to_one() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 1, 3, padding=1), nn.Sigmoid())
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        mask = (torch.rand(4, 1, 8, 8) < 0.6).float()
        shown = model(mask + torch.randn(4, 1, 8, 8))
        inter = (shown * mask).sum()
        loss = 1 - (inter + 1) / (shown.sum() + mask.sum() - inter + 1)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_weights_that_go_beyond_one() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 3), nn.Sigmoid())
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        x, prizes = torch.randn(8, 4), 3 * torch.rand(8, 3)
        loss = 1 - (model(x) * prizes).sum() / 24
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_sum_of_other_ratios() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 3), nn.Sigmoid())
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        x, prizes = torch.randn(8, 4), torch.rand(8, 3)
        loss = 1 - ((model(x) * prizes).sum(1) / prizes.sum(1)).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
