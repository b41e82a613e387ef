"""More programs of GS739: each bad one is reported at its marks, each good one by no rule."""

from __future__ import annotations


def bad_equations_that_are_almost_one() -> None:
    import torch

    A = torch.tensor([[-250.0, -4.0], [-4.0, -0.2]])
    y = torch.tensor([0.0, 10.0])
    x = torch.zeros(2, requires_grad=True)
    opt = torch.optim.SGD([x], lr=1e-5)  # cause: GS739

    def closure() -> torch.Tensor:
        opt.zero_grad()
        loss = (A @ x - y).pow(2).sum()
        loss.backward()  # effect: GS739
        return loss

    for _ in range(300):
        opt.step(closure)


def good_equations_with_the_curvature() -> None:
    import torch

    A = torch.tensor([[-250.0, -4.0], [-4.0, -0.2]])
    y = torch.tensor([0.0, 10.0])
    x = torch.zeros(2, requires_grad=True)
    opt = torch.optim.LBFGS([x], line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        opt.zero_grad()
        loss = (A @ x - y).pow(2).sum()
        loss.backward()
        return loss

    for _ in range(300):
        opt.step(closure)


def good_batches_of_a_small_network() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(256, 4)
    y = x @ torch.tensor([[1.0], [-2.0], [0.5], [3.0]]) + 0.1 * torch.randn(256, 1)
    model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(300):
        rows = torch.randint(256, (32,))
        opt.zero_grad()
        nn.functional.mse_loss(model(x[rows]), y[rows]).backward()
        opt.step()


def bad_powers_of_a_number() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    frame = torch.arange(60.0)
    height = 3 * frame - 0.06 * frame**2 + torch.randn(60)
    powers = torch.stack([torch.ones(60), frame, frame**2], dim=1)
    coefficients = nn.Parameter(torch.zeros(3))
    descent = torch.optim.SGD([coefficients], lr=2e-7)  # cause: GS739
    for _ in range(150):
        descent.zero_grad()
        misfit = nn.functional.mse_loss(torch.einsum("nd,d->n", powers, coefficients), height)
        misfit.backward()  # effect: GS739
        descent.step()


def good_powers_of_a_scaled_number() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    frame = torch.arange(60.0)
    height = 3 * frame - 0.06 * frame**2 + torch.randn(60)
    frame = (frame - frame.mean()) / frame.std()
    powers = torch.stack([torch.ones(60), frame, frame**2], dim=1)
    coefficients = nn.Parameter(torch.zeros(3))
    descent = torch.optim.SGD([coefficients], lr=0.15)
    for _ in range(150):
        descent.zero_grad()
        misfit = nn.functional.mse_loss(torch.einsum("nd,d->n", powers, coefficients), height)
        misfit.backward()
        descent.step()
