"""More programs of GS349: each bad one is reported at its marks, each good one by no rule."""


def bad_no_letter_is_left() -> None:
    import torch
    from torch import nn

    class Factors(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.reader, self.book = nn.Embedding(20, 4), nn.Embedding(30, 4)
            self.of_reader, self.of_book = nn.Embedding(20, 1), nn.Embedding(30, 1)

        def forward(self, who: torch.Tensor, what: torch.Tensor) -> torch.Tensor:
            liking = torch.einsum("bd,bd->", self.reader(who), self.book(what))  # cause: GS349
            base = self.of_reader(who) + self.of_book(what)
            return 3 + base.squeeze(1) + liking  # effect: GS349

    torch.manual_seed(6)
    net = Factors()
    opt = torch.optim.Adam(net.parameters(), lr=0.02)
    for _ in range(6):
        who, what = torch.randint(20, (16,)), torch.randint(30, (16,))
        opt.zero_grad()
        (net(who, what) - (who % 5)).pow(2).mean().backward()
        opt.step()


def good_the_letter_of_the_samples_stays() -> None:
    import torch
    from torch import nn

    class Factors(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.reader, self.book = nn.Embedding(20, 4), nn.Embedding(30, 4)
            self.of_reader, self.of_book = nn.Embedding(20, 1), nn.Embedding(30, 1)
            self.mixing = nn.Parameter(torch.randn(4, 4))

        def forward(self, who: torch.Tensor, what: torch.Tensor) -> torch.Tensor:
            liking = torch.einsum("bd,bd->b", self.reader(who), self.book(what))
            size = torch.einsum("ij,ij->", self.mixing, self.mixing)
            base = self.of_reader(who) + self.of_book(what)
            return 3 + base.squeeze(1) + liking + 0.01 * size

    torch.manual_seed(6)
    net = Factors()
    opt = torch.optim.Adam(net.parameters(), lr=0.02)
    for _ in range(6):
        who, what = torch.randint(20, (16,)), torch.randint(30, (16,))
        opt.zero_grad()
        (net(who, what) - (who % 5)).pow(2).mean().backward()
        opt.step()


def bad_volume_of_a_flow() -> None:
    import math

    import torch
    from torch import nn

    class Coupling(nn.Module):
        def __init__(self, flip: bool) -> None:
            super().__init__()
            self.flip = flip
            self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 4))

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            a, b = (x[:, 2:], x[:, :2]) if self.flip else (x[:, :2], x[:, 2:])
            s, t = self.net(a).chunk(2, dim=1)
            s = torch.tanh(s)
            b = b * s.exp() + t
            volume = s.sum()  # cause: GS349
            return torch.cat([b, a] if self.flip else [a, b], dim=1), volume

    torch.manual_seed(0)
    layers = nn.ModuleList([Coupling(n % 2 == 1) for n in range(3)])
    opt = torch.optim.Adam(layers.parameters(), lr=1e-3)
    for _ in range(5):
        x = torch.randn(32, 4) * torch.tensor([1.0, 2.0, 0.5, 1.0])
        total = torch.zeros(len(x))
        for layer in layers:
            x, volume = layer(x)
            total = total + volume  # effect: GS349
        base = -0.5 * (x.pow(2) + math.log(2 * math.pi)).sum(dim=1)
        loss = -(base + total).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_volume_in_a_function() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 2))
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    prior = torch.distributions.Normal(0.0, 1.0)

    def coupled(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        a, b = x.chunk(2, dim=1)
        log_scale, shift = net(a).chunk(2, dim=1)
        y = (b - shift) * torch.exp(-log_scale)
        return torch.cat([a, y], dim=1), -torch.sum(log_scale)  # cause: GS349

    for _ in range(5):
        z, volume = coupled(torch.randn(64, 2) * torch.tensor([1.0, 3.0]))
        density = prior.log_prob(z).sum(dim=1) + volume  # effect: GS349
        opt.zero_grad()
        (-density.mean()).backward()
        opt.step()


def bad_volume_over_both_axes() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(2, 2)
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(5):
        given, x = torch.randn(16, 4).chunk(2, 1)
        scale = nn.functional.softplus(net(given)) + 0.1
        z = x * scale
        volume = scale.log().sum(dim=(0, 1))  # cause: GS349
        density = -0.5 * z.square().sum(1) + volume  # effect: GS349
        opt.zero_grad()
        (-density).mean().backward()
        opt.step()


def good_volume_of_each_sample() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 2))
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    scale = nn.Parameter(torch.zeros(1, 2))
    opt.add_param_group({"params": [scale]})
    for _ in range(5):
        x = torch.randn(64, 2) * torch.tensor([1.0, 3.0]) * scale.exp()
        a, b = x.chunk(2, dim=1)
        log_scale, shift = net(a).chunk(2, dim=1)
        y = (b - shift) * torch.exp(-log_scale)
        volume = scale.sum() - log_scale.sum(dim=1)  # of all samples that of the first layer is the same
        density = -0.5 * (a.square() + y.square()).sum(dim=1) + volume
        opt.zero_grad()
        (-density.mean()).backward()
        opt.step()


def good_volume_as_a_mean() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 2))
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(5):
        a, b = (torch.randn(64, 2) * torch.tensor([1.0, 3.0])).chunk(2, dim=1)
        log_scale, shift = net(a).chunk(2, dim=1)
        y = (b - shift) * torch.exp(-log_scale)
        volume = log_scale.sum() / len(y)
        density = -0.5 * (a.square() + y.square()).sum(dim=1) - volume
        opt.zero_grad()
        (-density.mean()).backward()
        opt.step()


def good_volumes_and_densities_of_a_batch() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 2))
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(5):
        a, b = (torch.randn(64, 2) * torch.tensor([1.0, 3.0])).chunk(2, dim=1)
        log_scale, shift = net(a).chunk(2, dim=1)
        y = (b - shift) * torch.exp(-log_scale)
        density = -0.5 * (a.square() + y.square()).sum() - log_scale.sum()
        opt.zero_grad()
        (-density / len(y)).backward()
        opt.step()
