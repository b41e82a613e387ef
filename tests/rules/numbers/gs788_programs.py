"""More programs of GS788: each bad one is reported at its marks, each good one by no rule."""


def bad_probabilities() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(48, 4)
    y = (x[:, :1] > 0).float()
    model = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        out = model(x)
        loss = nn.functional.binary_cross_entropy(out, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        (out == y).sum().item()  # cause: GS788


def good_values_that_may_be_equal() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        out = model(torch.randn(32, 4))
        top = out == out.max(dim=1, keepdim=True).values
        loss = (out * top).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        (out.argmax(dim=1) == torch.randint(3, (32,))).float().mean().item()
        (torch.randint(5, (16,)).float() == torch.randint(5, (16,)) + 7).any()
