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
