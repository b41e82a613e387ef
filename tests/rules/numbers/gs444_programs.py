"""More programs of GS444: each bad one is reported at its marks, each good one by no rule."""


def bad_in_an_episode() -> None:
    import torch
    from torch import nn
    from torch.distributions import Categorical

    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 4))
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(4):
        scores, rewards = [], []
        for _ in range(6):
            state = torch.randn(3)
            dist = Categorical(logits=policy(state))
            action = dist.sample()
            rewards.append(1.0 if action.item() == int(state[0] > 0) else 0.0)
            scores.append(dist.log_prob(dist.sample()))  # cause: GS444
        returns = torch.tensor(rewards).flip(0).cumsum(0).flip(0)
        loss = -(torch.stack(scores) * (returns - returns.mean())).sum()
        opt.zero_grad()
        loss.backward()  # effect: GS444
        opt.step()


def bad_ratio_of_kept_actions() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal

    torch.manual_seed(0)
    mean, spread = nn.Linear(3, 1), nn.Parameter(torch.zeros(1))
    opt = torch.optim.Adam([*mean.parameters(), spread], lr=0.01)
    for _ in range(2):
        states = torch.randn(32, 3)
        with torch.no_grad():
            before = Normal(mean(states), spread.exp())
            actions = before.sample()
            old = before.log_prob(actions)
        reward = -(actions - states[:, :1]).abs()
        gain = (reward - reward.mean()) / reward.std()
        for _ in range(3):
            dist = Normal(mean(states), spread.exp())
            ratio = (dist.log_prob(dist.sample()) - old).exp()  # cause: GS444
            loss = -torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
            opt.zero_grad()
            loss.backward()  # effect: GS444
            opt.step()


def good_estimate_of_an_entropy() -> None:
    import torch
    from torch import nn
    from torch.distributions import Categorical

    torch.manual_seed(0)
    policy = nn.Linear(3, 4)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(4):
        states = torch.randn(16, 3)
        dist = Categorical(logits=policy(states))
        action = dist.sample()
        reward = (action == states.argmax(1)).float()
        entropy = -dist.log_prob(dist.sample()).mean()
        loss = -(dist.log_prob(action) * (reward - reward.mean())).mean() - 0.01 * entropy
        opt.zero_grad()
        loss.backward()
        opt.step()
