"""More programs of GS805: each bad one is reported at its marks, each good one by no rule."""


def bad_with_deterministic() -> None:
    import torch

    cudnn = torch.backends.cudnn
    before = cudnn.benchmark, cudnn.deterministic
    cudnn.deterministic = True
    cudnn.benchmark = True  # cause: GS805
    torch.nn.Conv2d(3, 4, 3)(torch.randn(2, 3, 8, 8))
    cudnn.benchmark, cudnn.deterministic = before


def good_one_shape_and_a_smaller_last_batch() -> None:
    import torch
    from torch import nn

    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = True
    model = nn.Conv2d(3, 4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in (4, 4, 4, 4, 3):
        opt.zero_grad()
        model(torch.randn(batch, 3, 8, 8)).pow(2).mean().backward()
        opt.step()
    torch.backends.cudnn.benchmark = before
