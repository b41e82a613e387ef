"""More programs of GS463: each bad one is reported at its marks, each good one by no rule."""


def bad_in_a_function_of_scores() -> None:
    import torch
    from torch import nn

    def log_chance(z: torch.Tensor) -> torch.Tensor:
        return z.sigmoid().clamp_min(1e-7).log()

    def pair_loss(scores: torch.Tensor) -> torch.Tensor:
        same = torch.eye(len(scores))
        linked = log_chance(scores)  # effect: GS463
        apart = log_chance(torch.rsub(scores, 1))  # cause: GS463
        kept = (same * linked).sum() / len(scores)
        return -kept - ((1 - same) * apart).sum() / (1 - same).sum()

    torch.manual_seed(0)
    inner, outer = nn.Embedding(30, 10), nn.Embedding(30, 10)
    opt = torch.optim.Adam([*inner.parameters(), *outer.parameters()], lr=0.02)
    for _ in range(3):
        words = torch.randperm(30)[:12]
        loss = pair_loss(inner(words) @ outer(words).T)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_the_negative_and_one() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = (x[:, :1] > 0).float()
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        score = model(x)
        there = nn.functional.logsigmoid(score)  # effect: GS463
        other = -score + 1  # cause: GS463
        loss = -(y * there + (1 - y) * nn.functional.logsigmoid(other)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_taken_from_ones() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = (x[:, :1] > 0).float()
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        score = model(x)
        there = torch.sigmoid(score).clamp_min(1e-6).log()  # effect: GS463
        away = torch.sigmoid(torch.ones_like(score) - score).clamp_min(1e-6).log()  # cause: GS463
        loss = -(y * there + (1 - y) * away).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_one_less_a_probability() -> None:
    import torch
    from torch import nn

    def log_of(chance: torch.Tensor) -> torch.Tensor:
        return chance.clamp_min(1e-7).log()

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = (x[:, :1] > 0).float()
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        score = model(x)
        chance = score.sigmoid()
        margin = torch.relu(1 - score * (2 * y - 1)).mean()
        away = log_of(torch.rsub(chance, 1))
        loss = -(y * log_of(chance) + (1 - y) * away).mean() + 0.1 * margin
        opt.zero_grad()
        loss.backward()
        opt.step()
