"""More programs of GS220: each bad one is reported at its marks, each good one by no rule."""


def bad_in_a_sequence() -> None:
    import torch
    from torch import nn

    class Layer(nn.Module):
        def __init__(self, size: int) -> None:
            super().__init__()
            self.linear = nn.Linear(size, size)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(self.linear(x)) + x  # effect: GS220

    depth = 4
    model = nn.Sequential(*([Layer(4)] * depth))  # cause: GS220
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


def good_heads_that_share_on_purpose() -> None:
    import torch
    from torch import nn

    head = nn.Linear(4, 2)
    heads = nn.ModuleList([head for _ in range(3)])
    body = nn.Linear(4, 4)
    opt = torch.optim.SGD([*body.parameters(), *heads.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4)
        total = torch.zeros(())
        for one in heads:
            x = torch.tanh(body(x))
            total = total + one(x).pow(2).mean()
        opt.zero_grad()
        total.backward()
        opt.step()


def good_one_of_a_list_of_one() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(*[nn.Linear(4, 4)] * 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


def bad_before_a_layer_of_another_kind() -> None:
    import torch
    from torch import nn

    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(self.linear(x)) + x  # effect: GS220

    model = nn.Sequential(*[Residual()] * 3, nn.Linear(4, 2))  # cause: GS220
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
