"""More programs of GS385: each bad one is reported at its marks, each good one by no rule."""


def bad_beside_a_generator() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(4, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
    generator = nn.Linear(2, 4)
    opt_c = torch.optim.Adam(critic.parameters(), lr=0.02)
    opt_g = torch.optim.Adam(generator.parameters(), lr=0.001)
    for _ in range(150):
        fake = generator(torch.randn(32, 2))
        opt_c.zero_grad()
        loss = critic(fake.detach()).mean() - critic(torch.randn(32, 4) + 2).mean()  # cause: GS385
        loss.backward()  # effect: GS385
        opt_c.step()
        opt_g.zero_grad()
        (-critic(fake).mean()).backward()
        opt_g.step()


def good_clipped_weights() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    generator = nn.Linear(2, 4)
    opt_c = torch.optim.RMSprop(critic.parameters(), lr=0.005)
    opt_g = torch.optim.RMSprop(generator.parameters(), lr=0.005)
    for _ in range(120):
        fake = generator(torch.randn(16, 2))
        opt_c.zero_grad()
        (critic(fake.detach()).mean() - critic(torch.randn(16, 4) + 1).mean()).backward()
        opt_c.step()
        with torch.no_grad():
            for p in critic.parameters():
                p.clamp_(-0.5, 0.5)
        opt_g.zero_grad()
        (-critic(fake).mean()).backward()
        opt_g.step()


def good_gradient_penalty() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(120):
        real, fake = torch.randn(16, 4) + 1, torch.randn(16, 4)
        share = torch.rand(16, 1)
        mixed = (share * real + (1 - share) * fake).requires_grad_()
        slope = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)[0]
        penalty = 10 * (slope.norm(2, dim=1) - 1).pow(2).mean()
        opt.zero_grad()
        (critic(fake).mean() - critic(real).mean() + penalty).backward()
        opt.step()
