"""More programs of GS312: each bad one is reported at its marks, each good one by no rule."""


def bad_norm_skipped() -> None:
    import torch
    from torch import nn

    layer, head = torch.nn.utils.spectral_norm(nn.Linear(3, 4)), nn.Linear(4, 1)
    opt = torch.optim.SGD([*layer.parameters(), *head.parameters()], lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        head(layer.forward(torch.randn(2, 3))).pow(2).mean().backward()  # cause: GS312
        opt.step()


def bad_weight_that_its_hook_makes() -> None:
    import torch
    from torch import nn

    model = nn.utils.weight_norm(nn.Linear(3, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model.forward(torch.randn(8, 3)).pow(2).mean().backward()  # cause: GS312
        opt.step()


def good_without_hooks() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        model.forward(torch.ones(2, 3)).pow(2).mean().backward()
        opt.step()


def good_super() -> None:
    import torch
    from torch import nn

    class Scaled(nn.Linear):
        def forward(self, input: torch.Tensor) -> torch.Tensor:
            return super().forward(input) * 2

    kept: list[torch.Tensor] = []
    model = Scaled(3, 1)
    model.register_forward_hook(lambda module, given, result: kept.append(result.detach()))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        model(torch.ones(2, 3)).pow(2).mean().backward()
        opt.step()


def good_forward_in_a_decorator() -> None:
    import functools
    from collections.abc import Callable
    from typing import Any

    import torch
    from torch import nn

    def traced(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> torch.Tensor:
            return function(*args, **kwargs)

        return wrapped

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(3, 3)

        @traced
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.tanh(self.linear(x))

    seen: list[float] = []
    model = nn.Sequential(Layer(), nn.Linear(3, 1))
    model[0].register_forward_hook(lambda module, args, out: seen.append(float(out.mean())))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def bad_weights_of_several_layers() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Critic(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            sizes = ((4, 8), (8, 8), (8, 1))
            made = [nn.utils.spectral_norm(nn.Linear(a, b, bias=b < 8)) for a, b in sizes]
            self.layers = nn.ModuleList(made)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for layer in self.layers:
                x = layer.forward(nn.functional.leaky_relu(x))  # cause: GS312
            return x

    critic = Critic()
    opt = torch.optim.SGD(critic.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 4)
        loss = (critic(x) - x[:, :1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
