"""More programs of GS792: each bad one is reported at its marks, each good one by no rule."""


def bad_detached_beside_the_new_in_minibatches() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 2)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    states, advantage = torch.randn(32, 4), torch.randn(32)
    actions = torch.randn(32, 2)
    for _ in range(4):
        for rows in torch.randperm(32).split(16):
            acted = actions[rows]
            new = torch.distributions.Normal(policy(states[rows]), 1.0).log_prob(acted)
            old = torch.distributions.Normal(policy(states[rows]), 1.0).log_prob(acted)  # cause: GS792
            ratio = (new - old.detach()).sum(1).exp()
            clipped = torch.clamp(ratio, min=0.8, max=1.2) * advantage[rows]  # effect: GS792
            loss = -torch.minimum(ratio * advantage[rows], clipped).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()


def good_one_step_a_batch() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(6):
        states, actions, advantage = torch.randn(32, 4), torch.randint(0, 3, (32,)), torch.randn(32)
        new = torch.log_softmax(policy(states), 1).gather(1, actions[:, None]).squeeze(1)
        ratio = torch.exp(new - new.detach())
        loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_minibatches_of_one_pass() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(3):
        states, actions, advantage = torch.randn(32, 4), torch.randint(0, 3, (32,)), torch.randn(32)
        with torch.no_grad():
            old = torch.log_softmax(policy(states), 1).gather(1, actions[:, None]).squeeze(1)
        for rows in torch.randperm(32).split(16):
            new = torch.log_softmax(policy(states[rows]), 1).gather(1, actions[rows, None]).squeeze(1)
            ratio = torch.exp(new - old[rows])
            weight = advantage[rows]
            loss = -torch.min(ratio * weight, ratio.clamp(0.8, 1.2) * weight).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()


def good_advantages_of_few_values() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(6):
        states, actions = torch.randn(32, 4), torch.randint(0, 3, (32,))
        advantage = torch.randint(0, 2, (32,)).float() - 0.5
        new = torch.log_softmax(policy(states), 1).gather(1, actions[:, None]).squeeze(1)
        ratio = torch.exp(new - new.detach())
        loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_same_batch_for_another_policy() -> None:
    import torch
    from torch import nn

    for _ in range(2):
        torch.manual_seed(0)
        policy = nn.Linear(4, 3)
        opt = torch.optim.Adam(policy.parameters(), lr=0.01)
        for _ in range(3):
            states, actions, advantage = torch.randn(32, 4), torch.randint(0, 3, (32,)), torch.randn(32)
            with torch.no_grad():
                old = torch.distributions.Categorical(logits=policy(states)).log_prob(actions)
            new = torch.distributions.Categorical(logits=policy(states)).log_prob(actions)
            ratio = torch.exp(new - old)
            loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()


def bad_less_itself_without_its_graph() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal

    torch.manual_seed(0)
    mean, log_std = nn.Linear(2, 1), nn.Parameter(torch.zeros(1))
    opt = torch.optim.Adam([*mean.parameters(), log_std], lr=0.003)
    for _ in range(3):
        state = torch.randn(64, 2)
        with torch.no_grad():
            force = Normal(mean(state), log_std.exp()).sample()
        gain = -(state.sum(1) + force[:, 0]).square()
        gain = (gain - gain.mean()) / gain.std()
        for _ in range(4):
            logp = Normal(mean(state), log_std.exp()).log_prob(force).sum(-1)
            r = (logp - logp.detach()).exp()  # cause: GS792
            bounded = torch.clip(r, 0.8, 1.2)  # effect: GS792
            loss = -torch.minimum(r * gain, bounded * gain).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
