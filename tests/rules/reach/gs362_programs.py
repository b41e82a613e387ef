"""More programs of GS362: each bad one is reported at its marks, each good one by no rule."""


def good_divergence_from_a_reference() -> None:
    import torch
    from torch import nn
    from torch.distributions import Categorical

    torch.manual_seed(0)
    policy, reference = nn.Linear(4, 3), nn.Linear(4, 3)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(3):
        states, advantage = torch.randn(32, 4), torch.randn(32)
        chances = Categorical(logits=policy(states))
        actions = chances.sample()
        logs = chances.log_prob(actions)
        with torch.no_grad():
            known = Categorical(logits=reference(states)).log_prob(actions)
        apart = torch.exp(known - logs) - (known - logs) - 1
        loss = (0.1 * apart - logs * advantage).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
