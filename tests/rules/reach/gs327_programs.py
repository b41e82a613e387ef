"""More programs of GS327: each bad one is reported at its marks, each good one by no rule."""

from __future__ import annotations


def bad_made_in_each_call() -> None:
    import torch
    from torch import nn

    class Scaled(nn.Module):
        def __init__(self, factor: float):
            super().__init__()
            self.factor = factor

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * 1.0

        def backward(self, grad: torch.Tensor) -> torch.Tensor:  # cause: GS327
            return grad * self.factor

    def slower(x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = Scaled(0.1)(x)
        return result

    body, head = nn.Linear(4, 8), nn.Linear(8, 2)
    opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        loss = head(slower(body(torch.randn(16, 4)))).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_layers_with_their_backward_by_hand() -> None:
    import torch
    from torch import nn

    class Dense(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.randn(4, 1) * 0.1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.x = x
            return x @ self.weight

        def backward(self, given: torch.Tensor) -> torch.Tensor:
            self.weight.grad = self.x.t() @ given
            return given @ self.weight.t()

    layer, other = Dense(), nn.Linear(4, 1)
    opt = torch.optim.SGD([*layer.parameters(), *other.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(16, 4)
        opt.zero_grad()
        other(x).pow(2).mean().backward()
        with torch.no_grad():
            out = layer(x)
            layer.backward(2 * out / len(out))
        opt.step()


def good_a_trainer_of_its_own() -> None:
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(4, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = self.fc(x)
            return result

        def backward(self, loss: torch.Tensor) -> float:
            loss.backward()
            return loss.item()

    model = Model()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model.backward(model(torch.randn(16, 4)).pow(2).mean())
        opt.step()


def good_not_written_yet() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Base(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * 1.0

        def backward(self, grad: torch.Tensor) -> Any:
            raise NotImplementedError

    layer, fc = Base(), nn.Linear(4, 1)
    opt = torch.optim.SGD(fc.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        layer(fc(torch.randn(16, 4))).pow(2).mean().backward()
        opt.step()


def bad_inherited() -> None:
    import torch
    from torch import nn

    class Damped:
        share = 0.1

        def backward(self, upstream: torch.Tensor) -> torch.Tensor:  # cause: GS327
            return upstream * self.share

    class Slow(Damped, nn.Module):
        def forward(self, h: torch.Tensor) -> torch.Tensor:
            return h.clone()

    torch.manual_seed(0)
    body, slow, head = nn.Linear(4, 8), Slow(), nn.Linear(8, 2)
    opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        loss = head(slow(body(torch.randn(16, 4)))).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_inherited_and_hooked() -> None:
    import torch
    from torch import nn

    class Damping:
        share = 0.1

        def backward(self, upstream: torch.Tensor) -> torch.Tensor:
            return upstream * self.share

    class Slower(Damping, nn.Module):
        def forward(self, h: torch.Tensor) -> torch.Tensor:
            h = h.clone()
            if h.requires_grad:
                h.register_hook(self.backward)
            return h

    torch.manual_seed(0)
    body, slow, head = nn.Linear(4, 8), Slower(), nn.Linear(8, 2)
    opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        loss = head(slow(body(torch.randn(16, 4)))).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
