"""More programs of GS501: each bad one is reported at its marks, each good one by no rule."""


def bad_result_of_to_dropped() -> None:
    import torch

    device = torch.device("meta")
    scale = torch.ones(1, 4, device=device)
    x = torch.ones(8, 4)  # cause: GS501
    x.to(device)
    x * scale  # effect: GS501


def bad_layers_in_a_list() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = [nn.Linear(4, 4) for _ in range(2)]  # cause: GS501

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for layer in self.layers:
                x = layer(x)  # effect: GS501
            return x

    net = Net().to("meta")
    net(torch.ones(8, 4, device="meta"))


def bad_tensors_in_a_plain_list() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scales = [torch.rand(4) for _ in range(2)]  # cause: GS501
            self.head = nn.Linear(4, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for scale in self.scales:
                x = x * scale  # effect: GS501
            y: torch.Tensor = self.head(x)
            return y

    net = Net().to("meta")
    net(torch.ones(8, 4, device="meta"))
