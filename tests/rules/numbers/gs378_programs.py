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


def bad_share_of_each_class() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Conv2d(1, 3, 1)
    opt = torch.optim.Adam(net.parameters(), lr=0.1)
    for _ in range(12):
        scan = torch.randn(4, 1, 8, 8)
        organ = (scan[:, 0] > -0.5).long() + (scan[:, 0] > 0.5).long()
        p = net(scan).softmax(1).flatten(2)
        y = nn.functional.one_hot(organ.flatten(1), 3).transpose(1, 2).to(p)
        hit = torch.einsum("nck,nck->nc", p, y)
        extra, lost = torch.einsum("nck,nck->nc", p, 1 - y), torch.einsum("nck,nck->nc", 1 - p, y)
        index = (hit + 1e-5) / (hit + 0.3 * extra + 0.7 * lost + 1e-5)
        loss = 1 - index.sum(dim=1).mean()  # cause: GS378
        opt.zero_grad()
        loss.backward()  # effect: GS378
        opt.step()


def good_share_of_each_class() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Conv2d(1, 3, 1)
    opt = torch.optim.Adam(net.parameters(), lr=0.1)
    for _ in range(12):
        scan = torch.randn(4, 1, 8, 8)
        organ = (scan[:, 0] > -0.5).long() + (scan[:, 0] > 0.5).long()
        p = net(scan).softmax(1).flatten(2)
        y = nn.functional.one_hot(organ.flatten(1), 3).transpose(1, 2).to(p)
        hit = torch.einsum("nck,nck->nc", p, y)
        extra, lost = torch.einsum("nck,nck->nc", p, 1 - y), torch.einsum("nck,nck->nc", 1 - p, y)
        index = (hit + 1e-5) / (hit + 0.3 * extra + 0.7 * lost + 1e-5)
        shares = torch.stack([hit / (hit + extra), extra / (hit + extra)])
        loss = (1 - index).sum(dim=1).mean() + (1 - index.mean()) + (1 - shares.sum(0)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
