"""More programs of GS350: each bad one is reported at its marks, each good one by no rule."""


def bad_accumulated_the_wrong_way() -> None:
    import torch
    from torch import nn

    class Coupling(nn.Module):
        def __init__(self, flip: bool) -> None:
            super().__init__()
            self.flip = flip
            self.net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 2))

        def forward(self, z: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            kept, moved = z.flip(1).chunk(2, 1) if self.flip else z.chunk(2, 1)
            widening, shift = self.net(kept).chunk(2, 1)
            moved = moved * widening.exp() + shift
            return torch.cat([kept, moved], 1), widening.squeeze(1)

    torch.manual_seed(0)
    flows = nn.ModuleList(Coupling(k % 2 == 1) for k in range(3))
    opt = torch.optim.Adam(flows.parameters(), lr=5e-3)
    for _ in range(4):
        z = torch.randn(64, 2)
        log_q = -0.5 * z.pow(2).sum(1)
        volume = torch.zeros(64)
        for flow in flows:
            z, one = flow(z)
            volume -= one  # cause: GS350
        energy = 0.5 * ((z - 1) / 2).pow(2).sum(1)
        loss = (log_q - volume + energy).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS350
        opt.step()


def good_accumulated() -> None:
    import torch
    from torch import nn

    class Coupling(nn.Module):
        def __init__(self, flip: bool) -> None:
            super().__init__()
            self.flip = flip
            self.net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 2))

        def forward(self, z: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            kept, moved = z.flip(1).chunk(2, 1) if self.flip else z.chunk(2, 1)
            widening, shift = self.net(kept).chunk(2, 1)
            moved = moved * widening.exp() + shift
            return torch.cat([kept, moved], 1), widening.squeeze(1)

    torch.manual_seed(0)
    flows = nn.ModuleList(Coupling(k % 2 == 1) for k in range(3))
    opt = torch.optim.Adam(flows.parameters(), lr=5e-3)
    for _ in range(4):
        z = torch.randn(64, 2)
        log_q = -0.5 * z.pow(2).sum(1)
        volume = torch.zeros(64)
        for flow in flows:
            z, one = flow(z)
            volume += one
        energy = 0.5 * ((z - 1) / 2).pow(2).sum(1)
        loss = (log_q - volume + energy).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_of_a_sigmoid() -> None:
    import math

    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 4))
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(4):
        given, mapped = torch.randn(64, 4).chunk(2, 1)
        raw, moved_by = net(given).chunk(2, 1)
        gate = torch.sigmoid(raw + 2)
        latent = (mapped + moved_by) * gate
        prior = -0.5 * (given.pow(2) + latent.pow(2) + math.log(2 * math.pi)).sum(1)
        bits = -(prior - torch.log(gate).sum(1)).mean() / (4 * math.log(2))  # cause: GS350
        opt.zero_grad()
        bits.backward()  # effect: GS350
        opt.step()


def good_of_a_sigmoid() -> None:
    import math

    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 4))
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(4):
        given, mapped = torch.randn(64, 4).chunk(2, 1)
        raw, moved_by = net(given).chunk(2, 1)
        gate = torch.sigmoid(raw + 2)
        latent = (mapped + moved_by) * gate
        prior = -0.5 * (given.pow(2) + latent.pow(2) + math.log(2 * math.pi)).sum(1)
        bits = -(prior + torch.log(gate).sum(1)).mean() / (4 * math.log(2))
        opt.zero_grad()
        bits.backward()
        opt.step()


def good_variance_of_each_sample() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(4):
        x = torch.randn(64, 4)
        mean, log_var = net(x).chunk(2, 1)
        error = (mean - x[:, :1] * 2) ** 2
        loss = (0.5 * torch.exp(-log_var) * error + 0.5 * log_var).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_weights_of_tasks() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    spread = nn.Parameter(torch.zeros(2))
    opt = torch.optim.Adam([*net.parameters(), spread], lr=5e-3)
    for _ in range(4):
        x = torch.randn(64, 4)
        out = net(x)
        each = torch.stack([(out[:, 0] - x[:, 0]).pow(2).mean(), (out[:, 1] + x[:, 1]).pow(2).mean()])
        loss = (each / spread.exp().pow(2) / 2 + spread).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_posterior() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(4):
        x = torch.randn(32, 6)
        mu, log_sd = encoder(x).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * torch.exp(log_sd)
        divergence = (0.5 * (mu.pow(2) + torch.exp(2 * log_sd)) - log_sd - 0.5).sum(1).mean()
        loss = (decoder(z) - x).pow(2).sum(1).mean() + divergence
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_under_a_normal_distribution() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Coupling(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(nn.Linear(1, 16), nn.SiLU(), nn.Linear(16, 2))

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            kept, moved = x.unbind(-1)
            log_scale, shift = self.net(kept.unsqueeze(-1)).unbind(-1)
            log_scale = torch.tanh(log_scale)
            return torch.stack(((moved - shift) / log_scale.exp(), kept), -1), log_scale

    torch.manual_seed(7)
    layers = nn.ModuleList(Coupling() for _ in range(3))
    base = torch.distributions.Normal(torch.zeros(2), torch.ones(2))
    opt = torch.optim.Adam(layers.parameters(), lr=2e-3)
    for _ in range(5):
        x, volume = torch.randn(64, 2) * torch.tensor([1.0, 3.0]), torch.zeros(64)
        for layer in layers:
            x, part = layer(x)
            volume = volume + part  # cause: GS350
        loss = -(base.log_prob(x).sum(-1) + volume).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS350
        opt.step()


def good_under_a_normal_distribution() -> None:
    import torch
    from torch import nn

    class Coupling(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(nn.Linear(1, 16), nn.SiLU(), nn.Linear(16, 2))

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            kept, moved = x.unbind(-1)
            log_scale, shift = self.net(kept.unsqueeze(-1)).unbind(-1)
            log_scale = torch.tanh(log_scale)
            return torch.stack(((moved - shift) / log_scale.exp(), kept), -1), -log_scale

    torch.manual_seed(7)
    layers = nn.ModuleList(Coupling() for _ in range(3))
    base = torch.distributions.Normal(torch.zeros(2), torch.ones(2))
    opt = torch.optim.Adam(layers.parameters(), lr=2e-3)
    for _ in range(5):
        x, volume = torch.randn(64, 2) * torch.tensor([1.0, 3.0]), torch.zeros(64)
        for layer in layers:
            x, part = layer(x)
            volume = volume + part
        loss = -(base.log_prob(x).sum(-1) + volume).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
