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
