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


def bad_layer_that_writes_in_place() -> None:
    import torch
    from torch import nn

    class Fuse(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.shares = nn.Parameter(torch.ones(2))
            self.positive = nn.ReLU(inplace=True)

        def forward(self, one: torch.Tensor, two: torch.Tensor) -> torch.Tensor:
            shares = self.positive(self.shares)  # cause: GS105
            return shares[0] * one + shares[1] * two

    Fuse()(torch.ones(3), torch.ones(3)).sum().backward()


def bad_layer_whose_result_is_dropped() -> None:  # fix: by hand
    import torch
    from torch import nn

    shares = torch.ones(2, requires_grad=True)
    nn.ReLU(inplace=True)(shares)  # cause: GS105
    shares.sum().backward()


def good_layer_is_given_a_copy() -> None:
    import torch
    from torch import nn

    shares = torch.ones(2, requires_grad=True)
    (nn.ReLU(inplace=True)(shares.clone()) * torch.tensor([1.0, 2.0])).sum().backward()
