"""More programs of GS372: each bad one is reported at its marks, each good one by no rule."""

from __future__ import annotations


def bad_name_bound_anew_between_both() -> None:
    import torch
    from torch import nn
    from torch.distributions import Categorical

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)

    def objective(
        obs: torch.Tensor, act: torch.Tensor, before: torch.Tensor, adv: torch.Tensor
    ) -> torch.Tensor:
        weight = Categorical(logits=net(obs)).log_prob(act) - before
        one = weight.exp() * adv
        low, high = torch.tensor(0.8).log(), torch.tensor(1.2).log()
        within = weight.clamp(low, high)
        adv = (adv - adv.mean()) / adv.std().clamp(min=1e-6)  # effect: GS372
        two = within.exp() * adv
        gain: torch.Tensor = torch.stack([one, two], -1).min(dim=-1)[0]  # cause: GS372
        return gain.mean()

    for _ in range(3):
        obs, act, adv = torch.randn(32, 4), torch.randint(0, 3, (32,)), 40 + 9 * torch.randn(32)
        with torch.no_grad():
            before = Categorical(logits=net(obs)).log_prob(act)
        for _ in range(4):
            opt.zero_grad()
            (-objective(obs, act, before, adv)).backward()
            opt.step()


def good_advantage_in_two_forms() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal

    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        obs, adv = torch.randn(32, 4), torch.randn(32)
        with torch.no_grad():
            act = Normal(net(obs), 1.0).sample()
            before = Normal(net(obs), 1.0).log_prob(act).sum(-1, keepdim=True)
        for _ in range(4):
            ratio = (Normal(net(obs), 1.0).log_prob(act).sum(-1, keepdim=True) - before).exp()
            one = ratio * adv.unsqueeze(1)
            two = ratio.clamp(0.8, 1.2) * adv.detach().view(-1, 1).clone()
            loss = -torch.minimum(one, two).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()


def good_clipped_on_one_side_only() -> None:
    import torch
    from torch import nn
    from torch.distributions import Categorical

    torch.manual_seed(0)
    net = nn.Linear(4, 3)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        obs, act, adv = torch.randn(32, 4), torch.randint(0, 3, (32,)), torch.randn(32)
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        mask = (torch.arange(32) < 24).float()
        with torch.no_grad():
            before = Categorical(logits=net(obs)).log_prob(act)
        for _ in range(4):
            ratio = torch.exp(Categorical(logits=net(obs)).log_prob(act) - before)
            least = torch.min(ratio * adv, torch.clamp(ratio, 0.8, 1.2) * adv)
            least = torch.where(
                adv < 0, torch.max(least, 3 * adv), least
            )  # the second clip, of negative ones
            loss = -(least * mask).sum() / mask.sum()
            opt.zero_grad()
            loss.backward()
            opt.step()


def bad_where_in_place_of_a_minimum() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal

    def whiten(values: torch.Tensor) -> torch.Tensor:
        return nn.functional.layer_norm(values, values.shape)  # effect: GS372

    def surrogate(new: torch.Tensor, old: torch.Tensor, gain: torch.Tensor) -> torch.Tensor:
        ratio = (new - old).exp()
        bounded = torch.clip(ratio, 0.8, 1.2) * gain
        free = ratio.mul(whiten(gain))
        return -torch.where(free < bounded, free, bounded).mean()  # cause: GS372

    torch.manual_seed(0)
    arm = nn.Linear(6, 2)
    opt = torch.optim.Adam(arm.parameters(), lr=3e-3)
    for _ in range(3):
        obs = torch.randn(64, 6)
        with torch.no_grad():
            act = Normal(arm(obs), 1.0).sample()
            old = Normal(arm(obs), 1.0).log_prob(act).sum(-1)
        gain = 30.0 - 5 * (act - obs[:, :2]).pow(2).sum(-1)
        for _ in range(4):
            opt.zero_grad()
            surrogate(Normal(arm(obs), 1.0).log_prob(act).sum(-1), old, gain).backward()
            opt.step()


def bad_maximum_of_two_losses() -> None:
    import torch
    from torch import nn
    from torch.distributions import Categorical

    torch.manual_seed(0)
    agent = nn.Linear(4, 3)
    opt = torch.optim.Adam(agent.parameters(), lr=0.01)
    for _ in range(3):
        obs, act, adv = torch.randn(32, 4), torch.randint(0, 3, (32,)), 40 + 9 * torch.randn(32)
        normed = (adv - adv.mean()) / (adv.std() + 1e-8)  # effect: GS372
        with torch.no_grad():
            old = Categorical(logits=agent(obs)).log_prob(act)
        for _ in range(4):
            ratio = (Categorical(logits=agent(obs)).log_prob(act) - old).exp()
            one = -normed * ratio
            two = -adv * torch.clamp(ratio, 0.8, 1.2)
            loss = torch.max(one, two).mean()  # cause: GS372
            opt.zero_grad()
            loss.backward()
            opt.step()


def good_where_and_maximum_of_one_scale() -> None:
    import torch
    from torch import nn
    from torch.distributions import Categorical

    torch.manual_seed(0)
    agent = nn.Linear(4, 3)
    opt = torch.optim.Adam(agent.parameters(), lr=0.01)
    for _ in range(3):
        obs, act, adv = torch.randn(32, 4), torch.randint(0, 3, (32,)), 40 + 9 * torch.randn(32)
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        with torch.no_grad():
            old = Categorical(logits=agent(obs)).log_prob(act)
        for turn in range(4):
            ratio = (Categorical(logits=agent(obs)).log_prob(act) - old).exp()
            free, bounded = ratio * adv, torch.clamp(ratio, 0.8, 1.2) * adv
            least = torch.where(free < bounded, free, bounded)
            if turn % 2:
                least = -torch.max(-adv * ratio, -adv * ratio.clamp(0.8, 1.2))
            opt.zero_grad()
            (-least.mean()).backward()
            opt.step()
