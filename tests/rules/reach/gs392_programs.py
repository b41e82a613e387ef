"""More programs of GS392: each bad one is reported at its marks, each good one by no rule."""


def bad_of_several_environments() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Linear(3, 1)
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    gamma, lam = 0.9, 0.95
    for _ in range(4):
        states = torch.randn(10, 4, 3)
        rewards = [torch.ones(4) for _ in range(10)]
        ended = [(torch.rand(4) < 0.2).float() for _ in range(10)]
        with torch.no_grad():
            values = list(critic(states).squeeze(2))
            following = critic(torch.randn(4, 3)).squeeze(1)
        gae, returns = 0, []
        for value, reward, done in list(zip(values, rewards, ended, strict=True))[::-1]:
            gae = gae * gamma * lam  # cause: GS392
            gae = gae + reward + gamma * following.detach() * (1 - done) - value  # effect: GS392
            following = value
            returns.append(gae + value)
        goals = torch.stack(returns[::-1])
        loss = (critic(states).squeeze(2) - goals).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_of_a_function_with_indices() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Linear(3, 1)
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)

    def advantages(rewards: list[float], values: list[float], dones: list[bool]) -> list[float]:
        found, last = [0.0] * len(rewards), 0.0
        for t in reversed(range(len(rewards))):
            keep = 1.0 - dones[t]  # effect: GS392
            delta = rewards[t] + 0.9 * values[t + 1] * keep - values[t]
            found[t] = last = delta + 0.9 * 0.8 * last  # cause: GS392
        return found

    for _ in range(4):
        states, ends = torch.randn(12, 3), [step % 4 == 3 for step in range(12)]
        values = critic(states).flatten().tolist()
        goals = torch.tensor(advantages([1.0] * 12, [*values, 0.0], ends))
        loss = (critic(states).flatten() - goals).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_end_of_the_one_episode() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Linear(3, 1)
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(4):
        states, rewards = torch.randn(12, 3), [1.0] * 12
        dones = [step == 11 for step in range(12)]
        values, following = critic(states).flatten().tolist(), 0.0
        gae, returns = 0.0, []
        for value, reward, done in reversed(list(zip(values, rewards, dones, strict=True))):
            delta = reward + 0.9 * following * (1 - done) - value
            gae = delta + 0.9 * 0.8 * gae
            following = value
            returns.insert(0, gae + value)
        loss = (critic(states).flatten() - torch.tensor(returns)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_begun_anew_behind_an_end() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Linear(3, 1)
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(4):
        states, rewards = torch.randn(12, 3), [1.0] * 12
        dones = [step % 5 == 4 for step in range(12)]
        values, following = critic(states).flatten().tolist(), 0.0
        gae, returns = 0.0, []
        for value, reward, done in reversed(list(zip(values, rewards, dones, strict=True))):
            if done:
                gae = 0.0
            delta = reward + 0.9 * following * (1 - done) - value
            gae = delta + 0.9 * 0.8 * gae
            following = value
            returns.insert(0, gae + value)
        loss = (critic(states).flatten() - torch.tensor(returns)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_cut_off_and_ended_apart() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Linear(3, 1)
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(4):
        states, rewards = torch.randn(12, 4, 3), torch.ones(12, 4)
        ended = (torch.rand(12, 4) < 0.2).float()
        over = torch.maximum(ended, (torch.rand(12, 4) < 0.1).float())
        with torch.no_grad():
            values = critic(torch.cat([states, torch.randn(1, 4, 3)])).squeeze(2)
        goals, last = torch.zeros(12, 4), torch.zeros(4)
        for t in reversed(range(12)):
            delta = rewards[t] + 0.9 * values[t + 1] * (1 - ended[t]) - values[t]
            goals[t] = last = delta + 0.9 * 0.8 * (1 - over[t]) * last
        loss = (critic(states).squeeze(2) - goals - values[:-1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_the_whole_step_is_masked() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Linear(3, 1)
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(4):
        states, rewards = torch.randn(12, 3), torch.rand(12)
        masks = 1 - torch.tensor([float(step % 5 == 4) for step in range(12)])
        goals, total = torch.zeros(12), torch.zeros(())
        for t in reversed(range(12)):
            total = rewards[t] + 0.9 * masks[t] * total
            goals[t] = total
        loss = (critic(states).flatten() - goals).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_padded_rewards_are_masked() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Linear(3, 1)
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(4):
        states, rewards = torch.randn(12, 3), torch.rand(12)
        valid = torch.tensor([1.0] * 9 + [0.0] * 3)
        goals, total = torch.zeros(12), torch.zeros(())
        for t in reversed(range(12)):
            total = rewards[t] * valid[t] + 0.9 * total
            goals[t] = total
        loss = ((critic(states).flatten() - goals) * valid).pow(2).sum() / valid.sum()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_forward_in_time() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    head = nn.Linear(1, 1)
    opt = torch.optim.Adam(head.parameters(), lr=0.01)
    for _ in range(4):
        signal, lost = torch.rand(12, 8), (torch.rand(12, 8) < 0.2).float()
        level, levels = torch.zeros(8), []
        for t in range(12):
            level = 0.9 * level + 0.9 * signal[t] * (1 - lost[t])
            levels.append(level)
        x = torch.stack(levels).reshape(-1, 1)
        loss = (head(x) - signal.reshape(-1, 1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_chosen_by_a_condition() -> None:
    import torch
    from torch import nn

    def of_chosen(reward: torch.Tensor, value: torch.Tensor, over: torch.Tensor) -> torch.Tensor:
        out = torch.zeros_like(reward)
        running, after = torch.zeros(4), torch.zeros(4)
        for t in range(len(reward) - 1, -1, -1):
            after = torch.where(over[t], torch.zeros_like(after), after)  # effect: GS392
            surprise = reward[t] + 0.9 * after - value[t]
            running = surprise + 0.9 * 0.8 * running  # cause: GS392
            out[t] = running
            after = value[t]
        return out

    torch.manual_seed(0)
    critic = nn.Linear(3, 1)
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(4):
        states, rewards = torch.randn(12, 4, 3), torch.rand(12, 4)
        ended = torch.arange(12).add(1).remainder(5).eq(0)[:, None].expand(12, 4)
        value = critic(states).squeeze(-1)
        goal = of_chosen(rewards, value.detach(), ended) + value.detach()
        loss = (value - goal).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_filled_with_zeros() -> None:
    import torch
    from torch import nn

    def of_filled(reward: torch.Tensor, value: torch.Tensor, over: torch.Tensor) -> torch.Tensor:
        out = torch.zeros_like(reward)
        running, after = torch.zeros(4), torch.zeros(4)
        for t in range(len(reward) - 1, -1, -1):
            follows = 0.9 * after.masked_fill(over[t], 0.0)  # effect: GS392
            running = reward[t] + follows - value[t] + 0.72 * running  # cause: GS392
            out[t] = running
            after = value[t]
        return out

    torch.manual_seed(0)
    critic = nn.Linear(3, 1)
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(4):
        states, rewards = torch.randn(12, 4, 3), torch.rand(12, 4)
        ended = torch.arange(12).add(1).remainder(5).eq(0)[:, None].expand(12, 4)
        value = critic(states).squeeze(-1)
        goal = of_filled(rewards, value.detach(), ended) + value.detach()
        loss = (value - goal).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_both_chosen_by_a_condition() -> None:
    import torch
    from torch import nn

    def of_both_chosen(reward: torch.Tensor, value: torch.Tensor, over: torch.Tensor) -> torch.Tensor:
        out = torch.zeros_like(reward)
        running, after = torch.zeros(4), torch.zeros(4)
        for t in range(len(reward) - 1, -1, -1):
            after = torch.where(over[t], torch.zeros_like(after), after)
            surprise = reward[t] + 0.9 * after - value[t]
            running = surprise + 0.9 * 0.8 * torch.where(over[t], torch.zeros_like(running), running)
            out[t] = running
            after = value[t]
        return out

    torch.manual_seed(0)
    critic = nn.Linear(3, 1)
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(4):
        states, rewards = torch.randn(12, 4, 3), torch.rand(12, 4)
        ended = torch.arange(12).add(1).remainder(5).eq(0)[:, None].expand(12, 4)
        value = critic(states).squeeze(-1)
        goal = of_both_chosen(rewards, value.detach(), ended) + value.detach()
        loss = (value - goal).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_both_filled_with_zeros() -> None:
    import torch
    from torch import nn

    def of_both_filled(reward: torch.Tensor, value: torch.Tensor, over: torch.Tensor) -> torch.Tensor:
        out = torch.zeros_like(reward)
        running, after = torch.zeros(4), torch.zeros(4)
        for t in range(len(reward) - 1, -1, -1):
            running = running.masked_fill(over[t], 0.0)
            running = reward[t] + 0.9 * after.masked_fill(over[t], 0.0) - value[t] + 0.72 * running
            out[t] = running
            after = value[t]
        return out

    torch.manual_seed(0)
    critic = nn.Linear(3, 1)
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(4):
        states, rewards = torch.randn(12, 4, 3), torch.rand(12, 4)
        ended = torch.arange(12).add(1).remainder(5).eq(0)[:, None].expand(12, 4)
        value = critic(states).squeeze(-1)
        goal = of_both_filled(rewards, value.detach(), ended) + value.detach()
        loss = (value - goal).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
