"""More programs of GS460: each bad one is reported at its marks, each good one by no rule."""


def bad_as_a_function() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self, keep: float) -> None:
            super().__init__()
            self.keep = keep
            self.first, self.last = nn.Linear(4, 16), nn.Linear(16, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.first(x).relu()
            x = nn.functional.dropout(x, p=self.keep, training=self.training)  # cause: GS460
            out: torch.Tensor = self.last(x)
            return out

    net = Net(1.0)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        net.train()
        opt.zero_grad()
        nn.functional.cross_entropy(net(torch.randn(8, 4)), torch.randint(2, (8,))).backward()
        opt.step()
        net.eval()
        with torch.no_grad():
            net(torch.randn(8, 4)).argmax(1).sum().item()


def bad_in_a_block() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Block(nn.Module):
        def __init__(self, width: int, drop: int) -> None:
            super().__init__()
            self.conv = nn.Conv2d(width, width, 3, padding=1)
            self.drop = nn.Dropout2d(p=1 - drop)  # cause: GS460

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = x + self.drop(self.conv(x).relu())  # effect: GS460
            return out

    net = nn.Sequential(nn.Conv2d(1, 4, 3), Block(4, 0), Block(4, 0), nn.Flatten(), nn.Linear(144, 2))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        nn.functional.cross_entropy(net(torch.randn(8, 1, 8, 8)), torch.randint(2, (8,))).backward()
        opt.step()


def good_rate_that_falls() -> None:
    """A curriculum: the branch comes in step by step."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    first, drop, last = nn.Linear(4, 8), nn.Dropout(1.0), nn.Linear(8, 2)
    opt = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.1)
    for step in range(6):
        drop.p = 1.0 - step / 5
        opt.zero_grad()
        x = torch.randn(8, 4)
        nn.functional.cross_entropy(last(first(x) + drop(first(x).relu())), torch.randint(2, (8,))).backward()
        opt.step()


def good_rates_that_are_tried() -> None:
    """What a rate does to a network: all from 0 to 1 are tried."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    for rate in (0.0, 0.5, 1.0):
        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(rate), nn.Linear(8, 2))
        opt = torch.optim.Adam(net.parameters(), lr=0.01)
        for _ in range(3):
            opt.zero_grad()
            nn.functional.cross_entropy(net(torch.randn(8, 4)), torch.randint(2, (8,))).backward()
            opt.step()


def good_switched_off_in_evaluation_mode() -> None:
    """A layer of rate 1 that is never in training mode."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(1.0).eval(), nn.Linear(8, 2))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        opt.zero_grad()
        nn.functional.cross_entropy(net(torch.randn(8, 4)), torch.randint(2, (8,))).backward()
        opt.step()
