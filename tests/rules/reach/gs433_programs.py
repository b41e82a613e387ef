"""More programs of GS433: each bad one is reported at its marks, each good one by no rule."""


def bad_with_a_target_network() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    gamma = 0.9
    critic = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    target_critic = copy.deepcopy(critic).requires_grad_(False)
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(6):
        states, following, rewards = torch.randn(32, 4), torch.randn(32, 4), torch.rand(32)
        done = (torch.rand(32) < 0.2).float()
        values = target_critic(following).squeeze(1)
        values = values + gamma * (1 - done)  # cause: GS433
        wanted = rewards + values
        loss = nn.functional.smooth_l1_loss(critic(states).squeeze(1), wanted)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_bonus_of_some() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(6):
        x, group = torch.randn(32, 4), (torch.rand(32, 1) > 0.5).float()
        y = x.sum(1, keepdim=True) + 0.9 * group
        loss = nn.functional.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_one_sum_of_three() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    gamma = 0.9
    value, slow = nn.Linear(4, 1), nn.Linear(4, 1)
    slow.load_state_dict(value.state_dict())
    opt = torch.optim.Adam(value.parameters(), lr=0.01)
    for _ in range(6):
        states, following = torch.randn(32, 4), torch.randn(32, 4)
        with torch.no_grad():
            rewards = 1 - (states[:, :1] - value(states)).pow(2)
            goes_on = (torch.rand(32, 1) > 0.2).float()
            target = rewards + gamma * goes_on + slow(following)  # cause: GS433
        loss = nn.functional.mse_loss(value(states), target)
        opt.zero_grad()
        loss.backward()
        opt.step()
        for old, new in zip(slow.parameters(), value.parameters(), strict=True):
            old.data.lerp_(new.data, 0.1)


def bad_largest_value_in_a_helper() -> None:  # fix: by hand
    import torch
    from torch import nn

    def target_of(rewards: torch.Tensor, ends: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        known = torch.add(0.95 * (1 - ends), rewards)
        return torch.add(values, known)  # cause: GS433

    torch.manual_seed(0)
    scores = nn.Linear(4, 3)
    opt = torch.optim.Adam(scores.parameters(), lr=0.01)
    for _ in range(6):
        states, following, rewards = torch.randn(32, 4), torch.randn(32, 4), torch.rand(32)
        taken, ends = torch.randint(0, 3, (32, 1)), (torch.rand(32) < 0.2).float()
        with torch.no_grad():
            target = target_of(rewards, ends, scores(following).max(1).values)
        loss = nn.functional.mse_loss(scores(states).gather(1, taken).squeeze(1), target)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_bonus_beside_a_discounted_estimate() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    value = nn.Linear(4, 1)
    opt = torch.optim.Adam(value.parameters(), lr=0.01)
    for _ in range(6):
        states, following, rewards = torch.randn(32, 4), torch.randn(32, 4), torch.rand(32, 1)
        there = (torch.rand(32, 1) > 0.8).float()
        with torch.no_grad():
            target = rewards + 0.9 * there + 0.95 * (1 - there) * value(following)
        loss = nn.functional.mse_loss(value(states), target)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_bonus_and_an_estimate_that_ends() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    value = nn.Linear(4, 1)
    opt = torch.optim.Adam(value.parameters(), lr=0.01)
    for _ in range(6):
        states, following, rewards = torch.randn(32, 4), torch.randn(32, 4), torch.rand(32, 1)
        there = (torch.rand(32, 1) > 0.8).float()
        with torch.no_grad():
            gained = rewards + 0.9 * there
            target = torch.where(there > 0, gained, gained + value(following))
        loss = nn.functional.mse_loss(value(states), target)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_targets_of_a_teacher() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    base = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)).requires_grad_(False)
    model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(6):
        x, treated = torch.randn(32, 4), (torch.rand(32, 1) > 0.5).float()
        y = 0.1 * torch.randn(32, 1) + 0.9 * treated + base(x)
        loss = nn.functional.mse_loss(model(torch.cat([x, treated], 1)), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
