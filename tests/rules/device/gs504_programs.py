"""More programs of GS504: each bad one is reported at its marks, each good one by no rule."""


def bad_mask_inside_the_model() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
    scale = torch.ones(8, dtype=torch.float64)  # cause: GS504
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        hidden = model(torch.randn(8, 4)) * scale  # effect: GS504
        hidden.pow(2).mean().backward()
        opt.step()


def bad_buffer_of_numpy() -> None:
    import numpy as np
    import torch
    from torch import nn

    class Net(nn.Module):
        scale: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(3, 4)
            self.register_buffer("scale", torch.from_numpy(np.linspace(0, 1, 4)))  # cause: GS504

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self.fc(x) * self.scale[None]  # effect: GS504
            return y

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def good_double_program() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1).double()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        x = torch.randn(8, 4, dtype=torch.float64)
        nn.functional.mse_loss(model(x), torch.zeros(8, 1, dtype=torch.float64)).backward()
        opt.step()


def good_summed_in_double_on_purpose() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    weight = torch.ones(8, 1, dtype=torch.float64)
    for _ in range(3):
        opt.zero_grad()
        (model(torch.randn(8, 4)).double() * weight).pow(2).mean().backward()
        opt.step()


def good_double_number() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    weight = torch.tensor(0.5, dtype=torch.float64)
    for _ in range(3):
        opt.zero_grad()
        (model(torch.randn(8, 4)) * weight).pow(2).mean().backward()
        opt.step()


def good_double_weight_of_a_loss() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    weight = torch.tensor(0.5, dtype=torch.float64)
    for _ in range(3):
        opt.zero_grad()
        out = model(torch.randn(8, 4))
        (weight * out.pow(2).mean() + out.abs().mean()).backward()
        opt.step()
