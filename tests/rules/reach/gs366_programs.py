"""More programs of GS366: each bad one is reported at its marks, each good one by no rule."""


def bad_data_by_its_variance() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    kept = torch.cumprod(1 - torch.linspace(0.01, 0.2, 20), 0)
    model = nn.Linear(2, 2)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        x, t = torch.randn(16, 2), torch.randint(0, 20, (16,))
        alpha = kept[t].view(-1, 1)
        noise = torch.randn(16, 2)
        noised = noise * (1 - alpha).sqrt() + x * alpha  # cause: GS366
        loss = nn.functional.mse_loss(model(noised), x)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_straight_line_between_both() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        x, noise, t = torch.randn(16, 2), torch.randn(16, 2), torch.rand(16, 1)
        between = (1 - t) * x + t * noise
        loss = nn.functional.mse_loss(model(torch.cat([between, t], 1)), noise - x)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_a_little_noise() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(2, 2)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        x = torch.randn(16, 2)
        loss = nn.functional.mse_loss(model(0.9 * x + 0.3 * torch.randn_like(x)), x)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_one_table_for_both() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    alpha_bar = torch.linspace(0.99, 0.1, 10)
    of_data, of_noise = alpha_bar**0.5, alpha_bar**0.5
    model = nn.Linear(3, 2)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        x, t = torch.randn(16, 2), torch.randint(0, 10, (16,))
        noise, kept = torch.randn_like(x), alpha_bar[t, None]
        noised = kept.sqrt() * x + (1 - kept).sqrt() * noise
        loss = nn.functional.mse_loss(model(torch.cat([noised, kept], 1)), noise)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        for step in (2, 5, 8):
            x = torch.randn(16, 2)
            noise = torch.randn_like(x)
            mixed = of_data[step] * x + of_noise[step] * noise  # cause: GS366
            print(model(torch.cat([mixed, alpha_bar[step].expand(16, 1)], 1)).mean().item())


def good_two_tables() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    alpha_bar = torch.linspace(0.99, 0.1, 10)
    of_data, of_noise = alpha_bar**0.5, (1 - alpha_bar) ** 0.5
    model = nn.Linear(3, 2)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        x, t = torch.randn(16, 2), torch.randint(0, 10, (16,))
        noise, kept = torch.randn_like(x), alpha_bar[t, None]
        noised = kept.sqrt() * x + (1 - kept).sqrt() * noise
        loss = nn.functional.mse_loss(model(torch.cat([noised, kept], 1)), noise)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        for step in (2, 5, 8):
            x = torch.randn(16, 2)
            noise = torch.randn_like(x)
            mixed = of_data[step] * x + of_noise[step] * noise
            print(model(torch.cat([mixed, alpha_bar[step].expand(16, 1)], 1)).mean().item())


def good_augmentation_by_one_factor() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(2, 2)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        x, scale = torch.randn(16, 2), torch.rand(16, 1) + 0.5
        loud = scale * x + scale * torch.randn_like(x)
        opt.zero_grad()
        nn.functional.mse_loss(model(loud), x).backward()
        opt.step()


def bad_in_one_call() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    kept = torch.cumprod(1 - torch.linspace(1e-3, 0.2, 20), 0)
    signal, spread = kept.sqrt(), 1 - kept
    net = nn.Linear(4, 4)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(6):
        x, when = torch.randn(16, 4), torch.randint(0, 20, (16,))
        noise = torch.randn_like(x)
        noised = torch.addcmul(signal[when, None] * x, spread[when, None], noise)  # cause: GS366
        opt.zero_grad()
        nn.functional.mse_loss(net(noised), noise).backward()
        opt.step()


def good_in_one_call() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    kept = torch.cumprod(1 - torch.linspace(1e-3, 0.2, 20), 0)
    net = nn.Linear(4, 4)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(6):
        x, when = torch.randn(16, 4), torch.randint(0, 20, (16,))
        noise = torch.randn_like(x)
        noised = torch.addcmul(kept[when, None].sqrt() * x, (1 - kept[when, None]).sqrt(), noise)
        between = (kept[when, None] * x).addcmul(noise, 1 - kept[when, None])
        opt.zero_grad()
        (
            nn.functional.mse_loss(net(noised), noise) + nn.functional.mse_loss(net(between), noise - x)
        ).backward()
        opt.step()
