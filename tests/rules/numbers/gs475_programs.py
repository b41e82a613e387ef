"""Programs for GS475."""


def bad_by_a_mean_of_the_features() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    attend = nn.Linear(8, 1)
    net = nn.Linear(8, 8)
    opt = torch.optim.SGD([*net.parameters(), *attend.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(6, 4, 8)  # samples, places, features
        gate = attend(x)[:, :1].sigmoid()
        pooled = torch.mean(net(x), dim=1)  # cause: GS475
        mixed = gate * pooled  # effect: GS475
        loss = (mixed.sum(-1) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_each_with_each() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(8, 5)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(6, 4, 8)
        codes = net(x).mean(1)
        apart = (codes.unsqueeze(1) - codes).pow(2).sum(-1)  # all pairs
        near = (codes[:, None] * codes).sum(-1)
        loss = apart.mean() - 0.1 * near.diagonal().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_one_sum_for_all_samples() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Conv2d(3, 1, 3, padding=1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    middle = torch.rand(5, 3, 6, 6).sum(1).mean(0)  # (6, 6)
    for _ in range(3):
        x = torch.rand(5, 3, 6, 6)
        loss = (net(x) - middle).pow(2).mean() + (net(x).squeeze(1) - x.sum(1)).abs().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_each_view_with_each() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 4, 3, padding=1))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    images = torch.rand(32, 3, 6, 6)
    for epoch in range(10):
        for rows in torch.randperm(32).split(8):
            x = images[rows]
            one, two = net(x), net(x + 0.05 * torch.randn_like(x))
            a = one.mean(1, keepdim=True)  # (B, 1, H, W)
            b = two.mean(1)  # (B, H, W)
            similar = (
                -(a - b).square().mean((2, 3)) * 20
            )  # (B, B): row of the first view, column of the second
            loss = nn.functional.cross_entropy(similar, torch.arange(len(x)))
            opt.zero_grad()
            loss.backward()
            opt.step()
    print(loss.item())
