"""More programs of GS606: each bad one is reported at its marks, each good one by no rule."""


def bad_through_a_helper() -> None:
    import torch
    from torch.autograd import Variable

    def to_var(data: torch.Tensor, volatile: bool = False) -> torch.Tensor:
        return Variable(data, volatile=volatile)

    weight = torch.ones(3, requires_grad=True)
    y = weight * to_var(torch.ones(3), volatile=True)  # cause: GS606
    print(y.requires_grad)


def good_helper_that_is_not_asked() -> None:
    import torch
    from torch.autograd import Variable

    def to_var(data: torch.Tensor, volatile: bool = False) -> torch.Tensor:
        return Variable(data, volatile=volatile)

    weight = torch.ones(3, requires_grad=True)
    assert (weight * to_var(torch.ones(3))).requires_grad
