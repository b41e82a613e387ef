"""More programs of GS225: each bad one is reported at its marks, each good one by no rule."""


def bad_second_of_two_critics() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    q1, q2 = (nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)) for _ in range(2))
    held1, held2 = copy.deepcopy(q1).requires_grad_(False), copy.deepcopy(q2).requires_grad_(False)
    opt = torch.optim.Adam([*q1.parameters(), *q2.parameters()], lr=0.01)
    for _ in range(20):
        x = torch.randn(16, 4)
        later = torch.min(held1(x + 0.1), held2(x + 0.1))  # effect: GS225
        wanted = torch.randn(16, 1) + 0.9 * later
        loss = (q1(x) - wanted).pow(2).mean() + (q2(x) - wanted).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        for p, held in zip(q1.parameters(), held1.parameters(), strict=True):
            held.data.mul_(0.9).add_(p.data, alpha=0.1)  # cause: GS225


def bad_agent_with_four_parts() -> None:
    import torch
    from torch import nn

    class Part(nn.Module):
        def __init__(self, n: int, m: int) -> None:
            super().__init__()
            self.one, self.two = nn.Linear(n, 12), nn.Linear(12, m)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.two(torch.tanh(self.one(x)))

    class Agent:
        def __init__(self) -> None:
            self.mind, self.judge = Part(3, 2), Part(5, 1)
            self.slow_mind, self.slow_judge = Part(3, 2), Part(5, 1)
            self.slow_mind.load_state_dict(self.mind.state_dict())
            self.slow_judge.load_state_dict(self.judge.state_dict())
            self.opts = [torch.optim.Adam(net.parameters()) for net in (self.mind, self.judge)]

        def learn(self, s: torch.Tensor, a: torch.Tensor, later: torch.Tensor) -> None:
            with torch.no_grad():
                choice = self.slow_mind(later)  # effect: GS225
                goal = 0.5 + 0.9 * self.slow_judge(torch.cat([later, choice], 1))
            losses = [
                lambda: -self.judge(torch.cat([s, self.mind(s)], 1)).mean(),
                lambda: (self.judge(torch.cat([s, a], 1)) - goal).square().mean(),
            ]
            for opt, loss in zip(self.opts[::-1], losses[::-1], strict=True):
                opt.zero_grad()
                loss().backward()
                opt.step()

        @torch.no_grad()
        def follow(self) -> None:
            for slow, p in zip(self.slow_judge.parameters(), self.judge.parameters(), strict=True):
                slow.copy_(0.99 * slow + 0.01 * p)  # cause: GS225

    torch.manual_seed(0)
    agent = Agent()
    for _ in range(15):
        agent.learn(torch.randn(8, 3), torch.randn(8, 2), torch.randn(8, 3))
        agent.follow()


def good_both_critics_follow() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    q1, q2 = (nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)) for _ in range(2))
    held1, held2 = copy.deepcopy(q1).requires_grad_(False), copy.deepcopy(q2).requires_grad_(False)
    opt = torch.optim.Adam([*q1.parameters(), *q2.parameters()], lr=0.01)
    for _ in range(20):
        x = torch.randn(16, 4)
        wanted = torch.randn(16, 1) + 0.9 * torch.min(held1(x + 0.1), held2(x + 0.1))
        loss = (q1(x) - wanted).pow(2).mean() + (q2(x) - wanted).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            for one, held in ((q1, held1), (q2, held2)):
                for p, h in zip(one.parameters(), held.parameters(), strict=True):
                    h.mul_(0.9).add_(p, alpha=0.1)


def good_reference_policy_beside_a_target_critic() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    policy, critic = nn.Linear(3, 2), nn.Linear(3, 1)
    reference, slow = copy.deepcopy(policy), copy.deepcopy(critic)
    opt = torch.optim.Adam([*policy.parameters(), *critic.parameters()], lr=0.01)
    for _ in range(20):
        x = torch.randn(16, 3)
        with torch.no_grad():
            start = reference(x).log_softmax(1)
            value = 0.3 + 0.9 * slow(x + 0.1)
        now = policy(x).log_softmax(1)
        loss = (now.exp() * (now - start)).sum(1).mean() + (critic(x) - value).pow(2).mean()
        loss = loss - (now[:, 0] * (value - critic(x)).detach().squeeze(1)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            for s, p in zip(slow.parameters(), critic.parameters(), strict=True):
                s.lerp_(p, 0.05)


def good_updated_once_in_a_while() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    actor, critic = nn.Linear(3, 2), nn.Linear(5, 1)
    old_actor, old_critic = copy.deepcopy(actor), copy.deepcopy(critic)
    opts = [torch.optim.Adam(net.parameters(), lr=0.01) for net in (actor, critic)]
    for step in range(20):
        state, action = torch.randn(16, 3), torch.randn(16, 2)
        with torch.no_grad():
            wanted = 0.9 * old_critic(torch.cat([state, old_actor(state)], 1))
        opts[1].zero_grad()
        (critic(torch.cat([state, action], 1)) - wanted).pow(2).mean().backward()
        opts[1].step()
        opts[0].zero_grad()
        (-critic(torch.cat([state, actor(state)], 1)).mean()).backward()
        opts[0].step()
        with torch.no_grad():
            for old, new in zip(old_critic.parameters(), critic.parameters(), strict=True):
                old.lerp_(new, 0.05)
        if step == 12:
            old_actor.load_state_dict(actor.state_dict())


def good_frozen_generator_before_an_averaged_one() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    features = nn.Linear(3, 4).requires_grad_(False)
    model = nn.Linear(4, 2)
    average = copy.deepcopy(model).requires_grad_(False)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(20):
        seen = features(torch.randn(8, 3))
        loss = (model(seen) - average(seen) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            for a, p in zip(average.parameters(), model.parameters(), strict=True):
                a.lerp_(p, 0.1)
