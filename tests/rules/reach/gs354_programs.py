"""More programs of GS354: each bad one is reported at its marks, each good one by no rule."""


def bad_deviation_for_its_logarithm() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal, kl_divergence

    def away(mean: torch.Tensor, log_sigma: torch.Tensor) -> torch.Tensor:
        mine = Normal(mean, torch.exp(log_sigma))
        return kl_divergence(mine, Normal(torch.zeros_like(mean), torch.ones_like(mean))).sum(1).mean()

    torch.manual_seed(0)
    read, tell = nn.Linear(6, 4), nn.Linear(2, 3)
    opt = torch.optim.Adam([*read.parameters(), *tell.parameters()], lr=0.01)
    for _ in range(3):
        seen = torch.randn(32, 6)
        mean, logvar = read(seen).chunk(2, 1)
        std = torch.exp(0.5 * logvar)
        drawn = mean + std * torch.randn_like(std)  # effect: GS354
        far = away(mean, std)  # cause: GS354
        loss = nn.functional.cross_entropy(tell(drawn), seen[:, :3].argmax(1)) + 0.05 * far
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_deviation_for_the_variance() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    read, tell = nn.Linear(6, 4), nn.Linear(2, 6)
    opt = torch.optim.Adam([*read.parameters(), *tell.parameters()], lr=0.01)
    for _ in range(3):
        seen = torch.randn(32, 6)
        mean, logstd = read(seen).chunk(2, 1)
        drawn = mean + torch.randn_like(mean) * torch.exp(logstd)  # effect: GS354
        each = 1 + 2 * logstd - mean**2 - torch.exp(logstd)  # cause: GS354
        loss = (tell(drawn) - seen).pow(2).mean() - 0.5 * each.sum(1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_softplus() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    read, tell = nn.Linear(6, 4), nn.Linear(2, 6)
    opt = torch.optim.Adam([*read.parameters(), *tell.parameters()], lr=0.01)
    for _ in range(3):
        seen = torch.randn(32, 6)
        mean, raw = read(seen).chunk(2, 1)
        sigma = nn.functional.softplus(raw)
        drawn = mean + torch.randn_like(mean) * sigma
        far = 0.5 * (sigma**2 + mean**2 - 1 - 2 * torch.log(sigma)).sum(1).mean()
        loss = (tell(drawn) - seen).pow(2).mean() + far
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_distributions() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal, kl_divergence

    torch.manual_seed(0)
    read, tell = nn.Linear(6, 4), nn.Linear(2, 6)
    opt = torch.optim.Adam([*read.parameters(), *tell.parameters()], lr=0.01)
    for _ in range(3):
        seen = torch.randn(32, 6)
        mean, logvar = read(seen).chunk(2, 1)
        std = torch.exp(0.5 * logvar)
        drawn = mean + std * torch.randn_like(std)
        far = kl_divergence(Normal(mean, std), Normal(0.0, 1.0)).sum(1).mean()
        loss = (tell(drawn) - seen).pow(2).mean() + far
        opt.zero_grad()
        loss.backward()
        opt.step()
