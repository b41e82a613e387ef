"""More programs of GS780: each bad one is reported at its marks, each good one by no rule."""


def good_weights_divided_by_their_sum() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    gate, parts = nn.Linear(4, 3), nn.Linear(4, 3)
    opt = torch.optim.SGD([*gate.parameters(), *parts.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4)
        weights = torch.softmax(gate(x), dim=1)
        weights = weights / weights.sum(dim=1, keepdim=True)
        opt.zero_grad()
        (weights * parts(x)).sum(dim=1).sub(1).pow(2).mean().backward()
        opt.step()


def good_masked_weights_summed() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    scorer = nn.Linear(4, 3)
    opt = torch.optim.SGD(scorer.parameters(), lr=0.1)
    allowed = torch.tensor([1.0, 1.0, 0.0])
    for _ in range(3):
        chance = (torch.softmax(scorer(torch.randn(8, 4)), dim=1) * allowed).sum(dim=1)
        opt.zero_grad()
        (1 - chance).mean().backward()
        opt.step()


def bad_choices_less_the_softmax() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.SGD(policy.parameters(), lr=0.1)
    for _ in range(4):
        output = F.softmax(policy(torch.randn(8, 4)), dim=1)
        moves = torch.multinomial(output.detach(), 1).squeeze(1)
        reward = torch.randn(8)
        action = F.one_hot(moves, 3).float()
        loss = ((action - output) * reward.unsqueeze(1)).sum()  # cause: GS780
        opt.zero_grad()
        loss.backward()  # effect: GS780
        opt.step()


def bad_each_row_times_its_reward() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(4, 3), nn.LogSoftmax(dim=-1))
    opt = torch.optim.Adam(policy.parameters(), lr=0.1)
    for _ in range(4):
        output = policy(torch.randn(8, 4)).exp()
        reward = torch.randn(8, 1)
        loss = -(output * reward).mean()  # cause: GS780
        opt.zero_grad()
        loss.backward()  # effect: GS780
        opt.step()


def good_choices_weigh_the_softmax() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.SGD(policy.parameters(), lr=0.1)
    for _ in range(4):
        output = F.softmax(policy(torch.randn(8, 4)), dim=1)
        moves = torch.multinomial(output.detach(), 1).squeeze(1)
        reward = torch.randn(8)
        action = F.one_hot(moves, 3).float()
        opt.zero_grad()
        (-(action * output).sum(dim=1).log() * reward).sum().backward()
        opt.step()


def good_a_reward_for_each_choice() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.SGD(policy.parameters(), lr=0.1)
    for _ in range(4):
        output = torch.softmax(policy(torch.randn(8, 4)), dim=1)
        worth = torch.rand(8, 3)
        opt.zero_grad()
        ((1 - output) * worth).sum().backward()
        opt.step()


def good_distance_to_the_labels() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        output = torch.softmax(model(torch.randn(8, 4)), dim=1)
        labels = F.one_hot(torch.randint(3, (8,)), 3).float()
        opt.zero_grad()
        ((labels - output) ** 2).mean().backward()
        opt.step()


def good_complements_divided_by_their_sum() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, parts = nn.Linear(4, 3), nn.Linear(4, 3)
    opt = torch.optim.SGD([*model.parameters(), *parts.parameters()], lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 4)
        output = torch.softmax(model(x), dim=1)
        weights = (1 - output) / (1 - output).sum(dim=1, keepdim=True)
        opt.zero_grad()
        (weights * parts(x)).sum(dim=1).sub(1).pow(2).mean().backward()
        opt.step()


def bad_mean_over_the_keys_behind_the_heads() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    qk, say = nn.Linear(6, 12), nn.Linear(6, 3)
    opt = torch.optim.Adam([*qk.parameters(), *say.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(8, 5, 6)
        q, k = qk(x).view(8, 5, 2, 2, 3).permute(2, 0, 3, 1, 4)
        attention = torch.softmax(q @ k.mT, dim=-1)
        importance = attention.mean(dim=1).mean(dim=-1)  # cause: GS780
        loss = nn.functional.cross_entropy(say((x * importance[..., None]).sum(1)), torch.randint(3, (8,)))
        opt.zero_grad()
        loss.backward()  # effect: GS780
        opt.step()


def good_mean_over_the_queries_behind_the_heads() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    qk, say = nn.Linear(6, 12), nn.Linear(6, 3)
    opt = torch.optim.Adam([*qk.parameters(), *say.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(8, 5, 6)
        q, k = qk(x).view(8, 5, 2, 2, 3).permute(2, 0, 3, 1, 4)
        attention = torch.softmax(q @ k.mT, dim=-1)
        importance = attention.mean(dim=1, keepdim=True).mean(dim=-2).squeeze(1)
        loss = nn.functional.cross_entropy(say((x * importance[..., None]).sum(1)), torch.randint(3, (8,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_mean_of_the_largest_over_the_heads() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    gate, say = nn.Linear(6, 4), nn.Linear(4, 3)
    opt = torch.optim.Adam([*gate.parameters(), *say.parameters()], lr=0.01)
    for _ in range(3):
        weights = torch.softmax(gate(torch.randn(8, 5, 6)), dim=-1)
        used = weights.mean(1)
        balance = (used * used.mean(0)).sum(-1).mean()
        loss = nn.functional.cross_entropy(say(used), torch.randint(3, (8,))) + 0.1 * balance
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_einsum_with_the_letter_of_the_questions() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    ask, offer, give, drop = *(nn.Linear(4, 8) for _ in range(3)), nn.Dropout(0.1)
    opt = torch.optim.Adam([p for m in (ask, offer, give) for p in m.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(12, 5, 4)
        looks = torch.einsum("bqd,bkd->bqk", ask(x), offer(x)).div(8**0.5).softmax(-1)
        heard = torch.einsum("bqk,bqd->bqd", drop(looks), give(x))  # cause: GS780
        opt.zero_grad()
        heard.tanh().mean(1).pow(2).mean().backward()  # effect: GS780
        opt.step()


def good_einsum_over_what_is_weighed() -> None:
    """Weights whose dimension is summed with the values, and a softmax over heads that is summed over places."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    ask, offer, give = (nn.Linear(4, 8) for _ in range(3))
    opt = torch.optim.Adam([p for m in (ask, offer, give) for p in m.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(12, 5, 4)
        scores = torch.einsum("bqd,bkd->bqk", ask(x), offer(x)).div(8**0.5)
        heard = torch.einsum("bqk,bkd->bqd", scores.softmax(-1), give(x))
        counted = torch.einsum("bqk,bqd->bqd", scores.softmax(1), give(x))
        opt.zero_grad()
        (heard.tanh().mean(1).pow(2).mean() + counted.tanh().mean()).backward()
        opt.step()
