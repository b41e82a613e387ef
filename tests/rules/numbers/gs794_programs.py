"""More programs of GS794: each bad one is reported at its marks, each good one by no rule."""


def bad_detached_without_a_copy() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    anchor = {name: p.detach() for name, p in model.named_parameters()}  # cause: GS794
    for _ in range(4):
        near = torch.zeros(())
        for name, p in model.named_parameters():
            near = near + nn.functional.mse_loss(p, anchor[name])  # effect: GS794
        loss = (model(torch.randn(8, 4)) - 1).pow(2).mean() + 0.1 * near
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_straight_through() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    scale, model = nn.Parameter(torch.ones(1)), nn.Linear(4, 1)
    opt = torch.optim.SGD([scale, *model.parameters()], lr=0.1)
    for _ in range(4):
        fixed = scale.detach()
        loss = (model(torch.randn(8, 4)) * (fixed.round() + (scale - fixed)) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_from_the_mean() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        weight = model.weight
        loss = (model(torch.randn(8, 4)) - 1).pow(2).mean() + (weight - weight.mean()).pow(2).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_copy_made_right_before() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        start = [p.detach().clone() for p in model.parameters()]
        for _ in range(2):
            near = torch.zeros(())
            for p, q in zip(model.parameters(), start, strict=True):
                near = near + (p - q).pow(2).sum()
            loss = (model(torch.randn(8, 4)) - 1).pow(2).mean() + 0.1 * near
            opt.zero_grad()
            loss.backward()
            opt.step()


def good_updates_by_new_tensors() -> None:
    import torch

    torch.manual_seed(0)
    weight = torch.randn(4, 1, requires_grad=True)
    for _ in range(4):
        before = weight.detach()
        for _ in range(2):
            x = torch.randn(8, 4)
            loss = (x @ weight - 1).pow(2).mean() + 0.1 * (weight - before).pow(2).sum()
            (grad,) = torch.autograd.grad(loss, weight)
            weight = (weight.detach() - 0.1 * grad).requires_grad_()


def bad_state_of_the_same_model() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    shared = model.state_dict()  # cause: GS794
    for _ in range(4):
        near = torch.zeros(())
        for name, p in model.named_parameters():
            near = near + (p - shared[name]).norm()  # effect: GS794
        loss = (model(torch.randn(8, 4)) - 1).pow(2).mean() + 0.1 * near
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_pulled_by_hand() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    shared = [p for p in model.parameters()]  # cause: GS794  # noqa: C416
    for _ in range(4):
        loss = (model(torch.randn(8, 4)) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        for p, q in zip(model.parameters(), shared, strict=True):
            assert p.grad is not None
            with torch.no_grad():
                p.grad.add_(0.1 * (p - q))  # effect: GS794
        opt.step()


def good_drift_that_is_only_printed() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    held = list(model.parameters())
    for _ in range(4):
        loss = (model(torch.randn(8, 4)) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            print(sum((p - q).norm().item() for p, q in zip(model.parameters(), held, strict=True)))


def good_zero_of_the_graph() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        loss = (model(torch.randn(8, 4)) - 1).pow(2).mean() + (model.bias - model.bias).sum()  # for nothing
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_attacked_picture_is_the_picture() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    judge = nn.Linear(6, 3).requires_grad_(False)
    shown = torch.randn(8, 6)
    moved = shown.detach()  # cause: GS794
    moved.requires_grad_()
    opt = torch.optim.Adam([moved], lr=0.05)
    for _ in range(8):
        opt.zero_grad()
        far = (moved - shown).pow(2).sum(1)  # effect: GS794
        (nn.functional.cross_entropy(judge(moved), torch.zeros(8, dtype=torch.long)) + far.mean()).backward()
        opt.step()
