"""More programs of GS344: each bad one is reported at its marks, each good one by no rule."""

from __future__ import annotations


def bad_distance_from_the_straight_through_value() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder, book = nn.Linear(4, 4), nn.Linear(4, 4), torch.randn(8, 4)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
    for _ in range(3):
        x = torch.randn(16, 4)
        z = encoder(x)
        quantized = z + (book[torch.cdist(z, book).argmin(1)] - z).detach()
        commitment = F.mse_loss(quantized, z)  # cause: GS344
        loss = F.mse_loss(decoder(quantized), x) + 0.25 * commitment
        opt.zero_grad()
        loss.backward()  # effect: GS344
        opt.step()


def good_distance_from_the_code() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder, book = nn.Linear(4, 4), nn.Linear(4, 4), torch.randn(8, 4)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
    for _ in range(3):
        x = torch.randn(16, 4)
        z = encoder(x)
        code = book[torch.cdist(z, book).argmin(1)]
        commitment = F.mse_loss(code, z)
        loss = F.mse_loss(decoder(z + (code - z).detach()), x) + 0.25 * commitment
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_noise_taken_from_what_it_was_added_to() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    encoder, model = nn.Linear(4, 4), nn.Linear(4, 4)
    opt = torch.optim.Adam([*encoder.parameters(), *model.parameters()])
    for _ in range(3):
        z = encoder(torch.randn(16, 4))
        noisy = z + torch.randn(16, 4)
        loss = F.mse_loss(model(noisy), noisy - z)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_an_interval_between_two_times() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    speed, encoder, decoder = nn.Linear(4, 4), nn.Linear(3, 4), nn.Linear(4, 1)
    opt = torch.optim.Adam([*speed.parameters(), *encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(4):
        x = torch.randn(16, 3)
        y = encoder(x)
        slope = speed(y)
        begun = 0.01 * y.norm() / slope.norm()  # a first step as long as the slope lets it be
        y = y + begun * slope
        for t in (0.2, 0.5):
            end = begun + 0.3
            share = (t - begun) / (end - begun)  # whose gradient is zero, as it should be
            y, begun = y + share * 0.3 * speed(y), end
        loss = (decoder(y) - x[:, :1].sin()).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_density_at_its_own_sample() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal

    torch.manual_seed(0)
    policy, critic = nn.Linear(4, 2), nn.Linear(4, 1)
    opt = torch.optim.SGD([*policy.parameters(), *critic.parameters()], lr=0.01)
    for _ in range(4):
        x = torch.randn(16, 4)
        mean = policy(x)
        place = Normal(mean, 0.2).rsample()
        chance = Normal(mean, 0.2).log_prob(place)  # cause: GS344
        reward = -(place.detach() - x[:, :2]).pow(2).sum(1, keepdim=True)
        gain = reward - critic(x)
        opt.zero_grad()
        (gain.pow(2).mean() - (chance * gain.detach()).mean()).backward()  # effect: GS344
        opt.step()
