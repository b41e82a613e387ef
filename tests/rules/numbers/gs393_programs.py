"""More programs of GS393: each bad one is reported at its marks, each good one by no rule."""


def bad_scaled_back_in_one_place_alone() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    actor, critic = nn.Linear(3, 2), nn.Linear(3, 1)
    opt = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=0.01)
    mean, std = torch.tensor(200.0), torch.tensor(50.0)

    def scaled(x: torch.Tensor) -> torch.Tensor:
        return (x - mean) / std

    def scaled_back(x: torch.Tensor) -> torch.Tensor:
        return x * std + mean

    for _ in range(4):
        rows, values, rewards = [], [], []
        for _ in range(5):
            rows.append(torch.randn(16, 3))
            with torch.no_grad():
                values.append(critic(rows[-1]).squeeze(1))
            rewards.append(40 + torch.rand(16))
        states, estimates = torch.stack(rows), torch.stack(values)
        kept = scaled_back(estimates)
        returns = torch.stack(rewards) + 0.8 * kept
        advantages = returns - estimates  # cause: GS393
        policy = -(advantages * actor(states).log_softmax(2)[..., 0]).mean()
        loss = (critic(states).squeeze(2) - scaled(returns)).pow(2).mean()  # effect: GS393
        opt.zero_grad()
        (policy + loss).backward()
        opt.step()


def good_normalised_once_for_both() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    actor, critic = nn.Linear(3, 2), nn.Linear(3, 1)
    opt = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=0.01)
    for _ in range(4):
        states = torch.randn(32, 3)
        returns = 200 + 50 * torch.randn(32)
        returns = (returns - 200) / 50
        with torch.no_grad():
            values = critic(states).squeeze(1)
        advantages = returns - values
        policy = -(advantages * actor(states).log_softmax(1)[:, 0]).mean()
        loss = nn.functional.mse_loss(critic(states).squeeze(1), returns)
        opt.zero_grad()
        (policy + loss).backward()
        opt.step()


def good_of_nearly_the_same_scale() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    actor, critic = nn.Linear(3, 2), nn.Linear(3, 1)
    opt = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=0.01)
    for _ in range(4):
        states = torch.randn(32, 3)
        returns = torch.randn(32)
        with torch.no_grad():
            values = critic(states).squeeze(1)
        advantages = returns - values
        policy = -(advantages * actor(states).log_softmax(1)[:, 0]).mean()
        goals = (returns - returns.mean()) / returns.std()
        loss = nn.functional.mse_loss(critic(states).squeeze(1), goals)
        opt.zero_grad()
        (policy + loss).backward()
        opt.step()


def bad_a_norm_of_all_returns() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal

    torch.manual_seed(0)
    trunk, mean, worth = nn.Linear(4, 16), nn.Linear(16, 1), nn.Linear(16, 1)
    opt = torch.optim.Adam([p for m in (trunk, mean, worth) for p in m.parameters()], lr=3e-3)
    for _ in range(4):
        states = torch.randn(40, 4)
        hidden = torch.tanh(trunk(states))
        flow, values = Normal(mean(hidden).flatten(), 1.0), worth(hidden).flatten()
        pressed = flow.sample()
        gain = (10 - (pressed - states[:, 0]).square()).flip(0).cumsum(0).flip(0)
        goal = nn.functional.layer_norm(gain, gain.shape)
        edge = torch.sub(gain, values.detach())  # cause: GS393
        loss = nn.functional.smooth_l1_loss(values, goal)  # effect: GS393
        opt.zero_grad()
        (loss - (flow.log_prob(pressed) * edge).mean()).backward()
        opt.step()


def bad_divided_by_a_number() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    actor, critic = nn.Linear(3, 2), nn.Linear(3, 1)
    opt = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=0.01)
    for _ in range(4):
        states, returns = torch.randn(32, 3), 200 + 50 * torch.randn(32)
        values = critic(states).squeeze(1)
        loss = (returns * 0.005 - values).pow(2).mean()  # effect: GS393
        edge = returns - values.detach()  # cause: GS393
        policy = -(edge * actor(states).log_softmax(1)[:, 0]).mean()
        opt.zero_grad()
        (policy + loss).backward()
        opt.step()


def good_values_multiplied_back() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    actor, critic = nn.Linear(3, 2), nn.Linear(3, 1)
    opt = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=0.01)
    for step in range(6):
        states, returns = torch.randn(32, 3), 200 + 50 * torch.randn(32)
        values = critic(states).squeeze(1)
        loss = (returns * 0.005 - values).pow(2).mean()
        if step % 2:
            edge = returns - values.detach() / 0.005
        else:
            edge = 200 * (returns * 0.005 - values.detach())
        policy = -(edge * actor(states).log_softmax(1)[:, 0]).mean()
        opt.zero_grad()
        (policy + loss).backward()
        opt.step()
