"""More programs of GS758: each bad one is reported at its marks, each good one by no rule."""


def bad_initialised_by_apply() -> None:
    import torch
    from torch import nn

    def init(module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            nn.init.ones_(module.weight)  # cause: GS758
            nn.init.zeros_(module.bias)

    torch.manual_seed(0)
    x = torch.randn(64, 4) * 0.3
    y = x[:, :1] * x[:, 1:2]
    net = nn.Sequential(nn.Linear(4, 8), nn.Sigmoid(), nn.Linear(8, 1))
    net.apply(init)
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(12):
        opt.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()  # effect: GS758
        opt.step()


def good_one_layer_of_constants() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = torch.randn(64, 3)
    model = nn.Linear(4, 3)
    nn.init.constant_(model.weight, 0.1)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(12):
        opt.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        opt.step()


def good_scale_of_ones() -> None:
    import torch
    from torch import nn

    class Scale(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(4, 4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x.unsqueeze(1) * self.scale).sum(2)

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 4), Scale(), nn.Linear(4, 2))
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    for _ in range(12):
        opt.zero_grad()
        nn.functional.mse_loss(net(torch.randn(64, 4)), torch.randn(64, 2)).backward()
        opt.step()


def good_variances_that_only_a_penalty_reads() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x, y = torch.randn(64, 4), torch.randn(64, 8)
    mean, log_var = nn.Parameter(torch.randn(8, 4) / 2), nn.Parameter(torch.full((8, 4), -4.0))
    opt = torch.optim.Adam([mean, log_var], lr=0.01)
    for _ in range(12):
        divergence = 0.5 * (log_var.exp() + mean**2 - 1 - log_var).sum()
        opt.zero_grad()
        (nn.functional.mse_loss(nn.functional.linear(x, mean), y) + 1e-3 * divergence).backward()
        opt.step()
