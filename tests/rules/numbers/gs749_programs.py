"""More programs of GS749: each bad one is reported at its marks, each good one by no rule."""


def bad_shares_for_weights() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    labels = torch.multinomial(torch.tensor([0.6, 0.3, 0.1]), 300, replacement=True)
    weight = labels.bincount(minlength=3) / 300  # cause: GS749
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for chosen in torch.randperm(300).split(60):
        loss = nn.functional.cross_entropy(model(torch.randn(60, 4)), labels[chosen], weight)  # effect: GS749
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_weights_of_equal_classes() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    labels = torch.arange(300) % 3
    weight = torch.tensor([1.0, 2.0, 5.0])  # what a mistake costs
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for chosen in torch.randperm(300).split(60):
        loss = nn.functional.cross_entropy(model(torch.randn(60, 4)), labels[chosen], weight)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_shares_turned_round() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    labels = torch.multinomial(torch.tensor([0.6, 0.3, 0.1]), 300, replacement=True)
    weight = 300 / (3 * labels.bincount(minlength=3))
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for chosen in torch.randperm(300).split(60):
        loss = nn.functional.cross_entropy(model(torch.randn(60, 4)), labels[chosen], weight)
        opt.zero_grad()
        loss.backward()
        opt.step()
