"""More programs of GS767: each bad one is reported at its marks, each good one by no rule."""


def bad_pairs() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    left, right = torch.randn(64, 6), torch.randn(64, 6)
    same = torch.randint(2, (64,))
    model = nn.Linear(6, 4)
    criterion = nn.CosineEmbeddingLoss(margin=0.2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = criterion(model(left), model(right), same)  # cause: GS767
        loss.backward()  # effect: GS767
        opt.step()


def good_pairs() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    left, right = torch.randn(64, 6), torch.randn(64, 6)
    same = torch.randint(2, (64,)) * 2 - 1
    model = nn.Linear(6, 4)
    criterion = nn.CosineEmbeddingLoss(margin=0.2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = criterion(model(left), model(right), same)
        loss.backward()
        opt.step()


def good_all_alike() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    better, worse = torch.randn(64, 6), torch.randn(64, 6)
    model = nn.Linear(6, 1)
    criterion = nn.MarginRankingLoss(margin=0.5)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = criterion(model(better).squeeze(1), model(worse).squeeze(1), torch.ones(64))
        loss.backward()
        opt.step()
