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
