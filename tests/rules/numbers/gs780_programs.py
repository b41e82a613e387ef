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
