"""More programs of GS445: each bad one is reported at its marks, each good one by no rule."""


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
