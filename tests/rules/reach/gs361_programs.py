"""More programs of GS361: each bad one is reported at its marks, each good one by no rule."""


def bad_coefficient_of_an_object() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal

    class Learner:
        coefficient = 0.05

        def __init__(self) -> None:
            self.policy, self.value = nn.Linear(4, 2), nn.Linear(4, 1)
            parameters = [*self.policy.parameters(), *self.value.parameters()]
            self.opt = torch.optim.Adam(parameters, lr=0.01)

        def learn(self) -> None:
            states, returns = torch.randn(16, 4), torch.randn(16)
            chances = Normal(self.policy(states)[:, 0], self.policy(states)[:, 1].exp())
            value = self.value(states).squeeze(1)
            advantage = returns - value.detach()
            logs = chances.log_prob(chances.sample())
            loss = -(logs * advantage).mean() + 0.5 * (returns - value).pow(2).mean()
            loss += self.coefficient * chances.entropy().mean()  # cause: GS361
            self.opt.zero_grad()
            loss.backward()  # effect: GS361
            self.opt.step()

    torch.manual_seed(0)
    learner = Learner()
    for _ in range(3):
        learner.learn()


def good_negative_entropy_added() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(3):
        chances = torch.distributions.Categorical(logits=policy(torch.randn(16, 4)))
        actions = chances.sample()
        entropy_loss = -chances.entropy().mean()
        loss = -(chances.log_prob(actions) * (actions == 1)).mean() + 0.01 * entropy_loss
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_entropy_alone_is_lowered() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        loss = torch.distributions.Categorical(logits=model(torch.randn(16, 4))).entropy().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_a_table_of_terms() -> None:  # fix: by hand
    import torch
    from torch import nn
    from torch.distributions import Normal

    torch.manual_seed(0)
    mean, width, critic = nn.Linear(3, 1), nn.Parameter(torch.zeros(1)), nn.Linear(3, 1)
    opt = torch.optim.Adam([*mean.parameters(), width, *critic.parameters()], lr=0.005)
    for _ in range(4):
        room = torch.randn(32, 3)
        heating = Normal(mean(room), width.exp())
        chosen, value = heating.sample(), critic(room)
        reward = -(room[:, :1] - chosen).abs()
        parts = {
            "actor": -(heating.log_prob(chosen) * (reward - value).detach()).mean(),
            "critic": nn.functional.mse_loss(value, reward),
            "entropy": 0.02 * heating.entropy().sum(-1).mean(),  # cause: GS361
        }
        opt.zero_grad()
        torch.stack(list(parts.values())).sum().backward()  # effect: GS361
        opt.step()


def good_a_table_of_terms() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal

    torch.manual_seed(0)
    mean, width, critic = nn.Linear(3, 1), nn.Parameter(torch.zeros(1)), nn.Linear(3, 1)
    opt = torch.optim.Adam([*mean.parameters(), width, *critic.parameters()], lr=0.005)
    for _ in range(4):
        room = torch.randn(32, 3)
        heating = Normal(mean(room), width.exp())
        chosen, value = heating.sample(), critic(room)
        reward = -(room[:, :1] - chosen).abs()
        gain = torch.stack([heating.entropy().mean() for _ in range(2)]).mean()
        parts = {
            "actor": -(heating.log_prob(chosen) * (reward - value).detach()).mean(),
            "critic": nn.functional.mse_loss(value, reward),
            "entropy": -0.02 * heating.entropy().sum(-1).mean(),
        }
        opt.zero_grad()
        (torch.stack(list(parts.values())).sum() - 0.01 * gain).backward()
        opt.step()


def bad_estimate_with_a_minus() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal

    torch.manual_seed(0)
    mean, width = nn.Linear(3, 1), nn.Parameter(torch.zeros(1))
    opt = torch.optim.Adam([*mean.parameters(), width], lr=0.005)
    for _ in range(2):
        with torch.no_grad():
            seen = torch.randn(64, 3)
            chosen = Normal(mean(seen), width.exp()).sample()
            before = Normal(mean(seen), width.exp()).log_prob(chosen).sum(1)
            gain = -(chosen - seen[:, :1]).abs().squeeze(1)
        for rows in torch.randperm(64).split(32):
            score = Normal(mean(seen[rows]), width.exp()).log_prob(chosen[rows]).sum(1)
            ratio = torch.exp(score - before[rows])
            bonus = -score.mean()  # cause: GS361
            weighed = torch.min(ratio * gain[rows], ratio.clamp(0.8, 1.2) * gain[rows])
            loss = -weighed.mean() + 0.02 * bonus
            opt.zero_grad()
            loss.backward()  # effect: GS361
            opt.step()


def bad_estimate_taken_away() -> None:
    import torch
    from torch import nn

    def loss_of(score: torch.Tensor, gain: torch.Tensor) -> torch.Tensor:
        return -(score * gain).mean() - 0.01 * score.mean()  # cause: GS361

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(3):
        chances = torch.distributions.Categorical(logits=policy(torch.randn(16, 4)))
        actions = chances.sample()
        gain = (actions == 1).float()
        opt.zero_grad()
        loss_of(chances.log_prob(actions), gain).backward()  # effect: GS361
        opt.step()


def good_estimate_with_a_plus() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(3):
        chances = torch.distributions.Categorical(logits=policy(torch.randn(16, 4)))
        actions = chances.sample()
        score = chances.log_prob(actions)
        entropy_loss = -torch.mean(-score)
        loss = -(score * (actions == 1)).mean() + 0.01 * entropy_loss
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_shown_actions_made_likelier() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(3):
        states, shown, gain = torch.randn(16, 4), torch.randint(0, 3, (16,)), torch.rand(16)
        score = torch.distributions.Categorical(logits=policy(states)).log_prob(shown)
        loss = -(score * gain).mean() - 0.1 * score.mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_distance_from_the_old_policy() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(2):
        states = torch.randn(16, 4)
        with torch.no_grad():
            before = torch.distributions.Categorical(logits=policy(states))
            actions = before.sample()
            old, gain = before.log_prob(actions), (actions == 1).float()
        for _ in range(2):
            score = torch.distributions.Categorical(logits=policy(states)).log_prob(actions)
            ratio = (score - old).exp()
            apart = (ratio - 1 - (score - old)).mean()
            loss = -torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean() + 0.1 * apart
            opt.zero_grad()
            loss.backward()
            opt.step()


def good_made_larger() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.Adam(policy.parameters(), lr=0.02, maximize=True)
    for step in range(60):
        x = torch.randn(64, 4)
        chances = torch.distributions.Categorical(logits=policy(x))
        actions = chances.sample()
        reward = (actions == x[:, :3].argmax(1)).float()
        gain = (chances.log_prob(actions) * (reward - reward.mean())).mean()
        objective = gain + 0.01 * chances.entropy().mean()
        opt.zero_grad()
        objective.backward()
        opt.step()
    print(reward.mean().item(), chances.entropy().mean().item())
