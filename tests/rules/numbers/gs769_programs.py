"""More programs of GS769: each bad one is reported at its marks, each good one by no rule."""


def bad_one_variance_for_both() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Coder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mean, self.spread, self.back = nn.Linear(6, 2), nn.Linear(6, 2), nn.Linear(2, 6)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            mean, log_var = self.mean(x), self.spread(x)
            var = log_var.exp()  # cause: GS769
            code = torch.randn_like(var).mul(var).add(mean)
            divergence = 0.5 * (var + mean**2 - 1 - log_var).sum(1)  # effect: GS769
            return self.back(code), divergence

    torch.manual_seed(0)
    model = Coder()
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(32, 6)
        again, divergence = model(x)
        opt.zero_grad()
        ((again - x).pow(2).sum(1) + divergence).mean().backward()
        opt.step()


def good_log_deviation() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(32, 6)
        mu, log_std = encoder(x).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * log_std.exp()
        divergence = -0.5 * (1 + 2 * log_std - mu.pow(2) - (2 * log_std).exp()).sum(1).mean()
        opt.zero_grad()
        ((decoder(z) - x).pow(2).sum(1).mean() + divergence).backward()
        opt.step()


def good_deviation_squared() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(32, 6)
        mu, log_std = encoder(x).chunk(2, dim=1)
        std = log_std.exp()
        z = mu + torch.randn_like(std) * std
        divergence = (0.5 * (mu.pow(2) + std.pow(2) - 1) - log_std).sum(1).mean()
        opt.zero_grad()
        ((decoder(z) - x).pow(2).sum(1).mean() + divergence).backward()
        opt.step()


def bad_noise_of_a_clone_in_a_variable() -> None:
    import torch
    from torch import nn
    from torch.autograd import Variable

    torch.manual_seed(0)
    code, shown = nn.Linear(6, 4), nn.Linear(2, 6)
    opt = torch.optim.Adam([*code.parameters(), *shown.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(32, 6)
        mean, spread = code(x).chunk(2, dim=1)
        noise = Variable(mean.detach().clone().normal_(0, 1), requires_grad=False)
        z = mean + noise * spread.exp()  # cause: GS769
        kl = -0.5 * (1.0 + spread - mean**2 - spread.exp())  # effect: GS769
        loss = (shown(z) - x).pow(2).sum(1).mean() + kl.sum(1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_logarithm_as_the_deviation() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(32, 6)
        mu, logvar = encoder(x).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * logvar  # cause: GS769
        divergence = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()  # effect: GS769
        loss = (decoder(z) - x).pow(2).sum(1).mean() + divergence
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_logarithm_never_negative() -> None:
    import torch
    from torch import nn

    class Coder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mean, self.spread, self.back = nn.Linear(6, 2), nn.Linear(6, 2), nn.Linear(2, 6)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            mean, log_var = self.mean(x), nn.functional.softplus(self.spread(x))  # cause: GS769
            std = log_var.mul(0.5).exp()
            z = mean + std * torch.randn_like(std)  # effect: GS769
            return self.back(z), -0.5 * torch.sum(1 + log_var - mean.pow(2) - log_var.exp())

    torch.manual_seed(0)
    model = Coder()
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(32, 6)
        again, divergence = model(x)
        opt.zero_grad()
        ((again - x).pow(2).sum() + divergence).backward()
        opt.step()


def good_deviation_by_softplus() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(32, 6)
        mu, raw = encoder(x).chunk(2, dim=1)
        std = nn.functional.softplus(raw)
        z = mu + torch.randn_like(std) * std
        divergence = (0.5 * (mu.pow(2) + std.pow(2) - 1) - std.log()).sum(1).mean()
        opt.zero_grad()
        ((decoder(z) - x).pow(2).sum(1).mean() + divergence).backward()
        opt.step()


def bad_product_and_sum_in_one_call() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(3):
        rain = torch.randn(32, 6)
        loc, logvar = encoder(rain).chunk(2, dim=1)
        spread = logvar.exp()  # cause: GS769
        code = torch.addcmul(loc, spread, torch.randn(loc.shape))
        rate = 0.5 * (loc.square() + spread - logvar - 1).sum(1)  # effect: GS769
        loss = ((decoder(code) - rain).square().sum(1) + rate).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_product_and_sum_in_one_call_of_the_root() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(3):
        rain = torch.randn(32, 6)
        loc, logvar = encoder(rain).chunk(2, dim=1)
        spread = logvar.exp()
        code = torch.addcmul(loc, spread.sqrt(), torch.randn(loc.shape))
        rate = 0.5 * (loc.square() + spread - logvar - 1).sum(1)
        loss = ((decoder(code) - rain).square().sum(1) + rate).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
