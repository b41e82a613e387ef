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


def bad_votes_by_a_function() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    judges = nn.ModuleList(nn.Linear(6, 1) for _ in range(3))
    opt = torch.optim.Adam(judges.parameters(), lr=0.01)
    for _ in range(5):
        x = torch.randn(32, 6)
        y = (x[:, :3].sum(1) > 0).float()
        scores = [judge(x).squeeze(1) for judge in judges]
        loss = sum(nn.functional.binary_cross_entropy_with_logits(one, y) for one in scores)
        opt.zero_grad()
        loss.backward()
        opt.step()
        first, second, third = (one > 0 for one in scores)
        most = torch.ge(first.add(second).add(third), 2)  # cause: GS370
        print((most == (y > 0)).float().mean().item())


def good_votes_counted_by_a_function() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    judges = nn.ModuleList(nn.Linear(6, 1) for _ in range(3))
    opt = torch.optim.Adam(judges.parameters(), lr=0.01)
    for _ in range(5):
        x = torch.randn(32, 6)
        y = (x[:, :3].sum(1) > 0).float()
        scores = [judge(x).squeeze(1) for judge in judges]
        loss = sum(nn.functional.binary_cross_entropy_with_logits(one, y) for one in scores)
        opt.zero_grad()
        loss.backward()
        opt.step()
        first, second, third = (one > 0 for one in scores)
        most = torch.ge(first.long().add(second).add(third), 2)
        print((most & (first == second).ge(1)).float().mean().item())
