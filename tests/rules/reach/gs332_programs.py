"""More programs of GS332: each bad one is reported at its marks, each good one by no rule."""


def bad_matched_with_itself_in_a_function() -> None:
    import torch
    from torch import nn

    generator = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 4))
    critic = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt_g = torch.optim.Adam(generator.parameters(), lr=1e-2)
    opt_c = torch.optim.Adam(critic.parameters(), lr=1e-2)

    def generator_loss(made: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        adversarial = -critic(real).mean()  # cause: GS332
        return 0.1 * adversarial + nn.functional.l1_loss(made, real)

    for _ in range(4):
        noise = torch.randn(8, 2)
        real = torch.cat([noise, noise.pow(2)], 1)
        opt_c.zero_grad()
        (critic(generator(noise).detach()).mean() - critic(real).mean()).backward()
        opt_c.step()
        opt_g.zero_grad()
        generator_loss(generator(noise), real).backward()  # effect: GS332
        opt_g.step()


def good_distance_of_two_sides() -> None:
    import torch
    from torch import nn

    generator, critic = nn.Linear(2, 4), nn.Linear(4, 1)
    opt_g = torch.optim.SGD(generator.parameters(), lr=0.1)
    opt_c = torch.optim.SGD(critic.parameters(), lr=0.1)
    for _ in range(4):
        noise, real = torch.randn(8, 2), torch.randn(8, 4) + 1
        opt_c.zero_grad()
        (critic(generator(noise).detach()).mean() - critic(real).mean()).backward()
        opt_c.step()
        opt_g.zero_grad()
        loss = critic(real).mean() - critic(generator(noise)).mean() + generator.weight.pow(2).sum()
        loss.backward()
        opt_g.step()


def good_both_are_stepped_from_one_loss() -> None:
    import torch
    from torch import nn

    body, other = nn.Linear(4, 1), nn.Linear(4, 1)
    first = torch.optim.SGD(body.parameters(), lr=0.1)
    second = torch.optim.SGD(other.parameters(), lr=0.1)
    for _ in range(4):
        first.zero_grad()
        second.zero_grad()
        loss = body(torch.randn(8, 4)).pow(2).mean() + (other(torch.randn(8, 4)) - 1).pow(2).mean()
        loss.backward()
        first.step()
        second.step()


def good_one_of_two_is_stepped_every_other_time() -> None:
    import torch
    from torch import nn

    body, slow = nn.Linear(4, 1), nn.Linear(4, 1)
    first = torch.optim.SGD(body.parameters(), lr=0.1)
    second = torch.optim.SGD(slow.parameters(), lr=0.1)
    for step in range(6):
        first.zero_grad()
        if step % 2 == 0:
            second.zero_grad()
        loss = body(torch.randn(8, 4)).pow(2).mean() + (slow(torch.randn(8, 4)) - 1).pow(2).mean()
        loss.backward()
        first.step()
        if step % 2:
            second.step()
