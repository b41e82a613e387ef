"""More programs of GS723: each bad one is reported at its marks, each good one by no rule."""


def bad_score_written_out() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy, log_std = nn.Linear(3, 2), nn.Parameter(torch.zeros(2))
    opt = torch.optim.Adam([*policy.parameters(), log_std], lr=0.01)
    for _ in range(6):
        state = torch.randn(16, 3)
        mean, std = policy(state), log_std.exp()
        action = mean + std * torch.randn(16, 2)
        reward = -(action.detach() - 1).pow(2).sum(1)
        score = -((action - mean) / std).pow(2) / 2 - log_std  # cause: GS723
        opt.zero_grad()
        (-(score.sum(1) * (reward - reward.mean())).mean()).backward()  # effect: GS723
        opt.step()


def bad_old_policy_with_its_graph() -> None:
    import torch
    from torch import nn
    from torch.distributions import Categorical

    torch.manual_seed(0)
    policy = nn.Linear(3, 4)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(6):
        state, action, advantage = torch.randn(16, 3), torch.randint(0, 4, (16,)), torch.randn(16)
        old = Categorical(logits=policy(state)).log_prob(action)
        new = Categorical(logits=policy(state)).log_prob(action)
        ratio = torch.exp(new - old)  # cause: GS723
        opt.zero_grad()
        (-(ratio * advantage).mean()).backward()  # effect: GS723
        opt.step()


def bad_mean_is_a_parameter() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal

    torch.manual_seed(0)
    mean, log_std = nn.Parameter(torch.zeros(4)), nn.Parameter(torch.zeros(4))
    opt = torch.optim.SGD([mean, log_std], lr=0.05)
    for _ in range(6):
        dist = Normal(mean, log_std.exp())
        x = dist.rsample((32,))  # cause: GS723
        cost = (x.detach() - 2).pow(2).sum(1)
        opt.zero_grad()
        (dist.log_prob(x).sum(1) * (cost - cost.mean())).mean().backward()  # effect: GS723
        opt.step()


def bad_old_score_handed_on() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 4))
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)

    def surrogate(new: torch.Tensor, old: torch.Tensor, advantage: torch.Tensor) -> torch.Tensor:
        ratio = (new - old).exp()  # cause: GS723
        return -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()

    for _ in range(6):
        scores = policy(torch.randn(16, 3)).log_softmax(1)[:, 0]
        opt.zero_grad()
        surrogate(scores, scores, torch.randn(16)).backward()  # effect: GS723
        opt.step()


def good_old_policy_detached() -> None:
    import torch
    from torch import nn
    from torch.distributions import Categorical

    torch.manual_seed(0)
    policy = nn.Linear(3, 4)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(6):
        state, action, advantage = torch.randn(16, 3), torch.randint(0, 4, (16,)), torch.randn(16)
        new = Categorical(logits=policy(state)).log_prob(action)
        ratio = torch.exp(new - new.detach())
        opt.zero_grad()
        (-(ratio * advantage).mean()).backward()
        opt.step()


def good_sample_goes_on() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(6):
        x = torch.randn(16, 6)
        mean, log_std = encoder(x).chunk(2, 1)
        dist = Normal(mean, log_std.exp())
        z = dist.rsample()
        kl = (dist.log_prob(z) - Normal(0.0, 1.0).log_prob(z)).sum(1)
        opt.zero_grad()
        ((decoder(z) - x).pow(2).sum(1) + kl).mean().backward()
        opt.step()


def good_bias_of_both_sides() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    weight, bias = nn.Parameter(torch.randn(5) * 0.1), nn.Parameter(torch.zeros(()))
    opt = torch.optim.SGD([weight, bias], lr=0.1)

    def score(x: torch.Tensor) -> torch.Tensor:
        return x @ weight + bias

    for _ in range(6):
        better, worse = torch.randn(16, 5) + 0.5, torch.randn(16, 5)
        opt.zero_grad()
        nn.functional.softplus(score(worse) - score(better)).mean().backward()
        opt.step()


def good_critic_of_two_batches() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.RMSprop(critic.parameters(), lr=0.001)
    for _ in range(6):
        real, fake = torch.randn(16, 2) + 1, torch.randn(16, 2)
        opt.zero_grad()
        (critic(fake) - critic(real)).mean().backward()
        opt.step()


def good_straight_through() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 4), nn.Linear(4, 6)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(6):
        x = torch.randn(16, 6)
        z = encoder(x)
        rounded = z + (z.round() - z).detach()
        opt.zero_grad()
        (decoder(rounded) - x).pow(2).mean().backward()
        opt.step()


def good_change_of_a_residual_block() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    trunk, block = nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    opt = torch.optim.SGD([*trunk.parameters(), *block.parameters()], lr=0.1)
    for _ in range(6):
        before = trunk(torch.randn(16, 4))
        after = before + block(before)
        opt.zero_grad()
        (after - before).pow(2).mean().backward()
        opt.step()


def bad_term_of_both_losses() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    trunk, decoder, prior = nn.Linear(4, 3), nn.Linear(3, 4), nn.Linear(3, 1)
    opt = torch.optim.Adam([*trunk.parameters(), *decoder.parameters(), *prior.parameters()], lr=0.01)

    def objective(x: torch.Tensor, weight: float) -> torch.Tensor:
        hidden = trunk(x)
        return nn.functional.mse_loss(decoder(hidden), x) - weight * prior(hidden).pow(2).mean()

    for _ in range(6):
        x = torch.randn(16, 4)
        loss = objective(x, -0.3) - objective(x, 0.3)  # cause: GS723
        opt.zero_grad()
        loss.backward()  # effect: GS723
        opt.step()


def good_terms_of_two_batches() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    trunk, decoder, prior = nn.Linear(4, 3), nn.Linear(3, 4), nn.Linear(3, 1)
    opt = torch.optim.Adam([*trunk.parameters(), *decoder.parameters(), *prior.parameters()], lr=0.01)

    def objective(x: torch.Tensor, weight: float) -> torch.Tensor:
        hidden = trunk(x)
        return nn.functional.mse_loss(decoder(hidden), x) - weight * prior(hidden).pow(2).mean()

    for _ in range(6):
        near, far = torch.randn(16, 4), torch.randn(16, 4)
        gap = objective(near, 0.3) - objective(far, 0.3)  # how much more the one loses than the other
        loss = objective(near, 0.3) + gap.pow(2)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_term_of_both_losses_with_a_term_of_its_own() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    trunk, decoder, prior = nn.Linear(4, 3), nn.Linear(3, 4), nn.Linear(3, 1)
    opt = torch.optim.Adam([*trunk.parameters(), *decoder.parameters(), *prior.parameters()], lr=0.01)

    def objective(x: torch.Tensor, weight: float) -> torch.Tensor:
        hidden = trunk(x)
        return nn.functional.mse_loss(decoder(hidden), x) - weight * prior(hidden).pow(2).mean()

    for _ in range(6):
        x = torch.randn(16, 4)
        loss = objective(x, -0.3) - objective(x, 0.3) + nn.functional.l1_loss(decoder(trunk(x)), x)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_density_by_hand_of_a_shot_with_its_graph() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(6):
        wind = torch.randn(24, 4)
        middle = net(wind)
        shot = middle + 0.3 * torch.randn_like(middle)
        logp = -0.5 * ((shot - middle) / 0.3).square().sum(-1)  # cause: GS723
        gain = -(shot.detach() - wind[:, :2]).norm(dim=1)
        loss = -((gain - gain.mean()) * logp).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS723
        opt.step()
