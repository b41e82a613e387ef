"""More programs of GS445: each bad one is reported at its marks, each good one by no rule."""


def bad_one_axis_of_classes() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    y = torch.multinomial(torch.tensor([0.7, 0.2, 0.1]), 100, replacement=True)
    importance = 100 / (3 * torch.bincount(y, minlength=3).float())
    for _ in range(3):
        chance = model(torch.randn(100, 6)).softmax(-1)
        hot = nn.functional.one_hot(y, 3).float()
        top = (chance * hot).sum(0).mul(importance)
        bottom = hot.sum(0).mul(importance).add(1e-6)
        loss = 1 - torch.div(top, bottom).mean()  # cause: GS445
        opt.zero_grad()
        loss.backward()  # effect: GS445
        opt.step()


def good_weighted_mean() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x, w = torch.randn(16, 4), torch.rand(16)
        loss = (w * (model(x).squeeze(1) - x.sum(1)).pow(2)).sum() / w.sum()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_normalised_by_a_weighted_number() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 5)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x, scale = torch.randn(16, 4), 1 + torch.rand(5)
        h = model(x) * scale
        h = h / (scale.mean() * 2 + 1e-5)
        loss = (h - x.sum(1, keepdim=True)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_ratio_where_a_mask_is() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 6)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x, mask = torch.randn(16, 4), (torch.rand(16, 6) > 0.5).float()
        size = 1 + x.square().sum(1, keepdim=True).expand(16, 6)
        loss = ((model(x) * mask) / (size * mask + 1e-6) - mask).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
