"""More programs of GS735: each bad one is reported at its marks, each good one by no rule."""


def bad_each_sample_less_the_sum_of_all() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.001)
    for _ in range(6):
        x, y = torch.randn(16, 4), torch.randn(16, 3)
        out = model(x)
        own = out.pow(2).sum(1)
        log_det = torch.tanh(out).sum(1)
        loss = (own - sum(log_det)).mean()  # cause: GS735
        opt.zero_grad()
        loss.backward()  # effect: GS735
        opt.step()


def bad_weights_of_samples_times_the_sum_of_all() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.001)
    for _ in range(6):
        x, y = torch.randn(16, 4), torch.randn(16, 3)
        out = model(x)
        weights = torch.rand(16)
        total = (out - y).pow(2).mean(1).sum()  # cause: GS735
        loss = (0.5 * total * weights).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS735
        opt.step()


def good_sums_of_each_sample() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.001)
    for _ in range(6):
        x, y = torch.randn(16, 4), torch.randn(16, 3)
        out = model(x)
        mask = (torch.rand(16, 3) > 0.5).float()
        own = (out - y).pow(2).sum(-1, keepdim=True) * mask
        loss = own.sum(-1).mean() + 0.01 * (out.abs().sum(1) * mask[:, 0]).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_total_without_the_sample_itself() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.001)
    for _ in range(6):
        x, y = torch.randn(16, 4), torch.randn(16, 3)
        out = model(x)
        own = out.pow(2).sum(1)
        others = (own.sum() - own) / 15
        loss = (own + 0.1 * others).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_share_of_the_total() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.001)
    for _ in range(6):
        x, y = torch.randn(16, 4), torch.randn(16, 3)
        out = model(x)
        own = out.exp().sum(1)
        share = own / own.sum()
        loss = -(share * y[:, 0]).sum() - torch.log(share).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_weight_decay_beside_losses_of_samples() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.001)
    for _ in range(6):
        x, y = torch.randn(16, 4), torch.randn(16, 3)
        out = model(x)
        own = (out - y).pow(2).mean(1)
        decay = 0.01 * model.weight.pow(2).sum()
        loss = (own + decay).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_total_times_one_weight() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.001)
    for _ in range(6):
        x, y = torch.randn(16, 4), torch.randn(16, 3)
        out = model(x)
        own = (out - y).pow(2).mean(1)
        weight = torch.rand(1)
        loss = (0.01 * own.sum() * weight).mean() + sum(own) / len(own)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_activity_added_to_losses_of_samples() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.001)
    for _ in range(6):
        x, y = torch.randn(16, 4), torch.randn(16, 3)
        out = model(x)
        own = (out - y).pow(2).mean(1)
        loss = (own + 0.001 * out.abs().sum()).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_mean_of_the_sum_of_all() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, back = nn.Linear(4, 6), nn.Linear(3, 4)
    opt = torch.optim.SGD([*model.parameters(), *back.parameters()], lr=0.001)
    for _ in range(6):
        x = torch.randn(16, 4)
        mu, log_var = model(x).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * (0.5 * log_var).exp()
        kl = -0.5 * torch.sum(1 + log_var - mu**2 - log_var.exp())  # cause: GS735
        kl = torch.mean(kl, dim=0)  # effect: GS735
        loss = (back(z) - x).square().sum(1).mean() + kl
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_mean_of_the_sum_of_samples() -> None:
    """There is a number for each sample before the sum."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.001)
    for _ in range(6):
        x, y = torch.randn(16, 4), torch.randn(16, 3)
        errors = (model(x) - y).square().mean(dim=1)
        loss = errors.sum().mean(0)  # cause: GS735  # effect: GS735
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_mean_of_the_sums_of_samples() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, back = nn.Linear(4, 6), nn.Linear(3, 4)
    opt = torch.optim.SGD([*model.parameters(), *back.parameters()], lr=0.001)
    for _ in range(6):
        x = torch.randn(16, 4)
        mu, log_var = model(x).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * (0.5 * log_var).exp()
        kl = torch.mean(-0.5 * torch.sum(1 + log_var - mu**2 - log_var.exp(), dim=1), dim=0)
        loss = (back(z) - x).square().sum(1).mean() + kl
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_mean_over_devices_of_a_mean() -> None:
    """What `DataParallel` would give is a loss for each device; here it is one."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.001)
    for _ in range(6):
        loss = nn.functional.mse_loss(model(torch.randn(16, 4)), torch.randn(16, 3)).mean(0)
        penalty = sum(p.square().sum() for p in model.parameters()).mean()
        opt.zero_grad()
        (loss + 0.001 * penalty).backward()
        opt.step()
