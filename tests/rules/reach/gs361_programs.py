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
