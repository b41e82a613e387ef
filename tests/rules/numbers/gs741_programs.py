"""More programs of GS741: each bad one is reported at its marks, each good one by no rule."""


def bad_negatives_summed_before() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    center, context = nn.Embedding(40, 6), nn.Embedding(40, 6)
    opt = torch.optim.Adam([*center.parameters(), *context.parameters()], lr=0.01)
    for _ in range(4):
        word, near, far = torch.randint(40, (16,)), torch.randint(40, (16,)), torch.randint(40, (16, 5))
        v = center(word)
        positive = (v * context(near)).sum(dim=1)
        negative = torch.bmm(context(far), v.unsqueeze(2)).squeeze(2)
        summed = negative.sum(dim=1)  # cause: GS741
        both = nn.functional.logsigmoid(positive) + nn.functional.logsigmoid(-summed)  # effect: GS741
        loss = -both.mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_negatives_summed_in_view() -> None:
    import torch
    from torch import nn

    class SkipGram(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.v, self.u = nn.Embedding(40, 6), nn.Embedding(40, 6)

        def forward(self, word: torch.Tensor, near: torch.Tensor, far: torch.Tensor) -> torch.Tensor:
            v = self.v(word)
            score = torch.log(torch.sigmoid((self.u(near) * v).sum(-1, keepdim=True)))
            wrong = torch.sum(torch.einsum("bkd,bd->bk", self.u(far), v), 1).view(-1, 1)  # cause: GS741
            return -(score + torch.log(torch.sigmoid(-wrong))).mean()  # effect: GS741

    torch.manual_seed(0)
    model = SkipGram()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        loss = model(torch.randint(40, (16,)), torch.randint(40, (16,)), torch.randint(40, (16, 5)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_means_of_rewards_compared() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    reward = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(reward.parameters(), lr=0.01)
    chosen, rejected = torch.randn(64, 4) + 0.5, torch.randn(64, 4)
    for rows in torch.randperm(64).split(16):
        better, worse = reward(chosen[rows]).squeeze(1), reward(rejected[rows]).squeeze(1)
        loss = -nn.functional.logsigmoid(better.mean() - worse.mean())  # cause: GS741  # effect: GS741
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_one_pair_in_each_step() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    users, items = nn.Embedding(40, 4), nn.Embedding(30, 4)
    opt = torch.optim.SGD([*users.parameters(), *items.parameters()], lr=0.1)
    for user in torch.randperm(40)[:6]:
        u, p, n = users(user), items(torch.randint(30, ())), items(torch.randint(30, ()))
        loss = -nn.functional.logsigmoid((u * p).sum() - (u * n).sum())
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_tokens_of_one_pair_summed() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(20, 8), nn.Linear(8, 20))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)

    def score(tokens: torch.Tensor) -> torch.Tensor:
        said = model(tokens[:-1]).log_softmax(-1)
        return said.gather(1, tokens[1:].unsqueeze(1)).squeeze(1).sum()

    for _ in range(4):
        chosen, rejected = torch.randint(20, (9,)), torch.randint(20, (7,))
        loss = -nn.functional.logsigmoid(0.1 * (score(chosen) - score(rejected)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_negatives_summed_behind() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    center, context = nn.Embedding(40, 6), nn.Embedding(40, 6)
    opt = torch.optim.Adam([*center.parameters(), *context.parameters()], lr=0.01)
    for _ in range(4):
        word, near, far = torch.randint(40, (16,)), torch.randint(40, (16,)), torch.randint(40, (16, 5))
        v = center(word)
        positive = (v * context(near)).sum(dim=1)
        negative = torch.bmm(context(far), v.unsqueeze(2)).squeeze(2)
        each = nn.functional.logsigmoid(positive) + nn.functional.logsigmoid(-negative).sum(dim=1)
        opt.zero_grad()
        (-each.mean()).backward()
        opt.step()


def good_words_of_the_context_summed() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    center, context = nn.Embedding(40, 6), nn.Embedding(40, 6)
    opt = torch.optim.Adam([*center.parameters(), *context.parameters()], lr=0.01)
    for _ in range(4):
        around, word, other = torch.randint(40, (16, 5)), torch.randint(40, (16,)), torch.randint(40, (16,))
        scores = torch.bmm(context(around), center(word).unsqueeze(2)).squeeze(2).sum(1)
        wrong = torch.bmm(context(around), center(other).unsqueeze(2)).squeeze(2).sum(1)
        loss = -(nn.functional.logsigmoid(scores) + nn.functional.logsigmoid(-wrong)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_segments_compared() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    reward = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(reward.parameters(), lr=0.01)
    walks = torch.randn(12, 10, 4)
    for one, other in torch.randperm(12).view(6, 2):
        better, worse = reward(walks[one]).sum(), reward(walks[other]).sum()
        loss = -nn.functional.logsigmoid(better - worse)
        opt.zero_grad()
        loss.backward()
        opt.step()
