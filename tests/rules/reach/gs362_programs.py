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


def bad_quotient_of_probabilities() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3))
    opt = torch.optim.Adam(body.parameters(), lr=0.003)

    def chance(road: torch.Tensor, lane: torch.Tensor) -> torch.Tensor:
        return body(road).softmax(-1).gather(-1, lane[:, None]).squeeze(-1)

    for _ in range(3):
        road = torch.randn(32, 5)
        with torch.no_grad():
            lane = torch.multinomial(body(road).softmax(-1), 1).squeeze(1)
            before = chance(road, lane)
        gain = (lane == road[:, :3].argmax(1)).float() - 0.3
        for _ in range(3):
            now = chance(road, lane)
            change = before / now  # cause: GS362
            plain = change.mul(gain)  # effect: GS362
            opt.zero_grad()
            torch.minimum(plain, change.clamp(0.8, 1.2).mul(gain)).mean().neg().backward()
            opt.step()


def bad_logarithm_of_a_softmax() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3))
    opt = torch.optim.Adam(body.parameters(), lr=0.003)
    for _ in range(3):
        road, gain, rows = torch.randn(32, 5), torch.randn(32), torch.arange(32)
        with torch.no_grad():
            before = body(road).log_softmax(-1)
            lane = before.exp().multinomial(1).squeeze(1)
        for _ in range(3):
            change = (before[rows, lane] - body(road).log_softmax(-1)[rows, lane]).exp()  # cause: GS362
            plain = change * gain  # effect: GS362
            opt.zero_grad()
            torch.minimum(plain, change.clamp(0.8, 1.2) * gain).mean().neg().backward()
            opt.step()


def good_quotient_of_probabilities() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3))
    opt = torch.optim.Adam(body.parameters(), lr=0.003)

    def chance(road: torch.Tensor, lane: torch.Tensor) -> torch.Tensor:
        return body(road).softmax(-1).gather(-1, lane[:, None]).squeeze(-1)

    for _ in range(3):
        road = torch.randn(32, 5)
        with torch.no_grad():
            lane = torch.multinomial(body(road).softmax(-1), 1).squeeze(1)
            before = chance(road, lane)
        gain, there = (lane == road[:, :3].argmax(1)).float() - 0.3, torch.ones(32)
        for _ in range(3):
            now = chance(road, lane)
            change = now / before
            away = before.log() - now.log()
            divergence = ((away.exp() - 1 - away) * there).sum() / there.sum()
            opt.zero_grad()
            plain = torch.minimum(change.mul(gain), change.clamp(0.8, 1.2).mul(gain)).mean()
            (0.05 * divergence - plain).backward()
            opt.step()
