"""More programs of GS106: each bad one is reported at its marks, each good one by no rule."""


def bad_unbind() -> None:  # fix: by hand
    import torch

    x = torch.ones(3, 2, requires_grad=True) * 2
    first, _second, _third = x.unbind()  # cause: GS106
    first += 1  # effect: GS106


def bad_view_without_gradients() -> None:  # fix: by hand
    import torch

    x = torch.ones(4, requires_grad=True) * 2
    with torch.no_grad():
        head = x[:2]  # cause: GS106
    head.mul_(3)  # effect: GS106


def good_slice() -> None:
    import torch

    x = torch.ones(4, requires_grad=True) * 2
    head = x[:2]
    head.mul_(3)
    x.sum().backward()


def good_views_without_gradient() -> None:
    import torch

    a, b = torch.ones(4).chunk(2)
    a += 1
    b *= 2
    assert float(a.sum() + b.sum()) > 0


def bad_view_that_a_function_gives_out() -> None:
    from typing import Any

    import torch

    class Flat(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            doubled = x * 2
            return doubled.view(-1)

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
            return 2 * gradient.view(2, 3)

    x = torch.ones(2, 3, requires_grad=True)
    y: torch.Tensor = Flat.apply(x)  # cause: GS106
    y += 1  # effect: GS106
    y.sum().backward()


def bad_layer_behind_a_backward_hook() -> None:
    import torch
    from torch import nn

    seen: list[torch.Tensor] = []
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(inplace=True), nn.Linear(4, 1))
    model[0].register_full_backward_hook(lambda layer, before, after: seen.append(after[0]))
    model(torch.randn(5, 3)).sum().backward()  # cause: GS106 # effect: GS106


def bad_part_of_what_a_call_gave() -> None:
    import torch
    from torch import nn

    net = nn.Linear(3, 4)
    means, spread = net(torch.randn(5, 3)).chunk(2, dim=-1)  # cause: GS106
    noise = torch.randn_like(means) * spread.clamp_(-20, 2).exp()  # effect: GS106
    (means + noise).sum().backward()


def bad_part_through_an_activation_in_place() -> None:
    import torch
    from torch import nn
    from torch.nn import functional as F

    net = nn.Linear(3, 4)
    for _ in range(2):
        out = net(torch.randn(5, 3))
        values, gates = torch.chunk(out, 2, dim=1)  # cause: GS106
        gated = values * F.relu(gates, inplace=True)  # effect: GS106
        gated.sum().backward()


def bad_part_whose_whole_is_read_again() -> None:  # fix: by hand
    import torch
    from torch import nn

    out = nn.Linear(3, 4)(torch.randn(5, 3))
    means, spread = out.chunk(2, dim=-1)  # cause: GS106
    noise = torch.randn_like(means) * spread.clamp_(-20, 2).exp()  # effect: GS106
    (noise.sum() + out.sum()).backward()


def good_part_not_in_place() -> None:
    import torch
    from torch import nn

    net = nn.Linear(3, 4)
    means, spread = net(torch.randn(5, 3)).chunk(2, dim=-1)
    noise = torch.randn_like(means) * spread.clamp(-20, 2).exp()
    (means + noise).sum().backward()


def bad_rows_set_in_an_expanded_tensor() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, head = nn.Linear(4, 3), nn.Linear(3, 1)
    question = encoder(torch.randn(2, 4))
    each = question.unsqueeze(1).expand(-1, 5, -1)  # cause: GS106
    each[torch.tensor([0, 1]), torch.tensor([2, 3])] = 0
    head(each).sum().backward()  # effect: GS106


def good_rows_set_in_a_copy() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, head = nn.Linear(4, 3), nn.Linear(3, 1)
    question = encoder(torch.randn(2, 4))
    each = question.unsqueeze(1).expand(-1, 5, -1).clone()
    each[torch.tensor([0, 1]), torch.tensor([2, 3])] = 0
    head(each).sum().backward()
