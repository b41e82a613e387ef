"""More programs of GS607: each bad one is reported at its marks, each good one by no rule."""


def bad_activation_map_of_each_batch() -> None:
    import torch
    from torch import Tensor, nn

    kept: list[Tensor] = []
    slopes: list[Tensor] = []

    def keep(module: object, given: object, out: Tensor) -> None:
        kept.append(out.detach())

    def keep_slope(module: object, given: object, gradients: tuple[Tensor, ...]) -> None:
        slopes.append(gradients[0].detach())

    def explained(net: nn.Module, layer: nn.Module, images: Tensor) -> Tensor:
        layer.register_forward_hook(keep)  # cause: GS607
        layer.register_full_backward_hook(keep_slope)
        scores = net(images)
        net.zero_grad()
        scores[:, 0].sum().backward()
        weights = slopes[0].mean(dim=(2, 3), keepdim=True)
        return (weights * kept[0]).sum(1)

    torch.manual_seed(0)
    body = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3))
    net = nn.Sequential(body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2))
    for _ in range(4):
        print(explained(net, body[2], torch.randn(3, 1, 8, 8)).mean().item())


def bad_mask_of_a_gradient() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        x, y = torch.randn(16, 4), torch.randint(2, (16,))
        model.weight.register_hook(lambda grad: grad * 0.5)  # cause: GS607
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        opt.step()


def good_another_hook_for_each_unit() -> None:
    from collections.abc import Callable
    from typing import Any

    import torch
    from torch import Tensor, nn

    def without(unit: int) -> Callable[..., Any]:
        def cut(module: object, given: object, out: Tensor) -> Tensor:
            out = out.clone()
            out[:, unit] = 0
            return out

        return cut

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2)).eval()
    x = torch.randn(32, 4)
    with torch.no_grad():
        whole = net(x)
        for unit in range(4):  # one more is left out each time
            net[1].register_forward_hook(without(unit))
            print(unit, (net(x) - whole).norm().item())


def good_once_for_each_layer() -> None:
    import torch
    from torch import nn

    sizes: list[float] = []
    torch.manual_seed(0)
    model = nn.Sequential(*(nn.Linear(4, 4) for _ in range(5)), nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for layer in model:
        layer.register_forward_hook(lambda m, given, out: sizes.append(out.detach().norm().item()))
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


def good_hook_on_each_result() -> None:
    import torch
    from torch import nn

    sizes: list[float] = []
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(4):
        hidden = model[:2](torch.randn(8, 4))
        hidden.register_hook(lambda grad: sizes.append(grad.norm().item()))
        opt.zero_grad()
        model[2](hidden).pow(2).mean().backward()
        opt.step()
