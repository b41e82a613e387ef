"""More programs of GS703: each bad one is reported at its marks, each good one by no rule."""


def bad_by_hand() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        target = torch.randn(8)
        loss = ((model(torch.randn(8, 4)) - target) ** 2).mean()  # cause: GS703
        loss.backward()  # effect: GS703
        opt.step()


def bad_squeeze_whose_result_is_dropped() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.out = nn.Linear(4, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.out(x)
            x.squeeze(1)  # cause: GS703
            return x

    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        x, y = torch.randn(8, 4), torch.randn(8)
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()  # effect: GS703
        opt.step()


def bad_cross_entropy_by_hand() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    target = torch.randint(0, 2, (8,)).float()
    for _ in range(3):
        opt.zero_grad()
        chance = torch.sigmoid(model(torch.randn(8, 4)))
        loss = -(target * torch.log(chance) + (1 - target) * torch.log(1 - chance)).mean()  # cause: GS703
        loss.backward()  # effect: GS703
        opt.step()


def bad_weights() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        policy = torch.distributions.Categorical(logits=model(torch.randn(8, 4)))
        rewards = torch.randn(8, 1)
        loss = -(policy.log_prob(policy.sample()) * rewards).mean()  # cause: GS703
        loss.backward()  # effect: GS703
        opt.step()


def bad_advantage() -> None:
    import torch
    from torch import nn

    actor, critic = nn.Linear(4, 2), nn.Linear(4, 1)
    opt = torch.optim.SGD(actor.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        states, returns = torch.randn(8, 4), torch.randn(8)
        chances = actor(states).log_softmax(dim=1)[range(8), torch.randint(0, 2, (8,))]
        advantages = returns - critic(states).detach()  # cause: GS703
        loss = -(chances * advantages).mean()
        loss.backward()  # effect: GS703
        opt.step()


def bad_hinge() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        side = torch.randn(8).sign()
        loss = torch.clamp(1 - side * model(torch.randn(8, 4)), min=0).mean()  # cause: GS703
        loss.backward()  # effect: GS703
        opt.step()


def bad_relative_error() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        target = 1 + torch.rand(8)
        guess = model(torch.randn(8, 4))
        loss = (guess / target - 1).abs().mean()  # cause: GS703
        loss.backward()  # effect: GS703
        opt.step()


def bad_ratio_to_an_older_policy() -> None:
    import torch
    from torch import nn

    actor, older = nn.Linear(4, 1), nn.Linear(4, 1)
    opt = torch.optim.SGD(actor.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        states, advantages = torch.randn(8, 4), torch.randn(8)
        chances = actor(states).squeeze(1)
        with torch.no_grad():
            before = older(states)
        ratio = (chances - before).exp()  # cause: GS703
        loss = -ratio.clamp(0.8, 1.2).mean() - (chances * advantages).mean()
        loss.backward()  # effect: GS703
        opt.step()


def bad_broadcast_before_the_loss_too() -> None:
    """The values meet the older ones first: mended at the loss alone, the program would stop there."""
    import torch
    from torch import nn

    def loss_of(values: torch.Tensor, older: torch.Tensor, returns: torch.Tensor) -> torch.Tensor:
        near = older + (values - older).clamp(-0.2, 0.2)  # related: GS703
        plain = nn.functional.mse_loss(values, returns, reduction="none")  # cause: GS703
        return torch.max(plain, (near - returns).pow(2)).mean()

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4)
        loss = loss_of(model(x)[:, 0], torch.randn(8, 1), torch.randn(8, 1))
        opt.zero_grad()
        loss.backward()  # effect: GS703
        opt.step()


def good_same_label() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        label = torch.randint(0, 3, (8,))
        column = label.view(-1, 1)
        same = (column == label).float()
        found = nn.functional.normalize(model(torch.randn(8, 4)), dim=1)
        (-(found @ found.T).log_softmax(dim=1) * same).mean().backward()
        opt.step()
        print((column == label).sum().item())


def good_normalised_rows() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        scores = model(torch.randn(8, 4)).exp()
        weight = torch.rand(8, 1)
        (weight * (scores / scores.sum(dim=1, keepdim=True))).mean().backward()
        opt.step()


def good_pairwise() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        score = model(torch.randn(8, 4)).squeeze(1)
        wanted = torch.randn(8)
        pairs = score[:, None] - score - (wanted.unsqueeze(1) - wanted)
        (pairs**2).mean().backward()
        opt.step()


def good_pairwise_with_targets() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 5)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        quantiles, wanted = model(torch.randn(8, 4)), torch.randn(8, 5)
        loss = nn.functional.smooth_l1_loss(
            quantiles.unsqueeze(2).expand(8, 5, 5), wanted.unsqueeze(1).expand(8, 5, 5)
        )
        all_pairs = (quantiles[:, :, None] - wanted[:, None, :]).abs().mean()
        (loss + all_pairs).backward()
        opt.step()


def good_centred() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        out = model(torch.randn(8, 4))
        ((out - out.mean(dim=1, keepdim=True)) ** 2).mean().backward()
        opt.step()


def good_advantage() -> None:
    import torch
    from torch import nn

    actor, critic = nn.Linear(4, 2), nn.Linear(4, 1)
    opt = torch.optim.SGD(actor.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        states, returns = torch.randn(8, 4), torch.randn(8)
        chances = actor(states).log_softmax(dim=1)[range(8), torch.randint(0, 2, (8,))]
        values = critic(states).detach()
        weights = (returns.view(-1, 1) - returns).abs().mean(dim=1)
        (-chances * weights * (returns - values.squeeze(1))).mean().backward()
        opt.step()


def good_basis_functions() -> None:
    import torch
    from torch import nn

    centers = nn.Parameter(torch.linspace(-1, 1, 8))
    head = nn.Linear(8, 1)
    opt = torch.optim.SGD([centers, *head.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        x = torch.randn(8, 1)
        near = torch.exp(-((x - centers) ** 2))
        (head(near) - x).pow(2).mean().backward()
        opt.step()


def bad_advantages_of_all_pairs() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    trunk, actions, worth = nn.Linear(3, 8), nn.Linear(8, 2), nn.Linear(8, 1)
    opt = torch.optim.Adam([*trunk.parameters(), *actions.parameters(), *worth.parameters()], lr=0.01)
    for _ in range(4):
        seen, later = torch.randn(12, 3), torch.randn(12, 3)
        with torch.no_grad():
            returns = torch.rand(12) + 0.9 * worth(torch.tanh(trunk(later))).flatten()
        hidden = torch.tanh(trunk(seen))
        dist = torch.distributions.Categorical(logits=actions(hidden))
        value = worth(hidden)
        advantage = returns - value.detach()  # cause: GS703
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
        policy = -(dist.log_prob(dist.sample()) * advantage).mean()
        loss = policy + (returns - value.squeeze(1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS703
        opt.step()


def good_kernel_of_detached_features() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(3, 1)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(4):
        x = torch.randn(12, 3)
        y = net(x)
        with torch.no_grad():
            near = net(x)
            other = net(x + 0.1).flatten()
        kernel = torch.exp(-((near - other) ** 2))
        loss = (kernel @ y).pow(2).mean() + (y - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_advantages_one_per_sample() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    trunk, actions, worth = nn.Linear(3, 8), nn.Linear(8, 2), nn.Linear(8, 1)
    opt = torch.optim.Adam([*trunk.parameters(), *actions.parameters(), *worth.parameters()], lr=0.01)
    for _ in range(4):
        seen, later = torch.randn(12, 3), torch.randn(12, 3)
        with torch.no_grad():
            returns = torch.rand(12, 1) + 0.9 * worth(torch.tanh(trunk(later)))
        hidden = torch.tanh(trunk(seen))
        dist = torch.distributions.Categorical(logits=actions(hidden))
        value = worth(hidden)
        advantage = (returns - value.detach()).flatten()
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
        policy = -(dist.log_prob(dist.sample()) * advantage).mean()
        loss = policy + (returns - value).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_a_target_of_rewards_and_both_networks_give_columns() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    slow = copy.deepcopy(critic).requires_grad_(False)
    adam = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(4):
        place, later, gain = torch.randn(16, 3), torch.randn(16, 3), torch.randn(16)
        over = (torch.rand(16) < 0.2).float()
        worth = critic(place)
        with torch.no_grad():
            then = slow(later)
            wanted = gain + 0.9 * (1 - over) * then  # cause: GS703
        loss = ((worth - wanted) ** 2).mean()
        adam.zero_grad()
        loss.backward()  # effect: GS703
        adam.step()


def bad_a_reward_is_added_to_a_column() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    slow = copy.deepcopy(critic).requires_grad_(False)
    adam = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(4):
        place, later, gain = torch.randn(16, 3), torch.randn(16, 3), torch.randn(16)
        worth = critic(place)
        with torch.no_grad():
            then = 0.9 * slow(later)
            wanted = gain + then  # cause: GS703
        loss = ((worth - wanted) ** 2).mean()
        adam.zero_grad()
        loss.backward()  # effect: GS703
        adam.step()


def bad_returns_in_a_column() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 2)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(3):
        chances = torch.distributions.Categorical(logits=policy(torch.randn(12, 4)))
        logs = chances.log_prob(chances.sample())
        returns = torch.FloatTensor([0.3 * step**2 for step in range(12)]).unsqueeze(1)
        advantages = returns - returns.mean()
        loss = -torch.sum(logs * advantages)  # cause: GS703
        opt.zero_grad()
        loss.backward()  # effect: GS703
        opt.step()


def good_all_products_squared() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(3):
        scale = torch.rand(12).unsqueeze(1)
        given = model(torch.randn(12, 4)).squeeze(1)
        loss = (given * scale - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_mask_of_one_column_in_the_target() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    criterion = nn.MSELoss()
    for _ in range(3):
        state, coming, reward = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8)
        goes_on = (torch.rand(8) > 0.2).float().reshape(8, 1)
        with torch.no_grad():
            best = model(coming).max(1)[0]
        target = reward + 0.9 * best * goes_on  # cause: GS703
        loss = criterion(model(state).max(1)[0], target)
        opt.zero_grad()
        loss.backward()  # effect: GS703
        opt.step()


def bad_both_halves_of_a_contrastive_loss() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    for _ in range(3):
        label = torch.randint(0, 2, (16, 1)).float()
        apart = net(torch.randn(16, 4)).squeeze(1).abs()
        far = torch.clamp(1 - apart, min=0).pow(2)
        loss = torch.mean(
            (1 - label) * apart.pow(2)  # cause: GS703
            + far * label
        )
        opt.zero_grad()
        loss.backward()  # effect: GS703
        opt.step()
