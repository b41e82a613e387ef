"""More programs of GS751: each bad one is reported at its marks, each good one by no rule."""

from __future__ import annotations


def bad_mean_of_log_probabilities() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(3, 2)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(4):
        log_probs = []
        for _ in range(5):
            chances = torch.distributions.Categorical(logits=policy(torch.randn(3)))
            log_probs.append(chances.log_prob(chances.sample()))
        returns = torch.randn(5)
        chosen = torch.stack(log_probs)
        mean = chosen.mean()
        loss = -(mean * returns).sum()  # cause: GS751
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_criterion_that_takes_the_mean() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, criterion = nn.Linear(3, 1), nn.BCEWithLogitsLoss()
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        x, y, importance = torch.randn(12, 3), torch.rand(12).round(), torch.rand(12)
        loss = criterion(model(x).squeeze(1), y)
        weighted = torch.mean(importance * loss)  # cause: GS751
        opt.zero_grad()
        weighted.backward()
        opt.step()


def good_weights_of_several_losses() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    scales = torch.tensor([0.5, 0.25, 0.25])
    for _ in range(4):
        loss = (model(torch.randn(12, 3)).squeeze(1) - 1).pow(2).mean()
        total = (scales * loss).sum()
        opt.zero_grad()
        total.backward()
        opt.step()


def good_advantage_of_each_action() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(3, 2)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(4):
        chances = torch.distributions.Categorical(logits=policy(torch.randn(5, 3)))
        returns = torch.randn(5)
        loss = -(chances.log_prob(chances.sample()) * (returns - returns.mean())).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_one_return_for_all() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(3, 2)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(4):
        chances = torch.distributions.Categorical(logits=policy(torch.randn(5, 3)))
        total = torch.randn(5).sum()
        loss = -chances.log_prob(chances.sample()).sum() * total
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_focal() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    def focal(scores: torch.Tensor, target: torch.Tensor, gamma: float = 2.0) -> torch.Tensor:
        log_p = -F.cross_entropy(scores, target)  # cause: GS751
        p = torch.exp(log_p)
        return -((1 - p) ** gamma * log_p).mean()  # effect: GS751

    torch.manual_seed(0)
    model = nn.Linear(6, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        focal(model(torch.randn(16, 6)), torch.randint(0, 3, (16,))).backward()
        opt.step()


def good_focal() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = F.cross_entropy(model(torch.randn(16, 6)), torch.randint(0, 3, (16,)), reduction="none")
        opt.zero_grad()
        ((1 - torch.exp(-loss)) ** 2 * loss).mean().backward()
        opt.step()


def good_uncertainty() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, spread = nn.Linear(6, 3), nn.Parameter(torch.zeros(()))
    opt = torch.optim.SGD([*model.parameters(), spread], lr=0.1)
    for _ in range(3):
        loss = nn.functional.cross_entropy(model(torch.randn(16, 6)), torch.randint(0, 3, (16,)))
        opt.zero_grad()
        (torch.exp(-spread) * loss + spread).backward()
        opt.step()
