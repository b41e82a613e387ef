"""More programs of GS469: each bad one is reported at its marks, each good one by no rule."""


def bad_in_a_helper_with_two_critics() -> None:
    import copy

    import torch
    from torch import nn

    class Critic(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.of_state, self.of_action, self.out = nn.Linear(3, 8), nn.Linear(2, 8), nn.Linear(8, 1)

        def forward(self, s: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
            return self.out(torch.tanh(self.of_state(s) + self.of_action(a)))

    def target(reward: torch.Tensor, state: torch.Tensor, following: torch.Tensor) -> torch.Tensor:
        noise = (0.1 * torch.randn(16, 2)).clamp(-0.2, 0.2)
        chosen = (actor_target(state) + noise).clamp(-1, 1)  # cause: GS469
        value = torch.minimum(one_target(following, chosen), two_target(following, chosen))  # effect: GS469
        return reward + 0.9 * value

    torch.manual_seed(0)
    actor, one, two = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2)), Critic(), Critic()
    actor_target, one_target, two_target = copy.deepcopy(actor), copy.deepcopy(one), copy.deepcopy(two)
    actor_opt = torch.optim.Adam(actor.parameters(), lr=0.01)
    critic_opt = torch.optim.Adam([*one.parameters(), *two.parameters()], lr=0.01)
    for _ in range(6):
        state, action, reward = torch.randn(16, 3), torch.randn(16, 2), torch.randn(16, 1)
        following = state + 0.1 * torch.randn(16, 3)
        with torch.no_grad():
            wanted = target(reward, state, following)
        critic_opt.zero_grad()
        loss = (one(state, action) - wanted).pow(2).mean() + (two(state, action) - wanted).pow(2).mean()
        loss.backward()
        critic_opt.step()
        actor_opt.zero_grad()
        (-one(state, actor(state)).mean()).backward()
        actor_opt.step()
        with torch.no_grad():
            for own, other in ((actor, actor_target), (one, one_target), (two, two_target)):
                for p, q in zip(own.parameters(), other.parameters(), strict=True):
                    q.lerp_(p, 0.1)


def bad_one_observation_for_all_agents() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    agents, batch, size = 3, 16, 4
    actors = [nn.Sequential(nn.Linear(size, 8), nn.Tanh(), nn.Linear(8, 2)) for _ in range(agents)]
    critics = [nn.Linear(agents * (size + 2), 1) for _ in range(agents)]
    actor_targets, critic_targets = copy.deepcopy(actors), copy.deepcopy(critics)
    actor_opts = [torch.optim.Adam(net.parameters(), lr=0.01) for net in actors]
    critic_opts = [torch.optim.Adam(net.parameters(), lr=0.01) for net in critics]
    for _ in range(4):
        obs, following = torch.randn(batch, agents, size), torch.randn(batch, agents, size)
        actions, reward = torch.randn(batch, agents, 2), torch.randn(batch, 1)
        for i in range(agents):
            mine = following[:, i]
            with torch.no_grad():
                chosen = torch.cat([net(mine) for net in actor_targets], 1)  # cause: GS469
                value = critic_targets[i](torch.cat([following.flatten(1), chosen], 1))
                wanted = reward + 0.9 * value  # effect: GS469
            critic_opts[i].zero_grad()
            said = critics[i](torch.cat([obs.flatten(1), actions.flatten(1)], 1))
            nn.functional.mse_loss(said, wanted).backward()
            critic_opts[i].step()
            joint = actions.clone()
            joint[:, i] = actors[i](obs[:, i])
            actor_opts[i].zero_grad()
            (-critics[i](torch.cat([obs.flatten(1), joint.flatten(1)], 1)).mean()).backward()
            actor_opts[i].step()
        with torch.no_grad():
            for own, other in zip([*actors, *critics], [*actor_targets, *critic_targets], strict=True):
                for p, q in zip(own.parameters(), other.parameters(), strict=True):
                    q.lerp_(p, 0.1)


def good_each_agent_its_own() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    agents, batch, size = 3, 16, 4
    actors = [nn.Sequential(nn.Linear(size, 8), nn.Tanh(), nn.Linear(8, 2)) for _ in range(agents)]
    critics = [nn.Linear(agents * (size + 2), 1) for _ in range(agents)]
    actor_targets, critic_targets = copy.deepcopy(actors), copy.deepcopy(critics)
    actor_opts = [torch.optim.Adam(net.parameters(), lr=0.01) for net in actors]
    critic_opts = [torch.optim.Adam(net.parameters(), lr=0.01) for net in critics]
    for _ in range(4):
        obs, following = torch.randn(batch, agents, size), torch.randn(batch, agents, size)
        actions, reward = torch.randn(batch, agents, 2), torch.randn(batch, 1)
        for i in range(agents):
            with torch.no_grad():
                chosen = torch.cat([net(following[:, j]) for j, net in enumerate(actor_targets)], 1)
                wanted = reward + 0.9 * critic_targets[i](torch.cat([following.flatten(1), chosen], 1))
            critic_opts[i].zero_grad()
            said = critics[i](torch.cat([obs.flatten(1), actions.flatten(1)], 1))
            nn.functional.mse_loss(said, wanted).backward()
            critic_opts[i].step()
            joint = actions.clone()
            joint[:, i] = actors[i](obs[:, i])
            actor_opts[i].zero_grad()
            (-critics[i](torch.cat([obs.flatten(1), joint.flatten(1)], 1)).mean()).backward()
            actor_opts[i].step()
        with torch.no_grad():
            for own, other in zip([*actors, *critics], [*actor_targets, *critic_targets], strict=True):
                for p, q in zip(own.parameters(), other.parameters(), strict=True):
                    q.lerp_(p, 0.1)


def good_sees_the_action_before() -> None:
    """The policy gets the next state and the last action, which the prediction takes as well."""
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    actor, critic = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)), nn.Linear(4, 1)
    actor_target, critic_target = copy.deepcopy(actor), copy.deepcopy(critic)
    actor_opt = torch.optim.Adam(actor.parameters(), lr=0.01)
    critic_opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(6):
        state, before, action = torch.randn(16, 2), torch.randn(16, 2), torch.randn(16, 2)
        following, reward = state + 0.1 * torch.randn(16, 2), torch.randn(16, 1)
        with torch.no_grad():
            chosen = actor_target(torch.cat([following, action], 1))
            wanted = reward + 0.9 * critic_target(torch.cat([following, chosen], 1))
        critic_opt.zero_grad()
        nn.functional.mse_loss(critic(torch.cat([state, action], 1)), wanted).backward()
        critic_opt.step()
        actor_opt.zero_grad()
        (-critic(torch.cat([state, actor(torch.cat([state, before], 1))], 1)).mean()).backward()
        actor_opt.step()
        with torch.no_grad():
            for own, other in ((actor, actor_target), (critic, critic_target)):
                for p, q in zip(own.parameters(), other.parameters(), strict=True):
                    q.lerp_(p, 0.1)


def good_policy_that_acts_late() -> None:
    """An action begins to work one step late: each is chosen for the state before the one that it is judged in."""
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    actor, critic = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2)), nn.Linear(5, 1)
    actor_target, critic_target = copy.deepcopy(actor), copy.deepcopy(critic)
    actor_opt = torch.optim.Adam(actor.parameters(), lr=0.01)
    critic_opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(6):
        before, action, reward = torch.randn(16, 3), torch.randn(16, 2), torch.randn(16, 1)
        state = before + 0.1 * torch.randn(16, 3)
        following = state + 0.1 * torch.randn(16, 3)
        with torch.no_grad():
            wanted = reward + 0.9 * critic_target(torch.cat([following, actor_target(state)], 1))
        critic_opt.zero_grad()
        nn.functional.mse_loss(critic(torch.cat([state, action], 1)), wanted).backward()
        critic_opt.step()
        actor_opt.zero_grad()
        (-critic(torch.cat([state, actor(before)], 1)).mean()).backward()
        actor_opt.step()
        with torch.no_grad():
            for own, other in ((actor, actor_target), (critic, critic_target)):
                for p, q in zip(own.parameters(), other.parameters(), strict=True):
                    q.lerp_(p, 0.1)
