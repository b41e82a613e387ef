"""More programs of GS754: each bad one is reported at its marks, each good one by no rule."""


def bad_soft_value_of_the_next_state() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy, critic = nn.Linear(4, 3), nn.Linear(4, 3)
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(4):
        x, after, reward = torch.randn(16, 4), torch.randn(16, 4), torch.rand(16, 1)
        with torch.no_grad():
            chance = nn.functional.softmax(policy(after), dim=-1)
            value = chance * (critic(after) - 0.1 * torch.log(chance + 1e-8))
            value = value.mean(dim=1).unsqueeze(-1)  # cause: GS754
            target = reward + 0.9 * value  # effect: GS754
        loss = nn.functional.mse_loss(critic(x)[:, :1], target)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_entropy_of_each_sample() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 5)
    opt = torch.optim.SGD(policy.parameters(), lr=0.1)
    for _ in range(4):
        x, reward = torch.randn(16, 4), torch.rand(16)
        scores = policy(x)
        chance = torch.softmax(scores, dim=1)
        entropy = -(chance * torch.log_softmax(scores, dim=1)).mean(dim=1)
        loss = -(reward * torch.log(chance[:, 0]) + 0.01 * entropy).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_attention_averaged_over_the_samples_of_a_set() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    score, head = nn.Linear(4, 4), nn.Linear(4, 4)
    opt = torch.optim.SGD([*score.parameters(), *head.parameters()], lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 5, 4)
        weights = torch.softmax(score(x), dim=1)
        pooled = (weights * x).sum(dim=1) + (torch.softmax(score(x), dim=2) * x).mean(dim=1)
        loss = (head(pooled) - x.mean(dim=1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_channels_gated_by_a_softmax() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    gate, head = nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*gate.parameters(), *head.parameters()], lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 4)
        gated = torch.softmax(gate(x), dim=1) * x
        loss = (head(gated).squeeze(1) - gated.mean()).pow(2).mean() + gated.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_both_losses_of_an_actor_and_its_critic() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy, critic = nn.Linear(4, 3), nn.Linear(4, 3)
    opt = torch.optim.Adam([*critic.parameters(), *policy.parameters()], lr=0.01)
    for _ in range(4):
        x, after, reward = torch.randn(16, 4), torch.randn(16, 4), torch.rand(16)
        with torch.no_grad():
            value = (torch.softmax(policy(after), dim=1) * critic(after)).mean(1)  # cause: GS754
            target = reward + 0.9 * value  # effect: GS754
        loss = (critic(x)[:, 0] - target).pow(2).mean()
        loss = loss - (torch.softmax(policy(x), dim=1) * critic(x).detach()).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_chances_by_their_logarithms() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    value, slow = nn.Linear(5, 4), nn.Linear(5, 4)
    opt = torch.optim.Adam(value.parameters(), lr=0.01)
    for _ in range(4):
        now, later, profit = torch.randn(16, 5), torch.randn(16, 5), torch.rand(16)
        over = torch.rand(16) < 0.2
        with torch.no_grad():
            chance = torch.exp(torch.log_softmax(value(later) / 0.5, -1))
            expected = torch.mean(torch.mul(slow(later), chance), -1)  # cause: GS754
            goal = torch.where(over, profit, profit + 0.9 * expected)  # effect: GS754
        loss = nn.functional.smooth_l1_loss(value(now)[:, 0], goal)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_exponentials_divided_by_their_sum() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy, value = nn.Linear(5, 4), nn.Linear(5, 4)
    opt = torch.optim.Adam(value.parameters(), lr=0.01)
    for _ in range(4):
        now, later, profit = torch.randn(16, 5), torch.randn(16, 5), torch.rand(16)
        with torch.no_grad():
            heat = policy(later).exp()
            chance = heat / heat.sum(1, keepdim=True)
            expected = (chance * value(later)).mean(dim=1)  # cause: GS754
            goal = profit + 0.9 * expected  # effect: GS754
        loss = nn.functional.smooth_l1_loss(value(now)[:, 0], goal)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_chances_by_their_logarithms_summed() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    value, slow = nn.Linear(5, 4), nn.Linear(5, 4)
    opt = torch.optim.Adam(value.parameters(), lr=0.01)
    for _ in range(4):
        now, later, profit = torch.randn(16, 5), torch.randn(16, 5), torch.rand(16)
        with torch.no_grad():
            logs = torch.log_softmax(value(later), -1)
            heat = logs.exp()
            expected = (heat * slow(later)).sum(-1) - 0.1 * (heat * logs).mean(-1)  # an entropy
            goal = profit + 0.9 * expected
        loss = nn.functional.smooth_l1_loss(value(now)[:, 0], goal)
        opt.zero_grad()
        loss.backward()
        opt.step()
