"""More programs of GS307: each bad one is reported at its marks, each good one by no rule."""


def bad_input_cast_after_it_was_asked() -> None:
    import torch
    from torch import nn

    model, y = nn.Linear(3, 2), torch.zeros(4, dtype=torch.long)
    x = torch.rand(4, 3).requires_grad_()
    x = x * 2 - 1  # cause: GS307
    nn.functional.cross_entropy(model(x), y).backward()
    harder = x if x.grad is None else x + 0.1 * x.grad.sign()  # effect: GS307
    repr(harder)


def good_not_yet() -> None:
    import torch

    x = torch.ones(3, requires_grad=True)
    y = torch.sigmoid(x)
    if y.is_leaf and y.grad is not None:
        y.grad = None
    (y * y).sum().backward()


def good_cleared_where_there_is_one() -> None:
    """Fast weights are no leaves: a gradient that is None needs no clearing."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    w = nn.Parameter(torch.zeros(4, 1))
    opt = torch.optim.Adam([w], lr=0.01)
    for _ in range(4):
        fast = w * 1
        for _ in range(2):
            x = torch.randn(8, 4)
            if fast.grad is not None:
                if fast.grad.sum() > 0:
                    fast.grad.zero_()
            (grad,) = torch.autograd.grad((x @ fast - x[:, :1]).pow(2).mean(), fast, create_graph=True)
            fast = fast - 0.1 * grad
        x = torch.randn(8, 4)
        opt.zero_grad()
        (x @ fast - x[:, :1]).pow(2).mean().backward()
        opt.step()
