"""More programs of GS320: each bad one is reported at its marks, each good one by no rule."""


def bad_distribution_of_several_dimensions() -> None:
    import torch
    from torch import nn
    from torch.distributions import Independent, LogNormal

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
    for _ in range(3):
        x = torch.randn(16, 6)
        mean, spread = encoder(x).chunk(2, 1)
        q = Independent(LogNormal(mean, nn.functional.softplus(spread) + 0.1), 1)
        z = q.sample()  # cause: GS320
        shown = decoder(z)  # effect: GS320
        loss = nn.functional.mse_loss(shown, x) + 0.1 * mean.pow(2).mean() + 0.1 * spread.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_policy_gradient() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal

    torch.manual_seed(0)
    policy, value = nn.Linear(4, 1), nn.Linear(5, 1)
    opt = torch.optim.Adam([*policy.parameters(), *value.parameters()])
    for _ in range(3):
        state = torch.randn(16, 4)
        pi = Normal(policy(state), 1.0)
        action = pi.sample()
        reward = -(action - state[:, :1]).pow(2)
        estimate = value(torch.cat([state, action], 1))
        advantage = (reward - estimate).detach()
        loss = (estimate - reward).pow(2).mean() - (pi.log_prob(action) * advantage).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_labels_of_a_teacher() -> None:
    """What is drawn trains another model: nothing in that pass is to reach what it was drawn from."""
    import torch
    from torch import nn
    from torch.distributions import Normal

    torch.manual_seed(0)
    source, model = nn.Linear(4, 2), nn.Linear(2, 2)
    one = torch.optim.Adam(source.parameters())
    two = torch.optim.Adam(model.parameters())
    for _ in range(3):
        x, y = torch.randn(16, 4), torch.randn(16, 2)
        q = Normal(source(x), 1.0)
        noisy = q.sample()
        one.zero_grad()
        (q.mean - y).pow(2).mean().backward()
        one.step()
        two.zero_grad()
        (model(noisy) - y).pow(2).mean().backward()
        two.step()


def good_no_rsample() -> None:
    import torch
    from torch import nn
    from torch.distributions import Bernoulli

    torch.manual_seed(0)
    gate, model = nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.Adam([*gate.parameters(), *model.parameters()])
    for _ in range(3):
        x, y = torch.randn(16, 4), torch.randn(16, 1)
        q = Bernoulli(logits=gate(x))
        error = (model(x * q.sample()) - y).pow(2)
        opt.zero_grad()
        (error.mean() - 0.1 * q.entropy().mean()).backward()
        opt.step()


def good_a_probe_beside_rsample() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal

    torch.manual_seed(0)
    encoder, decoder, probe = nn.Linear(4, 4), nn.Linear(2, 4), nn.Linear(2, 1)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters(), *probe.parameters()])
    for _ in range(3):
        x = torch.randn(8, 4)
        mean, log_deviation = encoder(x).chunk(2, 1)
        q = Normal(mean, log_deviation.exp())
        told = probe(q.sample())  # the encoder is not to learn from the probe
        loss = (decoder(q.rsample()) - x).pow(2).mean() + (told - x.sum(1, keepdim=True)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_coefficients_of_a_regression() -> None:
    import torch
    from torch import distributions, nn

    torch.manual_seed(0)
    features = torch.randn(32, 4)
    response = features.sum(1) + 0.2 * torch.randn(32)
    centre, width = nn.Parameter(torch.zeros(4)), nn.Parameter(torch.full((4,), -1.0))
    noise = nn.Parameter(torch.zeros(()))
    opt = torch.optim.Adam([centre, width, noise], lr=0.05)
    prior = distributions.Independent(distributions.Normal(torch.zeros(4), torch.ones(4)), 1)
    for _ in range(4):
        q = distributions.Independent(distributions.Normal(centre, width.exp()), 1)
        beta = q.sample((8,))  # cause: GS320
        fitted = torch.einsum("nf,sf->sn", features, beta)  # effect: GS320
        likely = distributions.Normal(fitted, noise.exp()).log_prob(response).sum(-1)
        loss = distributions.kl_divergence(q, prior) - likely.mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_coefficients_of_a_regression() -> None:
    import torch
    from torch import distributions, nn

    torch.manual_seed(0)
    features = torch.randn(32, 4)
    response = features.sum(1) + 0.2 * torch.randn(32)
    centre, width = nn.Parameter(torch.zeros(4)), nn.Parameter(torch.full((4,), -1.0))
    noise = nn.Parameter(torch.zeros(()))
    opt = torch.optim.Adam([centre, width, noise], lr=0.05)
    prior = distributions.Independent(distributions.Normal(torch.zeros(4), torch.ones(4)), 1)
    for _ in range(4):
        q = distributions.Independent(distributions.Normal(centre, width.exp()), 1)
        beta = q.rsample((8,))
        fitted = torch.einsum("nf,sf->sn", features, beta)
        likely = distributions.Normal(fitted, noise.exp()).log_prob(response).sum(-1)
        loss = distributions.kl_divergence(q, prior) - likely.mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_coefficients_by_the_score_function() -> None:
    import torch
    from torch import distributions, nn

    torch.manual_seed(0)
    features = torch.randn(32, 4)
    response = features.sum(1) + 0.2 * torch.randn(32)
    centre, width = nn.Parameter(torch.zeros(4)), nn.Parameter(torch.full((4,), -1.0))
    noise = nn.Parameter(torch.zeros(()))
    opt = torch.optim.Adam([centre, width, noise], lr=0.05)
    prior = distributions.Independent(distributions.Normal(torch.zeros(4), torch.ones(4)), 1)
    for _ in range(4):
        q = distributions.Independent(distributions.Normal(centre, width.exp()), 1)
        beta = q.sample((8,))
        fitted = torch.einsum("nf,sf->sn", features, beta)
        likely = distributions.Normal(fitted, noise.exp()).log_prob(response).sum(-1)
        loss = (
            distributions.kl_divergence(q, prior)
            - likely.mean()
            - (q.log_prob(beta) * (likely - likely.mean()).detach()).mean()
        )
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_action_of_a_soft_actor_critic() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal

    torch.manual_seed(0)
    actor, critic = nn.Linear(3, 2), nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    pi_opt = torch.optim.Adam(actor.parameters(), lr=0.01)
    q_opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    alpha = torch.tensor(0.05)

    def act(state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        mean, spread = actor(state).chunk(2, -1)
        dist = Normal(mean, spread.clamp(-4, 1).exp())
        u = dist.sample()  # cause: GS320
        action = torch.tanh(u)
        return action, (dist.log_prob(u) - torch.log(1 - action.pow(2) + 1e-6)).sum(-1)

    for _ in range(4):
        state = torch.randn(16, 3)
        with torch.no_grad():
            taken, _ = act(state)
            reward = -(taken - state[:, :1]).pow(2)
        q_opt.zero_grad()
        (critic(torch.cat([state, taken], -1)) - reward).pow(2).mean().backward()
        q_opt.step()
        action, score = act(state)
        value = critic(torch.cat([state, action], -1)).squeeze(-1)  # effect: GS320
        pi_opt.zero_grad()
        (alpha * score - value).mean().backward()
        pi_opt.step()


def good_action_of_a_soft_actor_critic() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal

    torch.manual_seed(0)
    actor, critic = nn.Linear(3, 2), nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    pi_opt = torch.optim.Adam(actor.parameters(), lr=0.01)
    q_opt = torch.optim.Adam(critic.parameters(), lr=0.01)

    def act(state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        mean, spread = actor(state).chunk(2, -1)
        dist = Normal(mean, spread.clamp(-4, 1).exp())
        u = dist.rsample()
        action = torch.tanh(u)
        return action, (dist.log_prob(u) - torch.log(1 - action.pow(2) + 1e-6)).sum(-1)

    for _ in range(4):
        state = torch.randn(16, 3)
        with torch.no_grad():
            taken, _ = act(state)
            reward = -(taken - state[:, :1]).pow(2)
        q_opt.zero_grad()
        (critic(torch.cat([state, taken], -1)) - reward).pow(2).mean().backward()
        q_opt.step()
        action, score = act(state)
        pi_opt.zero_grad()
        (0.05 * score - critic(torch.cat([state, action], -1)).squeeze(-1)).mean().backward()
        pi_opt.step()


def good_critic_weighs_the_score() -> None:
    """A policy gradient with the entropy by its samples: the same draws, with what they are worth before the score."""
    import torch
    from torch import nn
    from torch.distributions import Normal

    torch.manual_seed(0)
    actor, critic = nn.Linear(3, 2), nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=0.01)
    for _ in range(4):
        state = torch.randn(16, 3)
        mean, spread = actor(state).chunk(2, -1)
        dist = Normal(mean, spread.clamp(-4, 1).exp())
        action = dist.sample()
        reward = -(action - state[:, :1]).pow(2)
        value = critic(torch.cat([state, torch.tanh(action)], -1))
        score = dist.log_prob(action)
        worth = (value - 0.05 * score).detach()
        loss = (value - reward).pow(2).mean() - (score * worth).mean() + 0.01 * score.mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_one_episode_at_a_time() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal

    torch.manual_seed(0)
    actor, critic = nn.Linear(3, 1), nn.Linear(4, 1)
    opt = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=0.01)
    for _ in range(4):
        state = torch.randn(3)
        dist = Normal(actor(state), 1.0)
        action = dist.sample()
        reward = -float((action - state[:1]).pow(2))
        value = critic(torch.cat([state, action]))
        loss = (value - reward).pow(2).sum() - (reward - value.item()) * dist.log_prob(action).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_return_of_an_episode_weighs_the_score() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal

    torch.manual_seed(0)
    actor, critic = nn.Linear(3, 1), nn.Linear(4, 1)
    opt = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=0.01)
    for _ in range(4):
        states = torch.randn(10, 3)
        dist = Normal(actor(states), 1.0)
        actions = dist.sample()
        gain = sum(
            -abs(action - state) for action, state in zip(actions[:, 0].tolist(), states[:, 0].tolist())
        )
        value = critic(torch.cat([states, actions], 1)).mean()
        loss = (value - gain).pow(2) - (dist.log_prob(actions) * gain).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_return_as_a_tensor_weighs_the_score() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal

    torch.manual_seed(0)
    actor, critic = nn.Linear(3, 1), nn.Linear(4, 1)
    opt = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=0.01)
    for _ in range(4):
        states = torch.randn(10, 3)
        dist = Normal(actor(states), 1.0)
        actions = dist.sample()
        gain = -(actions - states[:, :1]).pow(2).sum()
        value = critic(torch.cat([states, actions], 1)).mean()
        loss = (value - gain).pow(2) - (dist.log_prob(actions) * gain).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
