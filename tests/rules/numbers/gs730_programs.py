"""More programs of GS730: each bad one is reported at its marks, each good one by no rule."""


def bad_on_two_lines() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
        keep, order = torch.rand(8, 1), torch.randperm(8)
        x *= keep
        x += (1 - keep) * x[order]  # cause: GS730 # effect: GS730
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        opt.step()


def bad_not_in_place() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)

    def mixed(images: torch.Tensor, share: float) -> torch.Tensor:
        images = images * share
        return images + images.roll(1, 0) * (1.0 - share)  # cause: GS730 # effect: GS730

    for _ in range(3):
        y = torch.randint(0, 3, (8,))
        opt.zero_grad()
        nn.functional.cross_entropy(model(mixed(torch.randn(8, 4), 0.7)), y).backward()
        opt.step()


def bad_by_numbers() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        h = model(torch.randn(8, 4))
        h = h * 0.8
        h = h + 0.2 * h.flip(0)  # cause: GS730 # effect: GS730
        opt.zero_grad()
        h.pow(2).mean().backward()
        opt.step()


def good_mixtures() -> None:
    """Both parts of the same, a running average, and a tensor averaged with its neighbours after it was halved."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, lam = nn.Linear(4, 3), 0.3
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    average = torch.zeros(8, 4)
    for _ in range(3):
        x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
        order = torch.randperm(8)
        average.mul_(lam).add_(x.flip(0), alpha=1 - lam)
        x = lam * x + (1 - lam) * x[order]
        x.mul_(0.5).add_(x.roll(1, 0))
        scaled = x * lam
        x = scaled + (x - scaled).flip(0)
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        opt.step()


def good_taken_before() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
        keep, other = torch.rand(8, 1), x[torch.randperm(8)]
        x *= keep
        x += (1 - keep) * other
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        opt.step()
