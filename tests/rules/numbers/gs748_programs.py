"""More programs of GS748: each bad one is reported at its marks, each good one by no rule."""


def bad_of_a_class() -> None:
    import torch
    from torch import nn

    class Forecast(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn = nn.GRU(2, 6, batch_first=True)
            self.horizon = nn.Linear(6, 1)  # cause: GS748

        def forward(self, series: torch.Tensor) -> torch.Tensor:
            return torch.sigmoid(self.horizon(self.rnn(series)[0][:, -1]))

    forecast = Forecast()
    criterion = nn.L1Loss()
    opt = torch.optim.Adam(forecast.parameters(), lr=0.01)
    for _ in range(3):
        opt.zero_grad()
        criterion(forecast(torch.randn(8, 5, 2)), torch.rand(8, 4)).backward()  # effect: GS748
        opt.step()


def good_quantiles() -> None:
    import torch
    from torch import nn

    value = nn.Linear(5, 4)
    opt = torch.optim.SGD(value.parameters(), lr=0.1)
    for _ in range(3):
        inputs, wanted = torch.randn(16, 5), torch.randn(16, 1, 3).expand(16, 4, 3)
        opt.zero_grad()
        nn.functional.smooth_l1_loss(value(inputs).unsqueeze(2), wanted, reduction="none").mean().backward()
        opt.step()


def good_one_target() -> None:
    import torch
    from torch import nn

    single = nn.Linear(5, 1)
    opt = torch.optim.SGD(single.parameters(), lr=0.1)
    for _ in range(3):
        inputs, targets = torch.randn(16, 5), torch.randn(16, 1)
        opt.zero_grad()
        nn.functional.mse_loss(single(inputs), targets).backward()
        opt.step()


def bad_log_probabilities_not_added_up() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy, critic = nn.Linear(4, 3), nn.Linear(7, 1)
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(4):
        state, following, reward = torch.randn(16, 4), torch.randn(16, 4), torch.randn(16, 1)
        with torch.no_grad():
            chosen = torch.distributions.Normal(policy(following), 1.0)
            action = chosen.sample()
            log_prob = chosen.log_prob(action)  # cause: GS748
            soft = critic(torch.cat([following, action], 1)) - 0.2 * log_prob
            aim = reward + 0.9 * soft
        taken = torch.randn(16, 3)
        opt.zero_grad()
        nn.functional.mse_loss(critic(torch.cat([state, taken], 1)), aim).backward()  # effect: GS748
        opt.step()


def bad_target_of_one_and_several() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    value = nn.Linear(4, 1)
    opt = torch.optim.SGD(value.parameters(), lr=0.01)
    for _ in range(4):
        features, weights, gain = torch.randn(16, 4), torch.rand(16, 3), torch.randn(16, 1)
        goal = gain * weights  # cause: GS748
        opt.zero_grad()
        nn.functional.mse_loss(value(features), goal).backward()  # effect: GS748
        opt.step()


def good_log_probabilities_added_up() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    actor, judge = nn.Linear(4, 3), nn.Linear(7, 1)
    opt = torch.optim.Adam(judge.parameters(), lr=0.01)
    for _ in range(4):
        now, later, paid = torch.randn(16, 4), torch.randn(16, 4), torch.randn(16, 1)
        with torch.no_grad():
            drawn = torch.distributions.Normal(actor(later), 1.0)
            move = drawn.sample()
            likely = drawn.log_prob(move).sum(-1, keepdim=True)
            wanted = paid + 0.9 * (judge(torch.cat([later, move], 1)) - 0.2 * likely)
        done = torch.randn(16, 3)
        opt.zero_grad()
        nn.functional.mse_loss(judge(torch.cat([now, done], 1)), wanted).backward()
        opt.step()
