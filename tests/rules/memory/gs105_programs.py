"""More programs of GS105: each bad one is reported at its marks, each good one by no rule."""


def bad_initialisation() -> None:
    from torch import nn

    model = nn.Linear(3, 2)
    model.weight.fill_(0.5)  # cause: GS105


def bad_element() -> None:  # fix: by hand
    import torch

    x = torch.zeros(3, requires_grad=True)
    x[0] = 1.0  # cause: GS105


def good_initialisation() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 2)
    nn.init.xavier_uniform_(model.weight)
    nn.init.zeros_(model.bias)
    model(torch.ones(1, 3)).sum().backward()


def good_copy() -> None:
    import torch

    x = torch.zeros(3, requires_grad=True)
    y = x.clone()
    y[0] = 1.0
    (y * y).sum().backward()


def good_computed() -> None:
    import torch

    w = torch.ones(3, requires_grad=True)
    h = w * 2
    h += 1
    h.sum().backward()
