"""More programs of GS335: each bad one is reported at its marks, each good one by no rule."""


def bad_soft_copies() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    slow = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    opt = torch.optim.SGD(critic.parameters(), lr=0.05)
    for _ in range(8):
        state, following, reward = torch.randn(16, 4), torch.randn(16, 4), torch.rand(16)
        action = torch.randint(0, 2, (16, 1))
        with torch.no_grad():
            best = critic(following).max(1).values  # cause: GS335
        wanted = reward + 0.9 * best  # effect: GS335
        loss = nn.functional.mse_loss(critic(state).gather(1, action).squeeze(1), wanted)
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            for mine, other in zip(slow.parameters(), critic.parameters()):
                mine.lerp_(other, 0.1)


def good_double_estimate() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic, slow = nn.Linear(4, 2), nn.Linear(4, 2)
    opt = torch.optim.SGD(critic.parameters(), lr=0.05)
    for step in range(8):
        state, following, reward = torch.randn(16, 4), torch.randn(16, 4), torch.rand(16)
        action = torch.randint(0, 2, (16, 1))
        with torch.no_grad():
            chosen = critic(following).argmax(1, keepdim=True)
            wanted = reward + 0.9 * slow(following).gather(1, chosen).squeeze(1)
        loss = nn.functional.mse_loss(critic(state).gather(1, action).squeeze(1), wanted)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 2 == 1:
            slow.load_state_dict(critic.state_dict())


def good_copy_acts() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic, acting = nn.Linear(4, 2), nn.Linear(4, 2)
    opt = torch.optim.SGD(critic.parameters(), lr=0.05)
    for step in range(8):
        state, following, reward = torch.randn(16, 4), torch.randn(16, 4), torch.rand(16)
        with torch.no_grad():
            action = acting(state).argmax(1, keepdim=True)
            wanted = reward + 0.9 * critic(following).max(1).values
        loss = nn.functional.mse_loss(critic(state).gather(1, action).squeeze(1), wanted)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 2 == 1:
            acting.load_state_dict(critic.state_dict())


def good_advantages_of_the_value_itself() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    value, policy = nn.Linear(4, 1), nn.Linear(4, 2)
    opt = torch.optim.SGD([*value.parameters(), *policy.parameters()], lr=0.05)
    for _ in range(8):
        state, following, reward = torch.randn(16, 4), torch.randn(16, 4), torch.rand(16, 1)
        with torch.no_grad():
            wanted = reward + 0.9 * value(following)
        chosen = torch.log_softmax(policy(state), 1)[:, :1]
        error = wanted - value(state)
        loss = error.pow(2).mean() - (chosen * error.detach()).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_critic_of_an_actor() -> None:  # fix: by hand
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    policy, critic = nn.Sequential(nn.Linear(3, 1), nn.Tanh()), nn.Linear(4, 1)
    slow = copy.deepcopy(critic).requires_grad_(False)
    moves = torch.optim.Adam(policy.parameters(), lr=0.01)
    values = torch.optim.Adam(critic.parameters(), lr=0.01)

    @torch.no_grad()
    def backup(gain, after, stopped):
        worth = critic(torch.cat([after, policy(after)], -1))  # cause: GS335
        return torch.where(stopped, gain, gain + 0.98 * worth)  # effect: GS335

    for _ in range(6):
        now, after = torch.randn(16, 3), torch.randn(16, 3)
        aim = backup(now[:, :1], after, torch.rand(16, 1) < 0.1)
        error = nn.functional.mse_loss(critic(torch.cat([now, torch.rand(16, 1)], -1)), aim)
        values.zero_grad()
        error.backward()
        values.step()
        moves.zero_grad()
        (-critic(torch.cat([now, policy(now)], -1)).mean()).backward(inputs=list(policy.parameters()))
        moves.step()
        with torch.no_grad():
            for a, b in zip(slow.parameters(), critic.parameters(), strict=True):
                a.lerp_(b, 0.05)


def good_slow_critic_of_an_actor() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    policy, critic = nn.Sequential(nn.Linear(3, 1), nn.Tanh()), nn.Linear(4, 1)
    slow = copy.deepcopy(critic).requires_grad_(False)
    moves = torch.optim.Adam(policy.parameters(), lr=0.01)
    values = torch.optim.Adam(critic.parameters(), lr=0.01)

    @torch.no_grad()
    def backup(gain, after, stopped):
        worth = slow(torch.cat([after, policy(after)], -1))
        return torch.where(stopped, gain, gain + 0.98 * worth)

    for _ in range(6):
        now, after = torch.randn(16, 3), torch.randn(16, 3)
        aim = backup(now[:, :1], after, torch.rand(16, 1) < 0.1)
        error = nn.functional.mse_loss(critic(torch.cat([now, torch.rand(16, 1)], -1)), aim)
        values.zero_grad()
        error.backward()
        values.step()
        moves.zero_grad()
        (-critic(torch.cat([now, policy(now)], -1)).mean()).backward(inputs=list(policy.parameters()))
        moves.step()
        with torch.no_grad():
            for a, b in zip(slow.parameters(), critic.parameters(), strict=True):
                a.lerp_(b, 0.05)
