"""More programs of GS742: each bad one is reported at its marks, each good one by no rule."""


def bad_actions_that_are_not_allowed() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 5)
    opt = torch.optim.SGD(policy.parameters(), lr=0.1)
    for _ in range(3):
        states, goods = torch.randn(8, 4), torch.randint(2, 6, (8, 1))
        allowed = torch.arange(5) < goods
        logs = torch.log_softmax(allowed * policy(states), dim=-1)  # cause: GS742 # effect: GS742
        loss = -logs.gather(1, torch.zeros(8, 1, dtype=torch.long)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_filled_with_zero() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    query, key, value = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)
    opt = torch.optim.SGD([*query.parameters(), *key.parameters(), *value.parameters()], lr=0.1)
    later = torch.ones(6, 6).triu(1) == 1
    for _ in range(3):
        x = torch.randn(8, 6, 4)
        scores = query(x) @ key(x).transpose(1, 2)
        scores = scores.masked_fill(later, 0.0) / 2  # cause: GS742
        weights = nn.functional.softmax(scores, dim=-1)  # effect: GS742
        loss = (weights @ value(x)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_whole_numbers_of_a_loader() -> None:  # fix: by hand
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    score, head = nn.Linear(4, 1), nn.Linear(4, 2)
    opt = torch.optim.SGD([*score.parameters(), *head.parameters()], lr=0.1)
    masks = torch.tensor([[1, 1, 1, 1, 0, 0], [1, 1, 1, 0, 0, 0]]).repeat(8, 1)
    for x, mask in DataLoader(TensorDataset(torch.randn(16, 6, 4), masks), batch_size=8):
        scores = torch.mul(score(x).squeeze(-1), mask)  # cause: GS742
        weights = scores.softmax(1)  # effect: GS742
        loss = head((weights.unsqueeze(-1) * x).sum(1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_masked_once_more_after_it() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    score, head = nn.Linear(4, 1), nn.Linear(4, 2)
    opt = torch.optim.SGD([*score.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        x, lengths = torch.randn(8, 6, 4), torch.randint(2, 6, (8, 1))
        mask = (torch.arange(6) < lengths).float()
        weights = torch.softmax(score(x).squeeze(-1) * mask, dim=1)
        weights = weights * mask
        weights = weights / (weights.sum(1, keepdim=True) + 1e-13)
        loss = head((weights.unsqueeze(-1) * x).sum(1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_gates_and_drawn_masks() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 6)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    y = torch.randint(0, 6, (8,))
    for _ in range(3):
        scores = model(torch.randn(8, 4))
        dropped = scores * (torch.rand(8, 6) > 0.1).float() / 0.9
        positive = scores * (scores > 0)
        whole = scores * (torch.arange(8) < 6).float().unsqueeze(1)
        loss = sum((nn.functional.cross_entropy(one, y) for one in (dropped, whole)), positive.pow(2).mean())
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_features_masked_before_the_layer() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, score = nn.Linear(4, 8), nn.Linear(8, 1)
    opt = torch.optim.SGD([*body.parameters(), *score.parameters()], lr=0.1)
    for _ in range(3):
        x, lengths = torch.randn(8, 6, 4), torch.randint(2, 6, (8, 1))
        mask = torch.arange(6) < lengths
        h = torch.relu(body(x)) * mask.unsqueeze(-1)
        scores = score(h).squeeze(-1) + torch.where(mask, 0.0, -1e9)
        loss = (torch.softmax(scores, dim=1).unsqueeze(-1) * h).sum(1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_triangle_of_the_scores() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    project, head = nn.Linear(8, 24), nn.Linear(8, 2)
    opt = torch.optim.SGD([*project.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        q, k, v = project(torch.randn(4, 6, 8)).chunk(3, dim=-1)
        scores = q @ k.transpose(1, 2) / 8**0.5
        scores = torch.tril(scores)  # cause: GS742
        weights = scores.softmax(dim=-1)  # effect: GS742
        opt.zero_grad()
        nn.functional.cross_entropy(head((weights @ v).mean(1)), torch.randint(0, 2, (4,))).backward()
        opt.step()


def bad_actions_written_to() -> None:
    import torch
    from torch import nn
    from torch.distributions import Categorical

    torch.manual_seed(0)
    policy = nn.Linear(4, 5)
    opt = torch.optim.SGD(policy.parameters(), lr=0.1)
    for _ in range(3):
        states, legal = torch.randn(16, 4), torch.rand(16, 5) > 0.5
        legal[:, 0] = True
        logits = policy(states).clone()
        logits[~legal] = 0  # cause: GS742
        choice = Categorical(logits=logits)  # effect: GS742
        loss = -(choice.log_prob(choice.sample()) * torch.randn(16)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_where() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    score, head = nn.Linear(4, 1), nn.Linear(4, 2)
    opt = torch.optim.SGD([*score.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        x, lengths = torch.randn(8, 6, 4), torch.randint(2, 6, (8, 1))
        real = torch.arange(6) < lengths
        scores = torch.where(real, score(x).squeeze(2), 0.0)  # cause: GS742
        weights = torch.softmax(scores, dim=1)  # effect: GS742
        opt.zero_grad()
        pooled = (weights.unsqueeze(2) * x).sum(1)
        nn.functional.cross_entropy(head(pooled), torch.randint(0, 2, (8,))).backward()
        opt.step()


def good_triangle_before_a_mask() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    project, head = nn.Linear(8, 24), nn.Linear(8, 2)
    opt = torch.optim.SGD([*project.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        q, k, v = project(torch.randn(4, 6, 8)).chunk(3, dim=-1)
        scores = torch.tril(q @ k.transpose(1, 2) / 8**0.5)
        weights = scores.masked_fill(scores == 0, float("-inf")).softmax(dim=-1)
        opt.zero_grad()
        nn.functional.cross_entropy(head((weights @ v).mean(1)), torch.randint(0, 2, (4,))).backward()
        opt.step()


def good_triangle_cut_again() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    project, head = nn.Linear(8, 24), nn.Linear(8, 2)
    opt = torch.optim.SGD([*project.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        q, k, v = project(torch.randn(4, 6, 8)).chunk(3, dim=-1)
        weights = torch.tril(torch.tril(q @ k.transpose(1, 2) / 8**0.5).softmax(dim=-1))
        weights = weights / weights.sum(-1, keepdim=True)
        opt.zero_grad()
        nn.functional.cross_entropy(head((weights @ v).mean(1)), torch.randint(0, 2, (4,))).backward()
        opt.step()
