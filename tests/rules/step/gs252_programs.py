"""More programs of GS252: each bad one is reported at its marks, each good one by no rule."""

from __future__ import annotations


def bad_under_no_grad() -> None:
    import torch

    torch.manual_seed(0)
    x = torch.randn(16, 3)
    w, b = torch.randn(3, requires_grad=True), torch.zeros(1, requires_grad=True)
    for _ in range(4):
        loss = (x @ w + b - 1).pow(2).mean()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad  # type: ignore[operator]  # effect: GS252
            b -= 0.1 * b.grad  # type: ignore[operator]
            w.zero_()  # cause: GS252
            b.zero_()


def good_a_row_kept_at_zero() -> None:
    import torch

    torch.manual_seed(0)
    table = torch.randn(5, 3, requires_grad=True)
    for _ in range(4):
        loss = (table[torch.randint(0, 5, (8,))] - 1).pow(2).mean()
        loss.backward()
        with torch.no_grad():
            table -= 0.1 * table.grad  # type: ignore[operator]
            table[0].zero_()
        table.grad = None


def good_a_step_from_zero_each_time() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, x = nn.Linear(4, 3), torch.randn(16, 4)
    delta = torch.zeros(16, 4, requires_grad=True)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        delta.data.zero_()
        nn.functional.cross_entropy(model(x + delta), torch.arange(16) % 3).backward()
        delta.data += 0.1 * delta.grad.sign()  # type: ignore[union-attr]
        delta.grad = None
        opt.zero_grad()
        nn.functional.cross_entropy(model(x + delta.detach()), torch.arange(16) % 3).backward()
        opt.step()


def good_average_written_with_gradients_on() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    layers = [layer for _ in range(40) for layer in (nn.Linear(8, 8), nn.SiLU())]
    deep = nn.Sequential(nn.Linear(4, 8), *layers, nn.Linear(8, 1))
    held = list(deep.parameters())
    mean = copy.deepcopy(held)
    opt = torch.optim.AdamW(held, lr=1e-2)
    for _ in range(12):
        opt.zero_grad()
        deep(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
        for one, other in zip(mean, held, strict=True):
            one.detach().mul_(0.99).add_(other, alpha=0.01)


def bad_filled_in_a_loop() -> None:
    import torch

    class Curve:
        def __init__(self, degree: int) -> None:
            self.factors = [torch.randn(1).requires_grad_() for _ in range(degree + 1)]

        def at(self, t: torch.Tensor) -> torch.Tensor:
            return torch.stack([f * t.pow(n) for n, f in enumerate(self.factors)]).sum(0)

        def update(self, rate: float) -> None:
            with torch.no_grad():
                for f in self.factors:
                    assert f.grad is not None
                    f.sub_(rate * f.grad)  # effect: GS252
                    f.fill_(0.0)  # cause: GS252

    torch.manual_seed(0)
    t = torch.linspace(-1, 1, 20)
    curve = Curve(2)
    for _ in range(6):
        (curve.at(t) - t.exp()).abs().mean().backward()
        curve.update(0.05)


def good_gradients_filled_in_a_loop() -> None:
    import torch

    torch.manual_seed(0)
    t = torch.linspace(-1, 1, 20)
    factors = [torch.randn(1).requires_grad_() for _ in range(3)]
    for _ in range(6):
        guess = torch.stack([f * t.pow(n) for n, f in enumerate(factors)]).sum(0)
        (guess - t.exp()).abs().mean().backward()
        with torch.no_grad():
            for f in factors:
                assert f.grad is not None
                f.sub_(0.05 * f.grad)
                f.grad.fill_(0.0)
