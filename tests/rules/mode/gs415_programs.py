"""More programs of GS415: each bad one is reported at its marks, each good one by no rule."""


def bad_errors_by_hand() -> None:
    import torch
    from torch import nn

    class Scaler:
        def __init__(self, values: torch.Tensor) -> None:
            self.low, self.high = values.amin(0), values.amax(0)

        def apply(self, values: torch.Tensor) -> torch.Tensor:
            return (values - self.low) / (self.high - self.low)

        def undo(self, values: torch.Tensor) -> torch.Tensor:
            return values * (self.high - self.low) + self.low

    torch.manual_seed(0)
    x = torch.randn(320, 6)
    load = 4000 + 700 * x[:, :1] - 500 * x[:, 1:2]
    scaler = Scaler(load[:240])
    scaled = scaler.apply(load[:240])
    net = nn.Sequential(nn.Linear(6, 12), nn.ELU(), nn.Linear(12, 1))
    opt = torch.optim.Adam(net.parameters(), lr=0.05)
    for _ in range(60):
        opt.zero_grad()
        loss = (net(x[:240]) - scaled).abs().mean()  # effect: GS415
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        off = torch.sub(load[240:], net(x[240:]))  # cause: GS415
        print(torch.sqrt(torch.mean(off**2)))


def good_answers_scaled_back() -> None:
    import torch
    from torch import nn

    class Scaler:
        def __init__(self, values: torch.Tensor) -> None:
            self.low, self.high = values.amin(0), values.amax(0)

        def apply(self, values: torch.Tensor) -> torch.Tensor:
            return (values - self.low) / (self.high - self.low)

        def undo(self, values: torch.Tensor) -> torch.Tensor:
            return values * (self.high - self.low) + self.low

    torch.manual_seed(0)
    x = torch.randn(320, 6)
    load = 4000 + 700 * x[:, :1] - 500 * x[:, 1:2]
    scaler = Scaler(load[:240])
    scaled = scaler.apply(load[:240])
    net = nn.Sequential(nn.Linear(6, 12), nn.ELU(), nn.Linear(12, 1))
    opt = torch.optim.Adam(net.parameters(), lr=0.05)
    for _ in range(60):
        opt.zero_grad()
        loss = (net(x[:240]) - scaled).abs().mean()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        off = torch.sub(load[240:], scaler.undo(net(x[240:])))
        print(torch.sqrt(torch.mean(off**2)))


def good_what_the_network_takes_away() -> None:
    """The answer is a part of what it is taken from: large pictures with little noise."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 6))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    clean = 20 * torch.randn(64, 1).expand(64, 6)
    for _ in range(60):
        noise = torch.randn(64, 6)
        opt.zero_grad()
        loss = (net(clean + noise) - noise).square().mean()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        noisy = clean + torch.randn(64, 6)
        print((noisy - net(noisy) - clean).square().mean())
