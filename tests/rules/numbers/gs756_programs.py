"""More programs of GS756: each bad one is reported at its marks, each good one by no rule."""


def bad_of_distributions() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal, kl_divergence

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(40, 8), nn.Linear(4, 40)
    criterion = nn.MSELoss()
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    prior = Normal(torch.zeros(4), torch.ones(4))
    for _ in range(5):
        x = torch.randn(32, 40)
        mean, deviation = encoder(x).chunk(2, dim=1)
        posterior = Normal(mean, nn.functional.softplus(deviation))
        loss = criterion(decoder(posterior.rsample()), x)
        loss = loss + kl_divergence(posterior, prior).sum()  # cause: GS756
        opt.zero_grad()
        loss.backward()  # effect: GS756
        opt.step()


def good_weighted_by_hand() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(40, 8), nn.Linear(4, 40)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(5):
        x = torch.randn(32, 40)
        mean, logvar = encoder(x).chunk(2, dim=1)
        code = mean + torch.randn_like(mean) * (0.5 * logvar).exp()
        error = nn.functional.mse_loss(decoder(code), x)
        divergence = -0.5 * torch.sum(1 + logvar - mean.pow(2) - logvar.exp())
        opt.zero_grad()
        (error + 0.00025 * divergence).backward()
        opt.step()


def good_sparse_code() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(40, 64), nn.Linear(64, 40)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    sparsity = 1e-4
    for _ in range(5):
        x = torch.randn(32, 40)
        code = encoder(x).relu()
        opt.zero_grad()
        (nn.functional.mse_loss(decoder(code), x) + sparsity * code.abs().sum()).backward()
        opt.step()


def good_elastic_weights() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(40, 32)
    before = model.weight.detach().clone()
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(5):
        x = torch.randn(32, 40)
        opt.zero_grad()
        (nn.functional.mse_loss(model(x), x[:, :32]) + 0.5 * (model.weight - before).pow(2).sum()).backward()
        opt.step()


def good_both_sums() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(40, 8), nn.Linear(4, 40)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(5):
        x = torch.rand(32, 40)
        mean, logvar = encoder(x).chunk(2, dim=1)
        code = mean + torch.randn_like(mean) * (0.5 * logvar).exp()
        error = nn.functional.binary_cross_entropy(decoder(code).sigmoid(), x, reduction="sum")
        divergence = -0.5 * torch.sum(1 + logvar - mean.pow(2) - logvar.exp())
        opt.zero_grad()
        (error + divergence).backward()
        opt.step()


def good_mean_over_samples_of_sums() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(40, 8), nn.Linear(4, 40)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(5):
        x = torch.randn(32, 40)
        mean, logvar = encoder(x).chunk(2, dim=1)
        code = mean + torch.randn_like(mean) * (0.5 * logvar).exp()
        error = (decoder(code) - x).pow(2).sum(1).mean()
        divergence = (-0.5 * (1 + logvar - mean.pow(2) - logvar.exp()).sum(1)).mean()
        opt.zero_grad()
        (error + divergence).backward()
        opt.step()


def good_sum_by_its_old_name() -> None:
    import warnings

    import torch
    from torch import nn

    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    encoder, decoder = nn.Linear(40, 8), nn.Linear(4, 40)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(5):
        x = torch.rand(32, 40)
        mean, logvar = encoder(x).chunk(2, dim=1)
        code = mean + torch.randn_like(mean) * (0.5 * logvar).exp()
        error = nn.functional.binary_cross_entropy(decoder(code).sigmoid(), x, size_average=False)
        divergence = -0.5 * torch.sum(1 + logvar - mean.pow(2) - logvar.exp())
        opt.zero_grad()
        (error + divergence).backward()
        opt.step()


def bad_divergence_of_each_sample_wins() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rows = torch.randn(64, 2) @ torch.randn(2, 40) * 0.2
    encoder, decoder = nn.Linear(40, 4), nn.Linear(2, 40)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(400):
        x = rows[torch.randint(0, 64, (32,))]
        mean, logvar = encoder(x).chunk(2, dim=1)
        code = mean + torch.randn_like(mean) * (0.5 * logvar).exp()
        error = nn.functional.mse_loss(decoder(code), x)  # cause: GS756
        divergence = -0.5 * (1 + logvar - mean.pow(2) - logvar.exp()).sum(dim=1).mean()
        loss = error + divergence  # effect: GS756
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_error_of_each_sample_is_summed() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rows = torch.randn(64, 2) @ torch.randn(2, 40) * 0.2
    encoder, decoder = nn.Linear(40, 4), nn.Linear(2, 40)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(400):
        x = rows[torch.randint(0, 64, (32,))]
        mean, logvar = encoder(x).chunk(2, dim=1)
        code = mean + torch.randn_like(mean) * (0.5 * logvar).exp()
        error = nn.functional.mse_loss(decoder(code), x) * 40
        divergence = -0.5 * (1 + logvar - mean.pow(2) - logvar.exp()).sum(dim=1).mean()
        loss = error + divergence
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_divergence_weighed_by_hand() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rows = torch.randn(64, 2) @ torch.randn(2, 40) * 0.2
    encoder, decoder = nn.Linear(40, 4), nn.Linear(2, 40)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(400):
        x = rows[torch.randint(0, 64, (32,))]
        mean, logvar = encoder(x).chunk(2, dim=1)
        code = mean + torch.randn_like(mean) * (0.5 * logvar).exp()
        error = nn.functional.mse_loss(decoder(code), x)
        divergence = -0.5 * (1 + logvar - mean.pow(2) - logvar.exp()).sum(dim=1).mean()
        loss = error + 0.025 * divergence
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_divergence_of_independent_distributions() -> None:
    import torch
    from torch import nn
    from torch.distributions import Independent, Normal, kl_divergence

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(40, 12), nn.Linear(6, 40)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    prior = Independent(Normal(torch.zeros(6), torch.ones(6)), 1)
    for _ in range(5):
        x = (torch.rand(32, 40) < 0.4).float()
        loc, scale = encoder(x).chunk(2, dim=1)
        posterior = Independent(Normal(loc, nn.functional.softplus(scale) + 1e-3), 1)
        rebuilt = nn.functional.binary_cross_entropy_with_logits(decoder(posterior.rsample()), x)
        kl = kl_divergence(posterior, prior).sum()  # cause: GS756
        opt.zero_grad()
        (rebuilt + kl).backward()  # effect: GS756
        opt.step()


def good_both_summed_over_each_sample() -> None:
    import torch
    from torch import nn
    from torch.distributions import Independent, Normal, kl_divergence

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(40, 12), nn.Linear(6, 40)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    prior = Independent(Normal(torch.zeros(6), torch.ones(6)), 1)
    for _ in range(5):
        x = (torch.rand(32, 40) < 0.4).float()
        loc, scale = encoder(x).chunk(2, dim=1)
        posterior = Independent(Normal(loc, nn.functional.softplus(scale) + 1e-3), 1)
        scores = decoder(posterior.rsample())
        rebuilt = nn.functional.binary_cross_entropy_with_logits(scores, x, reduction="none").sum(1).sum()
        kl = kl_divergence(posterior, prior).sum()
        opt.zero_grad()
        ((rebuilt + kl) / 32).backward()
        opt.step()
