def good_slope_at_the_drawn_number() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal

    torch.manual_seed(0)
    actor = nn.Linear(3, 2)
    opt = torch.optim.Adam(actor.parameters(), lr=0.01)
    for _ in range(4):
        middle, spread = actor(torch.randn(16, 3)).chunk(2, dim=1)
        drawn = Normal(middle, spread.exp())
        u = drawn.rsample()
        chance = drawn.log_prob(u) - torch.log(1 - torch.tanh(u) ** 2 + 1e-6)
        loss = (0.1 * chance - torch.tanh(u)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_two_layers_with_tanh() -> None:
    """A flow: each layer's slope is taken of its own tanh, whose input is the one's before, moved and scaled."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    opt = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=0.01)
    for _ in range(4):
        z = torch.randn(32, 2)
        one = torch.tanh(first(z))
        two = torch.tanh(second(one))
        slopes = torch.log(1 - one**2 + 1e-6).sum(1) + torch.log(1 - two**2 + 1e-6).sum(1)
        loss = (two.sum(1) - 0.5).pow(2).mean() - 0.01 * slopes.mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_multiplied_with_itself_and_clamped() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    actor, spread = nn.Linear(3, 1), nn.Parameter(torch.zeros(1))
    opt = torch.optim.Adam([*actor.parameters(), spread], lr=0.01)
    for _ in range(4):
        middle = actor(torch.randn(16, 3))
        noise = torch.randn_like(middle)
        action = torch.tanh(middle + spread.exp() * noise)
        again = action.tanh()  # cause: GS478
        chance = -0.5 * noise**2 - spread - torch.log((1 - again * again).clamp(min=1e-6))
        loss = (0.1 * chance - action).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS478
        opt.step()
