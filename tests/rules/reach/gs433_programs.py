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
