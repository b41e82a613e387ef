"""More programs of GS449: each bad one is reported at its marks, each good one by no rule."""


def bad_by_where() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(3, 8)
    levels = (torch.arange(8) + 0.5) / 8
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(5):
        expected = net(torch.randn(16, 3)).unsqueeze(2).expand(16, 8, 6)
        target = torch.randn(16, 6).unsqueeze(1)
        error = target - expected
        levels_of = levels[:6].view(1, 1, 6)
        weight = torch.where(error < 0, 1 - levels_of, levels_of)  # cause: GS449
        loss = (
            weight * nn.functional.huber_loss(expected, target.expand_as(expected), reduction="none")
        ).sum(1)
        opt.zero_grad()
        loss.mean().backward()  # effect: GS449
        opt.step()


def bad_targets_in_front() -> None:
    """The other way round: the targets on the axis before that of the quantiles."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(3, 8)
    levels = ((torch.arange(8) + 0.5) / 8).view(1, -1, 1)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)

    def weigh(error: torch.Tensor) -> torch.Tensor:
        below = (error.detach() < 0).float()
        return (levels - below).abs()  # cause: GS449

    for _ in range(5):
        expected, target = net(torch.randn(16, 3)), torch.randn(16, 8)
        error = target[:, :, None] - expected[:, None, :]
        loss = (weigh(error) * error.square()).mean(1).sum(1).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS449
        opt.step()


def good_levels_at_the_quantiles() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(3, 8)
    levels = (torch.arange(8) + 0.5) / 8
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(5):
        expected, target = net(torch.randn(16, 3)), torch.randn(16, 8)
        error = target[:, :, None] - expected[:, None, :]
        weight = torch.abs(levels - (error.detach() < 0).float())
        loss = (weight * error.square()).mean(1).sum(1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_one_target_for_each() -> None:
    """A forecast of several quantiles with one target for each sample: there is no axis of targets."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(3, 8)
    levels = (torch.arange(8) + 0.5) / 8
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(5):
        error = torch.randn(16, 1) - net(torch.randn(16, 3))
        loss = (torch.abs(levels - (error.detach() < 0).float()) * error.abs()).sum(1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_drawn_levels() -> None:
    """Levels that are drawn for each sample, as in IQN, on the axis of what is expected."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(5):
        levels = torch.rand(16, 5, 1)
        expected = net(torch.cat([torch.randn(16, 1, 3).expand(16, 5, 3), levels], 2))
        error = torch.randn(16, 1, 7) - expected
        weight = (levels - (error.detach() < 0).float()).abs()
        loss = (weight * error.abs()).sum(1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
