"""More programs of GS368: each bad one is reported at its marks, each good one by no rule."""


def bad_branches_of_a_choice() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 4)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(5):
        x = torch.randn(16, 4)
        out = net(x)
        kept = torch.where(x > 0, out, out)  # cause: GS368
        opt.zero_grad()
        (kept - x.relu()).pow(2).mean().backward()
        opt.step()


def good_the_best_so_far() -> None:
    """In its first turn the loop compares the first one with itself."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    heads = nn.ModuleList(nn.Linear(4, 1) for _ in range(2))
    opt = torch.optim.Adam(heads.parameters(), lr=0.01)
    for _ in range(5):
        x, y = torch.randn(16, 4), torch.randn(16, 1)
        scores = [head(x) for head in heads]
        best = scores[0]
        for score in scores:
            best = torch.maximum(best, score)
        opt.zero_grad()
        ((best - y).pow(2).mean() + sum((s - y).pow(2).mean() for s in scores)).backward()
        opt.step()


def good_of_one_score_alone() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    heads = nn.ModuleList(nn.Linear(4, 1) for _ in range(1))
    opt = torch.optim.Adam(heads.parameters(), lr=0.01)
    for _ in range(5):
        x, y = torch.randn(16, 4), torch.randn(16, 1)
        scores = [head(x) for head in heads]
        opt.zero_grad()
        (torch.max(scores[0], scores[-1]) - y).pow(2).mean().backward()
        opt.step()


def bad_rate_mixed_with_itself() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    net, first = nn.Linear(4, 1), 0.1
    opt = torch.optim.SGD(net.parameters(), lr=first)
    for step in range(20):
        done = step / 20
        for group in opt.param_groups:
            group["lr"] = done * first + (1 - done) * first  # cause: GS368
        opt.zero_grad()
        (net(torch.randn(16, 4)) - torch.randn(16, 1)).pow(2).mean().backward()
        opt.step()


def bad_losses_of_one_label() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    net, loss_of = nn.Linear(4, 3), nn.CrossEntropyLoss()
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(8):
        x, y = torch.randn(16, 4), torch.randint(3, (16,))
        share, order = float(torch.rand(())), torch.randperm(16)
        scores = net(share * x + (1 - share) * x[order])
        loss = share * loss_of(scores, y) + (1.0 - share) * loss_of(scores, y)  # cause: GS368
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_mixes_of_two() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net, loss_of = nn.Linear(4, 3), nn.CrossEntropyLoss()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(8):
        done = step / 8
        for group in opt.param_groups:
            group["lr"] = done * 0.01 + (1 - done) * 0.1
        x, y = torch.randn(16, 4), torch.randint(3, (16,))
        share, order = float(torch.rand(())), torch.randperm(16)
        noisy = share * torch.randn(len(x), 2) + (1 - share) * torch.randn(len(x), 2)
        scores = net(share * x + (1 - share) * x[order])
        loss = share * loss_of(scores, y) + (1 - share) * loss_of(scores, y[order]) + 0 * noisy.mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_one_critic_asked_twice() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    parts = {
        name: nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)) for name in ("left", "right", "slow")
    }
    critics = nn.ModuleDict(parts)
    opt = torch.optim.Adam([*critics["left"].parameters(), *critics["right"].parameters()], lr=0.01)

    @torch.no_grad()
    def target(reward: torch.Tensor, after: torch.Tensor) -> torch.Tensor:
        return reward + 0.9 * torch.minimum(critics["slow"](after), critics["slow"](after))  # cause: GS368

    for _ in range(5):
        state = torch.randn(16, 4)
        wanted = target(state[:, :1].tanh(), state + 0.1)
        loss = sum(nn.functional.mse_loss(critics[name](state), wanted) for name in ("left", "right"))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_the_better_of_two_draws() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 1))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(5):
        x, y = torch.randn(16, 4), torch.randn(16, 1)
        careful = torch.minimum(net(x), net(x))
        start = torch.minimum(torch.rand(16, 1), torch.rand(16, 1))
        opt.zero_grad()
        (careful - y + 0.1 * start).pow(2).mean().backward()
        opt.step()


def bad_least_of_a_stack() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(43)
    ring = nn.Sequential(nn.Linear(9, 32), nn.ReLU(), nn.Linear(32, 4))
    opt = torch.optim.Adam(ring.parameters(), lr=3e-3)
    centre = torch.randn(3, 9)
    for _ in range(6):
        anchor, same, other = (ring(centre[k] + torch.randn(32, 9)) for k in (0, 0, 1))
        d_same = nn.functional.pairwise_distance(anchor, same)
        d_other = nn.functional.pairwise_distance(anchor, other)
        hardest = torch.stack([d_other, d_other]).min(dim=0).values  # cause: GS368
        back = nn.functional.pairwise_distance(same, other)
        loss = (d_same - hardest + 0.4).relu().mean() + 0.1 * back.neg().exp().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_mean_of_a_row() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    one, other = nn.Linear(4, 1), nn.Linear(4, 1)
    opt = torch.optim.Adam([*one.parameters(), *other.parameters()], lr=0.01)
    for _ in range(5):
        state, reward = torch.randn(16, 4), torch.randn(16, 1)
        left, right = one(state), other(state)
        both = torch.cat((left, left), dim=1)  # cause: GS368
        guess = both.mean(1, keepdim=True).detach()  # effect: GS368
        loss = (left - reward).pow(2).mean() + (right - 0.9 * reward - 0.1 * guess).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_repeated_as_channels() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    eye = nn.Conv2d(3, 4, 3)
    top = nn.Linear(4, 1)
    opt = torch.optim.Adam([*eye.parameters(), *top.parameters()], lr=0.01)
    for _ in range(5):
        grey, other = torch.rand(8, 1, 10, 10), torch.rand(8, 1, 10, 10)
        three = torch.cat([grey, grey, grey], dim=1)
        shown = torch.stack([grey, other]).mean(0)
        most = torch.cat([grey, grey], dim=1).amax((2, 3))
        wanted = shown.mean((1, 2, 3)) + most.mean(1)
        loss = (top(eye(three).amax((2, 3))).squeeze(1) - wanted).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
