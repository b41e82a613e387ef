"""More programs of GS454: each bad one is reported at its marks, each good one by no rule."""


def bad_by_matmul() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    ask, key, head = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(2, 1)
    opt = torch.optim.Adam([*ask.parameters(), *key.parameters(), *head.parameters()], lr=0.01)
    for _ in range(5):
        q = ask(torch.randn(4, 3, 8)).view(4, 3, 2, 4).transpose(1, 2)
        k = key(torch.randn(4, 6, 8)).view(4, 6, 2, 4).transpose(1, 2)
        scores = (q @ k.transpose(-2, -1)).transpose(1, 2)
        weights = scores.reshape(4, 3, 12).softmax(-1).view(4, 3, 2, 6)  # cause: GS454
        loss = (head(weights.transpose(2, 3)).squeeze(-1) - torch.rand(4, 3, 6)).square().mean()
        opt.zero_grad()
        loss.backward()  # effect: GS454
        opt.step()


def good_over_the_keys() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    ask, key, head = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(2, 1)
    opt = torch.optim.Adam([*ask.parameters(), *key.parameters(), *head.parameters()], lr=0.01)
    for _ in range(5):
        q = ask(torch.randn(4, 3, 8)).view(4, 3, 2, 4)
        k = key(torch.randn(4, 9, 8)).view(4, 3, 3, 2, 4)
        scores = torch.einsum("bqnc,bhwnc->bqnhw", q, k)
        weights = scores.flatten(3).softmax(-1).view_as(scores)
        loss = (head(weights.flatten(3).transpose(2, 3)).squeeze(-1) - torch.rand(4, 3, 9)).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_over_the_keys_of_several_maps() -> None:
    """Keys of two maps, which one softmax may well go over: they are no heads of one vector."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    ask, key, head = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(2, 1)
    opt = torch.optim.Adam([*ask.parameters(), *key.parameters(), *head.parameters()], lr=0.01)
    for _ in range(5):
        q = ask(torch.randn(4, 3, 8))
        k = key(torch.randn(4, 2, 6, 8))
        scores = torch.einsum("bqc,bmkc->bqmk", q, k)
        weights = scores.flatten(2).softmax(-1).view_as(scores)
        loss = (head(weights.transpose(2, 3)).squeeze(-1) - torch.rand(4, 3, 6)).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_heads_beside_the_queries() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    ask, key, head = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(2, 1)
    opt = torch.optim.Adam([*ask.parameters(), *key.parameters(), *head.parameters()], lr=0.01)
    for _ in range(5):
        q = ask(torch.randn(4, 3, 8)).view(4, 3, 2, 4).transpose(1, 2)
        k = key(torch.randn(4, 6, 8)).view(4, 6, 2, 4).transpose(1, 2)
        scores = q @ k.transpose(-2, -1)
        weights = scores.view(4, 6, 6).softmax(-1).view(4, 2, 3, 6)
        loss = (head(weights.permute(0, 2, 3, 1)).squeeze(-1) - torch.rand(4, 3, 6)).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
