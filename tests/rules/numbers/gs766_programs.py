"""More programs of GS766: each bad one is reported at its marks, each good one by no rule."""


def bad_mean_on_a_line_of_its_own() -> None:
    import torch
    from torch import nn

    class Learner:
        def __init__(self) -> None:
            self.actor = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1), nn.Tanh())
            self.critic = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
            self.opt_a = torch.optim.Adam(self.actor.parameters(), lr=0.01)
            self.opt_c = torch.optim.Adam(self.critic.parameters(), lr=0.01)

        def value(self, state: torch.Tensor, action: torch.Tensor) -> torch.Tensor:
            return self.critic(torch.cat([state, action], 1)).squeeze(1)

        def learn(self, state: torch.Tensor) -> None:
            action = (self.actor(state).detach() + 0.3 * torch.randn(32, 1)).clamp(-1, 1)
            reward = -(action - state[:, :1]).abs().squeeze(1)
            self.opt_c.zero_grad()
            (self.value(state, action) - reward).pow(2).mean().backward()
            self.opt_c.step()
            values = self.value(state, self.actor(state))
            loss = values.mean()  # cause: GS766
            self.opt_a.zero_grad()
            loss.backward()  # effect: GS766
            self.opt_a.step()

    torch.manual_seed(0)
    learner = Learner()
    for _ in range(5):
        learner.learn(torch.randn(32, 3))


def good_mean_on_a_line_of_its_own() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    actor = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1), nn.Tanh())
    critic = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt_a = torch.optim.Adam(actor.parameters(), lr=0.01)
    opt_c = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(5):
        state, action = torch.randn(32, 3), torch.rand(32, 1) * 2 - 1
        reward = -(action - state[:, :1]).abs()
        opt_c.zero_grad()
        (critic(torch.cat([state, action], 1)) - reward).pow(2).mean().backward()
        opt_c.step()
        opt_a.zero_grad()
        values = critic(torch.cat([state, actor(state)], 1))
        loss = (-values).mean()
        loss.backward()
        opt_a.step()


def good_distance_that_two_networks_tell() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    maker = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    judge = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt_m = torch.optim.Adam(maker.parameters(), lr=0.01)
    opt_j = torch.optim.Adam(judge.parameters(), lr=0.01)
    for _ in range(5):
        given, wanted = torch.randn(32, 3), torch.randn(32, 1)
        made = maker(given)
        opt_j.zero_grad()
        error = (made.detach() - wanted).abs()
        nn.functional.mse_loss(judge(torch.cat([given, made.detach()], 1)), error).backward()
        opt_j.step()
        opt_m.zero_grad()
        expected = judge(torch.cat([given, made], 1))
        loss = expected.mean() + nn.functional.mse_loss(made, wanted)
        loss.backward()
        opt_m.step()
