"""More programs of GS777: each bad one is reported at its marks, each good one by no rule."""


def bad_large_scores_behind_a_causal_mask() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    query, key, value = nn.Linear(4, 8), nn.Linear(4, 8), nn.Linear(4, 3)
    opt = torch.optim.Adam([*query.parameters(), *key.parameters(), *value.parameters()], lr=1e-3)
    earlier, low = torch.ones(6, 6).tril() == 1, torch.tensor(-1e4)
    for _ in range(3):
        x = 900 + 150 * torch.randn(8, 6, 4)
        scores = query(x) @ key(x).transpose(1, 2)
        scores = torch.where(earlier, scores, low)  # cause: GS777
        weights = nn.functional.softmax(scores, dim=-1)  # effect: GS777
        loss = nn.functional.cross_entropy(
            (weights @ value(x / 900)).flatten(0, 1), torch.randint(0, 3, (48,))
        )
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_actions_below_minus_one() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 5)
    opt = torch.optim.SGD(policy.parameters(), lr=0.1)
    for _ in range(3):
        states, goods = torch.randn(8, 4), torch.randint(2, 6, (8, 1))
        scores = policy(states)
        scores[torch.arange(5) >= goods] = -1.0  # cause: GS777
        logs = scores.log_softmax(-1)  # effect: GS777
        loss = -logs.gather(1, torch.zeros(8, 1, dtype=torch.long)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_rows_that_are_masked_wholly() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    score, head = nn.Linear(4, 1), nn.Linear(4, 2)
    opt = torch.optim.SGD([*score.parameters(), *head.parameters()], lr=0.1)
    lengths = torch.tensor([0, 1, 2, 3, 4, 5, 6, 6]).unsqueeze(1)
    for _ in range(3):
        x = torch.randn(8, 6, 4)
        mask = (torch.arange(6) < lengths).float()
        scores = score(x)
        scores = scores.masked_fill(mask.unsqueeze(-1) == 0, value=-2)  # cause: GS777
        weights = torch.softmax(scores, 1)  # effect: GS777
        loss = head((weights * x).sum(1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_numbers_that_are_low_enough() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    score, head = nn.Linear(4, 1), nn.Linear(4, 2)
    opt = torch.optim.SGD([*score.parameters(), *head.parameters()], lr=0.1)
    for number in (-100.0, -1e4, -1e9, torch.finfo(torch.float32).min):
        x, lengths = torch.randn(8, 6, 4), torch.randint(0, 6, (8, 1))
        padded = torch.arange(6) >= lengths
        scores = score(x).squeeze(-1)
        weights = torch.softmax(scores.masked_fill(padded, number), dim=1)
        chosen = torch.where(padded, torch.tensor(number), scores).softmax(1)
        loss = head(((weights + chosen).unsqueeze(-1) * x).sum(1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_rows_of_padding_behind_two_masks() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    query, key, value = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 3)
    opt = torch.optim.SGD([*query.parameters(), *key.parameters(), *value.parameters()], lr=0.1)
    later = torch.ones(6, 6).triu(1) == 1
    for _ in range(3):
        x, missing = torch.randn(8, 6, 4), torch.randint(0, 4, (8, 1))
        padded = torch.arange(6) < missing  # on the left: their own rows see padding alone
        scores = query(x) @ key(x).transpose(1, 2)
        scores = scores.masked_fill(later, -1e9).masked_fill(padded.unsqueeze(1), -1e4)
        mixed = torch.softmax(scores, dim=-1) @ value(x)
        loss = nn.functional.cross_entropy(mixed[~padded], torch.randint(0, 3, (int((~padded).sum()),)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_masked_once_more_after_the_softmax() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    score, head = nn.Linear(4, 1), nn.Linear(4, 2)
    opt = torch.optim.SGD([*score.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        x, lengths = torch.randn(8, 6, 4), torch.randint(2, 6, (8, 1))
        padded = torch.arange(6) >= lengths
        weights = torch.softmax(score(x).squeeze(-1).masked_fill(padded, -1.0), dim=1)
        weights = weights.masked_fill(padded, 0.0)
        weights = weights / weights.sum(1, keepdim=True)
        loss = head((weights.unsqueeze(-1) * x).sum(1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_a_floor_under_the_scores() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 6)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    y = torch.randint(0, 6, (8,))
    for _ in range(3):
        scores = model(torch.randn(8, 4))
        floored = torch.where(scores < -0.5, -0.5, scores)  # no mask: it is of the scores themselves
        gone = scores.masked_fill(torch.rand(8, 6) < 0.1, -1.0)  # at random
        logs = floored.log_softmax(1) + gone.log_softmax(1)
        loss = nn.functional.nll_loss(logs, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
