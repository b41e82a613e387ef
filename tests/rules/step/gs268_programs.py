"""More programs of GS268: each bad one is reported at its marks, each good one by no rule."""

from __future__ import annotations


def bad_stepped_at_the_end_of_the_turn_too() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(4):
        x, y = torch.randn(16, 6), torch.randn(16, 1)
        loss = (model(x) - y).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()  # effect: GS268
        print(loss.item())
        opt.step()  # cause: GS268


def good_each_with_its_own_pass() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    trunk, left, right = nn.Linear(6, 8), nn.Linear(8, 1), nn.Linear(8, 1)
    opt_left = torch.optim.SGD([*trunk.parameters(), *left.parameters()], lr=0.01)
    opt_right = torch.optim.SGD([*trunk.parameters(), *right.parameters()], lr=0.01)
    for _ in range(4):
        x, y = torch.randn(16, 6), torch.randn(16, 1)
        for head, opt in ((left, opt_left), (right, opt_right)):
            opt.zero_grad()
            (head(torch.relu(trunk(x))) - y).pow(2).mean().backward()
            opt.step()


def good_gradient_changed_between_both_steps() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(4):
        x, y = torch.randn(16, 6), torch.randn(16, 1)
        opt.zero_grad()
        (model(x) - y).pow(2).mean().backward()
        opt.step()
        for p in model.parameters():
            p.grad = 0.1 * torch.randn_like(p)
        opt.step()


def bad_a_second_optimizer_for_a_schedule() -> None:
    """Long enough for steps to be slept through: of those nothing is known."""
    import torch
    from torch import nn

    def optimizers(model: nn.Module) -> tuple[torch.optim.Adam, torch.optim.Adam]:
        return torch.optim.Adam(model.parameters(), 0.01), torch.optim.Adam(model.parameters(), 0.01)

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt, _ = optimizers(model)
    scheduler, _ = optimizers(model)
    for _ in range(8):
        for _ in range(8):
            x = torch.randn(16, 4)
            opt.zero_grad()
            (model(x) - x.sum(1, keepdim=True)).pow(2).mean().backward()
            opt.step()  # effect: GS268
        scheduler.step()  # cause: GS268
