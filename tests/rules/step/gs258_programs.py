"""More programs of GS258: each bad one is reported at its marks, each good one by no rule."""


def good_adapted_to_each_batch() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    shift = nn.Linear(4, 4)
    kept = [p.detach().clone() for p in shift.parameters()]
    opt = torch.optim.SGD(shift.parameters(), lr=0.01)
    total = 0.0
    for _ in range(40):
        x = torch.randn(8, 4)
        opt.zero_grad()
        shift(x).pow(2).mean().backward()
        opt.step()
        with torch.no_grad():
            total += float(shift(x).mean())
            for p, old in zip(shift.parameters(), kept, strict=True):
                p.copy_(old)


def good_rounded_with_steps_that_are_large_enough() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    sorter = nn.Linear(6, 3)
    opt = torch.optim.SGD(sorter.parameters(), lr=0.5)
    for _ in range(40):
        x = torch.randn(16, 6)
        opt.zero_grad()
        nn.functional.cross_entropy(sorter(x), x[:, :3].argmax(1)).backward()
        opt.step()
        with torch.no_grad():
            sorter.weight.copy_(torch.round(sorter.weight * 64) / 64)


def good_put_back_when_it_is_done() -> None:
    import copy

    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    begun = copy.deepcopy(model.state_dict())
    for _ in range(40):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
    model.load_state_dict(begun)


def good_put_back_between_rounds() -> None:
    """Of which each trains from the same beginning."""
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    begun = [p.detach().clone() for p in model.parameters()]
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(20):
        for _ in range(4):
            opt.zero_grad()
            model(torch.randn(16, 3)).sub(1).pow(2).mean().backward()
            opt.step()
        with torch.no_grad():
            for p, old in zip(model.parameters(), begun, strict=True):
                p.copy_(old)
