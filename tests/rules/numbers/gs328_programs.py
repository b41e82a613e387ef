"""Surrogates of PPO with the wrong sign, and right ones that look alike: more programs for GS328."""


def bad_smaller_of_two_costs() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal

    policy, critic = nn.Linear(4, 1), nn.Linear(4, 1)
    opt = torch.optim.Adam([*policy.parameters(), *critic.parameters()], lr=0.01)
    for _ in range(3):
        states = torch.randn(32, 4)
        with torch.no_grad():
            actions = Normal(policy(states), 1.0).sample()
            old = Normal(policy(states), 1.0).log_prob(actions)
            rewards = -actions.square()
            advantage = rewards - critic(states)
        for _ in range(4):
            ratio = (Normal(policy(states), 1.0).log_prob(actions) - old).exp()
            costs = torch.min(-advantage * ratio, -advantage * torch.clamp(ratio, 0.9, 1.1))  # cause: GS328
            loss = costs.mean() + 0.5 * (critic(states) - rewards).square().mean()
            opt.zero_grad()
            loss.backward()  # effect: GS328
            opt.step()


def good_larger_of_two_costs() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal

    policy, critic = nn.Linear(4, 1), nn.Linear(4, 1)
    opt = torch.optim.Adam([*policy.parameters(), *critic.parameters()], lr=0.01)
    for _ in range(3):
        states = torch.randn(32, 4)
        with torch.no_grad():
            actions = Normal(policy(states), 1.0).sample()
            old = Normal(policy(states), 1.0).log_prob(actions)
            rewards = -actions.square()
            advantage = rewards - critic(states)
        for _ in range(4):
            ratio = (Normal(policy(states), 1.0).log_prob(actions) - old).exp()
            costs = torch.max(-advantage * ratio, -advantage * torch.clamp(ratio, 0.9, 1.1))
            loss = costs.mean() + 0.5 * (critic(states) - rewards).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()


def good_gain_that_is_made_larger() -> None:
    import torch
    from torch import nn
    from torch.distributions import Categorical

    policy = nn.Linear(4, 3)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01, maximize=True)
    for _ in range(3):
        states, actions, advantage = torch.randn(32, 4), torch.randint(0, 3, (32,)), torch.randn(32)
        with torch.no_grad():
            old = Categorical(logits=policy(states)).log_prob(actions)
        for _ in range(4):
            ratio = torch.exp(Categorical(logits=policy(states)).log_prob(actions) - old)
            gain = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
            opt.zero_grad()
            gain.backward()
            opt.step()


def good_sum_with_a_minus_before_it() -> None:
    import torch
    from torch import nn
    from torch.distributions import Categorical

    policy = nn.Linear(4, 3)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(3):
        states, actions, advantage = torch.randn(32, 4), torch.randint(0, 3, (32,)), torch.randn(32)
        with torch.no_grad():
            old = Categorical(logits=policy(states)).log_prob(actions)
        for _ in range(4):
            now = Categorical(logits=policy(states))
            ratio = torch.exp(now.log_prob(actions) - old)
            gain = torch.min(
                torch.stack([ratio * advantage, ratio.clamp(0.8, 1.2) * advantage]), dim=0
            ).values
            loss = -(gain + 0.01 * now.entropy()).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()


def bad_minus_before_the_ratio() -> None:
    import torch
    from torch import nn
    from torch.distributions import Categorical

    def loss_of(ratio: torch.Tensor, gain: torch.Tensor) -> torch.Tensor:
        plain = -ratio * gain
        bounded = -ratio.clamp(0.8, 1.2) * gain
        return torch.minimum(plain, bounded).mean()  # cause: GS328

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(3):
        states, actions, advantage = torch.randn(32, 4), torch.randint(0, 3, (32,)), torch.randn(32)
        with torch.no_grad():
            old = Categorical(logits=policy(states)).log_prob(actions)
        for _ in range(4):
            ratio = torch.exp(Categorical(logits=policy(states)).log_prob(actions) - old)
            loss = loss_of(ratio, advantage)
            opt.zero_grad()
            loss.backward()  # effect: GS328
            opt.step()


def good_larger_with_a_minus_before_the_ratio() -> None:
    import torch
    from torch import nn
    from torch.distributions import Categorical

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(3):
        states, actions, advantage = torch.randn(32, 4), torch.randint(0, 3, (32,)), torch.randn(32)
        with torch.no_grad():
            old = Categorical(logits=policy(states)).log_prob(actions)
        for _ in range(4):
            ratio = torch.exp(-(old - Categorical(logits=policy(states)).log_prob(actions)))
            loss = torch.maximum(-ratio * advantage, -ratio.clamp(0.8, 1.2) * advantage).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()


def good_costs_of_actions() -> None:
    import torch
    from torch import nn
    from torch.distributions import Categorical

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(3):
        states, actions, cost = torch.randn(32, 4), torch.randint(0, 3, (32,)), torch.randn(32)
        with torch.no_grad():
            old = Categorical(logits=policy(states)).log_prob(actions)
        for _ in range(4):
            ratio = torch.exp(Categorical(logits=policy(states)).log_prob(actions) - old)
            loss = -torch.min(-ratio * cost, -ratio.clamp(0.8, 1.2) * cost).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
