"""More programs of GS438: each bad one is reported at its marks, each good one by no rule."""


def bad_mixed_by_lerp() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    made, critic = nn.Linear(3, 6), nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(5):
        real, fake = torch.randn(16, 6), made(torch.randn(16, 3)).detach()
        share = torch.rand(16, 6)  # cause: GS438
        points = torch.lerp(fake, real, share).requires_grad_()  # effect: GS438
        slope = torch.autograd.grad(critic(points).sum(), points, create_graph=True)[0]
        penalty = (slope.norm(2, dim=1) - 1).square().mean()
        opt.zero_grad()
        (critic(fake).mean() - critic(real).mean() + 10 * penalty).backward()
        opt.step()


def bad_goes_a_part_of_the_way() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    made, critic = nn.Linear(3, 6), nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)

    def between(real: torch.Tensor, fake: torch.Tensor) -> torch.Tensor:
        share = torch.rand_like(real)  # cause: GS438
        return real + share * (fake - real)  # effect: GS438

    for _ in range(5):
        real = torch.randn(16, 6)
        with torch.no_grad():
            fake = made(torch.randn(16, 3))
        points = between(real, fake).requires_grad_(True)
        scores = critic(points)
        (slope,) = torch.autograd.grad(scores, points, torch.ones_like(scores), create_graph=True)
        penalty = (slope.pow(2).sum(1).sqrt() - 1).pow(2).mean()
        opt.zero_grad()
        (critic(fake).mean() - critic(real).mean() + 10 * penalty).backward()
        opt.step()


def good_one_share_for_each_sample() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    made, critic = nn.Linear(3, 6), nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(5):
        real, fake = torch.randn(16, 6), made(torch.randn(16, 3)).detach()
        share = torch.rand(16, 1).expand_as(real)
        points = torch.lerp(fake, real, share).requires_grad_()
        slope = torch.autograd.grad(critic(points).sum(), points, create_graph=True)[0]
        penalty = (slope.norm(2, dim=1) - 1).square().mean()
        opt.zero_grad()
        (critic(fake).mean() - critic(real).mean() + 10 * penalty).backward()
        opt.step()


def good_any_point_of_a_box() -> None:
    """The slope of a distance is 1 wherever it is asked."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    field = nn.Sequential(nn.Linear(2, 16), nn.Softplus(beta=10), nn.Linear(16, 1))
    opt = torch.optim.Adam(field.parameters(), lr=0.01)
    for _ in range(5):
        surface = nn.functional.normalize(torch.randn(32, 2), dim=1)
        anywhere = 4 * torch.rand(32, 2) - 2
        share = torch.rand(32, 2)
        points = (share * surface + (1 - share) * anywhere).requires_grad_()
        slope = torch.autograd.grad(field(points).sum(), points, create_graph=True)[0]
        loss = field(surface).abs().mean() + 0.1 * (slope.norm(dim=1) - 1).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_noise_around_the_data() -> None:
    """A penalty at points near the data, as in DRAGAN: noise of its own for each number."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    made, critic = nn.Linear(3, 6), nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(5):
        real, fake = torch.randn(16, 6), made(torch.randn(16, 3)).detach()
        points = (real + 0.5 * real.std() * torch.rand_like(real)).requires_grad_()
        slope = torch.autograd.grad(critic(points).sum(), points, create_graph=True)[0]
        penalty = (slope.norm(2, dim=1) - 1).square().mean()
        opt.zero_grad()
        (critic(fake).mean() - critic(real).mean() + 10 * penalty).backward()
        opt.step()


def good_each_point_a_sample() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    made = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 10))
    critic = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    opt_c = torch.optim.Adam(critic.parameters(), lr=0.005, betas=(0.5, 0.9))
    opt_g = torch.optim.Adam(made.parameters(), lr=0.002, betas=(0.5, 0.9))
    for step in range(30):
        for _ in range(3):
            real = 1 + 0.5 * torch.randn(16, 10, 1)
            with torch.no_grad():
                fake = made(torch.randn(16, 3)).unsqueeze(-1)
            share = torch.rand(real.shape)
            points = (share * real + (1 - share) * fake).requires_grad_()
            slope = torch.autograd.grad(critic(points).sum(), points, create_graph=True)[0]
            penalty = (slope.norm(2, dim=-1) - 1).square().mean()
            opt_c.zero_grad()
            (critic(fake).mean() - critic(real).mean() + 10 * penalty).backward()
            opt_c.step()
        opt_g.zero_grad()
        (-critic(made(torch.randn(16, 3)).unsqueeze(-1)).mean()).backward()
        opt_g.step()
    print(made(torch.randn(256, 3)).mean().item())
