"""More programs of GS458: each bad one is reported at its marks, each good one by no rule."""


def bad_bounds_around_the_old_values() -> None:
    import torch
    from torch import nn

    def value_loss(now: torch.Tensor, old: torch.Tensor, wanted: torch.Tensor, clip: float) -> torch.Tensor:
        held = torch.clamp(now, old - clip, old + clip)  # effect: GS458
        plain = nn.functional.smooth_l1_loss(now, wanted, reduction="none")
        bounded = nn.functional.smooth_l1_loss(held, wanted, reduction="none")
        return torch.maximum(bounded, plain).mean()  # cause: GS458

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(3):
        states = torch.randn(64, 4)
        returns = 100 - 20 * states[:, 0]
        with torch.no_grad():
            old = critic(states).squeeze(1)
        for _ in range(8):
            loss = value_loss(critic(states).squeeze(1), old, returns, 0.2)
            opt.zero_grad()
            loss.backward()
            opt.step()


def good_clip_of_the_targets_scale() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(3):
        states = torch.randn(64, 4)
        returns = 10 - 2 * states[:, 0]
        with torch.no_grad():
            old = critic(states).squeeze(1)
        for _ in range(8):
            now = critic(states).squeeze(1)
            held = torch.clamp(now, old - 10, old + 10)
            loss = torch.maximum((held - returns).square(), (now - returns).square()).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()


def good_surrogate_of_a_policy() -> None:
    import torch
    from torch import nn
    from torch.distributions import Categorical

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.Adam(policy.parameters(), lr=0.1)
    for _ in range(3):
        states, actions, advantage = torch.randn(32, 4), torch.randint(0, 3, (32,)), torch.randn(32)
        with torch.no_grad():
            old = Categorical(logits=policy(states)).log_prob(actions)
        for _ in range(8):
            ratio = torch.exp(Categorical(logits=policy(states)).log_prob(actions) - old)
            loss = torch.max(-advantage * ratio, -advantage * ratio.clamp(0.8, 1.2)).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
