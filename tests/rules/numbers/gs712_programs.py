"""More programs of GS712: each bad one is reported at its marks, each good one by no rule."""


def good_clean_data_as_the_target() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    kept = torch.linspace(0.9, 0.1, 10)
    for _ in range(3):
        clean = torch.rand(8, 4).cumsum(1)
        share = kept[torch.randint(0, 10, (8,))].unsqueeze(1)
        noised = share * clean + (1 - share) * torch.randn_like(clean)
        opt.zero_grad()
        nn.functional.mse_loss(model(noised), clean).backward()
        opt.step()


def good_autoencoder_of_noisy_measurements() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 2), nn.Linear(2, 4))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.rand(8, 4) + 0.1 * torch.randn(8, 4)
        opt.zero_grad()
        nn.functional.mse_loss(model(x), x).backward()
        opt.step()


def bad_by_a_level_that_the_network_is_told() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Conv1d(2, 1, 5, padding=2)
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    time = torch.linspace(0, 6, 40)
    for _ in range(4):
        sound = torch.sin(time * (1 + 3 * torch.rand(16, 1, 1)))
        level, hiss = torch.rand(16, 1, 1), torch.randn_like(sound)
        rough = torch.addcmul(sound, level, hiss)  # effect: GS712
        opt.zero_grad()
        guess = net(torch.cat([rough, level.expand_as(rough)], dim=1))
        loss = (guess - rough).abs().mean()  # cause: GS712
        loss.backward()
        opt.step()


def good_clean_sound_by_a_level_that_the_network_is_told() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Conv1d(2, 1, 5, padding=2)
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    time = torch.linspace(0, 6, 40)
    for _ in range(4):
        sound = torch.sin(time * (1 + 3 * torch.rand(16, 1, 1)))
        level, hiss = torch.rand(16, 1, 1), torch.randn_like(sound)
        rough = torch.addcmul(sound, level, hiss)
        opt.zero_grad()
        guess = net(torch.cat([rough, level.expand_as(rough)], dim=1))
        nn.functional.l1_loss(guess, sound).backward()
        opt.step()


def good_noise_of_any_strength_as_more_data() -> None:
    """An autoencoder of data that is made more by noise: nothing is told of it."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 3), nn.Tanh(), nn.Linear(3, 8))
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for _ in range(4):
        x = torch.rand(16, 8).cumsum(1)
        x = x + torch.rand(16, 1) * torch.randn_like(x)
        opt.zero_grad()
        nn.functional.mse_loss(net(x), x).backward()
        opt.step()
