"""Inner steps that no loss uses, and right ones that look alike: more programs for GS274."""


def bad_model_called_as_it_was() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    meta = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        task, x, x2 = torch.randn(4, 1), torch.randn(16, 4), torch.randn(16, 4)
        error = nn.functional.mse_loss(model(x), x @ task)
        slopes = torch.autograd.grad(error, list(model.parameters()), create_graph=True)
        fast = {}
        for (name, p), slope in zip(model.named_parameters(), slopes, strict=True):
            fast[name] = p - 0.1 * slope  # cause: GS274
        loss = nn.functional.mse_loss(model(x2), x2 @ task)
        meta.zero_grad()
        loss.backward()  # effect: GS274
        meta.step()


def good_model_called_with_them() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    meta = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        task, x, x2 = torch.randn(4, 1), torch.randn(16, 4), torch.randn(16, 4)
        error = nn.functional.mse_loss(model(x), x @ task)
        slopes = torch.autograd.grad(error, list(model.parameters()), create_graph=True)
        fast = {}
        for (name, p), slope in zip(model.named_parameters(), slopes, strict=True):
            fast[name] = p - 0.1 * slope
        loss = nn.functional.mse_loss(torch.func.functional_call(model, fast, x2), x2 @ task)
        meta.zero_grad()
        loss.backward()
        meta.step()


def good_own_steps_of_plain_descent() -> None:
    import torch

    w = torch.zeros(4, 1, requires_grad=True)
    x = torch.randn(32, 4)
    y = x.sum(1, keepdim=True)
    for _ in range(5):
        loss = (x @ w - y).square().mean()
        (slope,) = torch.autograd.grad(loss, [w])
        w = (w - 0.1 * slope).detach().requires_grad_()


def good_last_of_several_inner_steps() -> None:
    import torch

    w = torch.zeros(6, 1, requires_grad=True)
    meta = torch.optim.Adam([w], lr=0.01)
    for _ in range(4):
        task, support, query = torch.randn(6, 1), torch.randn(16, 6), torch.randn(16, 6)
        fast = w
        for _ in range(3):
            error = (support @ fast - support @ task).square().mean()
            (slope,) = torch.autograd.grad(error, [fast], create_graph=True)
            fast = fast - 0.1 * slope
        loss = (query @ fast - query @ task).square().mean()
        meta.zero_grad()
        loss.backward()
        meta.step()
