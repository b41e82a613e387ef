"""More programs of GS748: each bad one is reported at its marks, each good one by no rule."""


def bad_of_a_class() -> None:
    import torch
    from torch import nn

    class Forecast(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn = nn.GRU(2, 6, batch_first=True)
            self.horizon = nn.Linear(6, 1)  # cause: GS748

        def forward(self, series: torch.Tensor) -> torch.Tensor:
            return torch.sigmoid(self.horizon(self.rnn(series)[0][:, -1]))

    forecast = Forecast()
    criterion = nn.L1Loss()
    opt = torch.optim.Adam(forecast.parameters(), lr=0.01)
    for _ in range(3):
        opt.zero_grad()
        criterion(forecast(torch.randn(8, 5, 2)), torch.rand(8, 4)).backward()  # effect: GS748
        opt.step()


def good_quantiles() -> None:
    import torch
    from torch import nn

    value = nn.Linear(5, 4)
    opt = torch.optim.SGD(value.parameters(), lr=0.1)
    for _ in range(3):
        inputs, wanted = torch.randn(16, 5), torch.randn(16, 1, 3).expand(16, 4, 3)
        opt.zero_grad()
        nn.functional.smooth_l1_loss(value(inputs).unsqueeze(2), wanted, reduction="none").mean().backward()
        opt.step()


def good_one_target() -> None:
    import torch
    from torch import nn

    single = nn.Linear(5, 1)
    opt = torch.optim.SGD(single.parameters(), lr=0.1)
    for _ in range(3):
        inputs, targets = torch.randn(16, 5), torch.randn(16, 1)
        opt.zero_grad()
        nn.functional.mse_loss(single(inputs), targets).backward()
        opt.step()
