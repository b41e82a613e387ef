"""More programs of GS477: each bad one is reported at its marks, each good one by no rule."""


def bad_between_two_linear_layers_in_one_expression() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(6, 16)
            self.drop = nn.Dropout(0.1)
            self.bend = nn.Tanh()
            self.last = nn.Linear(16, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.log_softmax(self.last(self.drop(self.first(x))), dim=1)  # cause: GS477

    torch.manual_seed(0)
    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        nn.functional.nll_loss(model(torch.randn(8, 6)), torch.randint(0, 3, (8,))).backward()
        opt.step()


def bad_layers_of_a_list() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(6, 6) for _ in range(3)])
            self.head = nn.Linear(6, 1)
            self.act = nn.GELU()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for layer in self.layers:
                x = layer(x)  # cause: GS477
            return self.head(x)

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        nn.functional.mse_loss(model(torch.randn(8, 6)), torch.randn(8, 1)).backward()
        opt.step()


def bad_with_batch_norm_in_a_block_that_is_repeated() -> None:
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, channels: int):
            super().__init__()
            self.a = nn.Conv1d(channels, 8, 3, padding=1)
            self.norm = nn.BatchNorm1d(8)
            self.relu = nn.ReLU(inplace=True)
            self.b = nn.Conv1d(8, 8, 3, padding=1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out = self.a(x)  # cause: GS477
            out = self.norm(out)
            return self.b(out)  # effect: GS477

    model = nn.Sequential(Block(2), Block(8), nn.Flatten(), nn.Linear(80, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(4):
        opt.zero_grad()
        nn.functional.mse_loss(model(torch.randn(8, 2, 10)), torch.randn(8, 1)).backward()
        opt.step()


def good_the_function_is_called_in_its_place() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(6, 16), nn.Linear(16, 3)
            self.act = nn.ReLU()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.last(torch.relu(self.first(x)))

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(8, 6)), torch.randint(0, 3, (8,))).backward()
        opt.step()


def good_a_factor_of_low_rank() -> None:
    import torch
    from torch import nn

    class Factored(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.down, self.up = nn.Linear(12, 2, bias=False), nn.Linear(2, 12)
            self.act = nn.ReLU()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.up(self.down(x))

    model = nn.Sequential(Factored(), nn.Tanh(), nn.Linear(12, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        nn.functional.mse_loss(model(torch.randn(8, 12)), torch.randn(8, 1)).backward()
        opt.step()


def good_a_convolution_in_two_parts_with_its_activation_behind() -> None:
    import torch
    from torch import nn

    class Parted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rows = nn.Conv2d(3, 8, (1, 3), padding=(0, 1))
            self.columns = nn.Conv2d(8, 8, (3, 1), padding=(1, 0))
            self.relu = nn.ReLU()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.columns(self.rows(x))

    model = nn.Sequential(Parted(), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(4):
        opt.zero_grad()
        nn.functional.mse_loss(model(torch.randn(8, 3, 6, 6)), torch.randn(8, 1)).backward()
        opt.step()


def good_an_activation_that_is_switched_off() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self, *, linear: bool):
            super().__init__()
            self.first, self.last = nn.Linear(6, 16), nn.Linear(16, 3)
            self.act, self.linear = nn.ReLU(), linear

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.first(x)
            if not self.linear:
                x = self.act(x)
            return self.last(x)

    model = Net(linear=True)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(8, 6)), torch.randint(0, 3, (8,))).backward()
        opt.step()


def good_a_convolution_of_each_channel_before_one_of_all() -> None:
    import torch
    from torch import nn

    class Separable(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.each = nn.Conv2d(4, 4, 3, padding=1, groups=4)
            self.all = nn.Conv2d(4, 8, 1)
            self.relu = nn.ReLU()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.all(self.each(x))

    block, head = Separable(), nn.Linear(8, 1)
    opt = torch.optim.SGD([*block.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        opt.zero_grad()
        nn.functional.mse_loss(
            head(block(torch.randn(8, 4, 6, 6)).mean((2, 3))), torch.randn(8, 1)
        ).backward()
        opt.step()
